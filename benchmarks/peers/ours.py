"""Our own presets, behind the same door as the others."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from nmt_cli.config import ModelConfig
from nmt_cli.data.batches import Batch
from nmt_cli.model import Seq2Seq, build_model
from nmt_cli.model.decoder import RecurrentDecoder
from nmt_cli.model.device import use_fast_products
from peers.batches import PAD, Pairs, Shape


def build(
    vocabulary: int, embedding: int, hidden: int, preset: str, **settings: Any
) -> tuple[nn.Module, Callable[[Pairs], Tensor]]:
    """The model of a preset and its loss, per token as the trainer divides it."""
    use_fast_products()  # as training does with these sizes
    sizes = {"embedding_size": embedding, "hidden_size": hidden, "tied_embeddings": "none"}
    config = ModelConfig.from_preset(preset, dropout=0.0, **sizes | settings)
    model = build_model(
        config, vocabulary, vocabulary, shared=False, generator=torch.Generator().manual_seed(1)
    )

    def loss(pairs: Pairs) -> Tensor:
        result = model.loss(as_batch(pairs))
        return result.total / result.tokens

    return model, loss


def as_batch(pairs: Pairs) -> Batch:
    """The same pairs as a batch of ours."""
    labels = pairs.target[:, 1:]  # (B, T)
    positions = (labels.flatten() != PAD).nonzero()[:, 0]  # (N,)
    return Batch(
        source=pairs.source,
        source_lengths=pairs.source_lengths,
        target_inputs=pairs.target[:, :-1].masked_fill(labels == PAD, PAD),
        target_lengths=pairs.target_lengths,
        positions=positions,
        labels=labels.flatten()[positions],
    )


def operations(model: nn.Module, shape: Shape) -> float:
    """Floating-point operations of the matrix products, forward and backward, on real tokens."""
    assert isinstance(model, Seq2Seq)
    assert isinstance(model.decoder, RecurrentDecoder)
    attention = getattr(model.decoder, "attention", None)
    keys = "" if attention is None else {"additive": "U", "general": "W"}[_kind(attention)]
    forward = 0.0
    for name, weight in model.named_parameters():
        if weight.dim() == 2 and "words" not in name:
            forward += 2 * weight.numel() * _uses(name, shape, keys)
    if attention is not None:
        # Σ α h, and q · k; v is among the parameters
        products = {"additive": 1, "general": 2}[_kind(attention)]
        forward += 2 * shape.pairs * model.decoder.layers[0].fused.hidden_size * products
    return 3 * forward


def _kind(attention: nn.Module) -> str:
    return type(attention.score).__name__.lower()


def _uses(name: str, shape: Shape, keys: str) -> int:
    """How often a matrix is applied."""
    part, *rest = name.split(".")
    if part == "bridge":
        return shape.sentences
    if rest[:2] == ["attention", "score"]:
        return {"v": shape.pairs, keys: shape.source}.get(rest[2], shape.target)
    return shape.source if part == "encoder" else shape.target
