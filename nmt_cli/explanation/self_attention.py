"""Self-attention maps, one for each layer of an LSTMN or a Transformer."""

from __future__ import annotations

from collections.abc import Sequence

from nmt_cli.config import ModelConfig
from nmt_cli.data.batch import collate
from nmt_cli.explanation.explanation import SelfAttention
from nmt_cli.model import Seq2Seq
from nmt_cli.model.self_attention import self_attention

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
    by_layer = self_attention(model, collate([source[:-1]], [target[:-1]]).to(device))
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
        return tuple(target), (START, *target[:-1])  # the previous pieces
    if settings.reverse_source:
        source = [*source[-2::-1], source[-1]]  # <eos> stays at the end
    if settings.cell == "transformer":
        return tuple(source), tuple(source)
    if name.endswith(".backwards"):
        source = source[::-1]
    return tuple(source), (START, *source[:-1])
