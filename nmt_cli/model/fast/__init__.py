"""Faster ways to the same numbers. The readable model is one level up; tests prove both equal.

For training:
additive       the additive score of many queries, in blocks
cross_entropy  vocabulary projection and cross-entropy, in chunks
unroll         the loop of the sequential decoders as a single autograd operation
loop           its forward pass, without an autograd graph
loop_backward  its derivative
cells          for the loop: a step of RNN, GRU and LSTM in place, and its derivative
scores         for the loop: energies of one query per sentence, and their derivative

For search on a CPU:
step_layout    `prepare_for_search`: weights laid out for single steps
int8           matrix products in 8-bit integers
"""
