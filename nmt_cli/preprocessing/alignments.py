"""Word alignments of the training corpora, from files in Pharaoh format: `0-0 1-2`, one line of links for each pair.

A link joins a source word and a target word, counted from 0. Words are separated by white space, as for `nmt align`
and eflomal. fast_align takes only spaces and tabs for white space; a warning says where that makes a difference.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nmt_cli.corpus import Block, Spec, read_pairs
from nmt_cli.corpus.block import MALFORMED
from nmt_cli.data.aligner import LONGEST, pack_links
from nmt_cli.errors import CorpusError, DataWarning, UsageError
from nmt_cli.files.byte_stream import check_readable, read_chunks
from nmt_cli.files.line_reader import LineReader
from nmt_cli.vocabulary.token_ids import Ragged, offsets_of

# Of these, pair n is line or row n. In others, an entry may span lines or be skipped.
_SUPPORTED = ("files", "archive", "tsv", "stdin", "jsonl", "hub")
_NOT_A_LINK = re.compile(r"(?<!\S)(?![0-9]{1,9}-[0-9]{1,9}(?!\S))\S+")
_OTHER_SPACE = re.compile(r"[^\S \t\n]")
_MANY = np.iinfo(np.int64).max
_ENOUGH = 20  # lines with links after which it is no coincidence that none has the index 0

Integers = NDArray[np.int64]


def check_alignments(paths: Sequence[Path], corpora: Sequence[Spec]) -> None:
    """Raise an error unless there is one file that can be read for each corpus whose pairs are numbered lines."""
    if not paths:
        return
    if len(paths) != len(corpora):
        raise UsageError(
            f"--alignments is given {_times(len(paths))} and --train {_times(len(corpora))}",
            hint="give one file of word alignments for each training corpus, in the same order",
        )
    for path, spec in zip(paths, corpora, strict=True):
        if not spec.source_lang:
            raise UsageError(
                "--alignments needs a parallel corpus, but the text is monolingual",
                hint="leave it out, or give the source language with --source-lang",
            )
        if spec.tag:
            raise UsageError(
                f"--alignments {path} cannot belong to {spec.text}: the tag adds a word to every source",
                hint="leave out @tag, or put the tag into the text and align that",
            )
        if spec.kind not in _SUPPORTED:
            raise UsageError(
                f"--alignments {path} cannot belong to {spec.text}, whose entries are not numbered by lines",
                hint="write its pairs to two text files, align these, and give them with --train a.de,a.en",
            )
        check_readable(path)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def read_blocks(
    specs: Sequence[Spec], alignments: Sequence["AlignmentFile"]
) -> Iterator[tuple[int, Block, Ragged | None]]:
    """The blocks of all corpora, with the number of the corpus and, if alignments are given, the links of each pair."""
    for number, spec in enumerate(specs):
        if alignments:
            for block, links in alignments[number].read(read_pairs(spec)):
                yield number, block, links
        else:
            for block in read_pairs(spec):
                yield number, block, None


class AlignmentFile:
    """The word alignments of one corpus, read along with its pairs and compared with their words."""

    def __init__(self, path: Path, spec: Spec) -> None:
        self.path = path
        self._corpus = spec.text
        self._lines = LineReader(str(path), read_chunks(path))
        self._linked = 0  # lines with links
        self._has_zero = False  # whether a link has the index 0
        self._other_space = 0  # lines with links and with white space other than spaces and tabs
        self._splits_there = False  # whether some link shows that the tool splits words at such white space

    def read(self, blocks: Iterable[Block]) -> Iterator[tuple[Block, Ragged]]:
        """Each block with the links of its pairs, as `pack_links` writes them, but between words."""
        pairs, stream = 0, iter(blocks)
        for block in stream:
            pairs += len(block.source)
            lines = self._lines.take(len(block.source))
            if len(lines) < len(block.source):
                raise self._unequal(pairs + sum(len(rest.source) for rest in stream))
            yield block, self._links(block, lines)
        if self._lines.count_rest():
            raise self._unequal(pairs)

    def warnings(self) -> Iterator[DataWarning]:
        """What is suspicious about a file that has been read."""
        if not self._linked:
            yield DataWarning(
                "no-links", f"{self.path} has no links", hint="is it the output of a word aligner?"
            )
        elif self._linked >= _ENOUGH and not self._has_zero:
            yield DataWarning(
                "alignment-base",
                f"{self.path}: no link has the index 0, so indices seem to start at 1",
                hint="words are counted from 0: subtract 1 from every index",
            )
        if self._other_space and not self._splits_there:
            yield DataWarning(
                "alignment-space",
                f"{self.path}: {self._other_space:,} lines of {self._corpus} have white space such as U+00A0, and no "
                "link shows that the aligner splits words there",
                hint="fast_align does not: replace such characters by spaces in the corpus, and align it again",
            )

    def _links(self, block: Block, lines: list[str]) -> Ragged:
        text = "\n".join(lines)
        if found := _NOT_A_LINK.search(text):
            raise self._not_a_link(found[0], block.first + text.count("\n", 0, found.start()))
        counts = np.fromiter((line.count("-") for line in lines), np.int64, len(lines))
        row = np.repeat(np.arange(len(lines)), counts)
        numbers = np.fromiter(map(int, text.replace("-", " ").split()), np.int64, 2 * len(row)).reshape(-1, 2)
        sides = (block.source, block.target)
        words = np.stack([[len(text.split()) for text in side] for side in sides], axis=1)
        past = (numbers >= words[row]).any(axis=1)
        if block.damage:  # a row that is not a pair is dropped later, whatever its links are
            malformed = [row for row, damage in block.damage.items() if damage == MALFORMED]
            past &= ~np.isin(row, malformed)
        if past.any():
            first = row[np.flatnonzero(past)[0]]
            own = numbers[row == first]
            self._has_zero |= bool((numbers[row <= first] == 0).any())
            raise self._past_the_end(block.first + int(first), own, words[first])
        self._linked += int((counts > 0).sum())
        self._has_zero |= bool((numbers == 0).any())
        self._look_for_other_space(block, row, numbers)
        short = (numbers < LONGEST).all(axis=1)  # no token after these can have a link
        packed = pack_links(numbers[short, 1], numbers[short, 0])
        return Ragged(packed, offsets_of(np.bincount(row[short], minlength=len(lines))))

    def _look_for_other_space(self, block: Block, row: Integers, numbers: Integers) -> None:
        has_other = np.zeros(len(block.source), np.bool_)
        for side, texts in enumerate((block.source, block.target)):
            if not _OTHER_SPACE.search("\n".join(texts)):
                continue
            words = np.full(len(texts), _MANY)  # as fast_align counts them, where that makes a difference
            for number, text in enumerate(texts):
                if _OTHER_SPACE.search(text):
                    words[number] = len(list(filter(None, re.split("[ \t]", text))))
                    has_other[number] = True
            self._splits_there |= bool((numbers[:, side] >= words[row]).any())
        self._other_space += int(has_other[np.unique(row)].sum())

    def _unequal(self, pairs: int) -> CorpusError:
        self._lines.count_rest()
        return CorpusError(
            f"{self.path} has {self._lines.taken:,} lines, {self._corpus} has {pairs:,} pairs",
            hint="line n of the alignments must hold the links of pair n; leave it empty if there are none",
        )

    def _not_a_link(self, word: str, line: int) -> CorpusError:
        hint = "a line holds links separated by spaces, such as 0-0 1-2"
        if re.fullmatch("[0-9]+p[0-9]+", word):
            hint = "possible links, as in gold alignments, are not used: remove them, or write - for p"
        elif word == "|||":
            hint += "; leave out scores"
        return CorpusError(f"{self.path}, line {line}: {word[:40]!r} is not a link", hint=hint)

    def _past_the_end(self, line: int, links: Integers, words: Integers) -> CorpusError:
        """The error for a pair with these links, (source, target), and these numbers of words."""
        link = links[(links >= words).any(axis=1)][0]
        side = int(link[0] < words[0])
        count = f"{words[side]} word{'s' if words[side] != 1 else ''}"
        if not self._has_zero:
            hint = (
                "words are counted from 0, but no link so far has the index 0; if yours start at 1, subtract 1 from "
                "every index"
            )
        elif (links[:, ::-1] < words).all():
            hint = "links are source-target; these seem to be target-source"
        else:
            hint = "the alignments must be those of this text, whose words are separated by white space"
        return CorpusError(
            f"{self.path}, line {line}: the link {link[0]}-{link[1]} is past the end of the "
            f"{('source', 'target')[side]}, which has {count}",
            hint=hint,
        )
