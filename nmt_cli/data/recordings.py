"""The recordings of a split as frames, memory-mapped: all of them in one array, and where each of them ends.

`train.frames.npy` is (N, D), N frames in float16; `train.frame_ends.npy` has, for each recording, the number of frames
up to its end. The source of a pair is a single id: the number of its recording.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nmt_cli.data.images import ImageWriter
from nmt_cli.data.media import AGAIN, MediaRows, map_array
from nmt_cli.errors import DirectoryError
from nmt_cli.files.atomic import FileFacts
from nmt_cli.files.languages import frame_ends_name, frames_name
from nmt_cli.files.manifest import Manifest
from nmt_cli.files.verified import is_verified

if TYPE_CHECKING:
    from torch import Tensor

    from nmt_cli.data.split import MappedFile

FRAMES_PER_TOKEN = 4
"""So many frames count as one source token in the batch budget: a second is 100 frames and some 15 characters."""


class RecordingWriter(ImageWriter):
    """Writes recordings one by one; `count` counts frames."""

    def __init__(self, directory: Path, split: str, frame_size: int) -> None:
        super().__init__(directory / frames_name(split), (frame_size,), np.float16)
        self._ends_path = directory / frame_ends_name(split)
        self._ends: list[int] = []

    def add(self, item: NDArray[Any]) -> int:
        """Append the frames (S, D) of a recording and return its number."""
        assert item.shape[1:] == self._shape
        assert len(item)
        with self._writing(self._path):
            self._stream.write(item.astype(self._dtype, copy=False).tobytes())
        self.count += len(item)
        self._ends.append(self.count)
        return len(self._ends) - 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        if kind is None:
            with self._writing(self._ends_path):
                np.save(self._ends_path, np.array(self._ends, np.int64))


class Recordings:
    """The recordings of a split: only those that are used are read."""

    kind = "frames"  # what they are, as in `model.source`

    def __init__(
        self, values: NDArray[Any], ends: NDArray[np.int64], mapped: MappedFile | None = None
    ) -> None:
        """Frames (N, D), and where each recording ends."""
        self.values = values
        self._ends = ends
        self._starts = np.concatenate([np.zeros(1, np.int64), ends[:-1]])
        self._mapped = mapped

    @classmethod
    def of(cls, recordings: Sequence[NDArray[Any]]) -> Recordings:
        """These recordings, each frames (S, D)."""
        ends = np.cumsum([len(frames) for frames in recordings], dtype=np.int64)
        return cls(np.concatenate(recordings), ends)

    @classmethod
    def open_verified(cls, files: Manifest, split: str) -> Recordings:
        """Map the files of a data or run directory; the frames are hashed only when they have changed."""
        name, path = frames_name(split), files.directory.path / frames_name(split)
        if name not in files or frame_ends_name(split) not in files:
            raise DirectoryError(f"{files.directory.path} has no {split} recordings", hint=AGAIN)

        def verified(descriptor: int, facts: FileFacts) -> Recordings:
            values, mapped = map_array(descriptor, path, {2: ("<f2",)}, "frames")
            ends = _read_ends(files, split, len(values))
            if not is_verified(path, descriptor, facts["sha256"], purpose="frames", check=lambda: None):
                raise files.changed(name)
            return cls(values, ends, mapped)

        return files.use(name, verified)

    def __len__(self) -> int:
        return len(self._ends)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one frame: (D,)."""
        return tuple(self.values.shape[1:])

    def frames(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many frames some recordings have."""
        lengths: NDArray[np.int64] = self._ends[numbers] - self._starts[numbers]
        return lengths

    def take(self, numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        """A copy of some recordings, in that order, padded with 0 to the longest (B, S, D)."""
        if self._mapped is not None:
            self._mapped.check_size()
        lengths = self.frames(numbers)
        padded = np.zeros((len(numbers), int(lengths.max(initial=1)), *self.shape), np.float32)
        for row, (number, length) in enumerate(zip(numbers.tolist(), lengths.tolist(), strict=True)):
            padded[row, :length] = self.values[self._starts[number] : self._ends[number]]
        return padded

    def rows(self, numbers: NDArray[Any] | None = None) -> RecordingRows:
        """Recordings as the sources of a batch; all of them by default."""
        chosen = np.arange(len(self)) if numbers is None else np.asarray(numbers, np.int64)
        return RecordingRows(self, chosen)


@dataclass(frozen=True, eq=False)
class RecordingRows(MediaRows):
    """The sources of some pairs: which recording belongs to each row."""

    recordings: Recordings
    numbers: NDArray[np.int64]

    @property
    def frames(self) -> NDArray[np.int64]:
        """How many frames each row has."""
        return self.recordings.frames(self.numbers)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """In source tokens of the batch budget."""
        return -(-self.frames // FRAMES_PER_TOKEN)

    def take(self, rows: NDArray[np.int64]) -> RecordingRows:
        """Some of the rows, in that order."""
        return RecordingRows(self.recordings, self.numbers[rows])

    def padded(self) -> tuple[Tensor, Tensor]:
        """Frames (B, S, D), and how many each recording has (B,)."""
        import torch

        return torch.from_numpy(self.recordings.take(self.numbers)), torch.from_numpy(self.frames)


def _read_ends(files: Manifest, split: str, frames: int) -> NDArray[np.int64]:
    name = frame_ends_name(split)
    try:
        ends = np.load(io.BytesIO(files.read(name)), allow_pickle=False)
        if not isinstance(ends, np.ndarray) or ends.ndim != 1 or ends.dtype.str != "<i8" or not len(ends):
            raise ValueError("not the ends of recordings")
        if (np.diff(ends, prepend=0) < 1).any() or ends[-1] != frames:
            raise ValueError("the ends of recordings are not in order")
    except (ValueError, OSError, EOFError, TypeError, SyntaxError, OverflowError, MemoryError) as error:
        raise DirectoryError(f"{files.directory.path / name} is damaged: {error}", hint=AGAIN) from error
    return ends
