"""Any SPEC as a stream of blocks of pairs."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

from nmt_cli.corpus.checks.line_counts import unequal_error
from nmt_cli.corpus.rows import (
    INNER_NEWLINE,
    MALFORMED,
    UNDECODABLE,
    Block,
    JsonRows,
    PlainRows,
    RowParser,
    TsvRows,
)
from nmt_cli.corpus.spec import Spec
from nmt_cli.errors import CorpusError
from nmt_cli.files.compression import STANDARD_INPUT, read_pieces, standard_input_pieces
from nmt_cli.files.lines import LineReader


def read_pairs(spec: Spec, *, block_pairs: int = 8192) -> Iterator[Block]:
    """The pairs of a corpus, in order and all of them, `block_pairs` at a time; memory does not grow with it.

    What cannot be a corpus (empty, binary, unequal line counts, …) is a CorpusError; what is wrong with
    single pairs is told in `Block.damage`.
    """
    one_sided = not spec.source_lang
    # Readers of tables give one column twice.
    blocks = _open(replace(spec, source_lang=spec.target_lang) if one_sided else spec, block_pairs)
    first = next(blocks, None)
    if first is None:
        raise CorpusError(f"{spec.text} has no pairs", hint="name a corpus with text in it")
    for block in chain([first], blocks):
        yield _without_source(block) if one_sided else block


def _without_source(block: Block) -> Block:
    """The same with empty sources; what is malformed is kept there, to be shown."""
    kept = [text if block.damage.get(row) == MALFORMED else "" for row, text in enumerate(block.source)]
    removed = dict(block.removed)
    if INNER_NEWLINE in removed:
        removed[INNER_NEWLINE] //= 2  # counted in the column and in its double
    return block._replace(source=kept, removed=removed)


def _open(spec: Spec, block_pairs: int) -> Iterator[Block]:
    if spec.kind == "files":
        source_path, target_path = spec.paths
        return _read_files(source_path, target_path, block_pairs)
    if spec.kind == "hub":
        from nmt_cli.corpus.hub import read_hub

        return read_hub(spec, block_pairs)
    if spec.kind == "text":
        name, pieces = (
            (str(spec.paths[0]), read_pieces(spec.paths[0]))
            if spec.paths
            else (STANDARD_INPUT, standard_input_pieces("text", "cat a.en"))
        )
        return _read_rows(name, pieces, PlainRows(), block_pairs)
    if spec.kind == "stdin":
        return _read_rows(
            STANDARD_INPUT, standard_input_pieces(), TsvRows(STANDARD_INPUT, spec.columns), block_pairs
        )
    path = spec.paths[0]
    parser: RowParser
    if spec.kind == "tsv":
        parser = TsvRows(str(path), spec.columns)
    else:
        parser = JsonRows(str(path), spec.fields, spec.source_lang, spec.target_lang)
    return _read_rows(str(path), read_pieces(path), parser, block_pairs)


def _read_files(source_path: Path, target_path: Path, block_pairs: int) -> Iterator[Block]:
    source = LineReader(str(source_path), read_pieces(source_path))
    target = LineReader(str(target_path), read_pieces(target_path))
    first = 1
    while True:
        source_lines, target_lines = source.take(block_pairs), target.take(block_pairs)
        if first == 1:
            for path, lines in ((source_path, source_lines), (target_path, target_lines)):
                if not lines:
                    raise _empty(str(path))
        if len(source_lines) != len(target_lines):
            source.count_rest()
            target.count_rest()
            raise unequal_error(source_path, target_path, source.taken, target.taken)
        if not source_lines:
            return
        damage = _undecodable(source, first) | _undecodable(target, first)
        removed = source.pop_removed()
        for kind, count in target.pop_removed().items():
            removed[kind] = removed.get(kind, 0) + count
        yield Block(first, source_lines, target_lines, damage, removed)
        first += len(source_lines)


def _read_rows(name: str, pieces: Iterable[bytes], parser: RowParser, block_pairs: int) -> Iterator[Block]:
    reader = LineReader(name, pieces)
    first = 1
    while lines := reader.take(block_pairs):
        block = parser.parse(lines, first)
        removed = {**reader.pop_removed(), **block.removed}
        yield block._replace(damage={**_undecodable(reader, first), **block.damage}, removed=removed)
        first += len(lines)
    if first == 1:
        raise _empty(name)


def _undecodable(reader: LineReader, first: int) -> dict[int, str]:
    """Damage of the lines taken so far; the reader may have looked further ahead."""
    taken = sorted(number for number in reader.undecodable if number <= reader.taken)
    reader.undecodable.difference_update(taken)
    return dict.fromkeys((number - first for number in taken), UNDECODABLE)


def _empty(name: str) -> CorpusError:
    return CorpusError(f"{name} is empty", hint="name a corpus with text in it")
