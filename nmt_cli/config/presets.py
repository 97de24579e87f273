"""Published systems by name: each preset is the settings in which a system differs from the defaults.

A preset fixes the architecture; its sizes are chosen for a laptop. Set `hidden_size`, `embedding_size` and the
numbers of layers to reproduce a paper's model. To add a preset, add an entry to `TRANSLATION_PRESETS`,
`LANGUAGE_MODEL_PRESETS`, `CAPTION_PRESETS` or `SPEECH_PRESETS`, and its row to the tables in README.md and
docs/models.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Preset:
    """A published system as settings."""

    summary: str  # one line, the same in README.md and docs/models.md
    paper: str
    equations: str  # in the paper's notation, as `nmt presets NAME` shows them
    settings: Mapping[str, Any]  # keys of the section `model`
    others: Mapping[str, Any] = field(default_factory=dict)  # "section.key" in other sections


TRANSLATION_PRESETS: dict[str, Preset] = {
    "sutskever2014": Preset(
        summary="multi-layer LSTM encoder–decoder without attention; source reversed",
        paper="Sutskever, Vinyals & Le 2014, Sequence to Sequence Learning with Neural Networks",
        equations="""\
x_n … x_1 <eos>  →  (h_n, c_n) of every encoder layer       the source is read in reverse
s_0 = h_n,  c_0 = c_n                                       one vector represents the whole sentence
s_t = LSTM(y_{t-1}, s_{t-1})
p(y_t) = softmax(W s_t)""",
        settings={
            "encoder_layers": 2,
            "decoder_layers": 2,
            "bidirectional": "none",
            "attention": "none",
            "readout": "state",
            "reverse_source": True,
        },
    ),
    "cho2014": Preset(
        summary="GRU encoder–decoder without attention; the source summary is fed to every decoder step",
        paper="Cho et al. 2014, Learning Phrase Representations using RNN Encoder–Decoder",
        equations="""\
