"""Scheduled sampling: now and then the decoder is fed its own words instead of the reference.

At each step after the first, y_{t-1} is replaced with probability p by ŷ_{t-1}, the most probable word or a draw
from p(· | ŷ_{<t-1}, x)   (Bengio et al. 2015). No gradient flows through the choice, so the words can be chosen
first and the loss computed afterwards, as with any other target inputs.

A sequential decoder chooses word by word, each given those before it. A decoder that runs all steps at once
predicts all words from the reference in a first pass, and is fed the mixture in a second one
(Mihaylova & Martins 2019).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from nmt_cli.model.protocol import Memory, OwnWords

if TYPE_CHECKING:
    from nmt_cli.model.seq2seq import Seq2Seq


@torch.no_grad()
def mix_inputs(model: Seq2Seq, memory: Memory, inputs: Tensor, own: OwnWords) -> Tensor:
    """Target inputs (B, T) with some words replaced by the model's own."""
    replaced = torch.rand(inputs.shape, device=inputs.device) < own.probability  # (B, T)
    replaced[:, 0] = False  # <bos>
    if model.decoder.is_sequential:
        return _step_by_step(model, memory, inputs, replaced, own)
    features, _ = model.decode(memory, inputs)  # (B, T, F)
    rows = torch.split(features[:, :-1].flatten(0, 1), model.loss_chunk_tokens)  # (n, F) each
    predicted = torch.cat([_choose(model, row, own) for row in rows]).view_as(inputs[:, 1:])  # (B, T - 1)
    return torch.cat([inputs[:, :1], torch.where(replaced[:, 1:], predicted, inputs[:, 1:])], dim=1)


def _step_by_step(model: Seq2Seq, memory: Memory, inputs: Tensor, replaced: Tensor, own: OwnWords) -> Tensor:
    state, tokens = model.start(memory, 1), inputs[:, :1]  # (B, 1)
    mixed = [tokens]
    for t in range(1, inputs.shape[1]):
        features, state, _ = model.step(tokens, state, memory)  # (B, 1, F)
        predicted = _choose(model, features[:, 0], own)[:, None]  # (B, 1)
        tokens = torch.where(replaced[:, t : t + 1], predicted, inputs[:, t : t + 1])
        mixed.append(tokens)
    return torch.cat(mixed, dim=1)  # (B, T)


def _choose(model: Seq2Seq, features: Tensor, own: OwnWords) -> Tensor:
    """Features (n, F) → words (n,)."""
    logits = model.project(features)  # (n, V)
    if own.kind == "drawn":
        noise = torch.empty_like(logits, dtype=torch.float32).exponential_()  # its -log is Gumbel noise
        logits = logits - noise.log()
    return logits.argmax(dim=-1)
