"""The embedded corpus: everyday English and German sentences, made by a small bilingual grammar.

    corpus = generate(20_000, seed=1)  # corpus.train, corpus.valid, corpus.test: (English, German)
    write(Path("data"), 20_000)  # data/train.en, data/train.de, …

How a sentence comes about, in reading order:

    lexicon            the words of both languages, and which go together
    tree               the meaning of a sentence as a tree: who does what to whom, when
    phrases            random choices, which remember what the sentence has said so far; people, things, places, times
    clauses            random clauses around them: what somebody does
    complements        how something is; questions and infinitives, alone or inside another clause
    sentences          whole sentences: clauses joined by and, because, that…; sentences of widely varying length
    english, german    the linearizers: from a tree to a sentence
    corpus             the splits and the files

Images for captioning, apart from all this:

    scenes             rendered scenes of colored shapes, with captions and boxes

Recordings for speech recognition:

    numbers            numbers, spoken by espeak-ng or as tones, with transcripts
"""

from nmt_cli.demo.corpus import MAX_SIZE, DemoCorpus, generate, write

__all__ = ["MAX_SIZE", "DemoCorpus", "generate", "write"]
