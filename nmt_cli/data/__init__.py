"""From the data directory to batches. Reading order:

directory    what `nmt preprocess` writes and `nmt train` reads
split        the pairs of a split: token ids and raw text, memory-mapped
images       the images of a split, if the sources are images
backbone     a pretrained network that computes features of images
batch_plan   which pairs form a batch, and the order of the batches
aligner      word alignments between the pieces of a pair, by EM
batches      `Batch`, padded pairs; the batches of a plan, prefetched by a thread
"""