h_i = GRU(x_i, h_{i-1});   c = tanh(V h_n);   s_0 = tanh(V' c)
s_t = GRU([y_{t-1}; c], s_{t-1})                            c at every step
t_t = maxout(O_h s_t + O_y y_{t-1} + O_c c)
p(y_t) = softmax(W t_t)""",
        settings={
            "cell": "gru",
            "encoder_layers": 1,
            "decoder_layers": 1,
            "bidirectional": "none",
            "initial_state": "projection",
            "attention": "none",
            "context_every_step": True,
            "readout": "maxout",
        },
    ),
    "bahdanau2015": Preset(
        summary="bidirectional GRU, additive attention from the previous state, maxout readout",
        paper="Bahdanau, Cho & Bengio 2015, Neural Machine Translation by Jointly Learning to Align and "
        "Translate",
        equations="""\
h_i = [GRU→(x_i); GRU←(x_i)];   s_0 = tanh(W_s h)           h: last states both ways (paper: backward)
e_ti = v · tanh(W s_{t-1} + U h_i);   α_t = softmax(e_t);   c_t = Σ_i α_ti h_i
s_t = GRU([y_{t-1}; c_t], s_{t-1})
t_t = maxout(U_o s_t + V_o y_{t-1} + C_o c_t)
p(y_t) = softmax(W_o t_t)""",
        settings={
            "cell": "gru",
            "encoder_layers": 1,
            "decoder_layers": 1,
            "initial_state": "projection",
            "attention": "additive",
            "query": "before",
            "readout": "maxout",
        },
    ),
    "luong2015": Preset(
        summary="LSTM, attention from the new state; input feeding optional, off by default",
        paper="Luong, Pham & Manning 2015, Effective Approaches to Attention-based Neural Machine "
        "Translation",
        equations="""\
h_i = [LSTM→(x_i); LSTM←(x_i)]                              (paper: one direction, model.bidirectional = none)
s_t = LSTM(y_{t-1}, s_{t-1})                                ([y_{t-1}; h̃_{t-1}] with model.input_feeding = true)
e_ti = s_t · W_a h_i;   α_t = softmax(e_t);   c_t = Σ_i α_ti h_i
h̃_t = tanh(W_c [c_t; s_t])
p(y_t) = softmax(W_s h̃_t)""",
        settings={},
    ),
    "cheng2016": Preset(
        summary="LSTMN: an LSTM that attends to all its earlier states, in encoder and decoder",
        paper="Cheng, Dong & Lapata 2016, Long Short-Term Memory-Networks for Machine Reading",
        equations="""\
a_i = v · tanh(W_h h_i + W_x x_t + W_s s_{t-1});   α = softmax(a)     over all earlier h_i
s_t = Σ_i α_i h_i;   c'_t = Σ_i α_i c_i                     instead of h_{t-1} and c_{t-1}
i, f, o = σ(W [x_t; s_t]);   g = tanh(W [x_t; s_t])
c_t = f ∘ c'_t + i ∘ g;   h_t = o ∘ tanh(c_t)
decoder: the same, x_t = [y_{t-1}; context of the source], additive attention as in bahdanau2015
p(y_t) = softmax(W_o tanh(U_o h_t + V_o y_{t-1} + C_o context_t))""",
        settings={
            "hidden_size": 256,  # with 512, too slow for a laptop
            "encoder_layers": 1,
            "decoder_layers": 1,
            "intra_attention": "both",
            "bidirectional": "none",
            "attention": "additive",
            "query": "before",
            "readout": "tanh",
        },
    ),
    "gnmt2016": Preset(
        summary="deep residual LSTM; attention from the bottom decoder layer, fed to all layers above",
        paper="Wu et al. 2016, Google's Neural Machine Translation System",
        equations="""\
h_i: LSTM stack, the first layer in both directions, residual from the second layer on
s¹_t = LSTM¹(y_{t-1}, s¹_{t-1})
e_ti = v · tanh(W s¹_t + U h_i);   α_t = softmax(e_t);   c_t = Σ_i α_ti h_i
x²_t = s¹_t;   xˡ⁺¹_t = xˡ_t + LSTMˡ([xˡ_t; c_t], sˡ_{t-1})      every layer over all t in one call
p(y_t) = softmax(W x_t)""",
        settings={
            "hidden_size": 256,  # with 512, too slow for a laptop
            "encoder_layers": 4,
            "decoder_layers": 4,
            "bidirectional": "first",
            "residual": True,
            "attention": "additive",
            "attention_layer": "bottom",
            "readout": "state",
        },
    ),
    "vaswani2017": Preset(
        summary="Transformer: multi-head attention instead of recurrence",
        paper="Vaswani et al. 2017, Attention Is All You Need",
        equations="""\
x = √E word + position,   position_{t,2i} = sin(t / 10000^{2i/H}),  cos for 2i + 1
head^i(q, h) = softmax(W_q^i q · W_k^i h / √d) W_v^i h,     d = H / heads
x ← x + W_o [head^1(x, x); …; head^n(x, x)]                 decoder: not to later positions
x ← x + W_o [head^1(x, h); …; head^n(x, h)]                 decoder only: attends to the source
x ← x + W_2 relu(W_1 x)
LN before each sublayer (paper: after each sum, model.norm = post)
p(y_t) = softmax(W x_t)""",
        settings={
            "cell": "transformer",
            "hidden_size": 256,
            "encoder_layers": 3,
            "decoder_layers": 3,
            "residual": True,
            "layer_norm": True,
            "attention": "scaled_dot",
            "heads": 4,
            "dropout": 0.1,
            "readout": "state",
        },
        others={"train.learning_rate": 1e-3},
    ),
}


# Language models have no source side: they predict the next token from the previous ones.
_NO_SOURCE: Mapping[str, Any] = {
    "encoder_layers": 0,
    "bidirectional": "none",
    "initial_state": "zero",
    "attention": "none",
    "readout": "state",
}
# The default was tuned for recurrent translation models; other systems keep the rate they were tried with.
_LEARNING_RATE: Mapping[str, Any] = {"train.learning_rate": 2e-3}
# No reference to compare with; and the most probable continuation of a text is not a typical one, so sample.
_LANGUAGE_MODEL_SETTINGS: Mapping[str, Any] = {
    **_LEARNING_RATE,
    "train.metric": "perplexity",
    "train.label_smoothing": 0.0,
    "search.sampling": True,
    "search.max_length_ratio": None,
}

LANGUAGE_MODEL_PRESETS: dict[str, Preset] = {
    "mikolov2010": Preset(
        summary="language model: a simple recurrent network",
        paper="Mikolov, Karafiát, Burget, Černocký & Khudanpur 2010, Recurrent Neural Network Based Language "
        "Model",
        equations="""\
s_0 = 0                                                     there is no source
s_t = tanh(U y_{t-1} + W s_{t-1})                           (paper: σ)
p(y_t) = softmax(V s_t)""",
        settings={**_NO_SOURCE, "decoder_layers": 1, "cell": "rnn"},
        others=_LANGUAGE_MODEL_SETTINGS,
    ),
    "zaremba2014": Preset(
        summary="language model: LSTM layers with dropout between them",
        paper="Zaremba, Sutskever & Vinyals 2014, Recurrent Neural Network Regularization",
        equations="""\
s_0 = 0                                                     there is no source
s¹_t = LSTM¹(D y_{t-1}, s¹_{t-1});   sˡ_t = LSTMˡ(D sˡ⁻¹_t, sˡ_{t-1})      D: dropout, never along time
p(y_t) = softmax(W D s_t)                                   the top layer's""",
        settings={**_NO_SOURCE, "decoder_layers": 2, "cell": "lstm", "embedding_size": 512},
        others=_LANGUAGE_MODEL_SETTINGS,
    ),
    "radford2018": Preset(
        summary="language model: Transformer decoder without attention to a source",
        paper="Radford, Narasimhan, Salimans & Sutskever 2018, Improving Language Understanding by Generative "
        "Pre-Training",
        equations="""\
x_t = √E y_{t-1} + position_t                               sines and cosines (paper: learned, no √E)
head^i(x)_t = Σ_{j ≤ t} α_j (W_v^i x_j + b_v),   α = softmax((W_q^i x_t + b_q) · (W_k^i x_j + b_k) / √d)
x ← x + W_o [head^1(x); …; head^n(x)] + b_o
x ← x + W_2 gelu(W_1 x + b_1) + b_2,   gelu(a) = a Φ(a)     Φ: the normal distribution function
LN before each sublayer (paper: after each sum, model.norm = post)
p(y_t) = softmax(W x_t)                                     W: the embeddings""",
        settings={
            **_NO_SOURCE,
            "cell": "transformer",
            "hidden_size": 256,
            "decoder_layers": 3,
            "residual": True,
            "layer_norm": True,
            "heads": 4,
            "head_biases": True,
            "activation": "gelu",
        },
        others={**_LANGUAGE_MODEL_SETTINGS, "train.learning_rate": 1e-3},
    ),
}
# Captioning: the source is an image. A caption is about as long as any other, however large its image.
_IMAGE_SOURCE: Mapping[str, Any] = {
    "source": "image",
    "image_network": "pooled",
    "embedding_size": 128,
    "hidden_size": 256,
    "encoder_layers": 3,
    "bidirectional": "none",
}
_CAPTION_SETTINGS: Mapping[str, Any] = {
    **_LEARNING_RATE,
    "search.max_length_ratio": None,
    "search.max_length": 100,
}

