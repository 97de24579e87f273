"""What `preprocess` is asked to do, and what it says while it does it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nmt_cli.config import Resolved, VocabularyConfig
from nmt_cli.errors import DataWarning, UsageError
from nmt_cli.files.progress import Progress
from nmt_cli.vocabulary import Vocabularies


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


Report = Progress | DataWarning
Reporter = Callable[[Report], None]


# Which settings the request itself decides: those of a given vocabulary, those of one-sided text.


def with_vocabulary(settings: Resolved, vocabularies: Vocabularies) -> Resolved:
    """The settings with the facts of a vocabulary that was given; asking for another one as well is an error."""
    asked = [
        key
        for key, layer in settings.provenance.items()
        if key.startswith("vocabulary.") and layer != "default"
    ]
    if asked:
        raise UsageError(
            f"{', '.join(asked)} cannot be set together with --vocabulary, which brings its own",
            hint="leave out one of them",
        )
    source, target = vocabularies.source, vocabularies.target
    section = VocabularyConfig(
        kind=source.kind,
        size=max(len(source), len(target)),
        joint=vocabularies.joint,
        byte_fallback=not source.has_unknown,
    )
    layers = {f"vocabulary.{key}": "--vocabulary" for key in section.model_fields_set}
    config = settings.config.model_copy(update={"vocabulary": section})
    return Resolved(config, {**settings.provenance, **layers})


def for_one_side(settings: Resolved) -> Resolved:
    """The settings without the filters that compare two sides; asking for what needs two is an error."""
    config = settings.config
    asked = [
        name
        for name, wanted in (
            ("data.copy_of_source", config.data.copy_of_source),
            ("data.length_ratio", config.data.length_ratio),
            ("vocabulary.joint", not config.vocabulary.joint),
        )
        if wanted and settings.provenance[name] != "default"
    ]
    if asked:
        raise UsageError(
            f"{' and '.join(asked)} cannot be set: that is for two sides, and the text has one",
            hint="leave that out, or name the other language with --source-lang",
        )
    off = {"copy_of_source": False, "length_ratio": False}
    layers = {f"data.{name}": "one-sided text" for name in off}
    config = config.model_copy(update={"data": config.data.model_copy(update=off)})
    return Resolved(config, {**settings.provenance, **layers})
