"""The models of a server: run directories and exported folders behind one interface.

torch is imported with the first run directory; a server with exported folders only never imports it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from nmt_cli.corpus.checks.language import LetterProfile
from nmt_cli.documents.segment_translation import Translated
from nmt_cli.errors import DirectoryError, UsageError
from nmt_cli.export.opening import is_export, runtime_errors
from nmt_cli.runtime.placeholders import PlaceholderSymbols
from nmt_cli.runtime.segments import Chunk, replace_surrogates, split_line

if TYPE_CHECKING:
    import torch

    from nmt_cli.explanation import Explanation
    from nmt_cli.translator.confidence import Calibration

VALIDATION = "valid"  # text of a run directory: valid.en, valid.de
_MAX_TEXT = 1 << 20  # bytes of it that are read


class ServedModel(Protocol):
    """One direction of translation. Only the thread of the model calls `translate` and `explain`."""

    path: Path
    source: str  # language
    target: str
    beam_size: int
    batch_tokens: int
    explains: bool  # whether it has `explain`
    calibration: Calibration | None  # of its confidence
    placeholders: PlaceholderSymbols | None  # the symbols that it has learned to copy

    def split(self, text: str) -> list[Chunk]:
        """The text itself, or the parts of a text that is too long for the model."""
        ...

    def translate(
        self, texts: Sequence[str], prefixes: Sequence[str] | None, n_best: int
    ) -> list[tuple[str, ...]]:
        """At most `n_best` translations of each text, best first."""
        ...

    def translations(self, texts: Sequence[str], *, attention: bool) -> Sequence[Translated]:
        """The best translation of each text, with attention if it is wanted and the model has it."""
        ...

    def explain(self, text: str, *, prefix: str, target: str | None, alternatives: int) -> Explanation:
        """How one sentence is translated."""
        ...

    def profiles(self) -> dict[str, LetterProfile]:
        """What text in its languages looks like, as far as the model knows."""
        ...


class RunModel:
    """The model of a run directory, on torch."""

    explains = True

    def __init__(self, path: Path, *, search: Mapping[str, Any], device: torch.device, int8: bool) -> None:
        from nmt_cli.explanation.explainer import Explainer
        from nmt_cli.translator import Translator

        translator = Translator.load(path, device=device, search={**search, "n_best": 1}, int8=int8)
        assert translator.languages is not None
        if translator.reverse_target:
            raise UsageError(
                f"{path} is a right-to-left model (model.reverse_target = true), which cannot continue what a user "
                "has chosen",
                hint="serve a left-to-right model",
            )
        self.path = path
        self.source, self.target = translator.languages
        self.beam_size = 1 if translator.config.sampling else translator.config.beam_size
        self.batch_tokens = translator.batch_tokens
        self.calibration = translator.calibration
        self.placeholders = translator.normalization.placeholders
        self._translators = {1: translator}
        self._explainer = Explainer.of(translator, path)

    def split(self, text: str) -> list[Chunk]:
        """See `ServedModel`."""
        translator = self._translators[1]
        vocabulary = translator.vocabularies.source
        return split_text(
            text,
            replace_surrogates(translator.normalization.without_placeholders(text)),
            translator.max_tokens,
            lambda texts: vocabulary.encode(texts).lengths.tolist(),
        )

    def translate(
        self, texts: Sequence[str], prefixes: Sequence[str] | None, n_best: int
    ) -> list[tuple[str, ...]]:
        """See `ServedModel`."""
        if n_best not in self._translators:
            self._translators[n_best] = self._translators[1].with_search(n_best=n_best)
        found = self._translators[n_best].translate(texts, prefixes=prefixes)
        return [tuple(one.text for one in best.n_best or (best,)) for best in found]

    def translations(self, texts: Sequence[str], *, attention: bool) -> Sequence[Translated]:
        """See `ServedModel`."""
        from nmt_cli.translator import Details

        translator = self._translators[1]
        return translator.translate(texts, details=Details(attention=attention and translator.has_attention))

    def explain(self, text: str, *, prefix: str, target: str | None, alternatives: int) -> Explanation:
        """See `ServedModel`."""
        return self._explainer.explain(text, target=target, prefix=prefix, alternatives=alternatives)

    def profiles(self) -> dict[str, LetterProfile]:
        """Of the validation set."""
        texts = {language: validation_text(self.path, language) for language in (self.source, self.target)}
        return {language: LetterProfile.of(text) for language, text in texts.items() if text}


class ExportedModel:
    """An exported folder, on ONNX Runtime."""

    explains = False

    def __init__(self, path: Path, *, search: Mapping[str, Any], threads: int | None) -> None:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy reads it when it is imported

        from nmt_cli.runtime.translate import ExportedTranslator

        with runtime_errors():
            translator = ExportedTranslator(path, search={**search, "n_best": 1}, threads=threads or 0)
        settings = translator.model.settings
        self.path = path
        try:
            self.source, self.target = str(settings["source_language"]), str(settings["target_language"])
        except KeyError as error:
            raise DirectoryError(
                f"{path} does not say which languages it translates", hint="export the model again"
            ) from error
        self.beam_size = translator.config.beam_size
        self.batch_tokens = translator.batch_tokens
        self.calibration: Calibration | None = None
        self.placeholders = translator.placeholders
        self._translators = {1: translator}

    def split(self, text: str) -> list[Chunk]:
        """See `ServedModel`."""
        translator = self._translators[1]
        return split_text(
            text,
            translator.normalized(text),
            translator.max_tokens,
            lambda texts: [len(ids) for ids in translator.model.source.encode(texts)],
        )

    def translate(
        self, texts: Sequence[str], prefixes: Sequence[str] | None, n_best: int
    ) -> list[tuple[str, ...]]:
        """See `ServedModel`."""
        with runtime_errors():
            if n_best not in self._translators:
                changed = copy(self._translators[1])
                changed.config = changed.config.changed(n_best=n_best)
                self._translators[n_best] = changed
            found = self._translators[n_best].translate(texts, prefixes=prefixes)
        return [tuple(one.text for one in best.n_best or (best,)) for best in found]

    def translations(self, texts: Sequence[str], *, attention: bool) -> Sequence[Translated]:
        """See `ServedModel`."""
        translator = self._translators[1]
        with runtime_errors():
            return translator.translate(texts, attention=attention and translator.has_attention)

    def explain(self, text: str, *, prefix: str, target: str | None, alternatives: int) -> Explanation:
        """See `ServedModel`."""
        raise UsageError(
            f"{self.path.name} is an exported model, which cannot be explained",
            hint="serve the run directory",
        )

    def profiles(self) -> dict[str, LetterProfile]:
        """As the export stored them."""
        stored = self._translators[1].model.settings.get("letters", {})
        return {language: LetterProfile(counts) for language, counts in stored.items()}


def split_text(text: str, normalized: str, max_tokens: int | None, count: Any) -> list[Chunk]:
    """Parts of at most `max_tokens`, as `nmt translate` splits them; `count` returns the number of tokens."""
    # A token covers at least one byte, so short texts need not be encoded.
    if max_tokens is None or 4 * len(normalized) < max_tokens or count([normalized])[0] <= max_tokens:
        return [Chunk(text, "")]
    return split_line(normalized, max_tokens, count)


def load_model(
    path: Path, *, search: Mapping[str, Any], device: str, int8: bool, threads: int | None
) -> ServedModel:
    """The model in a run directory or an exported folder. Every file is compared with its hash in the manifest."""
    if is_export(path):
        return ExportedModel(path, search=search, threads=threads)
    from nmt_cli.model.device import prepare_device

    return RunModel(path, search=search, device=prepare_device(device, threads), int8=int8)


def validation_text(path: Path, language: str) -> str:
    """The beginning of the validation set of a run directory in one language; "" if there is none."""
    try:
        with (path / f"{VALIDATION}.{language}").open("rb") as file:
            return file.read(_MAX_TEXT).decode("utf-8", "ignore")
    except OSError:
        return ""
