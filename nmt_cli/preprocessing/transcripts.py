"""From recordings with transcripts to a data directory: as for captioned images, with frames instead of pixels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from nmt_cli.corpus.captions import MediaItem, MediaSpec
from nmt_cli.corpus.transcripts import read_transcripts
from nmt_cli.data.audio import AudioReader
from nmt_cli.data.images import Boxes, ImageWriter
from nmt_cli.data.log_mel import HOP
from nmt_cli.data.recordings import RecordingWriter
from nmt_cli.errors import CorpusError
from nmt_cli.preprocessing.media import MediaRun
from nmt_cli.preprocessing.request import PreprocessRequest, Reporter
from nmt_cli.preprocessing.splits import DropLog


class RecordingRun(MediaRun):
    """Recordings with transcripts; without a given vocabulary, one is trained on the transcripts."""

    noun, text_noun, stage = "recording", "transcript", "reading"
    bad = "bad_audio"

    def __init__(
        self, request: PreprocessRequest, report: Reporter, directory: Path, drop_log: DropLog
    ) -> None:
        super().__init__(request, report, directory, drop_log)
        self.audio = AudioReader(self.request.audio, self.config.sample_rate, self.config.mel_bands)

    def read(self, item: MediaItem) -> tuple[NDArray[Any], Boxes] | CorpusError:
        """See MediaRun."""
        try:
            return self.audio.read(item.path or self.audio.find(item.name)), ()
        except CorpusError as error:
            return error

    def items(self, spec: MediaSpec) -> Iterator[MediaItem]:
        """See MediaRun."""
        return read_transcripts(spec)

    def writer(self, split: str) -> ImageWriter:
        """See MediaRun."""
        return RecordingWriter(self.directory, split, self.config.mel_bands)

    def is_too_long(self, content: NDArray[Any]) -> bool:
        """See MediaRun."""
        return self.config.too_long and len(content) * HOP > self.config.max_seconds

    def figures(self, items: int, pairs: int, writer: ImageWriter) -> tuple[str, ...]:
        """See MediaRun."""
        return f"{items:,}", f"{writer.count * HOP / 60:,.1f}"
