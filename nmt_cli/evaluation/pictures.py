"""The attention of runs, for the examples of a report."""

from __future__ import annotations

from nmt_cli.evaluation.result import SystemResult
from nmt_cli.evaluation.systems import System


def attention_pictures(system: System, result: SystemResult) -> dict[tuple[str, int], str]:
    """(name, line) → SVG of the attention between words, for every example of a run that has attention."""
    from nmt_cli.explanation.svg import attention_svg
    from nmt_cli.translator import Details

    assert system.translator is not None
    sources = _sources(result)
    lines = sorted(sources)
    translations = system.translator.translate(
        [sources[line] for line in lines], details=Details(attention=True)
    )
    pictures = {}
    for line, translation in zip(lines, translations, strict=True):
        weights = translation.word_attention
        if weights is not None and weights.numel():
            words = translation.source_words, translation.target_words
            pictures[result.name, line] = attention_svg(*words, weights.tolist())
    return pictures


def _sources(result: SystemResult) -> dict[int, str]:
    examples = result.examples
    if examples is None:
        return {}
    return {
        example.line: example.source
        for group in (examples.worst, examples.best, examples.gained, examples.lost)
        for example in group
        if example.source is not None
    }
