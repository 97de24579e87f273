"""Explanations: how a model translated a sentence. Reading order:

explanation      `Explanation`, the value: words, attention, confidence, alternatives, the beam
explainer        `Explainer`: search and forced decoding of a sentence with the model of a run
self_attention   the self-attention maps of an LSTMN or a Transformer
gradients        ∂ log p(y_t) / ∂x_i: its norm, its product with x_i, and how it falls with distance
images           captions: a picture for each word, and a page of them (images.html, images.css)
recordings       transcripts: a heat map of characters and time
page             the scripts and style that draw them in a browser (elements.js, words.js, matrix.js, beam.js, views.js,
                 views.css), and an interactive page of them: page.html, page.css, page.js

The names exported here need no torch; `nmt_cli.explanation.explainer` does.
"""

from nmt_cli.drawing.attention import attention_svg
from nmt_cli.explanation.explanation import (
    Alternative,
    BeamNode,
    DistanceMean,
    Explanation,
    Gradients,
    Matrix,
    Prediction,
    RankedTranslation,
    SelfAttention,
    Word,
    explanations_json,
    merged_distances,
)
from nmt_cli.explanation.page import (
    distances_of_runs,
    explanation_page,
    gradient_distances_svg,
    gradient_maps_svg,
    views_script,
    views_style,
)

__all__ = [
    "Alternative",
    "BeamNode",
    "DistanceMean",
    "Explanation",
    "Gradients",
    "Matrix",
    "Prediction",
    "RankedTranslation",
    "SelfAttention",
    "Word",
    "attention_svg",
    "distances_of_runs",
    "explanation_page",
    "explanations_json",
    "gradient_distances_svg",
    "gradient_maps_svg",
    "merged_distances",
    "views_script",
    "views_style",
]
