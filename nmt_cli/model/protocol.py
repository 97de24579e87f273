"""The model protocol: everything that training and search know of a model.

Letters used throughout: B sentences · S source positions · T target positions · K hypotheses per sentence ·
H size of a state · E size of a word vector · F size of the features · V size of the target vocabulary
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Literal, NamedTuple, Protocol, Self, TypeVar

import torch
from torch import Tensor

from nmt_cli.data.batches import Batch


@dataclass(frozen=True, eq=False)
class Value:
    """Tensors (or tuples of them, other values, or None) whose dimension 0 is the batch."""

    def select(self, rows: Tensor) -> Self:
        """Only the sentences `rows` (B',), in that order."""
        return self._map(lambda tensor: tensor.index_select(0, rows))

    def _map(self, function: Callable[[Tensor], Tensor]) -> Self:
        return replace(self, **{each.name: _map(function, getattr(self, each.name)) for each in fields(self)})


class Memory(Value):
    """What the encoder passes to the decoder: (B, …), never copied for the K hypotheses of a sentence."""


class State(Value):
    """What one decoder step passes to the next: (B, K, …)."""

    def reorder(self, parents: Tensor) -> Self:
        """Let hypothesis k of sentence b continue hypothesis `parents[b, k]`; parents: (B, K')."""
        B = len(parents)

        @cache
        def rows(K: int) -> Tensor:  # (B·K',) the same for all tensors
            return (parents + torch.arange(0, B * K, K, device=parents.device)[:, None]).flatten()

        def pick(tensor: Tensor) -> Tensor:  # (B, K, …) → (B, K', …)
            picked = tensor.flatten(0, 1).index_select(0, rows(tensor.shape[1]))
            return picked.view(*parents.shape, *tensor.shape[2:])

        return self._map(pick)


class Copies(NamedTuple):
    """What steps can copy from the source: word w with probability Σ_{i: x_i = w} α_i   (See et al. 2017)"""

    words: Tensor  # (…, S) x_i, token ids
    weights: Tensor  # (…, S) α_i, 0 on padding


class Loss(NamedTuple):
    """Sums over the tokens of a batch, so that the caller can divide by the tokens of the whole update."""

    total: Tensor  # () what is minimized; float32
    cross_entropy: Tensor  # () the same without label smoothing, for reports; no gradient
    tokens: int


class Risks(NamedTuple):
    """The rows of a batch are R candidate translations, several for each sentence   (Shen et al. 2016)"""

    sentences: Tensor  # (R,) which sentence a row translates, from 0, ascending
    risks: Tensor  # (R,) Δ ≥ 0, 0 for a perfect translation
    is_reference: Tensor  # (R,) whether it is the reference
    sharpness: float  # α


class ScheduledSampling(NamedTuple):
    """How often the decoder is fed its own words instead of the reference, and which   (Bengio et al. 2015)"""

    probability: float = 0.0
    kind: Literal["best", "drawn"] = "best"


TEACHER_FORCING = ScheduledSampling()
MemoryT = TypeVar("MemoryT", bound=Memory)
StateT = TypeVar("StateT", bound=State)


class TranslationModel(Protocol[MemoryT, StateT]):
    """A model, which is a torch module as well. One step at a time equals teacher forcing.

    Steps return features; turning them into logits is a separate call, made only where logits are needed. A model that
    copies needs for it what the steps can copy.
    """

    reverse_target: bool  # whether it writes from right to left: its targets begin with their last token

    def vocabulary_size(self) -> int:
        """V, the size of the target vocabulary."""
        ...

    def encode(self, source: Tensor, lengths: Tensor) -> MemoryT:
        """Source (B, S) with `lengths` (B,) on the CPU → memory."""
        ...

    def decode(self, memory: MemoryT, target_inputs: Tensor) -> tuple[Tensor, Tensor | None]:
        """Teacher forcing with (B, T): features (B, T, F) and attention (B, T, S), if there is any."""
        ...

    def start(self, memory: MemoryT, beam: int) -> StateT:
        """The state before the first step, the same for all `beam` hypotheses of a sentence."""
        ...

    def step(self, tokens: Tensor, state: StateT, memory: MemoryT) -> tuple[Tensor, StateT, Tensor | None]:
        """Tokens (B, K) → features (B, K, F), the next state, attention (B, K, S)."""
        ...

    def copies(
        self, attention: Tensor | None, memory: MemoryT, positions: Tensor | None = None
    ) -> Copies | None:
        """What steps with attention (B, Q, S) can copy, (B, Q, S), or None if the model does not copy.

        positions: only for these steps, flat indices b·Q + q (N,): (N, S)
        """
        ...

    def project(self, features: Tensor, copies: Copies | None = None) -> Tensor:
        """Features (…, F) and what can be copied (…, S) → logits (…, V); of a model that copies, log-probabilities."""
        ...

    def loss(
        self,
        batch: Batch,
        *,
        label_smoothing: float = 0.0,
        scheduled_sampling: ScheduledSampling = TEACHER_FORCING,
        token_fraction: float = 1.0,
        tokens_per_sentence: int = 0,
        guided_alignment: float = 0.0,
        risks: Risks | None = None,
    ) -> Loss:
        """Cross-entropy of the real target tokens, summed; `total` includes any further losses of the model.

        scheduled_sampling   how often the decoder is fed its own words
        token_fraction       how many of each sentence's target tokens count, drawn at random; the loss is scaled up
        tokens_per_sentence  the same as a number; 0: all
        guided_alignment     weight of the cross-entropy of attention with the links of the batch
        risks                of candidates: `total` is their expected risk, summed over sentences, instead of the
                             cross-entropy; label smoothing and the other options have no effect
        """
        ...

    def forward(self, batch: Batch, **options: Any) -> Loss:
        """`loss`, under the name that torch's wrappers (`compile`, data parallel) call."""
        ...

    def empty_batch(self) -> Batch:
        """A batch without content, for a process that has none in this update."""
        ...

    def start_softly(self, soft: bool) -> None:
        """A training mode: with `soft`, hard attention is soft attention as long as the model is in training mode."""
        ...

    def learn_baseline(self, loss: Loss) -> None:
        """Called after each backward pass: update what is learned from the loss without a gradient, if anything."""
        ...


def padding_mask(lengths: Tensor, positions: int, device: torch.device) -> Tensor:
    """(B, S), true on real tokens; `lengths` (B,) come from the CPU without making a GPU wait."""
    return torch.arange(positions, device=device) < lengths.to(device, non_blocking=True)[:, None]


def _map(function: Callable[[Tensor], Tensor], value: Any) -> Any:
    if isinstance(value, tuple):
        items = [_map(function, item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, Value):
        return value._map(function)
    return value if value is None else function(value)
