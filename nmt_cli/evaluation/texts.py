"""Hypotheses, references and sources, read block by block and in step, with the problems found on the way."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from nmt_cli.corpus.checks.alignment import unequal_error
from nmt_cli.corpus.checks.characters import TokenizedCheck
from nmt_cli.corpus.locate import refuse_unsupported_format
from nmt_cli.errors import CorpusError, UsageError
from nmt_cli.evaluation.result import TextFacts
from nmt_cli.files.byte_stream import check_readable, read_chunks, standard_input, uncompressed_name
from nmt_cli.files.line_reader import LineReader

STANDARD_INPUT = Path("-")
_BLOCK = 1 << 14  # lines
_SHOWN_LINES = 5
_SAMPLED = 8  # every eighth line is checked for traces of tokenization
_SAMPLED_CHARACTERS = 300
_MOST_LINES = 1_000_000  # longer texts are not compared to find out where they diverge
_WORD_CHARACTER = re.compile(r"\w")
_NOT_LANGUAGES = ("txt", "tok", "bpe", "out", "hyp", "ref", "src", "tgt", "trg", "raw", "tsv", "sgm", "xml")


class Text:
    """A text that is read once, a block at a time; `lines` and `sha256` are final when it has been read."""

    def __init__(
        self, name: str, path: Path | None, pieces: Iterable[bytes], *, check_text: bool = True
    ) -> None:
        """`check_text`: binary data is an error."""
        self.name, self.path = name, path
        self._hash = hashlib.sha256()
        self._reader = LineReader(name, self._hashed(pieces), check_text=check_text)

    @classmethod
    def open(cls, path: Path) -> Text:
        """A file, which may be compressed, or standard input for `-`."""
        if path == STANDARD_INPUT:
            return cls("standard input", None, standard_input("hypotheses", "cat hyp.de"))
        check_readable(path)
        refuse_unsupported_format(path)
        return cls(str(path), path, read_chunks(path))

    @classmethod
    def of_lines(cls, name: str, lines: Sequence[str]) -> Text:
        """Lines that are already in memory: text, however odd the translations of a poor model look."""
        pieces = (f"{line}\n".encode(errors="replace") for line in lines)
        return cls(name, None, pieces, check_text=False)

    def take(self, count: int) -> list[str]:
        """The next `count` lines, or fewer at the end."""
        return self._reader.take(count)

    def blocks(self) -> Iterator[list[str]]:
        """All remaining lines, a block at a time."""
        while lines := self.take(_BLOCK):
            yield lines

    def count_rest(self) -> None:
        """Read to the end, to find out how many lines there are."""
        self._reader.count_rest()

    @property
    def lines(self) -> int:
        """The number of lines read."""
        return self._reader.taken

    @property
    def sha256(self) -> str:
        """The hash of the uncompressed text."""
        return self._hash.hexdigest()

    @property
    def undecodable(self) -> list[int]:
        """The numbers of the lines that are not UTF-8."""
        return sorted(self._reader.undecodable)

    def facts(self) -> TextFacts:
        """Which text this is, once it has been read."""
        return TextFacts(name=self.name, sha256=self.sha256, lines=self.lines)

    def _hashed(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            self._hash.update(piece)
            yield piece


class Lines(NamedTuple):
    """The same lines of all texts."""

    first: int  # number of the first line, from 1
    sources: list[str] | None
    references: list[list[str | None]]  # for each file; None where it has no reference
    hypotheses: list[list[str]]  # for each system


class AlignedTexts:
    """References, source and hypotheses: line n of each belongs to sentence n."""

    def __init__(self, references: Sequence[Text], source: Text | None, hypotheses: Sequence[Text]) -> None:
        self.references, self.source, self.hypotheses = references, source, hypotheses
        self.tokenized = [TokenizedCheck() for _ in references]
        self.unreferenced: list[int] = []  # lines that are blank in every reference

    def check_lengths(self) -> None:
        """Read everything, only to report texts that do not have equally many lines."""
        for text in self._texts():
            text.count_rest()
        if len({text.lines for text in self._texts()}) > 1:
            self._raise_unequal()

    def blocks(self, *, hypotheses_per_block: int) -> Iterator[Lines]:
        """All lines, a block at a time; an error if the texts do not have equally many."""
        texts = self._texts()
        size = max(4, hypotheses_per_block // len(self.hypotheses))
        references = len(self.references)
        first = 1
        while True:
            taken = [text.take(size) for text in texts]
            if len({len(lines) for lines in taken}) > 1:
                self._raise_unequal()
            if not taken[0]:
                refuse_empty(texts)
                return
            yield Lines(
                first,
                taken[references] if self.source is not None else None,
                self._reference_lines(first, taken[:references]),
                taken[len(texts) - len(self.hypotheses) :],
            )
            first += len(taken[0])

    def _texts(self) -> list[Text]:
        return [*self.references, *([self.source] if self.source is not None else []), *self.hypotheses]

    def _reference_lines(self, first: int, files: Sequence[list[str]]) -> list[list[str | None]]:
        """A blank line means "no reference" if another file has one for that sentence, else an empty reference."""
        for check, lines in zip(self.tokenized, files, strict=True):
            observe_sample(check, first, lines)
        found: list[list[str | None]] = [
            [line if line.strip() else None for line in lines] for lines in files
        ]
        for row, texts in enumerate(zip(*found, strict=True)):
            if all(text is None for text in texts):
                found[0][row] = ""
                self.unreferenced.append(first + row)
        return found

    def _raise_unequal(self) -> NoReturn:
        texts = self._texts()
        for text in texts:
            text.count_rest()
        refuse_empty(texts)
        reference = texts[0]
        text = next(text for text in texts if text.lines != reference.lines)
        raise unequal_lines(text, reference, same_language=text is not self.source)


def observe_sample(check: TokenizedCheck, first: int, lines: Sequence[str]) -> None:
    """Check some lines for traces of tokenization, the same ones however the text is cut into blocks."""
    check.observe([line[:_SAMPLED_CHARACTERS] for line in lines[-first % _SAMPLED :: _SAMPLED]])


def refuse_empty(texts: Iterable[Text]) -> None:
    """Reject a text without a single line, which has no score."""
    for text in texts:
        if not text.lines:
            raise CorpusError(f"{text.name} is empty", hint="give a file with one sentence per line")


def refuse_two_readers(paths: Iterable[Path]) -> None:
    """Reject a second `-`: standard input can be read only once."""
    if sum(path == STANDARD_INPUT for path in paths) > 1:
        raise UsageError("standard input (-) is given more than once", hint="pass all texts but one as files")


def read_lines(path: Path) -> list[str]:
    """All lines of a file."""
    text = Text.open(path)
    lines = [line for block in text.blocks() for line in block]
    refuse_empty([text])
    return lines


def language_of(path: Path) -> str | None:
    """The language code at the end of a file name, such as `de` in ref.de.gz."""
    name = uncompressed_name(path.name)
    code = name.rpartition(".")[2] if "." in name else ""
    base = code.partition("-")[0].partition("_")[0]
    is_code = base.isalpha() and base.islower() and 2 <= len(base) <= 3 and base not in _NOT_LANGUAGES
    return code if is_code else None


def distinct_names(paths: Sequence[Path]) -> list[str]:
    """The file name of each path, preceded by as many directories as it takes to tell them apart."""
    names = [path.name for path in paths]
    for depth in range(2, max((len(path.parts) for path in paths), default=0) + 1):
        if len(set(names)) == len(set(paths)):
            break
        names = ["/".join(path.parts[-depth:]) for path in paths]
    return names


def some_lines(numbers: Sequence[int]) -> str:
    """`line 3`, or `lines 3, 8, 9, … (12 in total)`."""
    if len(numbers) == 1:
        return f"line {numbers[0]}"
    shown = ", ".join(map(str, numbers[:_SHOWN_LINES]))
    return f"lines {shown}" + (f", … ({len(numbers):,} in total)" if len(numbers) > _SHOWN_LINES else "")


def unequal_lines(text: Text, reference: Text, *, same_language: bool = True) -> CorpusError:
    """The error for a text with more or fewer lines than the reference, which says where they seem to diverge."""
    message = f"{text.name} has {text.lines:,} lines, {reference.name} has {reference.lines:,}"
    paths = text.path, reference.path
    if paths[0] is None or paths[1] is None or not (paths[0].is_file() and paths[1].is_file()):
        return CorpusError(message, hint="line n of both must belong to the same sentence")
    if max(text.lines, reference.lines) > _MOST_LINES:
        return CorpusError(message, hint="line n of both must belong to the same sentence")
    if not same_language:
        return unequal_error(paths[0], paths[1], text.lines, reference.lines)
    return CorpusError(message, hint=_divergence(text.name, paths[0], reference.name, paths[1]))


def first_line_off(one: Sequence[str], other: Sequence[str]) -> int:
    """The number (from 1) of the line at which two texts of different length stop corresponding line by line.

    Up to that line, line n of the shorter text matches line n of the longer one; from it on, it matches line n + d,
    where d is the difference in length. The line that maximizes the overlap of all pairs is returned.
    """
    shorter, longer = sorted((one, other), key=len)
    shift = len(longer) - len(shorter)
    straight = _overlaps(shorter, longer)
    shifted = _overlaps(shorter, longer[shift:])
    total = np.concatenate([[0.0], np.cumsum(straight)]) + np.concatenate(
        [np.cumsum(shifted[::-1])[::-1], [0.0]]
    )
    return int(len(total) - 1 - np.argmax(total[::-1])) + 1  # the last maximum: they correspond up to there


def _divergence(name: str, path: Path, reference_name: str, reference: Path) -> str:
    lines, references = read_lines(path), read_lines(reference)
    off = first_line_off(lines, references)
    shorter = min(len(lines), len(references))
    if off > shorter:
        rest = max(lines, references, key=len)[shorter:]
        blank = "blank " if not any(line.strip() for line in rest) else ""
        longer = name if len(lines) > len(references) else reference_name
        return f"they match to the end of the shorter one; {longer} has extra {blank}lines from line {off} on"
    return (
        f"they seem to diverge at line {off}: "
        f"{name} has “{_shortened(lines[off - 1])}”, {reference_name} “{_shortened(references[off - 1])}”"
    )


def _overlaps(one: Sequence[str], other: Sequence[str]) -> NDArray[np.float64]:
    return np.array([_overlap(a, b) for a, b in zip(one, other, strict=False)], np.float64)


def _overlap(one: str, other: str) -> float:
    """The share of words (or of characters, in text without spaces) that two lines have in common."""
    first, second = _units(one), _units(other)
    if not first and not second:
        return 1.0
    return 2 * len(first & second) / (len(first) + len(second))


def _units(text: str) -> set[str]:
    words = text.split()
    if len(text) > 15 * max(len(words), 1):
        return set(_WORD_CHARACTER.findall(text))
    return set(words)


def _shortened(line: str, most: int = 40) -> str:
    return line if len(line) <= most else line[: most - 1] + "…"
