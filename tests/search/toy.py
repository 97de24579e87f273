"""A model that is a table of random numbers, and plain-Python searches to compare with."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from hypothesis import strategies as st
from torch import Tensor

from nmt_cli.config.search import SearchConfig
from nmt_cli.model.protocol import Memory, State
from nmt_cli.search import BannedWords, Hypothesis, Phrase, SearchTree, search
from nmt_cli.vocabulary.token_ids import EOS

# What the tests of a beam search vary.
BEAM_CASES: dict[str, Any] = {
    "seed": st.integers(0, 10**6),
    "beam": st.integers(1, 7),
    "n_best": st.integers(1, 7),
    "stopping": st.sampled_from(["finished", "first", "exact"]),
    "limits": st.tuples(st.integers(0, 3), st.integers(3, 9)),
    "vocabulary": st.sampled_from([5, 7, 130]),
}
HISTORIES = 211  # prime, so that histories rarely collide


@dataclass(frozen=True, eq=False)
class ToyMemory(Memory):
    logits: Tensor  # (B, 211, V)
    attention: Tensor  # (B, 211, S)


@dataclass(frozen=True, eq=False)
class ToyState(State):
    history: Tensor  # (B, K) a hash of all tokens so far


class Toy:
    """The logits after any history, for sentences of the given lengths."""

    normalized = False
    device = torch.device("cpu")

    def __init__(
        self, seed: int, lengths: Sequence[int] = (3,), vocabulary: int = 6, scale: float = 2.0
    ) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.lengths = torch.tensor(lengths)
        S = max(lengths)
        self.logits = scale * torch.randn(len(lengths), HISTORIES, vocabulary, generator=generator)
        energies = torch.randn(len(lengths), HISTORIES, S, generator=generator)
        mask = torch.arange(S) < self.lengths[:, None]
        self.attention = energies.masked_fill(~mask[:, None], -torch.inf).softmax(dim=-1)
        self.steps: list[tuple[int, int]] = []  # the shape of the tokens of each step

    def encode(self, source: Tensor, lengths: Tensor) -> ToyMemory:
        return self.memory

    @property
    def memory(self) -> ToyMemory:
        return ToyMemory(self.logits, self.attention)

    def start(self, memory: ToyMemory, beam: int) -> ToyState:
        return ToyState(torch.zeros(memory.logits.shape[0], beam, dtype=torch.long, device=self.device))

    def step(self, tokens: Tensor, state: ToyState, memory: ToyMemory) -> tuple[Tensor, ToyState, Tensor]:
        self.steps.append((tokens.shape[0], tokens.shape[1]))
        history = (state.history * 31 + tokens + 1) % HISTORIES  # (B, K)

        def rows(table: Tensor) -> Tensor:
            return table.gather(1, history[..., None].expand(-1, -1, table.shape[2]))

        return rows(memory.logits), ToyState(history), rows(memory.attention)

    def search(
        self,
        config: SearchConfig,
        *,
        banned: Sequence[int] = (),
        words: Sequence[BannedWords] = (),
        prefix: Sequence[Sequence[int]] | None = None,
        required: Sequence[Sequence[Phrase]] = (),
        continues: Sequence[int] = (),
        attention: bool = False,
        tree: SearchTree | None = None,
    ) -> list[list[Hypothesis]]:
        within_words = torch.zeros(self.logits.shape[2], dtype=torch.bool)
        within_words[list(continues)] = True
        return search(
            self,
            self.memory,
            self.lengths,
            config,
            banned=banned,
            words=words,
            prefix=prefix,
            required=required,
            continues=within_words,
            attention=attention,
            tree=tree,
        )

    def sentence(self, b: int) -> "Sentence":
        return Sentence(
            self.logits[b].double().log_softmax(dim=-1).tolist(),
            self.attention[b, :, : int(self.lengths[b])].double().tolist(),
        )


@dataclass
class Sentence:
    """One sentence of a toy, in plain numbers."""

    log_p: list[list[float]]
    attention: list[list[float]]

    def rows(self, tokens: Sequence[int]) -> Iterator[int]:
        """The row of the table at each step of these tokens."""
        row = 0
        for token in (2, *tokens):
            row = (row * 31 + token + 1) % HISTORIES
            yield row

    def next_log_p(self, tokens: Sequence[int]) -> list[float]:
        return self.log_p[list(self.rows(tokens))[-1]]

    def log_probability(self, tokens: Sequence[int]) -> float:
        return sum(
            self.log_p[row][token] for row, token in zip(self.rows(tokens), (*tokens, EOS), strict=True)
        )

    def coverage_penalty(self, tokens: Sequence[int], beta: float) -> float:
        columns = zip(*(self.attention[row] for row in self.rows(tokens)), strict=True)
        return beta * sum(math.log(min(sum(column), 1.0)) for column in columns)

    def score(self, tokens: Sequence[int], config: SearchConfig) -> float:
        return self.normalized(self.log_probability(tokens), len(tokens) + 1, tokens, config)

    def normalized(self, log_p: float, length: int, tokens: Sequence[int], config: SearchConfig) -> float:
        penalty = self.coverage_penalty(tokens, config.coverage_penalty) if config.coverage_penalty else 0.0
        alpha = config.length_penalty
        by_kind: dict[str, float] = {
            "none": log_p,
            "average": log_p / length**alpha,
            "wu": log_p / ((5 + length) ** alpha / (5 + 1) ** alpha),
            "reward": log_p + config.word_reward * length,
        }
        return by_kind[config.length_normalization] + penalty

    def exhaustive(self, config: SearchConfig, limit: int) -> list[tuple[float, tuple[int, ...]]]:
        """Every translation with its score, best first."""
        words = [token for token in range(len(self.log_p[0])) if token != EOS]
        everything = (
            tokens
            for length in range(config.min_length, limit + 1)
            for tokens in itertools.product(words, repeat=length)
        )
        return sorted(((self.score(tokens, config), tokens) for tokens in everything), reverse=True)

    def beam(
        self, config: SearchConfig, limit: int, *, stop: bool = True
    ) -> list[tuple[float, tuple[int, ...]]]:
        """Textbook beam search; without `stop` it continues until nothing is open."""
        K = config.beam_size
        hypotheses: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
        finished: list[tuple[float, tuple[int, ...]]] = []
        for t in range(limit + 1):
            candidates = []
            for total, tokens in hypotheses:
                for token, log_p in enumerate(self.next_log_p(tokens)):
                    may_end = t >= config.min_length if token == EOS else t < limit
                    if may_end and not _repeats((*tokens, token), config.no_repeat_ngram):
                        candidates.append((total + log_p, (*tokens, token)))
            candidates.sort(key=lambda candidate: -candidate[0])
            for _, tokens in candidates[:K]:
                if tokens[-1] == EOS:
                    finished.append((self.score(tokens[:-1], config), tokens[:-1]))
            hypotheses = [candidate for candidate in candidates if candidate[1][-1] != EOS][:K]
            finished.sort(reverse=True)
            if not hypotheses or (stop and self._stops(config, finished, hypotheses, limit)):
                break
        return finished[: config.n_best]

    def _stops(
        self,
        config: SearchConfig,
        finished: list[tuple[float, tuple[int, ...]]],
        hypotheses: list[tuple[float, tuple[int, ...]]],
        limit: int,
    ) -> bool:
        if config.stopping == "finished":
            return len(finished) >= config.beam_size
        if config.stopping == "first":
            # The coverage of an open path is that of the steps which chose its tokens.
            present = max(
                self.normalized(total, len(tokens), tokens[:-1], config) for total, tokens in hypotheses
            )
            return bool(finished) and finished[0][0] >= present
        assert config.stopping == "exact"
        return False  # compared with a search that never stops


def _repeats(tokens: tuple[int, ...], n: int) -> bool:
    if n == 0 or tokens[-1] == EOS:
        return False
    ngrams = [tokens[i : i + n] for i in range(len(tokens) - n + 1)]
    return len(set(ngrams)) < len(ngrams)


class BeamCase:
    """A toy and settings of one case of `BEAM_CASES`, to compare with the plain-Python beam search."""

    def __init__(
        self,
        settings: dict[str, Any],
        *,
        seed: int,
        beam: int,
        n_best: int,
        stopping: Any,
        limits: tuple[int, int],
        vocabulary: int,
    ) -> None:
        self.toy = Toy(seed, lengths=(3, 1, 4), vocabulary=vocabulary)
        self.config = SearchConfig(
            beam_size=beam,
            n_best=min(n_best, beam),
            stopping=stopping,
            min_length=limits[0],
            max_length=limits[1],
            max_length_ratio=None,
            **settings,
        )

    def check(self, results: Sequence[Sequence[Any]]) -> None:
        """The hypotheses of each sentence are those of the plain-Python search, in the same order."""
        config = self.config
        for b, found in enumerate(results):
            expected = self.toy.sentence(b).beam(config, config.max_length, stop=config.stopping != "exact")
            assert [tuple(hypothesis.tokens) for hypothesis in found] == [tokens for _, tokens in expected]
            assert [hypothesis.score for hypothesis in found] == pytest.approx(
                [score for score, _ in expected], abs=1e-4
            )
