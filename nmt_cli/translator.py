"""Texts to texts with a model: encode, search in batches of similar length, decode, put back in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nmt_cli.batch import pad_source
from nmt_cli.config import SearchConfig
from nmt_cli.corpus.normalization import Normalization
from nmt_cli.model import Seq2Seq
from nmt_cli.plan import cut_in_order
from nmt_cli.ragged import Ragged
from nmt_cli.search import Hypothesis, ModelScorer, search
from nmt_cli.tokens import EOS, UNK
from nmt_cli.vocabulary import Vocabularies


@dataclass(frozen=True)
class Translation:
    """One translated line."""

    text: str
    source_pieces: tuple[str, ...]  # S, <eos> included
    target_pieces: tuple[str, ...]  # T, <eos> included
    attention: Tensor | None  # (T, S) on the CPU, if it was asked for


class Translator:
    """A model with its vocabularies and search settings."""

    def __init__(
        self,
        model: Seq2Seq,
        vocabularies: Vocabularies,
        config: SearchConfig,
        *,
        normalization: Normalization | None = None,
        device: torch.device | str = "cpu",
        batch_tokens: int = 4096,
        attention: bool = False,
        autocast: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        """`batch_tokens` bounds rows × longest source; `autocast` is the number format of products."""
        self._model = model
        self._vocabularies = vocabularies
        self._config = config
        self._normalization = normalization or Normalization()
        self._device = torch.device(device)
        self._batch_tokens = batch_tokens
        self._autocast = autocast
        self._with_attention = attention

    def translate(self, texts: Sequence[str]) -> list[Translation]:
        """One translation for each text, in the order of the texts; that of a blank text is blank."""
        results: list[Translation | None] = [None] * len(texts)
        for rows, translations in self.batches(texts):
            for row, translation in zip(rows.tolist(), translations, strict=True):
                results[row] = translation
        return [result if result is not None else Translation("", (), (), None) for result in results]

    def batches(self, texts: Sequence[str]) -> Iterator[tuple[NDArray[np.int64], list[Translation]]]:
        """Translations in batches, longest first, with the numbers of their texts, blank ones left out."""
        normalized = [self._normalization(text) for text in texts]
        ids = self._vocabularies.source.encode(normalized)
        lengths = ids.lengths + 1
        wanted = np.flatnonzero([bool(text.strip()) for text in normalized])
        order = wanted[np.argsort(-lengths[wanted], kind="stable")]
        for run in cut_in_order(lengths[order], self._batch_tokens):
            rows = order[run]
            yield rows, self._translate(ids.take(rows), [normalized[row] for row in rows.tolist()])

    @torch.inference_mode()
    def _translate(self, ids: Ragged, texts: Sequence[str]) -> list[Translation]:
        source, lengths = pad_source(ids)
        scorer = ModelScorer(self._model, self._device)
        with self._autocast():
            memory = scorer.encode(source.to(self._device), lengths)
            found = search(
                scorer,
                memory,
                lengths,
                self._config,
                banned=self._vocabularies.target.banned,
                scores=False,
                attention=self._with_attention,
                alignment=self._vocabularies.target.has_unknown,
            )
        return [
            self._decode(hypotheses[0], row, text)
            for hypotheses, row, text in zip(found, map(ids.__getitem__, range(len(ids))), texts, strict=True)
        ]

    def _decode(self, best: Hypothesis, source: NDArray[Any], text: str) -> Translation:
        vocabularies = self._vocabularies
        unknown: list[str] = []
        if best.alignment is not None:  # a word that is not known is that of the source
            words = [*text.split(), ""]
            places = (
                place for place, token in zip(best.alignment, best.tokens, strict=False) if token == UNK
            )
            unknown = [words[min(place, len(words) - 1)] for place in places]
        return Translation(
            vocabularies.target.decode(best.tokens, unknown=unknown),
            tuple(vocabularies.source.pieces[i] for i in [*source.tolist(), EOS]),
            tuple(vocabularies.target.pieces[i] for i in [*best.tokens, EOS]),
            best.attention,
        )
