"""Joey NMT 2.3.0: the model of its `build_model`, with its own loss."""

from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace

from torch import Tensor, nn

from peers.batches import BOS, EOS, PAD, Pairs

_PAD = 1  # Joey NMT's vocabulary has <unk> first


def build(
    vocabulary: int, embedding: int, hidden: int, cell: str, layers: int, attention: str, feeding: bool
) -> tuple[nn.Module, Callable[[Pairs], Tensor]]:
    """The model and its own loss, the count of correct tokens included."""
    specials = {"unk": 0, "pad": _PAD, "bos": BOS, "eos": EOS}
    names = {f"{key}_token": f"<{key}>" for key in specials} | {f"{key}_id": i for key, i in specials.items()}
    words = import_module("joeynmt.vocabulary").Vocabulary(
        [f"w{i}" for i in range(len(specials), vocabulary)],
        SimpleNamespace(**names, sep_token=None, sep_id=None, lang_tags=[]),
    )
    side = {"type": "recurrent", "rnn_type": cell.lower(), "num_layers": layers, "dropout": 0.0}
    side["embeddings"] = {"embedding_dim": embedding}
    config = {
        "encoder": side | {"hidden_size": hidden // 2, "bidirectional": True},
        "decoder": side
        | {"hidden_size": hidden, "attention": attention, "input_feeding": feeding, "init_hidden": "bridge"},
    }
    model = import_module("joeynmt.model").build_model(config, words, words)
    model.loss_function = ("crossentropy", 0.0)

    def loss(pairs: Pairs) -> Tensor:
        source, target = (ids.masked_fill(ids == PAD, _PAD) for ids in (pairs.source, pairs.target))
        inputs, labels = target[:, :-1], target[:, 1:]
        total: Tensor = model(
            return_type="loss",
            src=source,
            src_length=pairs.source_lengths,
            src_mask=(source != _PAD)[:, None],
            trg_input=inputs,
            trg=labels,
            trg_mask=(labels != _PAD)[:, None],
        )[0]
        return total / pairs.tokens

    return model, loss
