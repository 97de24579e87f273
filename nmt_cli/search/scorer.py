"""What search needs from a model or an ensemble: logits of the next token for every hypothesis."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import torch
from torch import Tensor

from nmt_cli.model.protocol import Memory, MemoryT, State, StateT, TranslationModel


class Scorer(Protocol[MemoryT, StateT]):
    """B sentences with K hypotheses each, S source positions, V tokens."""

    @property
    def device(self) -> torch.device:
        """Where tokens and logits live."""
        ...

    @property
    def normalized(self) -> bool:
        """Whether the logits are already log-probabilities."""
        ...

    def encode(self, source: Tensor, lengths: Tensor) -> MemoryT:
        """Source (B, S) with `lengths` (B,) on the CPU → memory."""
        ...

    def start(self, memory: MemoryT, beam: int) -> StateT:
        """The state before the first step, the same for all `beam` hypotheses of a sentence."""
        ...

    def step(self, tokens: Tensor, state: StateT, memory: MemoryT) -> tuple[Tensor, StateT, Tensor | None]:
        """Tokens (B, K) → logits (B, K, V) that the caller may overwrite, next state, attention (B, K, S)."""
        ...


class ModelScorer(Scorer[MemoryT, StateT]):
    """One model: a decoder step and the projection to the vocabulary.

    It returns plain logits. Search applies log_softmax to them, or skips it where only the argmax matters.
    """

    normalized = False

    def __init__(self, model: TranslationModel[MemoryT, StateT], device: torch.device | None = None) -> None:
        assert not getattr(model, "training", False), "search needs a model in evaluation mode"
        self.model = model
        self._device = device or _device_of(model)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self._device

    def encode(self, source: Tensor, lengths: Tensor) -> MemoryT:
        """The model's memory of source (B, S)."""
        return self.model.encode(source, lengths)

    def start(self, memory: MemoryT, beam: int) -> StateT:
        """The model's state before the first step."""
        return self.model.start(memory, beam)

    def step(self, tokens: Tensor, state: StateT, memory: MemoryT) -> tuple[Tensor, StateT, Tensor | None]:
        """Tokens (B, K) → logits (B, K, V), next state, attention (B, K, S)."""
        features, state, attention = self.model.step(tokens, state, memory)
        return self.model.project(features, self.model.copies(attention, memory)), state, attention


@dataclass(frozen=True, eq=False)
class EnsembleMemory(Memory):
    """The memory of each model."""

    members: tuple[Any, ...]

    def select(self, rows: Tensor) -> Self:
        """The sentences `rows` (B',) of every member."""
        return type(self)(tuple(member.select(rows) for member in self.members))


@dataclass(frozen=True, eq=False)
class EnsembleState(State):
    """The state of each model."""

    members: tuple[Any, ...]

    def select(self, rows: Tensor) -> Self:
        """The sentences `rows` (B',) of every member."""
        return type(self)(tuple(member.select(rows) for member in self.members))

    def reorder(self, parents: Tensor) -> Self:
        """The hypotheses `parents` (B, K') of every member."""
        return type(self)(tuple(member.reorder(parents) for member in self.members))


class Ensemble(Scorer[EnsembleMemory, EnsembleState]):
    """p(y_t) = Σ_i p_i(y_t) / M for M models that share a target vocabulary   (Sutskever et al. 2014, section 3.6)

    In log space: log p = logΣ_i exp(log p_i) - log M. Attention is the mean over the models that have attention.
    """

    normalized = True

    def __init__(self, models: Sequence[TranslationModel[Any, Any]]) -> None:
        assert models
        self.scorers = [ModelScorer(model) for model in models]

    @property
    def device(self) -> torch.device:
        """Where the weights of the first model are."""
        return self.scorers[0].device

    def encode(self, source: Tensor, lengths: Tensor) -> EnsembleMemory:
        """Every model's memory of source (B, S)."""
        return EnsembleMemory(tuple(scorer.encode(source, lengths) for scorer in self.scorers))

    def start(self, memory: EnsembleMemory, beam: int) -> EnsembleState:
        """Every model's state before the first step."""
        pairs = zip(self.scorers, memory.members, strict=True)
        return EnsembleState(tuple(scorer.start(member, beam) for scorer, member in pairs))

    def step(
        self, tokens: Tensor, state: EnsembleState, memory: EnsembleMemory
    ) -> tuple[Tensor, EnsembleState, Tensor | None]:
        """Tokens (B, K) → log p (B, K, V), next states, mean attention (B, K, S)."""
        total: Tensor | None = None
        states, attentions = [], []
        for scorer, state_i, memory_i in zip(self.scorers, state.members, memory.members, strict=True):
            z, after, attention = scorer.step(tokens, state_i, memory_i)
            log_p_i = z.float().log_softmax(dim=-1)  # (B, K, V)
            total = log_p_i if total is None else torch.logaddexp(total, log_p_i)
            states.append(after)
            attentions += [] if attention is None else [attention]
        assert total is not None
        log_p = total.sub_(math.log(len(self.scorers)))  # (B, K, V)
        mean = torch.stack(attentions).mean(dim=0) if attentions else None  # (B, K, S)
        return log_p, EnsembleState(tuple(states)), mean


def _device_of(model: Any) -> torch.device:
    parameter = next(iter(model.parameters()), None) if isinstance(model, torch.nn.Module) else None
    return torch.device("cpu") if parameter is None else parameter.device
