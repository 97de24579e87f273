"""The state of a search: the open hypotheses, and the sentences that are still in the batch.

B sentences · K hypotheses per sentence · S source positions
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from nmt_cli.config.search import SearchConfig
from nmt_cli.model.protocol import State
from nmt_cli.search.candidates import Candidates, sentence_seeds
from nmt_cli.search.constraints import BannedWords, Constraints, History, build_constraints
from nmt_cli.search.penalties import needs_attention
from nmt_cli.search.phrases import Phrase, PhraseProgress, RequiredPhrases, build_required, required_tokens
from nmt_cli.search.stopping import Finished, StepScores, StoppingRule, build_stopping
from nmt_cli.vocabulary.token_ids import BOS


@dataclass(frozen=True, eq=False)
class OpenHypotheses(State):
    """The open hypotheses, best first; log P is -∞ where a sentence has fewer."""

    tokens: Tensor  # (B, K) the last token of each
    scores: Tensor  # (B, K) log P so far
    coverage: Tensor | None  # (B, K, S) Σ_t α_t, if there is a coverage penalty
    history: History  # what constraints have to know
    progress: PhraseProgress | None  # with the required phrases, if there are any

    @classmethod
    def start(cls, sentences: "Sentences", hypotheses: int) -> Self:
        """<bos> for each hypothesis."""
        tokens = torch.full((len(sentences.done), hypotheses), BOS, device=sentences.done.device)
        required = sentences.required
        return cls(
            tokens=tokens,
            scores=torch.zeros_like(tokens, dtype=torch.float32),
            coverage=None,
            history=sentences.constraints.start(hypotheses),
            progress=None if required is None else required.start(hypotheses),
        )

    def extend(self, chosen: Candidates, progress: PhraseProgress | None, constraints: Constraints) -> Self:
        """Continue with the chosen candidates (B, K'), whose progress it is."""
        tokens, parents, scores, _ = chosen
        coverage = self.coverage
        if coverage is not None:
            coverage = coverage.gather(1, parents[..., None].expand(-1, -1, coverage.shape[2]))
        history = constraints.extend(self.history.reorder(parents), tokens)
        return replace(
            self, tokens=tokens, scores=scores, coverage=coverage, history=history, progress=progress
        )

    def cover(self, alpha: Tensor | None, config: SearchConfig) -> Self:
        """Add the attention (B, K, S) of this step to the coverage, if there is a coverage penalty."""
        if not config.coverage_penalty:
            return self
        if alpha is None:
            raise needs_attention(config)
        alpha = alpha.float()
        return replace(self, coverage=alpha if self.coverage is None else self.coverage + alpha)


@dataclass(frozen=True, eq=False)
class Sentences:
    """What search knows about each of the B' sentences that are still in the batch."""

    indices: Tensor  # (B',) which of the B sentences
    rows: Tensor  # (B,) the row of each sentence; 0 if it has left the batch
    done: Tensor  # (B',) true where no further step is needed
    lengths: Tensor  # (B',) of the sources, <eos> included
    constraints: Constraints
    required: RequiredPhrases | None
    stopping: StoppingRule
    seeds: Tensor | None  # (B',) if tokens are sampled

    def select(self, rows: Tensor) -> Self:
        """The sentences in `rows` (B'',) only."""
        indices = self.indices.index_select(0, rows)
        new_rows = torch.arange(len(indices), device=rows.device)
        return replace(
            self,
            indices=indices,
            rows=torch.zeros_like(self.rows).index_copy_(0, indices, new_rows),
            done=self.done.index_select(0, rows),
            lengths=self.lengths.index_select(0, rows),
            constraints=self.constraints.select(rows),
            required=None if self.required is None else self.required.select(rows),
            stopping=self.stopping.select(rows),
            seeds=None if self.seeds is None else self.seeds.index_select(0, rows),
        )

    def cannot_end(self) -> Tensor:
        """(B', 1) or (B', K) the candidates that do not count if they end: of sentences and groups that are done."""
        if isinstance(self.stopping, Finished) and self.stopping.ended.shape[1] > 1:
            return self.done[:, None] | self.stopping.closed()
        return self.done[:, None]

    def keep_best_ended(self, ended: Tensor, ranked: Tensor, missing: Tensor) -> tuple[Self, Tensor, Tensor]:
        """Scores (B', E) of those that ended and (B', C) of all candidates, without those that lack phrases.

        missing (B', C, G) tokens of each required phrase. At the maximum length, the least incomplete ones remain.
        """
        assert self.required is not None
        required, ended = self.required.keep_best_ended(ended, missing[:, : ended.shape[1]])
        complete = (missing == 0).all(dim=2)  # (B', C)
        return replace(self, required=required), ended, ranked.masked_fill(~complete, -torch.inf)

    def after(self, step: StepScores) -> Self:
        """After a step: sentences that stop or have no open hypothesis are done."""
        stopping, stop = self.stopping.after(step)
        nothing_open = ~(step.open_log_p > -torch.inf).any(dim=1)  # (B',) also true if all are nan
        return replace(self, stopping=stopping, done=self.done | stop | nothing_open)


def start_sentences(
    config: SearchConfig,
    source_lengths: Tensor,
    device: torch.device,
    *,
    banned: Sequence[int],
    words: Sequence[BannedWords],
    prefix: Sequence[Sequence[int]] | None,
    required: Sequence[Sequence[Phrase]],
    continues: Tensor | None,
    numbers: Sequence[int] | None,
    real: int | None,
) -> Sentences:
    """Before the first step; see `search`."""
    B = len(source_lengths)
    seeds = None
    if config.sampling:
        numbers_ = torch.arange(B) if numbers is None else torch.tensor(numbers)  # (B,)
        seeds = sentence_seeds(config.seed, numbers_).to(device)
    return Sentences(
        indices=torch.arange(B, device=device),
        rows=torch.arange(B, device=device),
        done=torch.arange(B, device=device) >= (B if real is None else real),
        lengths=source_lengths.to(device, non_blocking=True),
        constraints=build_constraints(
            config,
            source_lengths,
            banned=banned,
            words=words,
            prefix=prefix,
            required=required_tokens(required) if required else None,
            device=device,
        ),
        required=build_required(required, continues, device),
        stopping=build_stopping(config, B, device),
        seeds=seeds,
    )
