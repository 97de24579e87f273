"""fairseq 0.12.2: its LSTM model (Luong attention with input feeding; it has no other)."""

from collections.abc import Callable
from importlib import import_module

from torch import Tensor, nn
from torch.nn.functional import nll_loss

from peers.batches import PAD, Pairs


class Dictionary:
    """As much of a dictionary as the model asks for."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def pad(self) -> int:
        """The id of padding."""
        return PAD


def build(
    vocabulary: int, embedding: int, hidden: int, layers: int
) -> tuple[nn.Module, Callable[[Pairs], Tensor]]:
    """The model, and the loss as `fairseq.criterions.cross_entropy` computes it."""
    lstm = import_module("fairseq.models.lstm")
    words = Dictionary(vocabulary)
    none = {"num_layers": layers, "dropout_in": 0.0, "dropout_out": 0.0}
    encoder = lstm.LSTMEncoder(words, embedding, hidden // 2, bidirectional=True, left_pad=False, **none)
    decoder = lstm.LSTMDecoder(
        words, embedding, hidden, out_embed_dim=hidden, encoder_output_units=hidden, **none
    )
    model = lstm.LSTMModel(encoder, decoder)

    def loss(pairs: Pairs) -> Tensor:
        output = model(pairs.source, pairs.source_lengths, pairs.target[:, :-1])
        log_probabilities = model.get_normalized_probs(output, log_probs=True).flatten(0, 1)
        total = nll_loss(log_probabilities, pairs.target[:, 1:].flatten(), ignore_index=PAD, reduction="sum")
        return total / pairs.tokens

    return model, loss
