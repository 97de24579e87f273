"""manifest.json and settings.json of an exported folder, checked: whoever wrote them need not be `nmt export`."""

from __future__ import annotations

import json
import re
from typing import Any

from nmt_cli.runtime.search import NEUTRAL, SearchSettings

_MOST_TOKENS = 1_000_000
_RANGES = {
    "beam_size": (1, 1000),
    "n_best": (1, 1000),
    "min_length": (0, _MOST_TOKENS),
    "max_length": (1, _MOST_TOKENS),
    "max_length_constant": (1, _MOST_TOKENS),
    "length_penalty": (0.0, 10.0),
    "word_reward": (-1000.0, 1000.0),
    "max_length_ratio": (0.0, 1e300),
}
_CHOICES = {
    "stopping": ("finished", "exact", "first"),
    "length_normalization": ("none", "average", "wu", "reward"),
}
_KINDS = ("bpe", "unigram", "char", "word")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_LANGUAGE = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def parse_json(content: bytes) -> Any:
    """A JSON document; a ValueError if it is none, and for nesting that no parser can handle."""
    try:
        return json.loads(content)
    except RecursionError as error:
        raise ValueError("too deeply nested") from error


def parse_files(document: Any) -> dict[str, tuple[int, str]]:
    """Size and SHA-256 of every file that a manifest lists."""
    files = {}
    for name, facts in document["files"].items():
        size, sha256 = facts["size"], facts["sha256"]
        _require(type(size) is int and 0 <= size < 2**62 and bool(_SHA256.fullmatch(sha256)))
        files[name] = size, sha256
    return files


def parse_settings(content: bytes) -> dict[str, Any]:
    """The settings of a folder; a ValueError, KeyError or TypeError unless they are well-formed."""
    settings: dict[str, Any] = parse_json(content)
    check_search(settings["search"])
    _require(type(settings["max_tokens"]) is int and 1 <= settings["max_tokens"] <= _MOST_TOKENS)
    _require(type(settings["lowercase"]) is bool)
    for old, new in settings["replacements"]:
        _require(isinstance(old, str) and old != "" and isinstance(new, str))
    _require(len(settings["vocabulary"]) == 2 and all(kind in _KINDS for kind in settings["vocabulary"]))
    for name in ("source_language", "target_language"):
        _require(bool(_LANGUAGE.fullmatch(settings[name])))
    for name in ("model_sha256", "data_sha256"):
        _require(bool(_SHA256.fullmatch(settings[name])))
    if settings["shortlist"] is not None:
        frequent = settings["shortlist"]["frequent"]
        _require(isinstance(frequent, list) and all(type(i) is int and 0 <= i < 2**31 for i in frequent))
    return settings


def check_search(search: dict[str, Any]) -> None:
    """Raise a ValueError, KeyError or TypeError unless these are valid search settings of an exported model."""
    for name, value in search.items():
        if name in NEUTRAL:
            _require(value in NEUTRAL[name])
        elif name in _CHOICES:
            _require(value in _CHOICES[name])
        elif value is None:
            _require(name == "max_length_ratio")
        else:
            low, high = _RANGES[name]
            is_number = type(value) is int or (type(low) is float and type(value) is float)
            _require(is_number and low <= value <= high)
    given = SearchSettings().changed(**search)
    _require(given.min_length <= given.max_length)


def _require(condition: bool) -> None:
    if not condition:
        raise ValueError("not well-formed")
