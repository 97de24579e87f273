"""The lines of hypotheses, references and sources, block by block, with what is noticed on the way."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nmt_cli.corpus.checks.line_counts import unequal_error
from nmt_cli.corpus.locate import refuse_unsupported_format
from nmt_cli.errors import CorpusError, UsageError
from nmt_cli.files.byte_stream import check_readable, read_chunks, standard_input, uncompressed_name
from nmt_cli.files.line_reader import LineReader

STANDARD_INPUT = Path("-")
SHOWN_LINES = 5


class Text:
    """A text that is read once, a block at a time; `lines`, `sha256` and `blank` are known at its end."""

    def __init__(self, name: str, path: Path | None, pieces: Iterable[bytes]) -> None:
        self.name, self.path = name, path
        self._hash = hashlib.sha256()
        self._reader = LineReader(name, self._hashed(pieces))
        self.blank: list[int] = []  # numbers from 1

    @classmethod
    def open(cls, path: Path) -> Text:
        """A file, also a compressed one, or standard input for `-`."""
        if path == STANDARD_INPUT:
            return cls("standard input", None, standard_input("hypotheses", "cat hyp.de"))
        check_readable(path)
        refuse_unsupported_format(path)
        return cls(str(path), path, read_chunks(path))

    @classmethod
    def of_lines(cls, name: str, lines: Sequence[str], path: Path | None = None) -> Text:
        """Lines that are in memory already."""
        return cls(name, path, (f"{line}\n".encode(errors="replace") for line in lines))

    def take(self, count: int) -> list[str]:
        """The next lines, fewer only at the end."""
        first = self._reader.taken + 1
        lines = self._reader.take(count)
        self.blank += [first + row for row, line in enumerate(lines) if not line or line.isspace()]
        return lines

    def count_rest(self) -> None:
        """Read to the end, to know how many lines there are."""
        self._reader.count_rest()

    @property
    def lines(self) -> int:
        """How many lines were read."""
        return self._reader.taken

    @property
    def sha256(self) -> str:
        """Of the text that was read, whatever it was compressed with."""
        return self._hash.hexdigest()

    @property
    def undecodable(self) -> list[int]:
        """Lines that are not UTF-8."""
        return sorted(self._reader.undecodable)

    def _hashed(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            self._hash.update(piece)
            yield piece


def refuse_empty(texts: Iterable[Text]) -> None:
    """A text without a line has no score."""
    for text in texts:
        if not text.lines:
            raise CorpusError(f"{text.name} is empty", hint="give a file with one sentence on each line")


def refuse_two_readers(paths: Iterable[Path]) -> None:
    """Standard input can be read once."""
    if sum(path == STANDARD_INPUT for path in paths) > 1:
        raise UsageError("standard input is named twice (-)", hint="give all texts but one as files")


def read_lines(path: Path) -> list[str]:
    """All lines of a file."""
    text = Text.open(path)
    lines: list[str] = []
    while block := text.take(1 << 14):
        lines += block
    refuse_empty([text])
    return lines


def language_of(path: Path) -> str | None:
    """The language that the name of a file ends with, such as `de` in ref.de.gz."""
    name = uncompressed_name(path.name)
    code = name.rpartition(".")[2] if "." in name else ""
    base = code.partition("-")[0].partition("_")[0]
    return (
        code if base.isalpha() and base.islower() and 2 <= len(base) <= 3 and base not in _NO_CODES else None
    )


_NO_CODES = ("txt", "tok", "bpe", "out", "hyp", "ref", "src", "tgt", "trg", "raw", "tsv", "sgm", "xml")


def some_lines(numbers: Sequence[int]) -> str:
    """`line 3`, or `lines 3, 8, 9, … (12 in all)`."""
    if len(numbers) == 1:
        return f"line {numbers[0]}"
    shown = ", ".join(map(str, numbers[:SHOWN_LINES]))
    return f"lines {shown}" + (f", … ({len(numbers):,} in all)" if len(numbers) > SHOWN_LINES else "")


# Texts with different numbers of lines: where they seem to part.


_WORD = re.compile(r"\w")
_MOST_LINES = 1_000_000  # that are compared


def unequal_lines(text: Text, reference: Text, *, same_language: bool = True) -> CorpusError:
    """The error for a text that has not as many lines as the reference, with what a second look finds out."""
    message = f"{text.name} has {text.lines:,} lines, {reference.name} has {reference.lines:,}"
    if not (_again(text.path) and _again(reference.path)) or max(text.lines, reference.lines) > _MOST_LINES:
        return CorpusError(message, hint="line n of one must belong to line n of the other")
    assert text.path is not None
    assert reference.path is not None
    if not same_language:
        return unequal_error(text.path, reference.path, text.lines, reference.lines)
    return CorpusError(message, hint=_where(text, reference))


def first_line_off(one: Sequence[str], other: Sequence[str]) -> int:
    """The number (from 1) of the first line where pairing line n with line n stops being the best.

    Up to some line the texts agree as they are, after it as many lines further on as one is longer. That line is
    where the agreement of all pairs is largest.
    """
    shorter, longer = sorted((one, other), key=len)
    shift = len(longer) - len(shorter)
    straight = _agreement(shorter, longer)
    shifted = _agreement(shorter, longer[shift:])
    total = np.concatenate([[0.0], np.cumsum(straight)]) + np.concatenate(
        [np.cumsum(shifted[::-1])[::-1], [0.0]]
    )
    return int(len(total) - 1 - np.argmax(total[::-1])) + 1  # the last of equals: the texts agree as far


def _where(text: Text, reference: Text) -> str:
    assert text.path is not None
    assert reference.path is not None
    lines, references = read_lines(text.path), read_lines(reference.path)
    off = first_line_off(lines, references)
    shorter = min(len(lines), len(references))
    if off > shorter:
        rest = max(lines, references, key=len)[shorter:]
        blank = "blank " if not any(line.strip() for line in rest) else ""
        longer = text.name if len(lines) > len(references) else reference.name
        return (
            f"they agree to the end of the shorter one; {longer} has {blank}lines too many from line {off} on"
        )
    return (
        f"they seem to disagree from line {off} on: "
        f"{text.name} has “{_shown(lines[off - 1])}”, {reference.name} “{_shown(references[off - 1])}”"
    )


def _agreement(one: Sequence[str], other: Sequence[str]) -> NDArray[np.float64]:
    """Of each pair, the share of the words (or characters, without spaces) of both that the other has too."""
    return np.array([_overlap(a, b) for a, b in zip(one, other, strict=False)], np.float64)


def _overlap(one: str, other: str) -> float:
    first, second = _units(one), _units(other)
    if not first and not second:
        return 1.0
    return 2 * len(first & second) / (len(first) + len(second))


def _units(text: str) -> set[str]:
    words = text.split()
    if len(text) > 15 * max(len(words), 1):
        return set(_WORD.findall(text))
    return set(words)


def _again(path: Path | None) -> bool:
    """Whether it can be read twice."""
    return path is not None and path.is_file()


def _shown(line: str, most: int = 40) -> str:
    return line if len(line) <= most else line[: most - 1] + "…"
