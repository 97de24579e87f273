"""Tables: TSV and JSON lines, each a `RowParser` over the lines of a file, and CSV, where a row may span lines.

A row that is not a pair keeps its number and its text, so that nothing after it shifts. CSV has a header, commas or
semicolons, quoted fields, and line breaks inside quotes.
"""

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from nmt_cli.corpus.block import INNER_NEWLINE, MALFORMED, UNDECODABLE, Block, remove_newlines
from nmt_cli.corpus.spec import Spec
from nmt_cli.errors import CorpusError
from nmt_cli.files.byte_stream import read_chunks
from nmt_cli.files.languages import choose
from nmt_cli.files.line_reader import LineReader

_DELIMITERS = (",", ";", "\t")
_EXAMPLE_CHARACTERS = 80


class RowParser(Protocol):
    """Turns the lines of a file into a block of pairs."""

    def parse(self, lines: list[str], first: int) -> Block:
        """The pairs of consecutive lines; the number of the first line is `first`."""
        ...


class PlainRows:
    """Monolingual text: each line is a text."""

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
        source, target, damage = _split_pairs(lines, self._pair)
        if first == 1 and _mostly(damage, lines):
            raise self._no_pairs(lines, next(iter(damage)))
        return Block(first, source, target, damage)

    def _pair(self, line: str) -> tuple[str, str] | None:
        cells = line.split("\t")
        try:
            return cells[self._columns[0] - 1], cells[self._columns[1] - 1]
        except IndexError:
            return None

    def _no_pairs(self, lines: Sequence[str], row: int) -> CorpusError:
        columns = lines[row].count("\t") + 1
        source, target = self._columns
        wanted, choice = f"columns {source} and {target}", "two, such as x.tsv#1,3"
        if source == target:  # monolingual text
            wanted, choice = f"column {target}", "one, such as x.tsv#1"
        return CorpusError(
            f"{self._name}: most rows have no {wanted}; "
            f"row {row + 1} has {columns} column{'s'[: columns != 1]}: {_example(lines[row])}",
            hint=f"columns are separated by tabs and counted from 1; choose {choice}",
        )


class JsonRows:
    """One JSON object per line: `translation` with both languages, two language codes, or chosen fields."""

    def __init__(self, name: str, fields: tuple[str, str] | None, source_lang: str, target_lang: str) -> None:
        self._name = name
        self._fields = fields or (source_lang, target_lang)
        self._nested = fields is None

    def parse(self, lines: list[str], first: int) -> Block:
        """See RowParser."""
        source, target, damage = _split_pairs(lines, self._pair)
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
        # null means that there is no text, which is not the same as a missing field.
        source, target = ("" if text is None else text for text in texts)
        return (source, target) if isinstance(source, str) and isinstance(target, str) else None

    def _no_pairs(self, lines: Sequence[str], row: int) -> CorpusError:
        one = self._fields[0] == self._fields[1]  # monolingual text
        wanted = " and ".join(map(repr, self._fields[one:]))
        try:
            names = _field_names(json.loads(lines[row]))
        except (ValueError, RecursionError):
            return CorpusError(
                f"{self._name}: most rows are not JSON; row {row + 1} is {_example(lines[row])}",
                hint="write one object per line, such as "
                + (f'{{"{self._fields[0]}": "…"}}' if one else '{"translation": {"de": "…", "en": "…"}}'),
            )
        return CorpusError(
            f"{self._name}: most rows have no text in {wanted}; row {row + 1} is {_example(lines[row])}",
            hint=f"choose {'a field with #FIELD' if one else 'two fields with #SOURCE,TARGET'}; "
            f"fields are {', '.join(names) or '(none)'}",
        )


def _split_pairs(
    lines: list[str], pair_of: Callable[[str], tuple[str, str] | None]
) -> tuple[list[str], list[str], dict[int, str]]:
    """Sources, targets and damage; a line without a pair is the source of its row."""
    source: list[str] = []
    target: list[str] = []
    damage: dict[int, str] = {}
    for row, line in enumerate(lines):
        pair = pair_of(line)
        if pair is None:
            pair = (line, "")
            if line and not line.isspace():
                damage[row] = MALFORMED
        source.append(pair[0])
        target.append(pair[1])
    return source, target, damage


def _replace_surrogates(texts: list[str]) -> list[int]:
    """JSON can escape half of a surrogate pair, which UTF-8 cannot encode: put U+FFFD, in place; those rows."""
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
    """A field by its name or path (`translation.de`); 0, which is not text, if it is missing."""
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


