"""The attention encoder–decoder family, to be read in this order:

protocol             what trainer and search know of a model; State and Memory as values
cells, recurrent     RNN, GRU and LSTM: one step written out, all steps fused
dropout              per element, variational, whole words
scores               how well a source position suits a query
heads, windows       several attentions side by side; only a part of the source
attention            score function, normaliser, reader put together; hard attention
tape                 LSTMN: a recurrent layer that attends to all its earlier states
encoder              source words → h_i, in one direction or both
bridge               h → s_0
readout              s_t, y_{t-1}, c_t → features
decoder              what decoders share
parallel_decoder     no loop over time: Sutskever, Cho, Luong without feeding, GNMT
sequential_decoder   step by step: Bahdanau, Luong with input feeding
transformer          attention in place of recurrence
loss                 vocabulary projection + cross-entropy in chunks
extra_losses         those of hard attention (REINFORCE) and coverage
scheduled_sampling   the decoder is fed its own words
subset               the loss on some of the target positions
initialization       first weights
seq2seq              all of it together, `build_model`
self_attention       what LSTMN and Transformer look at, to be displayed
kernels              faster ways to the same numbers, for what training spends its time on
"""

from nmt_cli.model.protocol import Loss, Memory, State, TranslationModel
from nmt_cli.model.scheduled_sampling import OwnWords
from nmt_cli.model.seq2seq import Seq2Seq, build_model

__all__ = ["Loss", "Memory", "OwnWords", "Seq2Seq", "State", "TranslationModel", "build_model"]
