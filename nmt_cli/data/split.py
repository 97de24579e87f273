"""The pairs of a split in one Arrow file: token ids, raw text and given word alignments, memory-mapped."""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from nmt_cli.data.aligner import unpack_links
from nmt_cli.data.columns import GROUP, Column, concatenate, list_array, text_array
from nmt_cli.errors import DirectoryError
from nmt_cli.files.atomic import FileFacts, cannot_write
from nmt_cli.files.manifest import Manifest
from nmt_cli.files.verified import is_verified
from nmt_cli.vocabulary.token_ids import Ragged, narrowest

if TYPE_CHECKING:  # it maps its file as this module does
    from nmt_cli.data.images import Images
    from nmt_cli.data.media import MediaRows
    from nmt_cli.data.recordings import Recordings

Side = Literal["source", "target"]

_AGAIN = "`nmt preprocess` creates a new data directory"
_COLUMNS = ["source", "target", "source_text", "target_text"]
_LINKS = "links"  # a fifth column, if word alignments were given


class SplitWriter:
    """Writes the pairs of a split block by block, with at most one group of rows in memory."""

    def __init__(
        self, path: Path, source_vocabulary_size: int, target_vocabulary_size: int, *, links: bool = False
    ) -> None:
        """Ids are written in the narrowest type for their vocabulary; with `links`, pairs have word alignments."""
        self._path = path
        self._types = {
            "source": narrowest(source_vocabulary_size),
            "target": narrowest(target_vocabulary_size),
        }
        self._schema = pa.schema(
            [(side, pa.large_list(pa.from_numpy_dtype(dtype))) for side, dtype in self._types.items()]
            + [(f"{side}_text", pa.large_string()) for side in self._types]
            + ([(_LINKS, pa.large_list(pa.uint32()))] if links else [])
        )
        self._pending: list[list[Ragged]] = []  # two texts, two ids, and links if there are any
        self._pending_rows = 0
        self.rows = 0
        with writing(path):
            self._stream = path.open("wb")
            self._writer = pa.ipc.new_stream(self._stream, self._schema)

    def write(
        self,
        source_texts: Sequence[str] | Ragged,
        target_texts: Sequence[str] | Ragged,
        source_ids: Ragged,
        target_ids: Ragged,
        links: Ragged | None = None,
    ) -> None:
        """Append pairs: text, also as UTF-8 bytes, its ids without <eos>, and links as `Aligner.align` returns them."""
        rows = len(source_texts)
        columns = [_as_bytes(source_texts), _as_bytes(target_texts), source_ids, target_ids]
        columns += [] if links is None else [links]
        assert len(columns) == len(self._schema)
        assert all(len(column) == rows for column in columns)
        self._pending.append(columns)
        self._pending_rows += rows
        self.rows += rows
        if self._pending_rows >= GROUP:
            self._flush(self._pending_rows - self._pending_rows % GROUP)

    def close(self) -> None:
        """Write the remaining rows and flush the file to disk."""
        try:
            if self._pending_rows:
                self._flush(self._pending_rows)
            with writing(self._path):
                self._writer.close()
                self._stream.flush()
                os.fsync(self._stream.fileno())
        finally:
            self._abandon()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self._abandon()

    def _abandon(self) -> None:
        with suppress(OSError):  # closing writes the buffer; a full disk was reported before
            self._stream.close()

    def _flush(self, rows: int) -> None:
        """Write the first `rows` pending rows in groups; the rest stays pending."""
        types = [np.dtype(np.uint8), np.dtype(np.uint8), *self._types.values(), np.dtype(np.uint32)]
        sides = [
            concatenate([block[index] for block in self._pending], dtype)
            for index, dtype in enumerate(types[: len(self._schema)])
        ]
        with writing(self._path):
            for start in range(0, rows, GROUP):
                stop = min(start + GROUP, rows)
                columns = [list_array(side, start, stop) for side in sides[2:4]]
                columns += [text_array(side, start, stop) for side in sides[:2]]
                columns += [list_array(links, start, stop) for links in sides[4:]]
                self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))
        self._pending_rows -= rows
        self._pending = [
            [
                Ragged(side.values[side.offsets[rows] :], side.offsets[rows:] - side.offsets[rows])
                for side in sides
            ]
        ]


