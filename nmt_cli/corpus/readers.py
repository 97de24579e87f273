"""Any SPEC as a stream of blocks of pairs.

Files of lines are read here: two text files, the same inside a Moses archive as OPUS distributes them (a ZIP file with
one text file for each language, read as streams without unpacking), and lines with a pair each. Other formats have
their own modules.
"""

import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from nmt_cli.corpus.block import INNER_NEWLINE, MALFORMED, UNDECODABLE, Block
from nmt_cli.corpus.localization.reader import read_localization
from nmt_cli.corpus.spec import Spec
from nmt_cli.corpus.tables import JsonRows, PlainRows, RowParser, TsvRows, read_csv
from nmt_cli.errors import CorpusError
from nmt_cli.files.byte_stream import STANDARD_INPUT, read_chunks, standard_input
from nmt_cli.files.languages import matches, normalized
from nmt_cli.files.line_reader import LineReader

_CHUNK_BYTES = 1 << 18
# Text compresses to a tenth or so; deflate cannot do better than 1032 to 1.
_MAX_RATIO = 200
_SMALL_BYTES = 1 << 26
_SHOWN_MEMBERS = 6


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
            from nmt_cli.corpus.checks.alignment import unequal_error  # needs NumPy

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


def _read_rows(name: str, chunks: Iterable[bytes], parser: RowParser, block_pairs: int) -> Iterator[Block]:
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


def find_members(path: Path, source_lang: str, target_lang: str) -> tuple[str, str]:
    """The names of the two files in an archive whose extensions are the languages, such as `Tatoeba.de-en.de`."""
    names = [info.filename for info in _members(path)]
    source, target = (_member(path, names, language) for language in (source_lang, target_lang))
    return source, target


def read_member(path: Path, name: str) -> Iterator[bytes]:
    """The content of a file in an archive, in chunks."""
    try:
        with zipfile.ZipFile(path) as archive:
            info = archive.getinfo(name)
            if info.file_size > max(_SMALL_BYTES, _MAX_RATIO * info.compress_size):
                raise CorpusError(
                    f"{path}: {name} expands from {info.compress_size:,} to {info.file_size:,} bytes",
                    hint="text does not compress that well, so this is not a corpus; unpack it yourself to be sure",
                )
            with archive.open(info) as member:
                while chunk := member.read(_CHUNK_BYTES):
                    yield chunk
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        raise _damaged(path, error) from error
    except (RuntimeError, NotImplementedError) as error:  # encrypted, or another compression
        raise CorpusError(
            f"{path}: {name} cannot be read: {error}", hint="unpack it, and give the two files"
        ) from error


def _members(path: Path) -> list[zipfile.ZipInfo]:
    try:
        with zipfile.ZipFile(path) as archive:
            return [info for info in archive.infolist() if not info.is_dir()]
    except (zipfile.BadZipFile, OSError) as error:
        raise _damaged(path, error) from error


def _member(path: Path, names: list[str], language: str) -> str:
    suffixes = {name: Path(name).suffix.removeprefix(".") for name in names}
    found = [name for name, suffix in suffixes.items() if suffix and matches(suffix, language)]
    exact = [name for name in found if normalized(suffixes[name]) == normalized(language)]
    found = exact or found
    if len(found) == 1:
        return found[0]
    shown = ", ".join(found or names[:_SHOWN_MEMBERS]) + (
        ", …" if not found and len(names) > _SHOWN_MEMBERS else ""
    )
    if found:
        raise CorpusError(
            f"{path} has several files for {language}: {shown}",
            hint="unpack it, and give two files: a.de,a.en",
        )
    raise CorpusError(
        f"{path} has no file for {language}",
        hint=f"a Moses archive has a file for each language, such as NAME.{language}; this one has {shown or 'none'}",
    )


def _damaged(path: Path, error: Exception) -> CorpusError:
    return CorpusError(f"{path} is damaged or not a ZIP archive: {error}", hint="download it again")
