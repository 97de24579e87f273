"""From the data directory to batches. Reading order:

directory    what `nmt preprocess` writes and `nmt train` reads
text_files   file names of the raw validation and test text
split        the pairs of a split: token ids and raw text, memory-mapped
batch_plan   which pairs form a batch, and the order of the batches
batches      the batches of a plan, prefetched by a thread
batch        a batch of padded pairs
"""
