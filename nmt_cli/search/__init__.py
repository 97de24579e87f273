"""Search for the best translation. Reading order:

scorer        what search needs from a model or an ensemble
candidates    the continuations of a step: the best, sampled, or diverse
constraints   what may not follow: banned tokens and words, lengths, repetitions, prefixes
phrases       phrases that must occur: lexically constrained beam search
penalties     length normalization and coverage penalty
stopping      when a sentence is finished; the rows of a batch, padded and compacted
trace         backpointers, the hypotheses read off them, and the search tree
hypotheses    the open hypotheses and the sentences in the batch
greedy        the loop for the best token alone
beam          the loop for everything else, and `search`, the entry point
"""

from nmt_cli.search.beam import search
from nmt_cli.search.constraints import BannedWords, build_banned_words
from nmt_cli.search.phrases import Phrase, check_constrained
from nmt_cli.search.scorer import Ensemble, ModelScorer, Scorer
from nmt_cli.search.trace import Hypothesis, SearchNode, SearchTree

__all__ = [
    "BannedWords",
    "Ensemble",
    "Hypothesis",
    "ModelScorer",
    "Phrase",
    "Scorer",
    "SearchNode",
    "SearchTree",
    "build_banned_words",
    "check_constrained",
    "search",
]
