"""Validation and model selection: how good a model is, and which one becomes the model of the run.

`Validator` computes cross-entropy by teacher forcing, and BLEU and chrF by real search; a language model has only the
former. `ModelSelection` decides when to validate, keeps the scores, and in the end chooses between the best
checkpoint and the average of the best.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from nmt_cli.config import Config, SearchConfig, TrainConfig
from nmt_cli.data.batches import batches_by_length
from nmt_cli.data.directory import Split
from nmt_cli.data.images import group_captions, reference_columns
from nmt_cli.data.media import MediaRows
from nmt_cli.errors import DirectoryError, TrainingError
from nmt_cli.metrics import Score, bleu, chrf, error_rate, tokenizer_for
from nmt_cli.model import Seq2Seq
from nmt_cli.run import RunDirectory
from nmt_cli.run.weights import load_weights, mean_weights, tensor_bytes
from nmt_cli.training.distributed import ProcessGroup
from nmt_cli.training.optimization import Precision
from nmt_cli.training.reports import Clock, RunState, Sample, SelectionScore, ValidationReport
from nmt_cli.training.run_writer import RunWriter
from nmt_cli.translator import Captioner, Details, MediaTranslator, Transcriber, Translation, Translator
from nmt_cli.translator.confidence import MAX_SENTENCES

# Times the loss of the uniform distribution. Overfitting may raise the validation loss above that of the uniform
# distribution, but never this far.
DIVERGED = 10.0


def diverged(what: str, uniform: float, intact: str = "the last checkpoint is intact") -> TrainingError:
    """The error for a loss that is far above that of the uniform distribution."""
    return TrainingError(
        f"training has diverged: {what}; choosing words at random would give {uniform:.1f}",
        hint=f"start over with a smaller train.learning_rate or more train.warmup_updates; {intact}",
    )


class ValidationStopped(Exception):  # noqa: N818 - not an error
    """The validation was abandoned because training was asked to stop."""


@dataclass(frozen=True)
class Validation:
    """The scores of one model."""

    loss: float  # cross-entropy per token, without label smoothing
    bleu: Score | None  # None for a language model
    chrf: Score | None
    samples: tuple[Sample, ...]
    wer: Score | None = None  # of recordings
    cer: Score | None = None

    @property
    def perplexity(self) -> float:
        """Per token; finite, because it is written as JSON."""
        return math.exp(min(self.loss, 700.0))

    def selection_score(self, metric: str) -> SelectionScore:
        """The score that models are ranked by."""
        if metric == "perplexity":
            return -self.perplexity, -self.loss
        score = {"bleu": self.bleu, "chrf": self.chrf, "wer": self.wer}[metric]
        assert score is not None
        return -score.value if metric == "wer" else score.value, -self.loss


class Validator:
    """Validates models on the validation set of a run. Each process takes a share of the sentences."""

    def __init__(
        self,
        run: RunDirectory,
        split: Split,
        *,
        config: Config,
        device: torch.device,
        precision: Precision,
        group: ProcessGroup,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        """`stopping` is checked between batches; if true, `ValidationStopped` is raised (single process only)."""
        texts = run.held_out("valid")
        if texts is None or len(texts[0]) != len(split):
            raise DirectoryError(
                f"the text of the validation set is missing in {run.path}",
                hint="`nmt preprocess` writes valid.* to the data directory",
            )
        self._run, self._config, self._group = run, config, group
        self._device, self._precision = device, precision
        self._stopping, self._may_stop = stopping, True
        rows = np.arange(len(split))
        self._source, self._target = split.sources(rows), split.gather(rows, "target")
        references: list[list[str | None]] = [[*texts[1]]]
        self._media = self._source if isinstance(self._source, MediaRows) else None
        if self._media is not None:  # one caption for each image, compared with all of its captions
            self._media, texts, references = _by_source(self._media, *texts)
        count = min(config.train.validate_sentences or len(texts[0]), len(texts[0]))
        self._texts = texts[0][:count]
        self._references = [column[:count] for column in references]
        self._calibration_texts = texts[0][:MAX_SENTENCES]
        self._search = config.search.without_mbr(
            beam_size=config.train.validate_beam, n_best=1, sampling=False
        )
        self.is_language_model = config.model.is_language_model
        count_shown = min(config.train.samples, count)
        self._sample_rows = [(2 * i + 1) * count // (2 * count_shown) for i in range(count_shown)]

    def validate(self, model: Seq2Seq, *, must_finish: bool = False) -> Validation:
        """Validate `model`, whose training mode is restored; `must_finish`: ignore requests to stop."""
        # Several processes would have to agree on it.
        self._may_stop = not must_finish and self._group.world == 1
        training = model.training
        model.eval()
        try:
            loss = self._loss(model)
            if self.is_language_model:
                return Validation(loss, None, None, ())
            translations = self._translate(model)
            samples = self._samples(model)
        finally:
            model.train(training)
        return Validation(
            loss,
            bleu(translations, *self._references, tokenize=tokenizer_for(self._run.facts.target_lang)),
            chrf(translations, *self._references),
            samples,
            *self._error_rates(translations),
        )

    def _error_rates(self, transcripts: list[str]) -> tuple[Score, ...]:
        """WER and CER, if the sources are recordings."""
        if self._run.reads != "audio":
            return ()
        return tuple(
            error_rate(transcripts, *self._references, unit=unit) for unit in ("words", "characters")
        )

    @torch.inference_mode()
    def _loss(self, model: Seq2Seq) -> float:
        sums = torch.zeros(2, dtype=torch.float64)  # cross-entropy, tokens
        batches = batches_by_length(
            self._source,
            self._target,
            self._config.train.batch_tokens,
            reverse_target=self._config.model.reverse_target,
        )
        for number, (_, batch) in enumerate(batches):
            if number % self._group.world == self._group.rank:
                self._check_stop()
                with self._precision.autocast():
                    loss = model.loss(batch.to(self._device))
                sums += torch.tensor([loss.cross_entropy.item(), loss.tokens], dtype=torch.float64)
        total, tokens = self._group.sum(sums).tolist()
        mean, uniform = float(total / tokens), math.log(model.vocabulary_size())
        if not mean <= DIVERGED * uniform:  # also if it is nan
            raise diverged(f"the validation loss is {mean:,.1f} per token", uniform)
        return mean

    def _translate(self, model: Seq2Seq) -> list[str]:
        """The translations of all validation texts, in order."""
        rank, world = self._group.rank, self._group.world
        own = self._texts[rank::world]
        texts = [""] * len(own)
        for rows, translations in self._batches(model, own, np.arange(len(self._texts))[rank::world]):
            self._check_stop()
            for row, translation in zip(rows.tolist(), translations, strict=True):
                texts[row] = translation.text
        gathered: list[Any] = self._group.gather(texts)
        return [gathered[row % world][row // world] for row in range(len(self._texts))]

    def _batches(
        self, model: Seq2Seq, texts: list[str], rows: NDArray[np.int64]
    ) -> Iterator[tuple[NDArray[np.int64], list[Translation]]]:
        """The translations of some texts, or the texts for the images or recordings in these rows."""
        translator = self._translator(model)
        if self._media is not None:
            assert isinstance(translator, MediaTranslator)
            return translator.describe_batches(self._media.take(rows), texts)
        return translator.batches(texts)

    def confident_translations(self, model: Seq2Seq) -> list[Translation]:
        """Translations of a part of the validation set with scores, found as `nmt translate` does."""
        search = self._config.search.without_mbr(n_best=1, sampling=False)
        return self._found(model, self._calibration_texts, Details(scores=True), search)

    def _found(
        self,
        model: Seq2Seq,
        texts: list[str],
        details: Details,
        search: SearchConfig | None = None,
        rows: Sequence[int] | None = None,
    ) -> list[Translation]:
        """The translations of some texts, or the texts for the sources in `rows`, by default the first ones."""
        translator = self._translator(model, search)
        if self._media is None:
            return translator.translate(texts, details=details)
        assert isinstance(translator, MediaTranslator)
        numbers = np.array(range(len(texts)) if rows is None else rows, np.int64)
        return translator.describe(self._media.take(numbers), texts, details=details)

    def _samples(self, model: Seq2Seq) -> tuple[Sample, ...]:
        if not self._group.is_main or not self._sample_rows:
            return ()
        translations = self._found(
            model,
            [self._texts[row] for row in self._sample_rows],
            Details(attention=True),
            rows=self._sample_rows,
        )
        return tuple(
            _sample(self._texts[row], self._references[0][row] or "", translation)
            for row, translation in zip(self._sample_rows, translations, strict=True)
        )

    def _translator(self, model: Seq2Seq, search: SearchConfig | None = None) -> Translator:
        kinds = {"text": Translator, "image": Captioner, "audio": Transcriber}
        kind = kinds[self._run.reads]
        return kind(
            model,
            self._run.vocabularies,
            search or self._search,
            normalization=self._run.normalization,
            device=self._device,
            batch_tokens=self._config.train.batch_tokens,
            autocast=self._precision.autocast,
        )

    def _check_stop(self) -> None:
        if self._may_stop and self._stopping():
            raise ValidationStopped


def _by_source(
    source: MediaRows, names: list[str], captions: list[str]
) -> tuple[MediaRows, tuple[list[str], list[str]], list[list[str | None]]]:
    """Each image or recording once, with its name and first text; and the columns of its references.

    They are None where it has fewer.
    """
    groups = group_captions(source.numbers, captions)
    first = np.array([rows[0] for rows, _ in groups], np.int64)
    texts = [names[row] for row in first], [captions[row] for row in first]
    return source.take(first), texts, reference_columns([found for _, found in groups])


def _sample(source: str, reference: str, translation: Translation) -> Sample:
    alpha = translation.attention
    return Sample(
        source,
        reference,
        translation.text,
        translation.source_pieces,
        translation.target_pieces,
        tuple(tuple(round(a, 3) for a in row) for row in alpha.tolist()) if alpha is not None else None,
    )


class ModelSelection:
    """Decides when to validate, records the scores in the state of the run, and chooses the final model."""

    def __init__(
        self, validator: Validator, config: TrainConfig, *, state: RunState, writer: RunWriter, clock: Clock
    ) -> None:
        self._validator, self._config = validator, config
        self._state, self._writer, self._clock = state, writer, clock
        self.seconds = 0.0  # spent on validation in this process
        self.last_seconds = 0.0  # of the last validation
        # Of all validations, those at the end included.
        self.best_score: SelectionScore | None = state.best[0][1] if state.best else None

    def due(self) -> bool:
        """Whether the current update is due for validation: a function of the position alone."""
        state, every = self._state, self._config.validate_every
        if state.update in (0, state.validated):
            return False
        return state.update % every == 0 if every else state.between_epochs

    def validate(self, model: Seq2Seq) -> ValidationReport | None:
        """Validate the current model and record the score; None if training was asked to stop meanwhile."""
        try:
            validation = self._validate(model)
        except ValidationStopped:
            return None
        self._state.record(validation.selection_score(self._config.metric), self._config.average_best)
        return self._report(validation)

    def choose(self, model: Seq2Seq) -> Iterator[ValidationReport]:
        """Publish the best model or the average of the best, whichever scores better.

        Nothing is recorded in the state: a resumed run must not depend on where it was stopped.
        """
        state, writer = self._state, self._writer
        candidates = list(state.best)
        if state.validated != state.update:
            report = self._report(self._validate(model, must_finish=True), final=True)
            yield report
            candidates.append((state.update, (report.score, -report.loss)))
        candidates = sorted(candidates, key=lambda entry: entry[1], reverse=True)[: self._config.average_best]
        weights = writer.weights(candidates[0][0])
        if len(candidates) > 1:
            updates = tuple(sorted(update for update, _ in candidates))
            average = mean_weights(map(writer.weights, updates))
            averaged = deepcopy(model)
            load_weights(averaged, average, writer.folder)
            report = self._report(self._validate(averaged, must_finish=True), final=True, averaged=updates)
            yield report
            if report.best:
                weights = average
        writer.publish(tensor_bytes(weights))
        if writer.writes and not self._validator.is_language_model:
            chosen = deepcopy(model).eval()
            load_weights(chosen, weights, writer.folder)
            writer.confidence(self._validator.confident_translations(chosen))

    def _validate(self, model: Seq2Seq, *, must_finish: bool = False) -> Validation:
        start = self._clock.now()
        validation = self._validator.validate(model, must_finish=must_finish)
        self.last_seconds = self._clock.now() - start
        self.seconds += self.last_seconds
        return validation

    def _report(
        self,
        validation: Validation,
        *,
        final: bool = False,
        averaged: tuple[int, ...] = (),
    ) -> ValidationReport:
        state, score = self._state, validation.selection_score(self._config.metric)
        best = self.best_score is None or score > self.best_score
        self.best_score = score if self.best_score is None else max(score, self.best_score)
        report = ValidationReport(
            update=state.update,
            epoch=state.last_epoch,
            loss=validation.loss,
            perplexity=validation.perplexity,
            bleu=validation.bleu,
            chrf=validation.chrf,
            wer=validation.wer,
            cer=validation.cer,
            score=score[0],
            best=best,
            best_score=self.best_score[0],
            samples=validation.samples,
            seconds=self.last_seconds,
            final=final,
            averaged=averaged,
        )
        self._writer.validation(report)
        return report
