"""The attention encoder–decoder family, to be read in this order:

protocol             what trainer and search know of a model; State and Memory as values
cells, recurrent     RNN, GRU and LSTM: one step written out, all steps fused
dropout              per element, variational, whole words
encoder              source words → h_i, in one direction or both
attention            score function, normaliser, reader
bridge               h → s_0
readout              s_t, y_{t-1}, c_t → features
decoder              what decoders share
parallel_decoder     no loop over time: Sutskever, Cho, Luong without feeding, GNMT
sequential_decoder   step by step: Bahdanau, Luong with input feeding
loss                 vocabulary projection + cross-entropy in chunks
initialization       first weights
seq2seq              all of it together, `build_model`
kernels              faster ways to the same numbers, for what training spends its time on
"""

from nmt_cli.model.protocol import Loss, Memory, State, TranslationModel
from nmt_cli.model.seq2seq import Seq2Seq, build_model

__all__ = ["Loss", "Memory", "Seq2Seq", "State", "TranslationModel", "build_model"]
