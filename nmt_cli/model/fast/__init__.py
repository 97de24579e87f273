"""Faster ways to the same numbers. The readable model is one level up; tests prove both equal.

For training:
additive       the additive score of many queries, in blocks
cross_entropy  vocabulary projection and cross-entropy, in chunks
unroll         the loop of the sequential decoders as a single autograd operation, and its derivative
loop           its forward pass, without an autograd graph: cells in place, then the loop
scores         for the loop: energies of one query per sentence, and their derivative

For search on a CPU:
step_layout    `prepare_for_search`: weights laid out for single steps; matrix products in 8-bit integers
"""
