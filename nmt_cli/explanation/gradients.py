"""How much each source word matters for each word of the translation, by the gradient.

    g_ti = ∂ log p(y_t | y_<t, x) / ∂x_i

x_i is the word vector of source token i, as it is looked up: before scaling, positions and everything else in the
encoder. All weights, the target words fed to the decoder and the other x_j are held fixed; there is no dropout. Two
numbers are made of it: the norm ‖g_ti‖ says how strongly log p(y_t) reacts to a small change of x_i, and the product
g_ti · x_i is to first order what x_i contributes: by how much log p(y_t) would fall if x_i shrank to 0.

The distance of (t, i) counts the steps from reading x_i to predicting y_t in the one chain x_1 … x_S y_1 … y_T, in the
order in which the encoder reads and the decoder writes. It is 1 from the last token of the source to the first word
that is written. In a recurrent system without attention this is how many cells the gradient has to pass; with attention
there are shortcuts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from nmt_cli.data.batches import collate
from nmt_cli.explanation.explanation import DistanceMean, Gradients, Matrix
from nmt_cli.model import Seq2Seq
from nmt_cli.runtime.words import Groups
from nmt_cli.vocabulary.token_ids import mirrored

_ROWS = 32  # target positions whose gradients are computed at the same time


def source_gradients(model: Seq2Seq, source: Sequence[int], target: Sequence[int]) -> tuple[Tensor, Tensor]:
    """g (T, S, E) and x (S, E), for ids that end in <eos>.

    The sentence is copied for each target position, so that one backward pass computes the gradients of many.
    """
    if model.reverse_target:
        target = mirrored(target)  # the order in which it is written
    device = model.vocabulary.weight.device
    found: list[Tensor] = []
    # cuDNN's recurrent layers have no backward pass outside of training mode.
    with torch.inference_mode(False), torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        for positions in torch.split(torch.arange(len(target)), _ROWS):
            n = len(positions)
            batch = collate([source[:-1]] * n, [target[:-1]] * n).to(device)
            with _source_vectors(model) as vectors:
                memory = model.encode(batch.source, batch.source_lengths)
            features, attention = model.decode(memory, batch.target_inputs)  # (n, T, F), (n, T, S)
            steps = torch.arange(n) * len(target) + positions  # (n,) one of each copy
            copies = model.copies(attention, memory, steps.to(device))
            logits = model.project(features[torch.arange(n), positions], copies)  # (n, V)
            log_p = logits.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax(dim=-1)
            labels = torch.tensor([target[t] for t in positions.tolist()], device=device)
            (g,) = torch.autograd.grad(log_p.gather(1, labels[:, None]).sum(), vectors)  # (n, S, E)
            found.append(g)
    g = torch.cat(found)
    if model.reverse_target:
        g = g[mirrored(range(len(g)))]
    return g, vectors[0][0].detach()


@contextmanager
def _source_vectors(model: Seq2Seq) -> Iterator[list[Tensor]]:
    """The word vectors (B, S, E) that are looked up within this context, as variables of their own."""
    vectors: list[Tensor] = []

    def hook(module: nn.Module, args: tuple[Tensor, ...], x: Tensor) -> Tensor:
        vectors.append(x.detach().requires_grad_())
        return vectors[-1]

    handle = model.source_words.register_forward_hook(hook)
    try:
        yield vectors
    finally:
        handle.remove()


def describe_gradients(
    g: Tensor,
    x: Tensor,
    source_words: Groups,
    target_words: Groups,
    *,
    reversed_source: bool,
    reversed_target: bool,
) -> Gradients:
    """Norms, products and means by distance, from g (T, S, E) and x (S, E).

    For words, g is the gradient of log p(word), the sum over its pieces, with respect to all vectors of a source word.
    """
    g, x = g.double().cpu(), x.double().cpu()
    by_word = torch.stack([g[list(pieces)].sum(dim=0) for pieces in target_words])  # (words, S, E)
    norms, products = g.norm(dim=-1), (g * x).sum(dim=-1)  # (T, S) each
    of_words = [by_word[:, list(pieces)] for pieces in source_words]  # (words, pieces, E) each
    word_norms = torch.stack([part.flatten(1).norm(dim=-1) for part in of_words], dim=1)
    parts = zip(of_words, source_words, strict=True)
    word_products = torch.stack([(part * x[list(pieces)]).sum(dim=(1, 2)) for part, pieces in parts], dim=1)
    return Gradients(
        _matrix(norms),
        _matrix(products),
        _matrix(word_norms),
        _matrix(word_products),
        _by_distance(norms, reversed_source=reversed_source, reversed_target=reversed_target),
    )


def _by_distance(norms: Tensor, *, reversed_source: bool, reversed_target: bool) -> tuple[DistanceMean, ...]:
    """The mean of norms (T, S) for each distance."""
    T, S = norms.shape
    read, written = list(range(S)), list(range(T))  # when token i is read, and token t written
    if reversed_source:
        read = mirrored(read)
    if reversed_target:
        written = mirrored(written)
    distance = S - torch.tensor(read) + torch.tensor(written)[:, None]  # (T, S)
    return tuple(
        DistanceMean(d, float(norms[distance == d].mean()), int((distance == d).sum()))
        for d in range(1, S + T)
    )


def _matrix(values: Tensor) -> Matrix:
    return tuple(tuple(row) for row in values.tolist())
