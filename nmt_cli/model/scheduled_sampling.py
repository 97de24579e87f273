"""Scheduled sampling: the decoder is fed its own words instead of the right ones, now and then.

At each step after the first, y_{t-1} is replaced with probability p by ŷ_{t-1}, the most probable word or one that
is drawn from p(· | ŷ_{<t-1}, x)   (Bengio et al. 2015). No gradient goes through the choice, so the words can be
chosen first and the loss computed after, as with any other target inputs.

A decoder that goes step by step chooses word by word, each given those before it. One that takes all steps at once
has said all its words after the right ones in a first pass, and a second one is fed the mixture
(Mihaylova & Martins 2019).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import torch
from torch import Tensor

if TYPE_CHECKING:
    from nmt_cli.model.decoder import SourceMemory
    from nmt_cli.model.seq2seq import Seq2Seq


class OwnWords(NamedTuple):
    """How often the decoder is fed its own words, and which."""

    probability: float = 0.0
    kind: Literal["best", "drawn"] = "best"


NO_WORDS = OwnWords()


@torch.no_grad()
def mix_inputs(model: Seq2Seq, memory: SourceMemory, inputs: Tensor, own: OwnWords) -> Tensor:
    """Target inputs (B, T) with some words replaced by those of the model."""
    replaced = torch.rand(inputs.shape, device=inputs.device) < own.probability  # (B, T)
    replaced[:, 0] = False  # <bos>
    if model.decoder.is_sequential:
        return _step_by_step(model, memory, inputs, replaced, own)
    features, _ = model.decode(memory, inputs)  # (B, T, F)
    rows = torch.split(features[:, :-1].flatten(0, 1), model.loss_chunk_tokens)  # (n, F) each
    said = torch.cat([_choose(model, row, own) for row in rows]).view_as(inputs[:, 1:])  # (B, T - 1)
    return torch.cat([inputs[:, :1], torch.where(replaced[:, 1:], said, inputs[:, 1:])], dim=1)


def _step_by_step(
    model: Seq2Seq, memory: SourceMemory, inputs: Tensor, replaced: Tensor, own: OwnWords
) -> Tensor:
    state, tokens = model.start(memory, 1), inputs[:, :1]  # (B, 1)
    mixed = [tokens]
    for t in range(1, inputs.shape[1]):
        features, state, _ = model.step(tokens, state, memory)  # (B, 1, F)
        said = _choose(model, features[:, 0], own)[:, None]  # (B, 1)
        tokens = torch.where(replaced[:, t : t + 1], said, inputs[:, t : t + 1])
        mixed.append(tokens)
    return torch.cat(mixed, dim=1)  # (B, T)


def _choose(model: Seq2Seq, features: Tensor, own: OwnWords) -> Tensor:
    """Features (n, F) → words (n,)."""
    logits = model.project(features)  # (n, V)
    if own.kind == "drawn":
        noise = torch.empty_like(logits, dtype=torch.float32).exponential_()  # -log of it is Gumbel's
        logits = logits - noise.log()
    return logits.argmax(dim=-1)
