"""What the positions of a sentence look at among themselves, to be displayed: LSTMN and Transformer."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from nmt_cli.data.batch import Batch
from nmt_cli.model.lstmn import TapeReader
from nmt_cli.model.seq2seq import Seq2Seq
from nmt_cli.model.transformer import TransformerLayer

Hook = Callable[[nn.Module, tuple[Any, ...], dict[str, Any], Any], None]


@torch.no_grad()
def self_attention(model: Seq2Seq, batch: Batch) -> dict[str, Tensor]:
    """α (B, T, T) of every layer that attends to its own side, by the name of the layer, under teacher forcing.

    LSTMN: row t is step t, column i the state after i steps, 0 the one before the first; a backward layer counts
    from the end of each sentence. Transformer: row and column are positions; the mean over the heads.
    """
    found: dict[str, list[Tensor]] = {}
    with _watched(model, found):
        model.decode(model.encode(batch.source, batch.source_lengths), batch.target_inputs)
    return {name: _matrix(rows) for name, rows in found.items()}


@contextmanager
def _watched(model: Seq2Seq, found: dict[str, list[Tensor]]) -> Iterator[None]:
    """Collect what the layers see while this lasts; nothing of it stays on the model."""
    handles = []
    for name, module in model.named_modules():
        if isinstance(module, TapeReader):
            rows = found.setdefault(name.removesuffix(".reader"), [])
            handles.append(module.register_forward_hook(_tape_hook(rows), with_kwargs=True))
        elif isinstance(module, TransformerLayer):
            rows = found.setdefault(name, [])
            handles.append(module.self_attention.register_forward_hook(_head_hook(rows), with_kwargs=True))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _tape_hook(rows: list[Tensor]) -> Hook:
    def hook(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], alpha: Tensor) -> None:
        rows.append(alpha.flatten(0, -2))  # (B, t)

    return hook


def _head_hook(rows: list[Tensor]) -> Hook:
    """The fused kernel does not show its weights: they are computed once more."""

    def hook(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], _: Tensor) -> None:
        z, keys, values, mask = args
        T = z.shape[1]
        if mask is None:
            mask = z.new_ones(1, T, T, dtype=torch.bool)
        if kwargs.get("causal"):
            mask = mask & mask.new_ones(T, T).tril()
        rows.append(module.shown(z, keys, values, mask)[1])  # type: ignore[operator]  # (B, T, T)

    return hook


def _matrix(rows: list[Tensor]) -> Tensor:
    if rows[0].dim() == 3:
        return rows[0]
    return torch.stack([pad(row, (0, len(rows) - row.shape[1])) for row in rows], dim=1)  # (B, T, T)