class MappedFile:
    """The content of a file, mapped into memory.

    Access to a page that no longer exists, because the file was truncated, ends the process with SIGBUS, which Python
    cannot turn into an exception. So the size is checked before every access; it takes less than a microsecond. Only
    a truncation in the middle of an access, which takes some milliseconds, still ends the process.
    """

    def __init__(self, descriptor: int, path: Path) -> None:
        self._path = path
        self.content = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)

    def check_size(self) -> None:
        """Raise an error if the file was truncated."""
        if (size := self.content.size()) < len(self.content):
            raise DirectoryError(
                f"{self._path} was truncated while in use: {size:,} of {len(self.content):,} bytes are left",
                hint="restore the data directory; a training run continues with --resume",
            )


class Split:
    """The pairs of a split, memory-mapped: only the pages that are accessed are read."""

    def __init__(self, columns: dict[str, Column], rows: int, mapped: MappedFile) -> None:
        self._columns = columns
        self._rows = rows
        self._mapped = mapped
        self._groups: Sequence[Any] = ()
        self.media: Images | Recordings | None = None  # if the sources are not text

    @classmethod
    def open(cls, path: Path) -> Self:
        """Map a file written by `SplitWriter`."""
        try:
            with path.open("rb") as file:
                return cls._map(file.fileno(), path)
        except OSError as error:
            raise DirectoryError(f"cannot read {path}: {error.strerror}", hint=_AGAIN) from error

    @classmethod
    def open_verified(
        cls, files: Manifest, name: str, sizes: tuple[int, int], *, one_id: bool = False
    ) -> Split:
        """Map a file of a data directory; its ids must be those of vocabularies of these sizes.

        one_id: the source of every row is a single id, the number of an image or recording

        The file is hashed and its ids are checked only when it has changed.
        """
        path = files.directory.path / name

        def verified(descriptor: int, facts: FileFacts) -> Split:
            split = cls._map(descriptor, path)
            purpose = f"ids below {sizes[0]} and {sizes[1]}" + (", one per source" if one_id else "")
            check = lambda: split._check_contents(path, sizes, one_id=one_id)  # noqa: E731
            if not is_verified(path, descriptor, facts["sha256"], purpose=purpose, check=check):
                raise files.changed(name)
            return split

        return files.use(name, verified)

    @classmethod
    def _map(cls, descriptor: int, path: Path) -> Self:
        try:
            # The mapping keeps the file open, and with it the lock: the file is in use.
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            mapped = MappedFile(descriptor, path)
            buffer = pa.py_buffer(mapped.content)
            groups = list(pa.ipc.open_stream(buffer))
            names = groups[0].schema.names if groups else _COLUMNS
            if names not in (_COLUMNS, [*_COLUMNS, _LINKS]) or any(
                group.num_rows != GROUP for group in groups[:-1]
            ):
                raise DirectoryError(f"{path} was not written by nmt", hint=_AGAIN)
            columns = {name: Column(buffer, [group.column(name) for group in groups]) for name in names}
        except (OSError, ValueError, TypeError, AttributeError, AssertionError, NotImplementedError) as error:
            # Arrow's errors are OSErrors, ValueErrors and TypeErrors, and so is that of an empty file.
            raise DirectoryError(f"{path} is damaged or not an Arrow stream: {error}", hint=_AGAIN) from error
        split = cls(columns, sum(group.num_rows for group in groups), mapped)
        split._groups = groups
        return split

    def _check_contents(self, path: Path, sizes: tuple[int, int], *, one_id: bool) -> None:
        """Raise an error unless all offsets, ids and texts are valid; reads the whole file."""
        try:
            for group in self._groups:
                group.validate(full=True)
                for side, size in zip(("source", "target"), sizes, strict=True):
                    ids = group.column(side).flatten()
                    if group.column(side).null_count or ids.null_count:
                        raise ValueError("empty cells")
                    if (
                        one_id
                        and side == "source"
                        and (np.diff(group.column(side).offsets.to_numpy()) != 1).any()
                    ):
                        raise ValueError("a row does not have one image or recording")
                    if len(ids) and int(ids.to_numpy().max()) >= size:
                        raise ValueError(f"a {side} id is not in the vocabulary")
                    if group.column(f"{side}_text").null_count:
                        raise ValueError("empty cells")
                if _LINKS in self._columns:
                    _check_links(group)
        except (ValueError, TypeError, OSError, NotImplementedError) as error:
            raise DirectoryError(f"{path} is damaged: {error}", hint=_AGAIN) from error

    def __len__(self) -> int:
        return self._rows

    @cached_property
    def source_lengths(self) -> NDArray[Any]:
        """Tokens of each source without <eos>, or its share of the batch budget, in the narrowest type."""
        self._mapped.check_size()
        if self.media is not None:
            lengths = self.sources(np.arange(self._rows)).lengths
            return lengths.astype(narrowest(int(lengths.max(initial=0)) + 1))
        return self._columns["source"].lengths(self._rows)

    @cached_property
    def target_lengths(self) -> NDArray[Any]:
        """Tokens of each target without <eos>, in the narrowest type."""
        self._mapped.check_size()
        return self._columns["target"].lengths(self._rows)

    def gather(self, rows: NDArray[Any], side: Side) -> Ragged:
        """Ids of the given rows, without <eos>."""
        return self._columns[side].gather(self._checked(rows))

    @property
    def links(self) -> StoredLinks | None:
        """The word alignments that were given to `nmt preprocess`, if any."""
        return StoredLinks(self) if _LINKS in self._columns else None

    def gather_links(self, rows: NDArray[Any]) -> Ragged:
        """The links of the given rows."""
        return self._columns[_LINKS].gather(self._checked(rows))

    @property
    def images(self) -> Images | None:
        """The images, if the sources are images."""
        from nmt_cli.data.images import Images

        return self.media if isinstance(self.media, Images) else None

    def sources(self, rows: NDArray[Any]) -> Ragged | MediaRows:
        """What the encoder reads: the source ids of the given rows, or their images or recordings."""
        ids = self.gather(rows, "source")
        return ids if self.media is None else self.media.rows(ids.values)

    def texts(self, rows: NDArray[Any], side: Side) -> list[str]:
        """Raw text of the given rows."""
        return self._columns[f"{side}_text"].gather(self._checked(rows)).texts()

    def _checked(self, rows: NDArray[Any]) -> NDArray[np.int64]:
        self._mapped.check_size()
        rows = np.asarray(rows, np.int64)
        if len(rows) and not (rows.min() >= 0 and rows.max() < self._rows):
            raise IndexError(f"rows {rows.min()} … {rows.max()} of {self._rows}")
        return rows


