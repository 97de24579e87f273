"""Self-attention maps, one for each layer of an LSTMN or a Transformer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from nmt_cli.config import ModelConfig
from nmt_cli.data.batches import Batch, collate
from nmt_cli.explanation.explanation import SelfAttention
from nmt_cli.model import Seq2Seq
from nmt_cli.model.lstmn import IntraAttention
from nmt_cli.model.transformer import TransformerLayer
from nmt_cli.vocabulary.token_ids import mirrored

Hook = Callable[[nn.Module, tuple[Any, ...], dict[str, Any], Any], None]
START = "<start>"  # before the first piece: the initial state, or <bos>


def has_self_attention(settings: ModelConfig) -> bool:
    """Whether a model of these settings has layers that attend to their own side."""
    return settings.cell == "transformer" or settings.intra_attention != "none"


def self_attention_maps(
    model: Seq2Seq,
    settings: ModelConfig,
    source: Sequence[int],
    target: Sequence[int],
    pieces: tuple[Sequence[str], Sequence[str]],
) -> tuple[SelfAttention, ...]:
    """One map per layer, for ids that end in <eos>; `pieces` are the labels of both sides."""
    device = model.vocabulary.weight.device
    batch = collate([source[:-1]], [target[:-1]], reverse_target=settings.reverse_target)
    by_layer = self_attention(model, batch.to(device))
    maps = []
    for name, alpha in by_layer.items():
        rows, columns = _labels(name, settings, *pieces)
        weights = tuple(tuple(row) for row in alpha[0].float().cpu().tolist())
        maps.append(SelfAttention(_title(name), rows, columns, weights))
    return tuple(maps)


def _title(name: str) -> str:
    """`encoder.layers.0.backwards` → `encoder, layer 1, backwards`"""
    side, _, number, *direction = name.split(".")
    return ", ".join([side, f"layer {int(number) + 1}", *direction])


def _labels(
    name: str, settings: ModelConfig, source: Sequence[str], target: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The labels of rows and columns, in the order in which the layer reads."""
    if name.startswith("decoder."):
        if settings.reverse_target:
            target = mirrored(target)
        return tuple(target), (START, *target[:-1])  # the previous pieces
    if settings.reverse_source:
        source = mirrored(source)
    if settings.cell == "transformer":
        return tuple(source), tuple(source)
    if name.endswith(".backwards"):
        source = source[::-1]
    return tuple(source), (START, *source[:-1])


@torch.no_grad()
def self_attention(model: Seq2Seq, batch: Batch) -> dict[str, Tensor]:
    """α (B, T, T) under teacher forcing, by layer name, of every layer that attends to its own side.

    LSTMN: row t is step t, column i the state after i steps, 0 the one before the first; a backward layer counts
    from the end of each sentence. Transformer: rows and columns are positions; the mean over the heads.
    """
    found: dict[str, list[Tensor]] = {}
    with _watched(model, found):
        model.decode(model.encode(batch.source, batch.source_lengths), batch.target_inputs)
    return {name: _matrix(rows) for name, rows in found.items()}


@contextmanager
def _watched(model: Seq2Seq, found: dict[str, list[Tensor]]) -> Iterator[None]:
    """Collect the weights of the layers within this context; nothing stays on the model."""
    handles = []
    for name, module in model.named_modules():
        if isinstance(module, IntraAttention):
            rows = found.setdefault(name.removesuffix(".reader"), [])
            handles.append(module.register_forward_hook(_memory_hook(rows), with_kwargs=True))
        elif isinstance(module, TransformerLayer):
            rows = found.setdefault(name, [])
            handles.append(module.self_attention.register_forward_hook(_head_hook(rows), with_kwargs=True))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _memory_hook(rows: list[Tensor]) -> Hook:
    def hook(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], alpha: Tensor) -> None:
        rows.append(alpha.flatten(0, -2))  # (B, t)

    return hook


def _head_hook(rows: list[Tensor]) -> Hook:
    """The fused kernel does not return its weights: they are recomputed."""

    def hook(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], _: Tensor) -> None:
        z, keys, values, mask = args
        T = z.shape[1]
        if mask is None:
            mask = z.new_ones(1, T, T, dtype=torch.bool)
        if kwargs.get("causal"):
            mask = mask & mask.new_ones(T, T).tril()
        rows.append(module.with_weights(z, keys, values, mask)[1])  # type: ignore[operator]  # (B, T, T)

    return hook


def _matrix(rows: list[Tensor]) -> Tensor:
    if rows[0].dim() == 3:
        return rows[0]
    return torch.stack([pad(row, (0, len(rows) - row.shape[1])) for row in rows], dim=1)  # (B, T, T)
