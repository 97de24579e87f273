"""The input of `preprocess`, what it reports while it runs, and the settings that follow from the input."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nmt_cli.config import Resolved, VocabularyConfig, resolve
from nmt_cli.errors import DataWarning, UsageError
from nmt_cli.files.byte_stream import Progress
from nmt_cli.runtime.placeholders import SYMBOLS
from nmt_cli.vocabulary import Vocabularies


@dataclass(frozen=True, kw_only=True)
class PreprocessRequest:
    """What to read, where to write, and with which settings."""

    source_lang: str  # "": monolingual text; "image": captioned images; "audio": recordings
    target_lang: str
    train: Sequence[str]  # SPECs
    valid: Sequence[str] = ()
    test: Sequence[str] = ()
    alignments: Sequence[Path] = ()  # word alignments of each training corpus, or none
    images: Sequence[Path] = ()  # folders of images, or a file of features; for captioned images only
    audio: Sequence[Path] = ()  # folders of recordings; for transcripts only
    out: Path
    settings: Resolved = field(default_factory=resolve)
    vocabulary: Path | None = None  # a directory with sentencepiece models to use instead of training one
    dropped: Path | None = None  # a file to list every dropped pair in
    workers: int = 1
    overwrite: bool = False

    @property
    def is_monolingual(self) -> bool:
        """Whether the text is monolingual, for a language model: the source of every pair is empty."""
        return not self.source_lang

    @property
    def has_images(self) -> bool:
        """Whether the sources are images."""
        return bool(self.images)

    @property
    def has_audio(self) -> bool:
        """Whether the sources are recordings."""
        return bool(self.audio)

    @property
    def has_media(self) -> bool:
        """Whether the sources are images or recordings, and only the target is text."""
        return self.has_images or self.has_audio


Report = Progress | DataWarning
Reporter = Callable[[Report], None]


def with_vocabulary(settings: Resolved, vocabularies: Vocabularies) -> Resolved:
    """The settings with those of a given vocabulary; setting any of them as well is an error."""
    asked = [
        key
        for key, layer in settings.provenance.items()
        if key.startswith("vocabulary.") and layer != "default"
    ]
    if asked:
        raise UsageError(
            f"{', '.join(asked)} cannot be set together with --vocabulary, which determines them",
            hint="leave out one or the other",
        )
    source, target = vocabularies.source, vocabularies.target
    if settings.config.data.placeholders and not all(
        set(SYMBOLS) <= {*one.pieces} for one in (source, target)
    ):
        raise UsageError(
            "data.placeholders = true needs symbols that the vocabulary of --vocabulary does not have",
            hint="leave out --vocabulary, or data.placeholders",
        )
    section = VocabularyConfig(
        kind=source.kind,
        size=max(len(source), len(target)),
        joint=vocabularies.joint,
        byte_fallback=not source.has_unknown,
    )
    layers = {f"vocabulary.{key}": "--vocabulary" for key in section.model_fields_set}
    config = settings.config.model_copy(update={"vocabulary": section})
    return Resolved(config, {**settings.provenance, **layers})


def with_backbone_default(settings: Resolved, key: str, value: Any) -> Resolved:
    """The settings with the default that `data.key` has if there is a backbone, unless it is set."""
    data = settings.config.data
    if data.backbone is None or settings.provenance[f"data.{key}"] != "default":
        return settings
    config = settings.config.model_copy(update={"data": data.model_copy(update={key: value})})
    return Resolved(config, {**settings.provenance, f"data.{key}": f"default for {data.backbone}"})


def for_monolingual_text(settings: Resolved, *, what: str | None = None) -> Resolved:
    """The settings without filters that compare source and target; enabling one explicitly is an error.

    `what` says why there is no source text, if the text is not simply monolingual.
    """
    config = settings.config
    asked = [
        name
        for name, wanted in (
            ("data.copy_of_source", config.data.copy_of_source),
            ("data.length_ratio", config.data.length_ratio),
            ("data.placeholders", config.data.placeholders),
            ("vocabulary.joint", not config.vocabulary.joint),
        )
        if wanted and settings.provenance[name] != "default"
    ]
    if asked:
        raise UsageError(
            f"{' and '.join(asked)} cannot be set: {what or 'the text is monolingual'}",
            hint="leave it out" if what else "leave it out, or give the source language with --source-lang",
        )
    off = {"copy_of_source": False, "length_ratio": False}
    layers = {f"data.{name}": "monolingual text" for name in off}
    config = config.model_copy(update={"data": config.data.model_copy(update=off)})
    return Resolved(config, {**settings.provenance, **layers})


def for_recordings(settings: Resolved) -> Resolved:
    """The settings for transcripts: characters instead of subwords, of which there may be many, unless set."""
    values: dict[str, tuple[str, Any]] = {
        "vocabulary.kind": ("vocabulary", "char"),
        "data.max_tokens": ("data", 1000),
    }
    config, layers = settings.config, dict(settings.provenance)
    for name, (section, value) in values.items():
        if layers[name] == "default":
            changed = getattr(config, section).model_copy(update={name.partition(".")[2]: value})
            config = config.model_copy(update={section: changed})
            layers[name] = "recordings"
    return Resolved(config, layers)
