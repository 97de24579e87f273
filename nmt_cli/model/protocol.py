"""The border of the model: all that trainer and search know of it.

B sentences · S source positions · T target positions · K hypotheses a sentence · H size of a state ·
E size of a word vector · F size of the features · V size of the target vocabulary
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import torch
from torch import Tensor

from nmt_cli.data.batch import Batch

PAD = 0  # the ids of every vocabulary: pad 0, unk 1, bos 2, eos 3


@dataclass(frozen=True, eq=False)
class Value:
    """Tensors (or tuples of them, or None) whose dimension 0 is the batch."""

    def select(self, rows: Tensor) -> Self:
        """The sentences `rows` (B',) only, in that order."""
        return self._map(lambda tensor: tensor.index_select(0, rows))

    def _map(self, function: Callable[[Tensor], Tensor]) -> Self:
        return replace(
            self, **{field.name: _map(function, getattr(self, field.name)) for field in fields(self)}
        )


class Memory(Value):
    """What the encoder hands to the decoder: (B, …), never copied for the K hypotheses of a sentence."""


class State(Value):
    """What one decoder step hands to the next: (B, K, …)."""

    def reorder(self, parents: Tensor) -> Self:
        """Hypothesis k of sentence b is to continue its hypothesis `parents[b, k]`; parents: (B, K')."""
        B = len(parents)

        @cache
        def rows(K: int) -> Tensor:  # (B·K',) the same for all tensors
            return (parents + torch.arange(0, B * K, K, device=parents.device)[:, None]).flatten()

        def pick(tensor: Tensor) -> Tensor:  # (B, K, …) → (B, K', …)
            picked = tensor.flatten(0, 1).index_select(0, rows(tensor.shape[1]))
            return picked.view(*parents.shape, *tensor.shape[2:])

        return self._map(pick)


class Loss(NamedTuple):
    """Sums over the tokens of a batch, so that the caller can divide by the tokens of the whole update."""

    total: Tensor  # () what is minimised; float32
    cross_entropy: Tensor  # () the same without label smoothing, for reports; no gradient
    tokens: int


MemoryT = TypeVar("MemoryT", bound=Memory)
StateT = TypeVar("StateT", bound=State)


class TranslationModel(Protocol[MemoryT, StateT]):
    """One step at a time equals teacher forcing. Features become logits apart, where they are needed."""

    def encode(self, source: Tensor, lengths: Tensor) -> MemoryT:
        """Source (B, S) with `lengths` (B,) on the CPU → memory."""
        ...

    def decode(self, memory: MemoryT, target_inputs: Tensor) -> tuple[Tensor, Tensor | None]:
        """Teacher forcing with (B, T): features (B, T, F) and attention (B, T, S), if there is one."""
        ...

    def start(self, memory: MemoryT, beam: int) -> StateT:
        """The state before the first step, the same for all `beam` hypotheses of a sentence."""
        ...

    def step(self, tokens: Tensor, state: StateT, memory: MemoryT) -> tuple[Tensor, StateT, Tensor | None]:
        """Tokens (B, K) → features (B, K, F), the next state, attention (B, K, S)."""
        ...

    def project(self, features: Tensor) -> Tensor:
        """Features (…, F) → logits (…, V)."""
        ...

    def loss(self, batch: Batch, *, label_smoothing: float = 0.0) -> Loss:
        """Cross-entropy of the real target tokens, summed."""
        ...


def padding_mask(lengths: Tensor, positions: int, device: torch.device) -> Tensor:
    """(B, S), true on real tokens; `lengths` come from the CPU without making a GPU wait."""
    return torch.arange(positions, device=device) < lengths.to(device, non_blocking=True)[:, None]


def _map(function: Callable[[Tensor], Tensor], value: Any) -> Any:
    if isinstance(value, tuple):
        items = [_map(function, item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value if value is None else function(value)
