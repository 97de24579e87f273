"""The embedded corpus: everyday English and German sentences from a small grammar of our own.

corpus = generate(20_000, seed=1)      # corpus.train, corpus.valid, corpus.test: (English, German)
write(Path("data"), 20_000)            # data/train.en, data/train.de, …

nouns, verbs, words → lexicon                               what the words are and what they go with
tree                                                        the meaning of a sentence
phrases → adverbials → actions → clauses → questions
→ infinitives → connections → sentences                 random trees, from small to large
*_words, numbers → *_phrases → english, german              a tree in words
corpus                                                      the splits and the files
"""

from nmt_cli.demo.corpus import MAX_SIZE, DemoCorpus, generate, write
from nmt_cli.demo.lexicon import lexemes

__all__ = ["MAX_SIZE", "DemoCorpus", "generate", "lexemes", "write"]
