"""What a model did with a sentence, to be read in this order:

explanation   the value: words, attention, confidence, alternatives, the beam
words         pieces as words, and attention between words
forced        forced decoding of one translation
self_attention  where the layers of an LSTMN or a Transformer look on their own side
beam          the search tree as plain data
notes         what the rows of a map are, for each kind of model
explainer     a run that explains sentences
labels        text that becomes a label
svg           one heat-map as a picture
page          an interactive page: page.css, elements.js, attention.js, beam.js, page.js

What is imported here needs no torch; `nmt_cli.explanation.explainer` does.
"""

from nmt_cli.drawing.attention import attention_svg
from nmt_cli.explanation.explanation import (
    Alternative,
    BeamNode,
    Candidate,
    Explanation,
    Matrix,
    SelfAttention,
    Step,
    Word,
    explanations_json,
)
from nmt_cli.explanation.page import explanation_page

__all__ = [
    "Alternative",
    "BeamNode",
    "Candidate",
    "Explanation",
    "Matrix",
    "SelfAttention",
    "Step",
    "Word",
    "attention_svg",
    "explanation_page",
    "explanations_json",
]
