"""Search for the best translation, to be read in this order:

scorer        what search asks of a model or of an ensemble
candidates    the continuations of a step, and which of them end
constraints   banned tokens, lengths, repetitions, prefixes
penalties     length normalisation and coverage
stopping      when a sentence needs no further step
sampling      candidates drawn at random
leaving       which sentences leave the batch
hypotheses    backpointers, and the translations read back from them
tree          everything that was considered
greedy        the loop for the best token alone
beam          the loop for all else, and `search`
"""

from nmt_cli.search.beam import search
from nmt_cli.search.scorer import Ensemble, ModelScorer, Scorer
from nmt_cli.search.trace import Considered, Hypothesis, SearchTree

__all__ = ["Considered", "Ensemble", "Hypothesis", "ModelScorer", "Scorer", "SearchTree", "search"]