CAPTION_PRESETS: dict[str, Preset] = {
    "vinyals2015": Preset(
        summary="image captions without attention: the image is the first input of the decoder",
        paper="Vinyals, Toshev, Bengio & Erhan 2015, Show and Tell: A Neural Image Caption Generator",
        equations="""\
a_i = CNN(image)_i;   h_i = W a_i + p_i                     i: cell of a grid (paper: GoogLeNet's last layer)
h̄ = Σ_i h_i / L;   x_{-1} = W_I LN(Σ_i max(0, h_i - h̄) / L)    one vector represents the whole image
s_{-1} = LSTM(x_{-1}, 0);   s_t = LSTM(y_{t-1}, s_{t-1})
p(y_t) = softmax(W s_t)""",
        settings={**_IMAGE_SOURCE, "initial_state": "contrast", "attention": "none", "readout": "state"},
        others=_CAPTION_SETTINGS,
    ),
    "xu2015": Preset(
        summary="image captions: LSTM that attends to the cells of the image, softly or to one at a time",
        paper="Xu et al. 2015, Show, Attend and Tell: Neural Image Caption Generation with Visual Attention",
        equations="""\
a_i = CNN(image)_i;   h_i = W a_i + p_i                     i: cell of a grid (paper: VGG's, a_i alone)
s_0, c_0 = tanh(W_s Σ_i h_i / L)
e_ti = v · tanh(W s_{t-1} + U h_i);   α_t = softmax(e_t)
c_t = β_t Σ_i α_ti h_i;   β_t = σ(w · s_{t-1} + b)          hard: β_t h_i, one i drawn from α_t
s_t = LSTM([y_{t-1}; c_t], s_{t-1})
t_t = tanh(L_h s_t + L_y y_{t-1} + L_c c_t)                 (paper: no tanh)
p(y_t) = softmax(L_o t_t);   loss: -Σ_t log p(y_t) + λ Σ_i (1 - Σ_t α_ti)²""",
        settings={
            **_IMAGE_SOURCE,
            "decoder_layers": 1,
            "initial_state": "mean",
            "attention": "additive",
            "query": "before",
            "context_gate": True,
            "doubly_stochastic": 0.01,
            "readout": "tanh",
        },
        others=_CAPTION_SETTINGS,
    ),
}
# Speech recognition: the source is a sequence of frames, the target is characters. The encoder outputs 12.5
# positions per second, so the length limit of three tokens per position allows 37 characters per second, faster than
# anybody speaks.
SPEECH_PRESETS: dict[str, Preset] = {
    "chan2016": Preset(
        summary="speech recognition: pyramidal BiLSTM, and an LSTM that attends to it and writes characters",
        paper="Chan, Jaitly, Le & Vinyals 2016, Listen, Attend and Spell",
        equations="""\
h⁰_i = BiLSTM(x_i)                                          x_i: a log-mel frame, one every 10 ms
hʲ_i = BiLSTM([hʲ⁻¹_{2i}; hʲ⁻¹_{2i+1}])   for j = 1, 2, 3   an eighth as many positions as frames
s_t = LSTM²([y_{t-1}; h̃_{t-1}], s_{t-1})                    (paper: c_{t-1} instead of h̃_{t-1})
e_ti = W s_t · U h_i;   α_t = softmax(e_t);   c_t = Σ_i α_ti h_i
h̃_t = tanh(W_c [c_t; s_t])
p(y_t) = softmax(W_s h̃_t)                                   y_t: a character""",
        settings={
            "source": "frames",
            "embedding_size": 128,
            "hidden_size": 256,
            "encoder_layers": 4,
            "pyramidal_layers": 3,
            "decoder_layers": 2,
            "initial_state": "zero",
            "attention": "projected_dot",
            "input_feeding": True,
        },
        others={**_LEARNING_RATE, "search.max_length": 1000, "train.metric": "wer"},
    ),
}
SPEECH_PRESET = "chan2016"
"""The preset trained on recordings if none is named."""
CAPTION_PRESET = "xu2015"
"""The preset trained on images if none is named."""
MONOLINGUAL_PRESET = "zaremba2014"
"""The preset trained on monolingual text if none is named."""

PRESETS: dict[str, Preset] = {
    **TRANSLATION_PRESETS,
    **LANGUAGE_MODEL_PRESETS,
    **CAPTION_PRESETS,
    **SPEECH_PRESETS,
}
"""All presets."""
