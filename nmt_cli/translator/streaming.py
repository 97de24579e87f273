"""Streams of lines, translated window by window so that memory does not grow with the input.

A line may be a request: JSON with a source and terms and a prefix of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from nmt_cli.config.defaults import WINDOW
from nmt_cli.errors import CorpusError, did_you_mean
from nmt_cli.runtime.segments import windows
from nmt_cli.translator.terminology import words_of
from nmt_cli.translator.translation import Details, Translation
from nmt_cli.translator.translator import Translator

_KEYS = ("source", "terms", "prefix")

Line = TypeVar("Line", str, tuple[str, str])


class TranslationRequest(NamedTuple):
    """A line to translate, as JSON."""

    source: str
    terms: tuple[tuple[str, ...], ...] = ()  # pairs of source and target, or a target alone
    prefix: str | None = None  # None: that of the command


def parse_request(number: int, line: str) -> TranslationRequest:
    """The request on line `number`; a blank line is a blank source."""
    if not line.strip():
        return TranslationRequest("")
    try:
        content = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _bad_request(number, "is not JSON") from error
    if not isinstance(content, dict):
        raise _bad_request(number, "is not a JSON object")
    for key in content:
        if key not in _KEYS:
            raise _bad_request(number, f"has an unknown key {key!r}{did_you_mean(key, _KEYS)}")
    source, prefix, terms = content.get("source"), content.get("prefix"), content.get("terms", [])
    if not isinstance(source, str):
        raise _bad_request(number, "has no source")
    if prefix is not None and not isinstance(prefix, str):
        raise _bad_request(number, "has a prefix that is not a string")
    if not isinstance(terms, list) or not all(_is_term(term) for term in terms):
        raise _bad_request(number, "has terms that are not pairs of source and target")
    return TranslationRequest(source, tuple(map(tuple, terms)), prefix)


def _is_term(term: Any) -> bool:
    """Source and target, or a target alone."""
    return (
        isinstance(term, list)
        and len(term) in (1, 2)
        and all(isinstance(text, str) and words_of(text) for text in term)
    )


def _bad_request(number: int, problem: str) -> CorpusError:
    return CorpusError(
        f"line {number} {problem}",
        hint='write {"source": "A dog.", "terms": [["dog", "Hund"]], "prefix": "Ein"} on each line',
    )


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

    requests   the lines are requests in JSON (`parse_request`)
    first      number of the first line, from 0
    progress   called with the number of lines after each batch
    """
    for part in windows(lines, window):
        yield translate_window(
            translator, part, first, details=details, prefix=prefix, requests=requests, progress=progress
        )
        first += len(part)


def translate_window(
    translator: Translator,
    lines: Sequence[str],
    first: int,
    *,
    details: Details,
    prefix: str = "",
    requests: bool = False,
    progress: Callable[[int], None] | None = None,
) -> LineWindow:
    """The lines of one window; the options are those of `translate_stream`."""
    terms, sources = None, lines
    prefixes = [prefix] * len(lines) if prefix else None
    if requests:
        parsed = [parse_request(number, line) for number, line in enumerate(lines, start=first + 1)]
        sources, terms = [one.source for one in parsed], [one.terms for one in parsed]
        prefixes = [prefix if one.prefix is None else one.prefix for one in parsed]
    translations = translator.translate(
        sources, details=details, prefixes=prefixes, terms=terms, first_line=first, progress=progress
    )
    return LineWindow(first, sources, translations)


class WindowShare(Generic[Line]):
    """The windows of a stream that this process takes, each with the number of its first line.

    All processes read the whole stream, and whoever is ready takes the next window. A window does not depend on the
    others, so the translations are those of a single process.
    """

    def __init__(self, lines: Iterable[Line], claim: Callable[[], int], *, window: int, first: int) -> None:
        """`claim` returns 0, 1, 2 …, each number in one process only; `first` is the number of the first line."""
        self._lines: Iterable[Line] = lines
        self._claim, self._window = claim, window
        self.end = first  # number of lines read so far, counted from the beginning of the text

    def __iter__(self) -> Iterator[tuple[int, list[Line]]]:
        claimed = self._claim()
        for number, lines in enumerate(windows(self._lines, self._window)):
            first = self.end
            self.end += len(lines)
            if number == claimed:
                yield first, lines
                claimed = self._claim()


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
        yield score_window(translator, lines, first, details)
        first += len(lines)


def score_window(
    translator: Translator, pairs: Sequence[tuple[str, str]], first: int, details: Details
) -> LineWindow:
    """Scores of the pairs of one window; the number of the first one is `first`, from 0."""
    sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    return LineWindow(first, sources, translator.score(sources, targets, details=details, first_line=first))
