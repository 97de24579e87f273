"""Forced decoding of one translation: what the model thinks of each of its pieces, and what it likes better."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from nmt_cli.search import Scorer
from nmt_cli.vocabulary.token_ids import BOS


class Forced(NamedTuple):
    """T pieces of a translation, <eos> included."""

    log_p: list[float]  # T
    attention: Tensor | None  # (T, S) on the CPU
    likely: list[list[tuple[int, float]]]  # T, the most probable ids with log p, the best first


@torch.inference_mode()
def force(
    scorer: Scorer[Any, Any], memory: Any, tokens: Sequence[int], *, count: int, banned: Sequence[int] = ()
) -> Forced:
    """Say the T `tokens`, which end in <eos>, to the one sentence in `memory`.

    At each step the `count` best ids are kept that are not `banned`. The same steps as in search, so the same
    numbers up to the rounding of the model.
    """
    state = scorer.start(memory, 1)
    log_p, rows, likely = [], [], []
    for before, token in zip([BOS, *tokens[:-1]], tokens, strict=True):
        logits, state, alpha = scorer.step(torch.tensor([[before]], device=scorer.device), state, memory)
        step = logits[0, 0].float()
        step = step if scorer.normalized else step.log_softmax(dim=-1)  # (V,)
        log_p.append(float(step[token]))
        allowed = step.clone()
        allowed[list(banned)] = -torch.inf
        values, ids = allowed.topk(min(count, len(allowed) - len(banned)))
        likely.append(list(zip(ids.tolist(), values.tolist(), strict=True)))
        rows += [] if alpha is None else [alpha[0, 0].float().cpu()]  # (S,)
    return Forced(log_p, torch.stack(rows) if rows else None, likely)
