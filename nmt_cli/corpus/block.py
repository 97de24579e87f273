"""What readers yield: a block of consecutive pairs of a corpus, or a unit of a localization file."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

UNDECODABLE = "undecodable"
MALFORMED = "malformed"
# Keys of `Block.removed`, next to those of the line reader.
INNER_NEWLINE = "inner newline"
SEVERAL_VARIANTS = "several variants"
# Why a unit is not a pair to learn from. The names appear in the data card.
UNTRANSLATED = "untranslated"
FUZZY = "fuzzy"
OBSOLETE = "obsolete"
NOT_TRANSLATABLE = "not_translatable"
MISSING_LANGUAGE = "missing_language"
OTHER_LANGUAGE = "other_language"

_NOTHING: Mapping[str, int] = {}  # a plain dict, because blocks are sent between processes


class Skipped(NamedTuple):
    """An entry of a file that is not a pair to learn from, such as a fuzzy one, and why."""

    number: int
    reason: str
    source: str
    target: str


class Block(NamedTuple):
    """Consecutive pairs of one corpus: row n of the source belongs to row n of the target, without newlines."""

    first: int  # number of the first pair in its corpus, from 1
    source: list[str]
    target: list[str]
    damage: Mapping[int, str]  # row in this block → UNDECODABLE or MALFORMED
    removed: Mapping[str, int] = _NOTHING  # what the reader removed, for the warnings
    numbers: Sequence[int] = ()  # of the rows, if they are not consecutive: lines where entries start
    skipped: Sequence[Skipped] = ()
    # Of a corpus of several files: the name of this one, and the number of lines of those before it.
    file: tuple[str, int] | None = None
    variants: Mapping[str, int] = _NOTHING  # pairs by the language codes in the file, such as "source en-US"

    def number(self, row: int) -> int:
        """The number of a row: its line, counted through all files of the corpus."""
        return self.numbers[row] if self.numbers else self.first + row

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle each side as one text, many times faster than line by line."""
        joined = ["\n".join(side) for side in (self.source, self.target)]
        lines = len(self.source)
        if any(side.count("\n") != lines - 1 for side in joined):
            return Block, tuple(self)
        return _split_block, (self.first, *joined, *self[3:])


def _split_block(first: int, source: str, target: str, *others: Any) -> Block:
    return Block(first, source.split("\n"), target.split("\n"), *others)


def remove_newlines(texts: list[str]) -> int:
    """Replace every line break inside a text by a space, in place; the number of texts that had one."""
    if "\n" not in "".join(texts):
        return 0
    rows = [row for row, text in enumerate(texts) if "\n" in text]
    for row in rows:
        texts[row] = " ".join(part.strip() for part in texts[row].split("\n")).strip()
    return len(rows)


class Unit(NamedTuple):
    """One pair of a localization file, with line breaks as they are."""

    line: int  # where it starts, from 1
    source: str
    target: str
    skipped: str = ""  # the reason; "" for a finished translation
    context: str = ""  # what distinguishes equal sources, such as the msgctxt of PO
    source_code: str = ""  # the language codes in the file, if it has any
    target_code: str = ""
    several: bool = False  # the unit has more than one variant of a language, and the first was taken
    damaged: bool = False  # it has bytes that cannot be decoded
