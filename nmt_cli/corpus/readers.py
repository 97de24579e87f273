"""Any SPEC as a stream of blocks of pairs.

TSV and JSON lines are read here: each is a `RowParser` over the lines of one file. A row that is not a pair keeps
its number and its text, so that nothing after it shifts. Other formats have their own modules.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

from nmt_cli.corpus.archive_reader import find_members, read_member
from nmt_cli.corpus.block import INNER_NEWLINE, MALFORMED, UNDECODABLE, Block, remove_newlines
from nmt_cli.corpus.checks.alignment import unequal_error
from nmt_cli.corpus.csv_reader import read_csv
from nmt_cli.corpus.localization_reader import read_localization
from nmt_cli.corpus.spec import Spec
from nmt_cli.errors import CorpusError
from nmt_cli.files.byte_stream import STANDARD_INPUT, read_chunks, standard_input
from nmt_cli.files.line_reader import LineReader

_EXAMPLE_CHARACTERS = 80


def read_pairs(spec: Spec, *, block_pairs: int = 8192) -> Iterator[Block]:
    """All pairs of a corpus in order, `block_pairs` at a time; memory does not grow with the corpus.

    Text that cannot be a corpus (empty, binary, unequal line counts, …) is a CorpusError; problems of single
    pairs are listed in `Block.damage`. Monolingual text has empty sources.
    """
    monolingual = not spec.source_lang
    # For monolingual text, the readers of tables return one column as both sides.
    blocks = _open(replace(spec, source_lang=spec.target_lang) if monolingual else spec, block_pairs)
    first = next(blocks, None)
    if first is None:
        raise CorpusError(f"{spec.text} has no pairs", hint="use a corpus that is not empty")
    for block in chain([first], blocks):
        yield _without_source(block) if monolingual else block


def _without_source(block: Block) -> Block:
    """The same block with empty sources; a malformed row stays there, to be shown."""
    kept = [text if block.damage.get(row) == MALFORMED else "" for row, text in enumerate(block.source)]
    removed = dict(block.removed)
    if INNER_NEWLINE in removed:
        removed[INNER_NEWLINE] //= 2  # counted once for each copy of the column
    return block._replace(source=kept, removed=removed)


def _open(spec: Spec, block_pairs: int) -> Iterator[Block]:
    if spec.kind == "files":
        return _read_two([LineReader(str(path), read_chunks(path)) for path in spec.paths], block_pairs)
    if spec.kind == "archive":
        [path] = spec.paths
        members = find_members(path, spec.source_lang, spec.target_lang)
        lines = [LineReader(f"{path}: {name}", read_member(path, name)) for name in members]
        return _read_two(lines, block_pairs)
    if spec.kind == "hub":
        from nmt_cli.corpus.hub import read_hub

        return read_hub(spec, block_pairs)
    if spec.kind == "tmx" or spec.kind == "po" or spec.kind == "xliff":
        return read_localization(spec, spec.kind, block_pairs)
    if spec.kind == "csv":
        return read_csv(spec, block_pairs)
    parser: RowParser
    if spec.kind == "text":
        parser = PlainRows()
        example = ("text", "cat a.en")
    else:
        example = ("TSV", "paste a.de a.en")
    name = str(spec.paths[0]) if spec.paths else STANDARD_INPUT
    if spec.kind in ("tsv", "stdin"):
        parser = TsvRows(name, spec.columns)
    elif spec.kind == "jsonl":
        parser = JsonRows(name, spec.fields, spec.source_lang, spec.target_lang)
    chunks = read_chunks(spec.paths[0]) if spec.paths else standard_input(*example)
    return _read_rows(name, chunks, parser, block_pairs)


def _read_two(sides: Sequence[LineReader], block_pairs: int) -> Iterator[Block]:
    source, target = sides
    first = 1
    while True:
        source_lines, target_lines = source.take(block_pairs), target.take(block_pairs)
        if first == 1:
            for side, lines in ((source, source_lines), (target, target_lines)):
                if not lines:
                    raise _empty(side.name)
        if len(source_lines) != len(target_lines):
            source.count_rest()
            target.count_rest()
            raise unequal_error(Path(source.name), Path(target.name), source.taken, target.taken)
        if not source_lines:
            return
        damage = _undecodable(source, first) | _undecodable(target, first)
        removed = source.pop_removed()
        for kind, count in target.pop_removed().items():
            removed[kind] = removed.get(kind, 0) + count
        yield Block(first, source_lines, target_lines, damage, removed)
        first += len(source_lines)


def _read_rows(name: str, chunks: Iterable[bytes], parser: "RowParser", block_pairs: int) -> Iterator[Block]:
    reader = LineReader(name, chunks)
    first = 1
    while lines := reader.take(block_pairs):
        block = parser.parse(lines, first)
        removed = {**reader.pop_removed(), **block.removed}
        yield block._replace(damage={**_undecodable(reader, first), **block.damage}, removed=removed)
        first += len(lines)
    if first == 1:
        raise _empty(name)


def _undecodable(reader: LineReader, first: int) -> dict[int, str]:
    """Damage of the lines taken so far; the reader may have decoded further ahead."""
    taken = [number for number in reader.undecodable if number <= reader.taken]
    for number in taken:
        del reader.undecodable[number]
    return dict.fromkeys((number - first for number in taken), UNDECODABLE)


def _empty(name: str) -> CorpusError:
    return CorpusError(f"{name} is empty", hint="use a corpus that is not empty")


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
