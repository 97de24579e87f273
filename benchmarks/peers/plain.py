"""The textbook loop: what one writes after reading Bahdanau et al. 2015, one step after the other."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from peers.batches import PAD, Pairs, Shape


class PlainLoop(nn.Module):
    """nn.GRU encoder, GRUCell + additive attention per step, all logits at once."""

    def __init__(self, vocabulary: int, embedding: int, hidden: int) -> None:
        super().__init__()
        self.source_words = nn.Embedding(vocabulary, embedding, padding_idx=PAD)
        self.target_words = nn.Embedding(vocabulary, embedding, padding_idx=PAD)
        self.encoder = nn.GRU(embedding, hidden // 2, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(hidden, hidden)
        self.key = nn.Linear(hidden, hidden, bias=False)
        self.query = nn.Linear(hidden, hidden, bias=False)
        self.v = nn.Linear(hidden, 1, bias=False)
        self.cell = nn.GRUCell(embedding + hidden, hidden)
        self.readout = nn.Linear(2 * hidden + embedding, hidden)
        self.vocabulary = nn.Linear(hidden, vocabulary)

    def forward(self, batch: Pairs) -> Tensor:
        """The mean cross-entropy of a batch."""
        packed = pack_padded_sequence(self.source_words(batch.source), batch.source_lengths, batch_first=True)
        packed, last = self.encoder(packed)
        states, _ = pad_packed_sequence(packed, batch_first=True)  # (B, S, H)
        mask = batch.source != PAD  # (B, S)
        keys = self.key(states)  # (B, S, H)
        s = torch.tanh(self.bridge(torch.cat([last[0], last[1]], dim=-1)))  # (B, H)
        y = self.target_words(batch.target[:, :-1])  # (B, T, E)
        outputs = []
        for t in range(y.shape[1]):
            e = self.v(torch.tanh(self.query(s)[:, None] + keys))[..., 0]  # (B, S)
            alpha = e.masked_fill(~mask, float("-inf")).softmax(dim=-1)  # (B, S)
            c = torch.bmm(alpha[:, None], states)[:, 0]  # (B, H)
            s = self.cell(torch.cat([y[:, t], c], dim=-1), s)  # (B, H)
            outputs.append(torch.tanh(self.readout(torch.cat([s, y[:, t], c], dim=-1))))  # (B, H)
        logits = self.vocabulary(torch.stack(outputs, dim=1))  # (B, T, V)
        return cross_entropy(logits.flatten(0, 1), batch.target[:, 1:].flatten(), ignore_index=PAD)


def build(vocabulary: int, embedding: int, hidden: int) -> tuple[nn.Module, Callable[[Pairs], Tensor]]:
    """The model and its loss."""
    model = PlainLoop(vocabulary, embedding, hidden)
    return model, model


def operations(model: nn.Module, shape: Shape) -> float:
    """Floating-point operations of the matrix products, forward and backward."""
    assert isinstance(model, PlainLoop)
    uses = {"encoder": shape.source, "key": shape.source, "bridge": shape.sentences, "v": shape.pairs}
    forward = float(2 * shape.pairs * model.bridge.out_features)  # Σ α h
    for name, weight in model.named_parameters():
        part = name.split(".")[0]
        if weight.dim() == 2 and not part.endswith("words"):
            forward += 2 * weight.numel() * uses.get(part, shape.target)
    return 3 * forward
