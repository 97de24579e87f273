"""The recordings of a corpus as they are stored: WAV files, decoded, resampled and turned into log-mel frames.

Recordings are files in one of the folders of `--audio`. `nmt_cli.corpus.transcripts` has what is said in them,
`nmt_cli.data.log_mel` the frames.
"""

from __future__ import annotations

import os.path
import struct
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import gcd
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt_cli.errors import CorpusError, UsageError

Samples = NDArray[np.float32]

MAX_SAMPLES = 30_000_000
"""Of a channel; about ten minutes at 48 kHz. A longer recording is refused: its frames would take gigabytes to read."""
RATES = (1000, 400_000)  # samples per second of a file
_CHUNK = 1 << 16  # samples read at once
_MOST_PRODUCTS = 4_000_000  # of samples and filter taps, computed at once
_UNKNOWN_SIZE = 0x7FFFF000  # what programs that cannot go back write for the size of the audio
_COMPRESSED = (
    ".mp3",
    ".flac",
    ".ogg",
    ".oga",
    ".opus",
    ".m4a",
    ".mp4",
    ".aac",
    ".wma",
    ".webm",
    ".aiff",
    ".aif",
)
_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE
_CONVERT = "convert it with: ffmpeg -i IN -ac 1 OUT.wav"
_OTHER_FORMATS = {
    b"fLaC": "FLAC",
    b"OggS": "Ogg",
    b"ID3": "MP3",
    b"\xff\xfb": "MP3",
    b"\xff\xf3": "MP3",
    b"\xff\xf2": "MP3",
    b"FORM": "AIFF",
    b"RF64": "RF64",
}  # by the first bytes
# The resampling filter: zeros of the sinc on each side of its center, its window, and its cutoff relative to the
# highest frequency of the lower rate, where it is down by 90 dB.
_ZEROS_OF_SINC, _KAISER, _CUTOFF = 32, 9.0, 0.91


class Format(NamedTuple):
    """How samples are written in a WAV file."""

    rate: int
    channels: int
    bits: int  # of a sample
    is_float: bool

    @property
    def frame_bytes(self) -> int:
        """Bytes of one sample of all channels."""
        return self.channels * self.bits // 8


def read_wav(path: Path, rate: int) -> Samples:
    """A recording as samples from -1 to 1 at `rate` per second, its channels averaged; or an error that names it."""
    shown = str(path)
    if "\0" in shown:
        raise _bad(repr(shown), "is not a path")
    try:
        with path.open("rb") as file:
            samples, recorded_at = _decode(file, path.stat().st_size, shown)
    except FileNotFoundError as error:
        raise _bad(shown, "does not exist") from error
    except IsADirectoryError as error:
        raise _bad(shown, "is a folder") from error
    except OSError as error:
        raise _bad(shown, f"cannot be read: {error.strerror or error}") from error
    if not np.isfinite(samples).all():
        raise _bad(shown, "has samples that are not finite")
    return resample(samples, recorded_at, rate)


