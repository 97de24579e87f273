"""Settings of the section `train`: the order of the data and the size of a batch."""

from nmt_cli.config.section import Section, setting


class TrainConfig(Section):
    """What training sees, in which order."""

    seed: int = setting(1, "decides initial weights, dropout, the order of batches and subword sampling", ge=0)
    batch_tokens: int = setting(4096, "target tokens of a batch, <eos> and padding included (rows × longest)", ge=1)
    batch_sentences: int = setting(0, "if not 0, sentence pairs of a batch, instead of a token budget", ge=0)
    pool_batches: int = setting(64, "batches of a pool: sentences are sorted by length within a shuffled pool", ge=1)
    subword_sampling: float = setting(
        0.0, "BPE-dropout or unigram sampling strength for training text (0: always the best split)", ge=0.0, le=1.0
    )
