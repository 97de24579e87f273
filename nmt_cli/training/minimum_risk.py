"""Minimum risk training: the expected risk of the model's own translations   (Shen et al. 2016)

    L = Σ_b Σ_{y ∈ S_b} Q(y | x_b) Δ(y, y*_b),   Q(y | x) = P(y | x)^α / Σ_{y' ∈ S_b} P(y' | x)^α

S_b has samples of the current model and the reference y*_b, each text once; the risk Δ is 1 - BLEU or chrF of the
sentence. It continues training after cross-entropy: the samples of an untrained model are all equally bad.
"""

from __future__ import annotations

import torch

from nmt_cli.config import Config
from nmt_cli.data.batches import Batch, collate
from nmt_cli.data.directory import DataDirectory
from nmt_cli.metrics import tokenizer_for
from nmt_cli.metrics.corpus_metric import CorpusMetric
from nmt_cli.metrics.pairwise import pairwise_bleu, pairwise_chrf
from nmt_cli.model import Risks, Seq2Seq
from nmt_cli.search import ModelScorer, search


class MinimumRisk:
    """Draws the candidates of a batch, and computes their risks."""

    def __init__(self, data: DataDirectory, config: Config) -> None:
        self._vocabulary = data.vocabularies.target
        self._metric, self._sharpness = config.train.mrt_metric, config.train.mrt_sharpness
        self._search = config.search.without_mbr(
            sampling=True,
            n_best=config.train.mrt_samples,
            temperature=1.0,
            top_k=None,
            top_p=None,
            stopping="finished",
            diversity_groups=1,
        )
        self._reverse_target = config.model.reverse_target
        self._bleu = CorpusMetric("bleu", tokenize=tokenizer_for(data.target_lang))

    def draw(self, model: Seq2Seq, batch: Batch, seed: int) -> tuple[Batch, Risks]:
        """The candidates of all sentences as one batch, which is on the device of `batch`, and their risks.

        The model is in training mode before and afterwards.
        """
        device = batch.source.device
        sampled = self._sample(model, batch, seed)
        sources, targets = list[list[int]](), list[list[int]]()
        sentences, risks, is_reference = list[int](), list[float](), list[bool]()
        lengths = zip(batch.source_lengths.tolist(), batch.target_lengths.tolist(), strict=True)
        for b, (n, m) in enumerate(lengths):
            source, reference = batch.source[b, : n - 1].tolist(), batch.target_inputs[b, 1:m].tolist()
            if self._reverse_target:
                reference.reverse()
            # Each text once; the reference comes last.
            found = {self._vocabulary.decode(ids): ids for ids in sampled[b]}
            text = self._vocabulary.decode(reference)
            found.pop(text, None)
            found[text] = reference
            targets += found.values()
            sources += [source] * len(found)
            sentences += [b] * len(found)
            risks += self._risks(list(found))
            is_reference += [*[False] * (len(found) - 1), True]
        candidates = collate(sources, targets, reverse_target=self._reverse_target).to(device)
        return candidates, Risks(
            sentences=torch.tensor(sentences, device=device),
            risks=torch.tensor(risks, dtype=torch.float32, device=device),
            is_reference=torch.tensor(is_reference, device=device),
            sharpness=self._sharpness,
        )

    @torch.no_grad()
    def _sample(self, model: Seq2Seq, batch: Batch, seed: int) -> list[list[list[int]]]:
        """The token ids of the samples of each sentence."""
        model.eval()
        try:
            scorer = ModelScorer(model, batch.source.device)
            found = search(
                scorer,
                scorer.encode(batch.source, batch.source_lengths),
                batch.source_lengths,
                self._search.model_copy(update={"seed": seed}),
                banned=self._vocabulary.banned,
                scores=False,
            )
        finally:
            model.train()
        if self._reverse_target:
            found = [[hypothesis.reversed() for hypothesis in hypotheses] for hypotheses in found]
        return [[hypothesis.tokens for hypothesis in hypotheses] for hypotheses in found]

    def _risks(self, texts: list[str]) -> list[float]:
        """Δ of each text if the last one is the reference."""
        if self._metric == "chrf":
            scores = pairwise_chrf(texts, references=1)
        else:
            scores = pairwise_bleu(texts, self._bleu.tokens, references=1)
        risks: list[float] = (1 - scores[:, 0] / 100).tolist()
        return risks
