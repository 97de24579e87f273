"""Streams of lines, translated window by window, so that memory does not grow with the input."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from nmt_cli.config.defaults import WINDOW
from nmt_cli.translator.translation import Details, Translation
from nmt_cli.translator.translator import Translator

_WINDOW_CHARACTERS = 1 << 20  # windows of very long lines have fewer lines

Item = TypeVar("Item", str, tuple[str, str])


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
) -> Iterator[LineWindow]:
    """All lines in order. Lines are batched by length within a window; a window of 1 answers each line at once."""
    first = 0
    for sources in windows(lines, window):
        prefixes = [prefix] * len(sources) if prefix else None
        translations = translator.translate(sources, details=details, prefixes=prefixes, first_line=first)
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


def windows(lines: Iterable[Item], max_lines: int) -> Iterator[list[Item]]:
    """Windows of at most `max_lines` lines; a window ends early with the line that exceeds a million characters."""
    window: list[Item] = []
    characters = 0
    for line in lines:
        window.append(line)
        characters += len(line) if isinstance(line, str) else sum(map(len, line))
        if len(window) >= max_lines or characters >= _WINDOW_CHARACTERS:
            yield window
            window, characters = [], 0
    if window:
        yield window
