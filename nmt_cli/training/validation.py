"""How good a model is: cross-entropy by teacher forcing, BLEU and chrF by real search.

A language model has its cross-entropy alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from nmt_cli.config import Config
from nmt_cli.data.batches import batches_by_length
from nmt_cli.data.directory import Split
from nmt_cli.errors import StoreError, TrainingError
from nmt_cli.metrics import Score, bleu, chrf, tokenizer_for
from nmt_cli.model import Seq2Seq
from nmt_cli.run import RunDirectory
from nmt_cli.training.distributed import Group
from nmt_cli.training.optimization import Precision
from nmt_cli.training.progress import Merit
from nmt_cli.training.reports import Sample
from nmt_cli.translator import Details, Translation, Translator


class Stopped(Exception):  # noqa: N818 - not an error
    """The validation was given up half-way because training is to stop."""


@dataclass(frozen=True)
class Validation:
    """The figures of one model."""

    loss: float  # cross-entropy of a token, label smoothing left out
    bleu: Score | None  # a language model translates nothing
    chrf: Score | None
    samples: tuple[Sample, ...]

    @property
    def perplexity(self) -> float:
        """Of a token; finite, because it goes into JSON."""
        return math.exp(min(self.loss, 700.0))

    def merit(self, metric: str) -> Merit:
        """What decides between models."""
        if metric == "perplexity":
            return -self.perplexity, -self.loss
        score = self.bleu if metric == "bleu" else self.chrf
        assert score is not None
        return score.value, -self.loss


class Validator:
    """Validates models on the validation set of a run. All processes take part, each with its share."""

    def __init__(
        self,
        run: RunDirectory,
        split: Split,
        *,
        config: Config,
        device: torch.device,
        precision: Precision,
        group: Group,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        """`stopping` is asked between batches; if it says so, `Stopped` is raised (one process only)."""
        texts = run.held_out("valid")
        if texts is None or len(texts[0]) != len(split):
            raise StoreError(
                f"the text of the validation set is not in {run.path}",
                hint="`nmt preprocess` writes valid.* into its directory",
            )
        self._run, self._config, self._device, self._precision, self._group = (
            run,
            config,
            device,
            precision,
            group,
        )
        self._stopping, self._may_stop = stopping, True
        every = np.arange(len(split))
        self._source, self._target = split.gather(every, "source"), split.gather(every, "target")
        count = min(config.train.validate_sentences or len(split), len(split))
        self._texts, self._references = texts[0][:count], texts[1][:count]
        self._search = config.search.model_copy(
            update={"beam_size": config.train.validate_beam, "n_best": 1, "sampling": False}
        )
        wanted = min(config.train.samples, count)
        self._shown = [(2 * i + 1) * count // (2 * wanted) for i in range(wanted)]

    def validate(self, model: Seq2Seq, *, to_the_end: bool = False) -> Validation:
        """Validate `model`, whose mode is left as it was; `to_the_end`: nobody may stop it."""
        self._may_stop = not to_the_end and self._group.world == 1  # several processes would have to agree
        training = model.training
        model.eval()
        try:
            loss = self._loss(model)
            if self._config.model.is_language_model:
                return Validation(loss, None, None, ())
            translations = self._translate(model)
            samples = self._samples(model)
        finally:
            model.train(training)
        return Validation(
            loss,
            bleu(translations, self._references, tokenize=tokenizer_for(self._run.facts.target_lang)),
            chrf(translations, self._references),
            samples,
        )

    @torch.inference_mode()
    def _loss(self, model: Seq2Seq) -> float:
        sums = torch.zeros(2, dtype=torch.float64)  # cross-entropy, tokens
        batches = batches_by_length(self._source, self._target, self._config.train.batch_tokens)
        for number, (_, batch) in enumerate(batches):
            if number % self._group.world == self._group.rank:
                self._check()
                with self._precision.autocast():
                    loss = model.loss(batch.to(self._device))
                sums += torch.tensor([loss.cross_entropy.item(), loss.tokens], dtype=torch.float64)
        total, tokens = self._group.sum(sums).tolist()
        if not math.isfinite(total):
            raise TrainingError(
                "the validation loss is not a number: training has diverged",
                hint="start again with a smaller train.learning_rate or more train.warmup_updates",
            )
        return float(total / tokens)

    def _translate(self, model: Seq2Seq) -> list[str]:
        """Translations of the texts, in their order."""
        rank, world = self._group.rank, self._group.world
        own = self._texts[rank::world]
        texts = [""] * len(own)
        for rows, translations in self._translator(model).batches(own):
            self._check()
            for row, translation in zip(rows.tolist(), translations, strict=True):
                texts[row] = translation.text
        gathered: list[Any] = self._group.gather(texts)
        return [gathered[row % world][row // world] for row in range(len(self._texts))]

    def _samples(self, model: Seq2Seq) -> tuple[Sample, ...]:
        if not self._group.leads or not self._shown:
            return ()
        translations = self._translator(model).translate(
            [self._texts[row] for row in self._shown], details=Details(attention=True)
        )
        return tuple(
            _sample(self._texts[row], self._references[row], translation)
            for row, translation in zip(self._shown, translations, strict=True)
        )

    def _translator(self, model: Seq2Seq) -> Translator:
        return Translator(
            model,
            self._run.vocabularies,
            self._search,
            normalization=self._run.normalization,
            device=self._device,
            batch_tokens=self._config.train.batch_tokens,
            autocast=self._precision.autocast,
        )

    def _check(self) -> None:
        if self._may_stop and self._stopping():
            raise Stopped


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
