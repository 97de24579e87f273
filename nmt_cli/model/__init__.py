"""The attention encoder–decoder family, to be read in this order:

protocol             what training and search know of a model; memory and state as values
recurrent            RNN, GRU and LSTM: one step written out; layers that run all steps fused; dropout
scores               how well a source position matches a query
attention            score, softmax, weighted sum; local attention, several heads, hard attention
lstmn                a recurrent layer that attends to all its past states
encoder              source words → h_i, in one direction or both; the bridge h → s_0
frame_encoder        the frames of a recording → fewer h_i, in a pyramid
image_encoder        an image or its features → h_i, one for each cell of a grid
copying              a switch between generating a word and copying one from the source
decoder              what decoders share: memory, state, layers; the readout s_t, y_{t-1}, c_t → features
recurrent_decoders   Sutskever, Cho; Luong; GNMT; Bahdanau; Luong with input feeding
transformer          attention in place of recurrence
loss                 a subset of the target tokens, REINFORCE, coverage, guided attention, risk; scheduled sampling
seq2seq              everything together, initial weights, `build_model`
device               choice of the device
fast                 faster ways to the same numbers, in training and in search
"""

from nmt_cli.model.protocol import Copies, Loss, Memory, Risks, ScheduledSampling, State, TranslationModel
from nmt_cli.model.seq2seq import Seq2Seq, build_model

__all__ = [
    "Copies",
    "Loss",
    "Memory",
    "Risks",
    "ScheduledSampling",
    "Seq2Seq",
    "State",
    "TranslationModel",
    "build_model",
]
