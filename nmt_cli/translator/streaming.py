"""A stream of lines, translated window by window: memory does not grow with the input."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from nmt_cli.config.defaults import WINDOW
from nmt_cli.translator.translation import Details, Translation
from nmt_cli.translator.translator import Translator

_WINDOW_CHARACTERS = 1 << 20  # very long lines make a window shorter

Item = TypeVar("Item", str, tuple[str, str])


class Window(NamedTuple):
    """Some lines in a row."""

    first: int  # number of the first, from 0
    sources: Sequence[str]
    translations: Sequence[Translation]


def translate_stream(
    translator: Translator,
    lines: Iterable[str],
    *,
    window: int = WINDOW,
    details: Details = Details(),  # noqa: B008 - frozen
    prefix: str = "",
) -> Iterator[Window]:
    """All lines in order; each window is sorted by length within. A window of 1 answers each line at once."""
    first = 0
    for sources in windows(lines, window):
        prefixes = [prefix] * len(sources) if prefix else None
        found = translator.translate(sources, details=details, prefixes=prefixes, first_line=first)
        yield Window(first, sources, found)
        first += len(sources)


def score_stream(
    translator: Translator,
    pairs: Iterable[tuple[str, str]],
    *,
    window: int = WINDOW,
    details: Details = Details(scores=True),  # noqa: B008 - frozen
) -> Iterator[Window]:
    """Scores of given translations, in order."""
    first = 0
    for some in windows(pairs, window):
        sources, targets = [source for source, _ in some], [target for _, target in some]
        yield Window(first, sources, translator.score(sources, targets, details=details, first_line=first))
        first += len(some)


def windows(lines: Iterable[Item], most: int) -> Iterator[list[Item]]:
    """At most so many lines at a time, and no more than the last of them over a megabyte."""
    window: list[Item] = []
    characters = 0
    for line in lines:
        window.append(line)
        characters += len(line) if isinstance(line, str) else sum(map(len, line))
        if len(window) >= most or characters >= _WINDOW_CHARACTERS:
            yield window
            window, characters = [], 0
    if window:
        yield window
