"""A block: consecutive pairs of one corpus, and what every reader needs to make one."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

UNDECODABLE = "undecodable"
MALFORMED = "malformed"
# Keys of `Block.removed`, next to those of the line reader.
INNER_NEWLINE = "inner newline"
SEVERAL_VARIANTS = "several variants"

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
    file: tuple[str, int] | None = (
        None  # of a corpus of several files: its name, and the lines of those before it
    )
    variants: Mapping[str, int] = _NOTHING  # pairs by the language codes in the file, such as "source en-US"

    def number(self, row: int) -> int:
        """The number of a row: its line, counted through all files of the corpus."""
        return self.numbers[row] if self.numbers else self.first + row


def remove_newlines(texts: list[str]) -> int:
    """Replace every line break inside a text by a space, in place; the number of texts that had one."""
    if "\n" not in "".join(texts):
        return 0
    rows = [row for row, text in enumerate(texts) if "\n" in text]
    for row in rows:
        texts[row] = " ".join(part.strip() for part in texts[row].split("\n")).strip()
    return len(rows)
