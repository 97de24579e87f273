"""A block of pairs: what every reader yields and every later step takes."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from nmt_cli.errors import CorpusError

UNDECODABLE = "undecodable"
MALFORMED = "malformed"

# Keys of `Block.removed`.
BYTE_ORDER_MARK = "byte-order mark"
CARRIAGE_RETURN = "carriage return"
INNER_NEWLINE = "inner newline"

_NOTHING: Mapping[str, int] = {}  # a plain dict: blocks travel between processes


class Block(NamedTuple):
    """Consecutive pairs of one corpus. No text contains a newline; row n of both sides belongs together."""

    first: int  # 1-based number of the first pair in its corpus
    source: list[str]
    target: list[str]
    damage: Mapping[int, str]  # row in this block → UNDECODABLE or MALFORMED
    removed: Mapping[str, int] = _NOTHING  # what the reader took away on the way, for the warnings


# Rows of TSV and JSON lines to pairs. A row that is no pair keeps its number and its text.


_SHOWN = 80


class RowParser(Protocol):
    """Turns the lines of a file into a block of pairs."""

    def parse(self, lines: list[str], first: int) -> Block:
        """The pairs of consecutive lines, of which the first has the number `first`."""
        ...


class PlainRows:
    """One-sided text: each line is a text."""

    def parse(self, lines: list[str], first: int) -> Block:
        """See RowParser."""
        return Block(first, [""] * len(lines), lines, {})


class TsvRows:
    """Columns are separated by tabs and by nothing else; quotes are ordinary characters."""

    def __init__(self, name: str, columns: tuple[int, int]) -> None:
        self._name = name
        self._columns = columns

    def parse(self, lines: list[str], first: int) -> Block:
        """See RowParser."""
        source_column, target_column = (column - 1 for column in self._columns)
        source: list[str] = []
        target: list[str] = []
        damage: dict[int, str] = {}
        for row, line in enumerate(lines):
            cells = line.split("\t")
            try:
                pair = cells[source_column], cells[target_column]
            except IndexError:
                pair = (line, "")
                if line and not line.isspace():
                    damage[row] = MALFORMED
            source.append(pair[0])
            target.append(pair[1])
        if first == 1 and _mostly(damage, lines):
            row = next(iter(damage))
            columns = lines[row].count("\t") + 1
            source_name, target_name = self._columns
            one = source_name == target_name  # of one-sided text
            wanted = f"column {target_name}" if one else f"columns {source_name} and {target_name}"
            choice = "one, such as x.tsv#1" if one else "two, such as x.tsv#1,3"
            raise CorpusError(
                f"{self._name}: most rows have no {wanted}; "
                f"row {row + 1} has {columns} column{'s'[: columns != 1]}: {_shown(lines[row])}",
                hint=f"columns are separated by tabs and counted from 1; choose {choice}",
            )
        return Block(first, source, target, damage)


class JsonRows:
    """One JSON object a line: `translation` with both languages, two language codes, or chosen fields."""

    def __init__(self, name: str, fields: tuple[str, str] | None, source_lang: str, target_lang: str) -> None:
        self._name = name
        self._fields = fields or (source_lang, target_lang)
        self._nested = fields is None

    def parse(self, lines: list[str], first: int) -> Block:
        """See RowParser."""
        source: list[str] = []
        target: list[str] = []
        damage: dict[int, str] = {}
        for row, line in enumerate(lines):
            pair = self._pair(line)
            if pair is None:
                pair = (line, "")
                if line and not line.isspace():
                    damage[row] = MALFORMED
            source.append(pair[0])
            target.append(pair[1])
        if first == 1 and _mostly(damage, lines):
            raise self._no_pairs(lines, next(iter(damage)))
        newlines = remove_newlines(source) + remove_newlines(target)
        for side in (source, target):
            damage.update(dict.fromkeys(_replace_surrogates(side), UNDECODABLE))
        return Block(first, source, target, damage, {INNER_NEWLINE: newlines} if newlines else {})

    def _pair(self, line: str) -> tuple[str, str] | None:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            return None
        if not isinstance(row, dict):
            return None
        if self._nested and isinstance(row.get("translation"), dict):
            row = row["translation"]
        texts = [_lookup(row, field) for field in self._fields]
        # null is how JSON says that there is no text; a missing field is another thing.
        source, target = ("" if text is None else text for text in texts)
        return (source, target) if isinstance(source, str) and isinstance(target, str) else None

    def _no_pairs(self, lines: Sequence[str], row: int) -> CorpusError:
        one = self._fields[0] == self._fields[1]  # of one-sided text
        wanted = " and ".join(map(repr, self._fields[one:]))
        try:
            names = _field_names(json.loads(lines[row]))
        except (ValueError, RecursionError):
            return CorpusError(
                f"{self._name}: most rows are not JSON; row {row + 1} is {_shown(lines[row])}",
                hint="write one object a line, such as "
                + (f'{{"{self._fields[0]}": "…"}}' if one else '{"translation": {"de": "…", "en": "…"}}'),
            )
        return CorpusError(
            f"{self._name}: most rows have no text in {wanted}; row {row + 1} is {_shown(lines[row])}",
            hint=f"choose {'a field with #FIELD' if one else 'two fields with #SOURCE,TARGET'}; "
            f"there are {', '.join(names) or 'none'}",
        )


def remove_newlines(texts: list[str]) -> int:
    """Put a space for every line break inside a text, in place; the number of texts that had one."""
    if "\n" not in "".join(texts):
        return 0
    rows = [row for row, text in enumerate(texts) if "\n" in text]
    for row in rows:
        texts[row] = " ".join(part.strip() for part in texts[row].split("\n")).strip()
    return len(rows)


def _replace_surrogates(texts: list[str]) -> list[int]:
    """JSON can escape half a character, which no file can hold: put U+FFFD, in place; the rows concerned."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        pass
    else:
        return []
    rows = []
    for row, text in enumerate(texts):
        repaired = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if repaired != text:
            texts[row] = repaired
            rows.append(row)
    return rows


def _lookup(row: dict[str, Any], field: str) -> object:
    """A field by its name or by its path (`translation.de`); a number stands for "not there"."""
    if field in row:
        return row[field]
    value: Any = row
    for key in field.split("."):
        if not isinstance(value, dict) or key not in value:
            return 0
        value = value[key]
    return value


def _field_names(row: object) -> list[str]:
    if not isinstance(row, dict):
        return []
    names = []
    for key, value in row.items():
        names += [f"{key}.{inner}" for inner in value] if isinstance(value, dict) else [str(key)]
    return names[:20]


def _mostly(damage: dict[int, str], lines: Sequence[str]) -> bool:
    return len(damage) > 0.5 * sum(bool(line) and not line.isspace() for line in lines)


def _shown(line: str) -> str:
    # repr: what is in a file must not reach the terminal as control characters
    return repr(line if len(line) <= _SHOWN else line[:_SHOWN] + "…")
