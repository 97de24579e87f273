"""Requests as JSON lines: a source with its own terms and prefix."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from nmt_cli.errors import CorpusError, did_you_mean
from nmt_cli.translator.terminology import words_of

_KEYS = ("source", "terms", "prefix")


class Request(NamedTuple):
    """One line to translate."""

    source: str
    terms: tuple[tuple[str, ...], ...] = ()  # pairs of source and target, or a target alone
    prefix: str | None = None  # None: that of the command


def parse_request(number: int, line: str) -> Request:
    """The request on line `number`; a blank line is a blank source."""
    if not line.strip():
        return Request("")
    try:
        content = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _error(number, "is not JSON") from error
    if not isinstance(content, dict):
        raise _error(number, "is not a JSON object")
    for key in content:
        if key not in _KEYS:
            raise _error(number, f"has an unknown key {key!r}{did_you_mean(key, _KEYS)}")
    source, prefix, terms = content.get("source"), content.get("prefix"), content.get("terms", [])
    if not isinstance(source, str):
        raise _error(number, "has no source")
    if prefix is not None and not isinstance(prefix, str):
        raise _error(number, "has a prefix that is not a string")
    if not isinstance(terms, list) or not all(_is_term(term) for term in terms):
        raise _error(number, "has terms that are not pairs of source and target")
    return Request(source, tuple(map(tuple, terms)), prefix)


def _is_term(term: Any) -> bool:
    """Source and target, or a target alone."""
    return (
        isinstance(term, list)
        and len(term) in (1, 2)
        and all(isinstance(text, str) and words_of(text) for text in term)
    )


def _error(number: int, problem: str) -> CorpusError:
    return CorpusError(
        f"line {number} {problem}",
        hint='write {"source": "A dog.", "terms": [["dog", "Hund"]], "prefix": "Ein"} on each line',
    )
