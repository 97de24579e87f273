"""The products of a step of search, made fast on a CPU.

A step multiplies one row, or as many as the beam is wide. With the weights stored by column such a
product takes 0.5 to 0.9 of the time; with many rows about the same. Its last bits are the same from two rows on,
as long as a row is not too long. With 8-bit weights it reads a quarter as much. What the first layer makes of a word
does not depend on the sentence: it is computed once for all words.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from nmt_cli.model import Seq2Seq
from nmt_cli.model.attention import weighted_sum
from nmt_cli.model.decoder import AttentionalState, DeepOutput, RecurrentDecoder
from nmt_cli.model.encoder import Encoder
from nmt_cli.model.fast.int8 import quantize
from nmt_cli.model.lstmn import TapeReader
from nmt_cli.model.recurrent import RecurrentLayer
from nmt_cli.model.sequential_decoder import SequentialDecoder

_LONGEST = 768  # inputs; from 1000 on the last bits depend on the number of rows
_TABLE = 1 << 25  # numbers in the table of words: 128 MB


@torch.no_grad()
def arrange(model: Seq2Seq, *, int8: bool = False) -> list[str]:
    """Make the products of single steps fast; gives the names of the layers that compute in 8 bits.

    In full precision the model computes the same as before. It can no longer be trained: weights that were shared
    are copies now.
    """
    model.decoder.separate()
    _tabulate_words(model)
    quantized = quantize(model, bounded=_bounded(model), kept=_kept(model)) if int8 else []
    for module in (model.vocabulary, *model.decoder.modules()):
        if type(module) is nn.Linear and module.in_features <= _LONGEST:
            module.weight = nn.Parameter(by_column(module.weight), requires_grad=False)
    return quantized


def by_column(weight: Tensor) -> Tensor:
    """The same matrix (O, I), each column in one piece in memory."""
    return weight.detach().t().contiguous().t()


def _tabulate_words(model: Seq2Seq) -> None:
    """A table (V, G·H) of W y + b in place of the words y, if nothing else looks at y and it is not too large."""
    decoder, words = model.decoder, model.target_words
    if not isinstance(decoder, RecurrentDecoder) or isinstance(decoder.readout, DeepOutput):
        return
    first = decoder.layers[0]
    side = first.input_sides[0]
    assert isinstance(side, nn.Linear)
    if side.in_features != words.embedding_dim:  # Cho's decoder: the word and a summary of the source
        return
    if words.num_embeddings * side.out_features <= _TABLE:
        table = nn.Embedding.from_pretrained(side(words.weight))  # type: ignore[no-untyped-call]
        model.step_words = table
        first.input_sides[0] = nn.Identity()


def _kept(model: Seq2Seq) -> list[nn.Module]:
    """What is not part of a step; and W_x of a tape, whose rows are below those of the gates."""
    tapes = [module.W_x for module in model.decoder.modules() if isinstance(module, TapeReader)]
    return [*([] if model.encoder is None else [model.encoder]), model.bridge, *tapes]


def _bounded(model: Seq2Seq) -> list[nn.Module]:
    """The layers whose input is never above 1 or below -1: states of cells, means of them, what a tanh gives."""
    decoder = model.decoder
    if not isinstance(decoder, RecurrentDecoder):
        return []
    layers = [layer.hidden_side for layer in decoder.layers if layer.hidden_side is not None]
    if isinstance(decoder, SequentialDecoder) and not decoder.query_before:  # fed h̃, not the context
        layers += decoder.layers[0].input_sides[1:]
    if isinstance(decoder.readout, AttentionalState):
        layers.append(model.vocabulary)
        if _reads_states(model.encoder, decoder) and _gives_states(decoder):
            layers.append(decoder.readout.W_c)
    return layers


def _reads_states(encoder: nn.Module | None, decoder: RecurrentDecoder) -> bool:
    """Whether the context is a mean of states of the encoder, or else a summary, which comes out of a tanh."""
    attention = decoder.attention
    return attention is None or (attention.reader is weighted_sum and _gives_states(encoder))


def _gives_states(part: nn.Module | None) -> bool:
    """Whether what comes out of encoder or decoder is the state of a cell, without sums or layer norms."""
    if not isinstance(part, Encoder | RecurrentDecoder) or part.residual:
        return False
    layers = [module for module in part.modules() if isinstance(module, RecurrentLayer)]
    return all(isinstance(layer.norm, nn.Identity) for layer in layers)
