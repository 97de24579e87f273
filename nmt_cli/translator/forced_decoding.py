"""Forced decoding: how probable a model finds given translations."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from nmt_cli.config import SearchConfig
from nmt_cli.corpus.cleaning import Normalization
from nmt_cli.data.batch import Batch, collate
from nmt_cli.data.batch_plan import cut_in_order
from nmt_cli.errors import CorpusError
from nmt_cli.model import Seq2Seq
from nmt_cli.search.penalties import LengthNormalization
from nmt_cli.translator.segmentation import readable
from nmt_cli.translator.translation import Details, Translation, blank, with_links
from nmt_cli.vocabulary import Vocabularies
from nmt_cli.vocabulary.token_ids import EOS

MAX_TOKENS = 4096  # of a side; attention is a matrix of source × target
_CHUNK = 1024  # tokens whose logits are held at the same time


class _Pair(NamedTuple):
    source: str
    target: str


@dataclass(frozen=True)
class ForcedDecoding:
    """Teacher forcing with a model, or with the mean probability of several."""

    models: Sequence[Seq2Seq]
    vocabularies: Vocabularies
    config: SearchConfig
    normalization: Normalization
    device: torch.device
    batch_tokens: int
    autocast: Callable[[], AbstractContextManager[object]]

    def score(
        self, sources: Sequence[str], targets: Sequence[str], details: Details, first_line: int
    ) -> list[Translation]:
        """log P(target | source) of each pair, <eos> included; a pair of two blank texts is blank."""
        assert len(sources) == len(targets)
        pairs = [
            _Pair(*(readable(self.normalization(text)) for text in pair))
            for pair in zip(sources, targets, strict=True)
        ]
        source = self.vocabularies.source.encode([pair.source for pair in pairs])
        target = self.vocabularies.target.encode([pair.target for pair in pairs])
        load = np.maximum(source.lengths, target.lengths) + 1
        if len(load) and load.max() > MAX_TOKENS:
            row = int(load.argmax())
            raise CorpusError(
                f"line {first_line + row + 1} has {load[row]:,} tokens; a pair to score may have {MAX_TOKENS:,}",
                hint="put one sentence on a line",
            )
        order = np.argsort(-load, kind="stable")
        results: dict[int, Translation] = {}
        for run in cut_in_order(load[order], self.batch_tokens):
            rows = order[run]
            forced = self._forced(collate(source.take(rows), target.take(rows)), details)
            for row, (log_p, attention) in zip(rows.tolist(), forced, strict=True):
                ids = (source[row].tolist(), target[row].tolist())
                results[row] = self._translation(pairs[row], ids, log_p, attention, details)
        return [results[row] for row in range(len(pairs))]

    @torch.inference_mode()
    def _forced(self, batch: Batch, details: Details) -> Iterator[tuple[Tensor, Tensor | None]]:
        """For each row log p (T,) of its tokens and, if it is wanted, attention (T, S), on the CPU."""
        wanted = details.attention or details.alignment
        with self.autocast():
            log_p, attention = self._log_p(batch.to(self.device), attention=wanted)  # (N,), (B, T, S)
        parts = torch.split(log_p.cpu(), batch.target_lengths.tolist())
        weights = None if attention is None else attention.float().cpu()
        lengths = zip(batch.target_lengths.tolist(), batch.source_lengths.tolist(), strict=True)
        return iter(
            [(parts[b], None if weights is None else weights[b, :T, :S]) for b, (T, S) in enumerate(lengths)]
        )

    def _log_p(self, batch: Batch, *, attention: bool) -> tuple[Tensor, Tensor | None]:
        """log p (N,) of the real target tokens, and the mean attention (B, T, S), if it is wanted."""
        total: Tensor | None = None
        attentions: list[Tensor] = []
        for model in self.models:
            memory = model.encode(batch.source, batch.source_lengths)
            features, alpha = model.decode(memory, batch.target_inputs)  # (B, T, F), (B, T, S)
            attentions += [alpha] if attention and alpha is not None else []
            real = features.flatten(0, 1).index_select(0, batch.positions)  # (N, F)
            log_p = torch.cat(
                [
                    model.project(some).float().log_softmax(dim=-1).gather(1, labels[:, None])[:, 0]
                    for some, labels in zip(
                        torch.split(real, _CHUNK), torch.split(batch.labels, _CHUNK), strict=True
                    )
                ]
            )  # (N,)
            total = log_p if total is None else torch.logaddexp(total, log_p)
        assert total is not None
        mean = torch.stack(attentions).mean(dim=0) if attentions else None
        return total - math.log(len(self.models)), mean

    def _translation(
        self,
        pair: _Pair,
        ids: tuple[Sequence[int], Sequence[int]],
        log_p: Tensor,  # (T,)
        attention: Tensor | None,  # (T, S)
        details: Details,
    ) -> Translation:
        if not (pair.source.strip() or pair.target.strip()):
            return blank(details)
        vocabularies, total = self.vocabularies, log_p.double().sum()
        translation = Translation(
            text=pair.target,
            source=pair.source,
            source_pieces=tuple(vocabularies.source.pieces[i] for i in (*ids[0], EOS)),
            target_pieces=tuple(vocabularies.target.pieces[i] for i in (*ids[1], EOS)),
            score=float(LengthNormalization.of(self.config).score(total, len(log_p))),
            log_probability=float(total),
            token_log_probabilities=tuple(log_p.tolist()),
            attention=attention if details.attention else None,
            whole_words=(vocabularies.source.kind == "word", vocabularies.target.kind == "word"),
        )
        return translation if not details.alignment else with_links(translation, attention)
