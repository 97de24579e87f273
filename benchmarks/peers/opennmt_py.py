"""OpenNMT-py 3.5.1: its encoder, decoder, attention and loss, put together as its model builder does."""

from collections.abc import Callable
from importlib import import_module

from torch import Tensor, nn

from peers.batches import PAD, Pairs


def build(
    vocabulary: int, embedding: int, hidden: int, cell: str, layers: int, attention: str, feeding: bool
) -> tuple[nn.Module, Callable[[Pairs], Tensor]]:
    """The model with its generator, and its own loss, statistics included."""
    Embeddings = import_module("onmt.modules.embeddings").Embeddings
    source, target = (
        Embeddings(word_vec_size=embedding, word_vocab_size=vocabulary, word_padding_idx=PAD)
        for _ in range(2)
    )
    encoder = import_module("onmt.encoders.rnn_encoder").RNNEncoder(
        cell, True, layers, hidden, dropout=0.0, embeddings=source
    )
    decoders = import_module("onmt.decoders.decoder")
    decoder = (decoders.InputFeedRNNDecoder if feeding else decoders.StdRNNDecoder)(
        cell, True, layers, hidden, attn_type=attention, dropout=0.0, embeddings=target
    )
    model = import_module("onmt.models.model").NMTModel(encoder=encoder, decoder=decoder)
    model.generator = nn.Linear(hidden, vocabulary)
    criterion = nn.CrossEntropyLoss(ignore_index=PAD, reduction="sum")
    compute = import_module("onmt.utils.loss").LossCompute(criterion, model.generator)

    def loss(pairs: Pairs) -> Tensor:
        batch = {
            "src": pairs.source[..., None],
            "srclen": pairs.source_lengths,
            "tgt": pairs.target[..., None],
        }
        outputs, attentions = model(batch["src"], batch["tgt"], batch["srclen"])
        total: Tensor = compute(batch, outputs, attentions)[0]
        return total / pairs.tokens

    return model, loss