@dataclass(frozen=True)
class StoredLinks:
    """The word alignments of a split, which stay on disk; computed ones are a `Ragged`."""

    split: Split

    def take(self, rows: NDArray[Any]) -> Ragged:
        """The links of the given rows, in that order, as `Aligner.align` returns them."""
        return self.split.gather_links(rows)


def _check_links(group: Any) -> None:
    """Raise a ValueError unless all links of a group of rows are between tokens of their pair."""
    column = group.column(_LINKS)
    links = column.flatten()
    if column.null_count or links.null_count:
        raise ValueError("empty cells")
    if links.type != pa.uint32():
        raise ValueError(f"links of type {links.type}")
    row = np.repeat(np.arange(group.num_rows), np.diff(column.offsets.to_numpy()))
    for positions, side in zip(unpack_links(links.to_numpy()), ("target", "source"), strict=True):
        if (positions >= np.diff(group.column(side).offsets.to_numpy())[row]).any():
            raise ValueError(f"a link is past the end of its {side}")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an OSError into an OutputError."""
    try:
        yield
    except OSError as error:
        raise cannot_write(path, error) from error


def _as_bytes(texts: Sequence[str] | Ragged) -> Ragged:
    return texts if isinstance(texts, Ragged) else Ragged.from_texts(texts)
