"""Language models: presets without a source side. They predict the next word from those before it."""

from collections.abc import Mapping
from typing import Any

from nmt_cli.config.presets import PRESETS, Preset

_NO_SOURCE: Mapping[str, Any] = {
    "encoder_layers": 0,
    "bidirectional": "none",
    "initial_state": "zero",
    "attention": "none",
    "readout": "state",
}
# There is nothing to compare with a reference, and the best continuation of a text is not a typical one.
_OTHER_SECTIONS: Mapping[str, Any] = {
    "train.metric": "perplexity",
    "train.label_smoothing": 0.0,
    "search.sampling": True,
    "search.max_length_ratio": None,
}

LANGUAGE_MODELS: dict[str, Preset] = {
    "mikolov2010": Preset(
        title="recurrent language model: no source side, a simple recurrent network",
        paper="Mikolov, Karafiát, Burget, Černocký & Khudanpur 2010, Recurrent Neural Network Based Language "
        "Model",
        equations="""\
s_0 = 0                                                     there is no source
s_t = tanh(U y_{t-1} + W s_{t-1})                           (paper: σ)
p(y_t) = softmax(V s_t)""",
        settings={**_NO_SOURCE, "decoder_layers": 1, "cell": "rnn"},
        others=_OTHER_SECTIONS,
    ),
    "zaremba2014": Preset(
        title="recurrent language model: no source side, LSTM layers with dropout between them",
        paper="Zaremba, Sutskever & Vinyals 2014, Recurrent Neural Network Regularization",
        equations="""\
s_0 = 0                                                     there is no source
s¹_t = LSTM¹(D y_{t-1}, s¹_{t-1});   sˡ_t = LSTMˡ(D sˡ⁻¹_t, sˡ_{t-1})      D: dropout, never along time
p(y_t) = softmax(W D s_t)                                   the top layer's""",
        settings={**_NO_SOURCE, "decoder_layers": 2, "cell": "lstm", "embedding_size": 512},
        others=_OTHER_SECTIONS,
    ),
}
FOR_ONE_SIDED_TEXT = "zaremba2014"
"""What is trained on one-sided text if nothing else is named."""

SYSTEMS: dict[str, Preset] = {**PRESETS, **LANGUAGE_MODELS}
"""All presets: what translates, and what does not."""
