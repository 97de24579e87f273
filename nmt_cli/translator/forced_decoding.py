"""Forced decoding (teacher forcing): how probable a model finds given translations."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from nmt_cli.config import SearchConfig
from nmt_cli.corpus.cleaning import Normalization
from nmt_cli.data.batch_plan import cut_in_order
from nmt_cli.data.batches import Batch, collate
from nmt_cli.errors import CorpusError
from nmt_cli.model import Seq2Seq
from nmt_cli.model.encoder import reversal, take
from nmt_cli.runtime.segments import replace_surrogates
from nmt_cli.search.penalties import LengthNormalization, coverage_penalty, needs_attention
from nmt_cli.translator.translation import Details, Translation, blank_translation, translation_of_ids
from nmt_cli.vocabulary import Vocabularies

MAX_TOKENS = 4096  # per side; attention is a matrix of source × target
_CHUNK = 1024  # tokens whose logits are held at the same time


class Forced(NamedTuple):
    """What a model predicts for the N target tokens of a batch, <eos> included."""

    log_p: Tensor  # (N,) of the tokens
    attention: Tensor | None  # (B, T, S), if the model has attention
    best: Tensor  # (N, n) ids of the n most probable tokens, best first
    best_log_p: Tensor  # (N, n)


def force(model: Seq2Seq, batch: Batch, *, n: int = 0, banned: Sequence[int] = ()) -> Forced:
    """Decode the targets of a batch by teacher forcing; the `n` best tokens are chosen among those not `banned`.

    The tokens of the result are in the order in which they are read, even if the model writes from right to left.
    """
    memory = model.encode(batch.source, batch.source_lengths)
    features, attention = model.decode(memory, batch.target_inputs)  # (B, T, F), (B, T, S)
    real = features.flatten(0, 1).index_select(0, batch.positions)  # (N, F)
    excluded = torch.tensor(banned, dtype=torch.long, device=real.device)
    of_tokens, best = [], []
    parts = (torch.split(each, _CHUNK) for each in (real, batch.positions, batch.labels))
    for chunk, positions, labels in zip(*parts, strict=True):
        copies = model.copies(attention, memory, positions)
        log_p = model.project(chunk, copies).float().log_softmax(dim=-1)  # (≤ 1024, V)
        of_tokens.append(log_p.gather(1, labels[:, None])[:, 0])
        allowed = log_p.index_fill(1, excluded, -torch.inf) if n else log_p
        best.append(allowed.topk(min(n, log_p.shape[1] - len(banned))))
    forced = Forced(
        torch.cat(of_tokens),
        attention,
        torch.cat([top.indices for top in best]),
        torch.cat([top.values for top in best]),
    )
    return _mirrored(forced, batch) if model.reverse_target else forced


def _mirrored(forced: Forced, batch: Batch) -> Forced:
    """Each sentence from its last token to its first; <eos> stays at the end."""
    lengths = batch.target_lengths.to(forced.log_p.device)  # (B,)
    swap = reversal(lengths - 1, int(lengths.max()))  # (B, T)
    starts = lengths.cumsum(0) - lengths  # (B,)
    order = (swap + starts[:, None]).flatten()[batch.positions]  # (N,)
    attention = None if forced.attention is None else take(forced.attention, swap)
    return Forced(forced.log_p[order], attention, forced.best[order], forced.best_log_p[order])


@dataclass(frozen=True)
class PairScorer:
    """Scores given translations with a model, or with the mean probability of several."""

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
        pairs = [
            self.normalization.pair(*map(replace_surrogates, pair))
            for pair in zip(sources, targets, strict=True)
        ]
        source = self.vocabularies.source.encode([text for text, _ in pairs])
        target = self.vocabularies.target.encode([text for _, text in pairs])
        lengths = np.maximum(source.lengths, target.lengths) + 1
        if len(lengths) and lengths.max() > MAX_TOKENS:
            row = int(lengths.argmax())
            raise CorpusError(
                f"line {first_line + row + 1} has {lengths[row]:,} tokens; the limit for scoring is {MAX_TOKENS:,}",
                hint="put one sentence on a line",
            )
        order = np.argsort(-lengths, kind="stable")
        results: dict[int, Translation] = {}
        for run in cut_in_order(lengths[order], self.batch_tokens):
            rows = order[run]
            batch = collate(
                source.take(rows), target.take(rows), reverse_target=self.models[0].reverse_target
            )
            forced = self._score_batch(batch, details)
            for row, (log_p, attention) in zip(rows.tolist(), forced, strict=True):
                ids = source[row].tolist(), target[row].tolist()
                results[row] = self._translation(pairs[row], ids, log_p, attention, details)
        return [results[row] for row in range(len(pairs))]

    @torch.inference_mode()
    def _score_batch(self, batch: Batch, details: Details) -> list[tuple[Tensor, Tensor | None]]:
        """For each row log p (T,) of its tokens and, if needed, attention (T, S), on the CPU."""
        wants_attention = details.attention or details.alignment or self.config.coverage_penalty > 0
        with self.autocast():
            log_p, attention = self._mean(batch.to(self.device), attention=wants_attention)  # (N,), (B, T, S)
        by_row = torch.split(log_p.cpu(), batch.target_lengths.tolist())
        if attention is None:
            if self.config.coverage_penalty:
                raise needs_attention(self.config)
            return [(row, None) for row in by_row]
        weights = attention.float().cpu()
        lengths = zip(batch.target_lengths.tolist(), batch.source_lengths.tolist(), strict=True)
        return [(by_row[b], weights[b, :T, :S]) for b, (T, S) in enumerate(lengths)]

    def _mean(self, batch: Batch, *, attention: bool) -> tuple[Tensor, Tensor | None]:
        """log p (N,) of the real target tokens and, if requested, the mean attention (B, T, S) of all models."""
        total: Tensor | None = None
        attentions: list[Tensor] = []
        for model in self.models:
            log_p, alpha, *_ = force(model, batch)
            attentions += [alpha] if attention and alpha is not None else []
            total = log_p if total is None else torch.logaddexp(total, log_p)
        assert total is not None
        mean = torch.stack(attentions).mean(dim=0) if attentions else None
        return total - math.log(len(self.models)), mean

    def _translation(
        self,
        pair: Sequence[str],
        ids: tuple[Sequence[int], Sequence[int]],
        log_p: Tensor,  # (T,)
        attention: Tensor | None,  # (T, S)
        details: Details,
    ) -> Translation:
        source, target = pair
        if not (source.strip() or target.strip()):
            return blank_translation(details)
        total = log_p.double().sum()
        return translation_of_ids(
            source,
            ids[0],
            target,
            ids[1],
            self.vocabularies,
            details,
            score=self._score(total, len(log_p), attention),
            log_probability=float(total),
            token_log_probabilities=log_p.tolist(),
            attention=attention,
        )

    def _score(self, log_p: Tensor, length: int, attention: Tensor | None) -> float:
        """s(Y, X) as in search, from log P (), |Y| = `length` and attention (T, S)."""
        score = LengthNormalization.of(self.config).score(log_p, length)
        if self.config.coverage_penalty and attention is not None:
            coverage = attention.sum(dim=0)[None, None]  # (1, 1, S)
            everywhere = torch.ones_like(coverage[:, 0])  # (1, S)
            score = score + coverage_penalty(coverage, everywhere, self.config.coverage_penalty)[0, 0]
        return float(score)