def _decode(file: BinaryIO, size: int, name: str) -> tuple[Samples, int]:
    """The samples of a WAV file of `size` bytes, and how many are a second."""
    start = file.read(12)
    if start[:4] != b"RIFF" or start[8:] != b"WAVE":
        known = next((kind for magic, kind in _OTHER_FORMATS.items() if start.startswith(magic)), None)
        if not start:
            raise _bad(name, "is empty")
        raise _bad(name, f"is {known}, not WAV" if known else "is not a WAV file", hint=_CONVERT)
    found = None
    for kind, length in _chunks(file):
        if kind == b"fmt ":
            found = _format(file.read(min(length, 40)), name)
            file.seek(max(0, length - 40) + length % 2, 1)
        elif kind == b"data" and found is not None:
            left = size - file.tell()
            wanted = left - left % found.frame_bytes if length >= _UNKNOWN_SIZE else length
            if wanted > left:
                raise _bad(name, f"is truncated: {left:,} of {wanted:,} bytes of audio are there")
            return _samples(file, wanted // found.frame_bytes, found, name), found.rate
        else:
            file.seek(length + length % 2, 1)
    raise _bad(name, "is truncated: it has no audio" if found else "is damaged: it has no fmt chunk")


def _chunks(file: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """The kind and length of each chunk; the caller must move to the next one."""
    while len(header := file.read(8)) == 8:
        yield header[:4], struct.unpack("<I", header[4:])[0]


def _format(content: bytes, name: str) -> Format:
    if len(content) < 16:
        raise _bad(name, "is damaged: it has no fmt chunk")
    code, channels, rate, _, _, bits = struct.unpack("<HHIIHH", content[:16])
    if code == _EXTENSIBLE and len(content) >= 26:
        (code,) = struct.unpack("<H", content[24:26])
    allowed = {_PCM: (8, 16, 24, 32), _FLOAT: (32, 64)}.get(code)
    if allowed is None:
        raise _bad(name, f"is compressed (WAV format {code})", hint=_CONVERT)
    if bits not in allowed or not 1 <= channels <= 256 or not RATES[0] <= rate <= RATES[1]:
        found = f"{channels} channels of {bits} bits at {rate:,} Hz"
        raise _bad(name, f"has {found}, which is not supported", hint=_CONVERT)
    return Format(rate, channels, bits, code == _FLOAT)


def _samples(file: BinaryIO, count: int, found: Format, name: str) -> Samples:
    """`count` samples, channels averaged."""
    if not count:
        raise _bad(name, "has no samples")
    if count > MAX_SAMPLES:
        seconds = count / found.rate
        raise _bad(name, f"has {count:,} samples ({seconds:,.0f} s), more than {MAX_SAMPLES:,}")
    samples = np.empty(count, np.float32)
    for first in range(0, count, _CHUNK):
        part = samples[first : first + _CHUNK]
        values = _numbers(file.read(len(part) * found.frame_bytes), found)
        if len(values) < len(part) * found.channels:
            raise _bad(name, "was truncated while it was read")
        part[:] = values.reshape(-1, found.channels).mean(axis=1)
    return samples


def _numbers(content: bytes, found: Format) -> NDArray[np.float64]:
    """Samples from -1 to 1. 8 bits are unsigned, more are signed."""
    if found.is_float:
        return np.frombuffer(content, f"<f{found.bits // 8}").astype(np.float64)
    if found.bits == 8:
        return (np.frombuffer(content, np.uint8).astype(np.float64) - 128) / 128
    if found.bits == 24:
        padded = np.zeros((len(content) // 3, 4), np.uint8)
        padded[:, 1:] = np.frombuffer(content, np.uint8).reshape(-1, 3)
        return padded.view("<i4")[:, 0] / 2.0**31
    return np.frombuffer(content, f"<i{found.bits // 8}") / 2.0 ** (found.bits - 1)


def resample(samples: Samples, rate: int, wanted: int) -> Samples:
    """The same sound at another rate, by band-limited interpolation with a windowed sinc.

    y_n = Σ_k x_k c h(c (n rate / wanted - k)), where h is a Kaiser-windowed sinc and c ∝ min(1, wanted / rate) removes
    what the new rate cannot represent.
    """
    if rate == wanted:
        return samples
    divisor = gcd(rate, wanted)
    up, down = wanted // divisor, rate // divisor
    filters = _filters(up, down)  # (up, taps)
    reach = filters.shape[1] // 2
    padded = np.concatenate([np.zeros(reach), samples, np.zeros(reach + 1)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, filters.shape[1])
    resampled = np.empty(-(-len(samples) * up // down), np.float32)
    step = max(1, _MOST_PRODUCTS // filters.shape[1])
    for first in range(0, len(resampled), step):
        n = np.arange(first, min(first + step, len(resampled)))
        whole, phase = np.divmod(n * down, up)
        resampled[n] = np.einsum("nk,nk->n", windows[whole], filters[phase])
    return resampled


@lru_cache(maxsize=4)
def _filters(up: int, down: int) -> NDArray[np.float64]:
    """c h(c (p/up - k)) for each phase p < up of an output sample between two input samples, and k around it."""
    c = _CUTOFF * min(1.0, up / down)
    reach = int(np.ceil(_ZEROS_OF_SINC / c)) + 1  # samples on each side
    distance = c * (np.arange(up)[:, None] / up - np.arange(-reach, reach + 1))
    inside = np.sqrt(np.clip(1 - (distance / _ZEROS_OF_SINC) ** 2, 0, None))
    window = np.i0(_KAISER * inside) / np.i0(_KAISER) * (abs(distance) < _ZEROS_OF_SINC)
    filters: NDArray[np.float64] = c * np.sinc(distance) * window
    return filters


class AudioReader:
    """Reads recordings as they are stored: log-mel frames."""

    def __init__(
        self,
        folders: Sequence[Path],
        rate: int,
        bands: int,
        *,
        missing: str = "give the folder of the recordings with --audio",
    ) -> None:
        """`missing` is the hint if a recording is not in the folders."""
        for path in folders:
            if not path.is_dir():
                raise UsageError(f"{path} is not a folder", hint="--audio names a folder of recordings")
        self._folders, self._rate, self._bands, self._missing = folders, rate, bands, missing

    def find(self, name: str) -> Path:
        """The file of a recording: a.wav instead of a.mp3 if it was converted, or instead of a."""
        suffix = Path(name).suffix
        is_compressed = suffix.lower() in _COMPRESSED
        for file in (f"{name.removesuffix(suffix)}.wav", name) if is_compressed else (name, f"{name}.wav"):
            # Unlike Path.is_file, os.path.isfile accepts names that no file can have.
            found = [path for folder in self._folders if os.path.isfile(path := folder / file)]  # noqa: PTH113
            if len({path.resolve() for path in found}) > 1:
                places = [str(folder) for folder in self._folders if folder / file in found]
                raise UsageError(
                    f"{file} is in both {places[0]} and {places[1]}",
                    hint="give paths relative to a common parent folder",
                )
            if found:
                return found[0]
        raise CorpusError(
            f"{name} is not in {' or '.join(map(str, self._folders))}",
            hint=self._missing,
        )

    def read(self, path: Path) -> NDArray[np.float16]:
        """The frames (S, D) of a recording."""
        from nmt_cli.data.log_mel import log_mel

        return log_mel(read_wav(path, self._rate), self._rate, self._bands).astype(np.float16)


def _bad(name: str, problem: str, hint: str = "") -> CorpusError:
    return CorpusError(f"{name} {problem}", hint=hint or "replace the recording, or leave it out")
