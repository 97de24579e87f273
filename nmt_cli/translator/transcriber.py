"""`Transcriber`: recordings in, transcripts out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nmt_cli.data.audio import AudioReader
from nmt_cli.data.batches import pad_source
from nmt_cli.data.log_mel import HOP
from nmt_cli.data.media import MediaRows
from nmt_cli.data.recordings import RecordingRows, Recordings
from nmt_cli.errors import UsageError
from nmt_cli.model.frame_encoder import FrameEncoder
from nmt_cli.run import RunDirectory
from nmt_cli.search.stopping import MIN_POSITIONS
from nmt_cli.translator.media import MediaTranslator
from nmt_cli.vocabulary.token_ids import Ragged


class Transcriber(MediaTranslator):
    """A model that reads recordings, or an ensemble of such models.

    The source pieces of a transcript are times in seconds.
    """

    reads = "audio"
    audio: AudioReader

    @classmethod
    def load(cls, *runs: Path | str, **options: Any) -> Self:
        """The model of a run directory that was trained on recordings; the options are those of `Translator.load`."""
        transcriber = super().load(*runs, **options)
        opened = [RunDirectory.open(Path(run)) for run in runs]
        first = opened[0].config.model.pyramidal_layers
        for other in opened[1:]:
            layers = other.config.model.pyramidal_layers
            if (other.frame_input, layers) != (opened[0].frame_input, first):
                raise UsageError(
                    f"{other.path} and {opened[0].path} read recordings differently",
                    hint="the runs of an ensemble need the same data.sample_rate, data.mel_bands and "
                    "model.pyramidal_layers",
                )
        data = opened[0].config.data
        transcriber.audio = AudioReader((), data.sample_rate, data.mel_bands)
        return transcriber

    def read(self, path: Path) -> list[tuple[str, NDArray[Any]]]:
        """The frames (S, D) of a WAV file, with its name."""
        return [(str(path), self.audio.read(path))]

    def rows_of(self, contents: Sequence[NDArray[Any]]) -> RecordingRows:
        """Recordings as the sources of a batch."""
        return Recordings.of(contents).rows()

    transcribe = MediaTranslator.describe
    transcribe_batches = MediaTranslator.describe_batches

    def piece_names(self, sources: MediaRows) -> list[tuple[str, ...]]:
        """When each position begins, in seconds."""
        assert isinstance(sources, RecordingRows)
        counts = self._memory_lengths(torch.from_numpy(sources.frames)).tolist()
        longest = time_names(max(counts, default=0), self.frames_per_position)
        return [longest[:count] for count in counts]

    @property
    def frames_per_position(self) -> int:
        """How many frames a position of the memory stands for."""
        return self._encoder.frames_per_position

    @property
    def _encoder(self) -> FrameEncoder:
        encoder = self.models[0].encoder
        assert isinstance(encoder, FrameEncoder)
        return encoder

    def _loads(self, sources: MediaRows) -> tuple[NDArray[np.int64], int]:
        return sources.lengths, self.batch_tokens

    def _memory_lengths(self, lengths: Tensor) -> Tensor:
        return self._encoder.positions(lengths)

    def _pad(self, sources: Ragged | MediaRows) -> tuple[Tensor, Tensor]:
        frames, lengths = pad_source(sources)
        missing = MIN_POSITIONS * self.frames_per_position - frames.shape[1]
        if missing > 0 and self.device.type == "cpu":
            frames = torch.nn.functional.pad(frames, (0, 0, 0, missing))
        return frames, lengths


def time_names(positions: int, frames: int) -> tuple[str, ...]:
    """When each position begins, in seconds, if each stands for so many frames."""
    return tuple(f"{position * frames * HOP:.2f}" for position in range(positions))
