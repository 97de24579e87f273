"""Faster ways to the same numbers. The readable references stand one level up; tests prove both equal.

additive       the additive score of many queries, in blocks
cells          a step of RNN, GRU and LSTM in place, and its derivative
scores         energies of one query a sentence, and their derivative
loop           the loop of the sequential decoders without a tape
loop_backward  its derivative
unroll         both as one operation of autograd
"""
