"""What `preprocess` is asked to do, and what it says while it does it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nmt_cli.config import Resolved
from nmt_cli.corpus import CorpusWarning


@dataclass(frozen=True, kw_only=True)
class Request:
    """From which text to which directory."""

    source_lang: str  # "": the text has one side
    target_lang: str
    train: Sequence[str]  # SPECs
    valid: Sequence[str] = ()
    test: Sequence[str] = ()
    out: Path
    settings: Resolved
    vocabulary: Path | None = None  # a directory with sentencepiece models to use instead of training one
    dropped: Path | None = None  # where to list every dropped pair
    workers: int = 1
    overwrite: bool = False

    @property
    def is_one_sided(self) -> bool:
        """Whether the text is for a language model: the source of every pair is empty."""
        return not self.source_lang


@dataclass(frozen=True)
class Progress:
    """So many of so many pairs are through a stage; `total` is unknown while a stream is read."""

    stage: str
    done: int
    total: int | None = None


Report = Progress | CorpusWarning
Reporter = Callable[[Report], None]
