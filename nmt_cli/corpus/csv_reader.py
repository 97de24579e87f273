"""CSV with a header: comma or semicolon, quoted fields, line breaks inside quotes."""

import csv
from collections.abc import Iterator

from nmt_cli.corpus.block import INNER_NEWLINE, MALFORMED, UNDECODABLE, Block, remove_newlines
from nmt_cli.corpus.spec import Spec
from nmt_cli.errors import CorpusError
from nmt_cli.files.byte_stream import read_chunks
from nmt_cli.files.languages import choose
from nmt_cli.files.line_reader import LineReader

_DELIMITERS = (",", ";", "\t")


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
