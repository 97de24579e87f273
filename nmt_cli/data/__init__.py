"""From the data directory to batches. Reading order:

directory    what `nmt preprocess` writes and `nmt train` reads
split        the pairs of a split: token ids and raw text, memory-mapped
columns      columns of lists and of text in an Arrow file
media        sources that are not text: what images and recordings have in common
images       the images of a split, if the sources are images
backbone     a pretrained network that computes features of images
recordings   the recordings of a split as frames, if the sources are recordings
audio        WAV files, decoded and resampled
log_mel      their frames
batch_plan   which pairs form a batch, and the order of the batches
aligner      word alignments between the pieces of a pair, by EM
batches      `Batch`, padded pairs; the batches of a plan, prefetched by a thread
"""
