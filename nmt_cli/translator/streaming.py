"""Streams of lines, translated window by window so that memory does not grow with the input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from nmt_cli.config.defaults import WINDOW
from nmt_cli.runtime.segments import windows
from nmt_cli.translator.requests import parse_request
from nmt_cli.translator.translation import Details, Translation
from nmt_cli.translator.translator import Translator


class LineWindow(NamedTuple):
    """Consecutive lines and their translations."""

    first: int  # number of the first line, from 0
    sources: Sequence[str]
    translations: Sequence[Translation]


def translate_stream(
    translator: Translator,
    lines: Iterable[str],
    *,
    window: int = WINDOW,
    details: Details = Details(),  # noqa: B008 - frozen
    prefix: str = "",
    requests: bool = False,
    first: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Iterator[LineWindow]:
    """All lines in order. Lines are batched by length within a window; a window of 1 answers each line at once.

    requests   the lines are requests in JSON (`nmt_cli.translator.requests`)
    first      number of the first line, from 0
    progress   called with the number of lines after each batch
    """
    for part in windows(lines, window):
        terms, sources = None, part
        prefixes = [prefix] * len(part) if prefix else None
        if requests:
            parsed = [parse_request(number, line) for number, line in enumerate(part, start=first + 1)]
            sources, terms = [one.source for one in parsed], [one.terms for one in parsed]
            prefixes = [prefix if one.prefix is None else one.prefix for one in parsed]
        translations = translator.translate(
            sources, details=details, prefixes=prefixes, terms=terms, first_line=first, progress=progress
        )
        yield LineWindow(first, sources, translations)
        first += len(sources)


def score_stream(
    translator: Translator,
    pairs: Iterable[tuple[str, str]],
    *,
    window: int = WINDOW,
    details: Details = Details(scores=True),  # noqa: B008 - frozen
) -> Iterator[LineWindow]:
    """Scores of given translations, in order."""
    first = 0
    for lines in windows(pairs, window):
        sources, targets = [source for source, _ in lines], [target for _, target in lines]
        translations = translator.score(sources, targets, details=details, first_line=first)
        yield LineWindow(first, sources, translations)
        first += len(lines)
