"""Search for the best translation. Reading order:

scorer        what search needs from a model or an ensemble
candidates    the continuations of a step: the best, or sampled; constraints on them (lengths, repetitions, prefixes)
penalties     length normalization and coverage penalty
stopping      when a sentence is finished, and when finished sentences are removed from the batch
trace         backpointers, the hypotheses read off them, and the search tree
greedy        the loop for the best token alone
beam          the loop for everything else, and `search`, the entry point
"""

from nmt_cli.search.beam import search
from nmt_cli.search.scorer import Ensemble, ModelScorer, Scorer
from nmt_cli.search.trace import Hypothesis, SearchNode, SearchTree

__all__ = ["Ensemble", "Hypothesis", "ModelScorer", "Scorer", "SearchNode", "SearchTree", "search"]
