"""Eole 0.6.4: its encoder, decoder, attention and loss, in its own model class."""

from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace

from torch import Tensor, nn

from peers.batches import PAD, Pairs


def build(
    vocabulary: int, embedding: int, hidden: int, cell: str, layers: int, attention: str, feeding: bool
) -> tuple[nn.Module, Callable[[Pairs], Tensor]]:
    """The model with its generator, and its own loss, statistics included."""
    configs = import_module("eole.config.models")
    models = import_module("eole.models.model")
    Embeddings = import_module("eole.modules.embeddings").Embeddings
    source, target = (
        Embeddings(word_vec_size=embedding, word_vocab_size=vocabulary, word_padding_idx=PAD)
        for _ in range(2)
    )
    encoder = import_module("eole.encoders.rnn_encoder").RNNEncoder(
        configs.RnnEncoderConfig(
            encoder_type="brnn", layers=layers, hidden_size=hidden, src_word_vec_size=embedding, rnn_type=cell
        )
    )
    decoders = import_module("eole.decoders.rnn_decoder")
    decoder = (decoders.InputFeedRNNDecoder if feeding else decoders.StdRNNDecoder)(
        configs.RnnDecoderConfig(
            layers=layers,
            hidden_size=hidden,
            tgt_word_vec_size=embedding,
            rnn_type=cell,
            global_attention=attention,
            bidirectional_encoder=True,
        ),
        SimpleNamespace(dropout=[0.0]),
    )
    model = models.EncoderDecoderModel(
        encoder=encoder, decoder=decoder, src_emb=source, tgt_emb=target, hidden_size=hidden
    )
    model.generator = nn.Linear(hidden, vocabulary)
    compute = import_module("eole.utils.loss").LossCompute(
        nn.CrossEntropyLoss(ignore_index=PAD, reduction="sum"), model.generator, vocabs={"specials": {}}
    )

    def loss(pairs: Pairs) -> Tensor:
        batch = {
            "src": pairs.source,
            "srclen": pairs.source_lengths,
            "tgt": pairs.target,
            "cid": [],
            "cid_line_number": [],
        }
        output = model(batch["src"], batch["tgt"], batch["srclen"])
        total: Tensor = compute(batch, output.dec_out, output.attns)[0]
        return total / pairs.tokens

    return model, loss