def _example(line: str) -> str:
    # repr, so that control characters in a file do not reach the terminal
    return repr(line if len(line) <= _EXAMPLE_CHARACTERS else line[:_EXAMPLE_CHARACTERS] + "…")


def read_csv(spec: Spec, block_pairs: int) -> Iterator[Block]:
    """The pairs in two columns of a table; a row without them, or with stray quotes, is malformed."""
    [path] = spec.paths
    return _Table(str(path), LineReader(str(path), read_chunks(path)), spec).blocks(block_pairs)


class _Table:
    def __init__(self, name: str, lines: LineReader, spec: Spec) -> None:
        self._name = name
        self._lines = lines
        self._spec = spec

    def blocks(self, size: int) -> Iterator[Block]:
        header = next(iter(self._lines), None)
        if header is None:
            raise CorpusError(f"{self._name} is empty", hint="use a corpus that is not empty")
        delimiter = max(_DELIMITERS, key=header.count)
        columns = self._columns(next(csv.reader([header], delimiter=delimiter)))
        first, block_rows = 1, list[tuple[int, str, str, str]]()
        for row in self._rows(delimiter, columns):
            block_rows.append(row)
            if len(block_rows) == size:
                yield self._block(first, block_rows)
                first, block_rows = first + size, []
        if block_rows:
            yield self._block(first, block_rows)

    def _columns(self, header: list[str]) -> tuple[int, int]:
        names = [name.strip() for name in header]
        asked = self._spec.fields
        if asked is None:
            chosen = [choose(names, lang)[0] for lang in (self._spec.source_lang, self._spec.target_lang)]
        else:
            chosen = [_column(names, name) for name in asked]
        source, target = chosen
        if source is None or target is None:
            one = self._spec.source_lang == self._spec.target_lang
            missing = (asked or (self._spec.source_lang, self._spec.target_lang))[source is not None]
            raise CorpusError(
                f"{self._name} has no column {missing!r}",
                hint=f"its columns are {', '.join(names[:20])}; "
                f"choose {'one with x.csv#NAME' if one else 'two with x.csv#SOURCE,TARGET'}",
            )
        return source, target

    def _rows(self, delimiter: str, columns: tuple[int, int]) -> Iterator[tuple[int, str, str, str]]:
        """Line, source, target and damage of each row after the header."""
        reader = csv.reader((f"{line}\n" for line in self._lines), delimiter=delimiter, strict=True)
        while True:
            start = reader.line_num + 2
            try:
                cells = next(reader, None)
            except csv.Error as error:
                # The quote swallowed everything up to the end of the file, or to the limit of the csv module.
                if "unexpected end" in str(error) or "field larger" in str(error):
                    raise CorpusError(
                        f"{self._name}, line {start}: a quote is never closed",
                        hint='close it; a quote inside a quoted field is written twice: ""',
                    ) from error
                yield start, str(error), "", MALFORMED
                continue
            if cells is None:
                return
            if not cells:  # a blank line
                continue
            if max(columns) >= len(cells):
                yield start, delimiter.join(cells), "", MALFORMED
            else:
                yield start, cells[columns[0]], cells[columns[1]], ""

    def _block(self, first: int, rows: list[tuple[int, str, str, str]]) -> Block:
        numbers = [row[0] for row in rows]
        source, target = [row[1] for row in rows], [row[2] for row in rows]
        damage = {index: row[3] for index, row in enumerate(rows) if row[3]}
        if first == 1 and len(damage) > 0.5 * len(rows):
            index = next(iter(damage))
            raise CorpusError(
                f"{self._name}: most rows do not have these columns; line {numbers[index]} is {source[index][:80]!r}",
                hint="every row needs as many columns as the header",
            )
        ends = [*numbers[1:], numbers[-1] + 1]
        undecodable = self._lines.undecodable
        for bad in sorted(number for number in undecodable if number < self._lines.taken + 1):
            del undecodable[bad]
            index = next((i for i, end in enumerate(ends) if bad < end), len(ends) - 1)
            damage.setdefault(index, UNDECODABLE)
        removed = self._lines.pop_removed()
        if newlines := remove_newlines(source) + remove_newlines(target):
            removed[INNER_NEWLINE] = newlines
        return Block(first, source, target, damage, removed, numbers)


def _column(names: list[str], wanted: str) -> int | None:
    """The column of a name, or of a number counted from 1."""
    if wanted in names:
        return names.index(wanted)
    number = int(wanted) if wanted.isdecimal() else 0
    return number - 1 if 0 < number <= len(names) else None
