"""What the rows of an attention map are, for each kind of model."""

from collections.abc import Iterator

from nmt_cli.config import ModelConfig

_NONE = (
    "This model has no attention: the source reaches the decoder as one vector, so there is no map of "
    "where it looked. Confidence, alternatives and the beam are there."
)
_BEFORE = (
    "A row is where the model looked in order to say its word. It is computed from the decoder state s(t-1), "
    "before the decoder reads the word that it said last: all words but that one decide it."
)
_AFTER = (
    "A row is where the model looked in order to say its word. It is computed from the decoder state s(t), "
    "after the decoder has read the word that it said last."
)
_TRANSFORMER = (
    "A row is where the last layer looked in order to say its word, after all that was said before. "
    "Lower layers look, too, and are not shown."
)


def attention_note(model: ModelConfig) -> str:
    """What attends to what in a model of these settings, and when."""
    return " ".join(_sentences(model))


def _sentences(model: ModelConfig) -> Iterator[str]:
    if model.attention == "none":
        yield _NONE
        return
    if model.cell == "transformer":
        yield _TRANSFORMER
    else:
        yield _BEFORE if model.query == "before" else _AFTER
    if model.heads is not None and model.heads > 1:
        yield f"It is the mean of {model.heads} heads, which may look at different places."
    if model.hard_attention:
        yield "Attention is hard: all the weight is on the most probable position."
    if model.attention_span != "global":
        yield "Attention is local: outside of its window there is no weight."
