"""An exported folder: its files, each as the manifest describes it, and its settings, checked.

Whoever wrote the folder need not be `nmt export`, and nothing in it is code to this module. Each file is read once,
without following links, and compared with the size and the SHA-256 in manifest.json; a graph whose weights lie outside
its own file is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt_cli.runtime.placeholders import PlaceholderPatterns

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]

KIND = "export"
FORMAT = 1
_MANIFEST_LIMIT = 1 << 20  # bytes
COPY_AGAIN = "copy the whole folder again, or export the model again"
_KINDS = ("bpe", "unigram", "char", "word")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_LANGUAGE = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_ERRORS = (
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    OverflowError,
)  # of documents that are not well-formed


class RuntimeFailure(Exception):  # noqa: N818 - the word "error" stands in front of its message
    """An error for the user: what is wrong, and what to do about it."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


@dataclass(frozen=True)
class SearchSettings:
    """The settings of the section `search` that an exported model supports."""

    beam_size: int = 5
    n_best: int = 1
    stopping: str = "finished"
    length_normalization: str = "average"
    length_penalty: float = 1.0
    word_reward: float = 0.0
    min_length: int = 1
    max_length: int = 256
    max_length_ratio: float | None = 3.0
    max_length_constant: int = 50

    def changed(self, **settings: Any) -> SearchSettings:
        """A checked copy; settings that need the run directory are refused by name."""
        for name, value in settings.items():
            _check_setting(name, value)
        result = replace(self, **{name: value for name, value in settings.items() if name not in NEUTRAL})
        if result.n_best > result.beam_size:
            raise RuntimeFailure(
                f"{result.n_best} translations need a beam of at least that size, not {result.beam_size}",
                f"set --beam {result.n_best}",
            )
        if result.min_length > result.max_length:
            raise RuntimeFailure("search.min_length exceeds search.max_length", "reduce search.min_length")
        return result

    def normalized(self, log_p: Any, length: Any) -> Any:
        """The score of log P with |Y| = length, <eos> included."""
        match self.length_normalization:
            case "average":
                return log_p / length**self.length_penalty
            case "wu":
                return log_p / ((5 + length) / 6) ** self.length_penalty
            case "reward":
                return log_p + self.word_reward * length
            case _:
                return log_p

    def limits(self, source_lengths: Integers) -> Integers:
        """Maximum length (B,) of the translations, not counting <eos>."""
        limits = np.full_like(source_lengths, self.max_length)
        if self.max_length_ratio is not None:
            # In floating point, where no ratio overflows.
            allowed = np.floor(source_lengths * float(self.max_length_ratio)) + self.max_length_constant
            limits = np.minimum(limits, allowed).astype(np.int64)
        return np.maximum(limits, self.min_length)


# What the runtime lacks, and the values with which it makes no difference.
NEUTRAL: dict[str, tuple[Any, ...]] = {
    "sampling": (False,),
    "temperature": (1.0,),
    "top_k": (None,),
    "top_p": (None,),
    "coverage_penalty": (0.0,),
    "no_repeat_ngram": (0,),
    "diversity_groups": (1,),
    "diversity_strength": (0.5,),
    "mbr": ("none",),
    "mbr_samples": (32,),
}


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


def _check_setting(name: str, value: Any) -> None:
    if name in NEUTRAL:
        if value not in NEUTRAL[name]:
            raise RuntimeFailure(
                f"an exported model does not support search.{name} = {value}",
                f"leave out search.{name}, or use the run directory",
            )
    elif name in _CHOICES:
        if value not in _CHOICES[name]:
            raise RuntimeFailure(f"search.{name} is {value!r}", f"choose one of {', '.join(_CHOICES[name])}")
    elif name not in _RANGES:
        raise RuntimeFailure(f"there is no setting search.{name}", "leave it out")
    elif value is not None or name != "max_length_ratio":
        low, high = _RANGES[name]
        is_number = type(value) is int or (type(low) is float and type(value) is float)
        if not is_number or not low <= value <= high:
            raise RuntimeFailure(f"search.{name} is {value!r}", f"choose a number from {low} to {high:,}")


class Folder:
    """The files of an exported model, each as its manifest describes it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            content = _parse_json(self._bytes("manifest.json"))
            if content["kind"] != KIND:
                raise RuntimeFailure(
                    f"{path} is not an exported model", "give a folder that `nmt export` wrote"
                )
            if int(content["format"]) > FORMAT:
                raise RuntimeFailure(f"{path} has a newer format than this runtime", "upgrade nmt-cli")
            self._files = _parse_files(content)
        except _ERRORS as error:
            raise RuntimeFailure(f"{path / 'manifest.json'} is damaged", COPY_AGAIN) from error

    def __contains__(self, name: str) -> bool:
        return name in self._files

    def read(self, name: str) -> bytes:
        """The content of a file that the manifest lists."""
        if name not in self._files:
            raise RuntimeFailure(f"{self.path} has no {name}", COPY_AGAIN)
        size, sha256 = self._files[name]
        content = self._bytes(name, size)
        if len(content) < size:
            raise RuntimeFailure(
                f"{self.path / name} is truncated: {len(content)} of {size} bytes", COPY_AGAIN
            )
        if hashlib.sha256(content).hexdigest() != sha256:
            raise RuntimeFailure(f"{self.path / name} was changed after it was written", COPY_AGAIN)
        return content

    def _bytes(self, name: str, size: int = _MANIFEST_LIMIT) -> bytes:
        """A regular file, up to one byte more than `size`."""
        try:
            descriptor = os.open(self.path / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor, not a path
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    raise RuntimeFailure(f"{self.path / name} is not a regular file", COPY_AGAIN)
                return file.read(size + 1)
        except OSError as error:
            raise RuntimeFailure(f"cannot read {self.path / name}: {error.strerror}", COPY_AGAIN) from error

    def settings(self) -> dict[str, Any]:
        """The content of settings.json."""
        content = self.read("settings.json")
        try:
            return _parse_settings(content)
        except (*_ERRORS, RuntimeFailure) as error:
            raise RuntimeFailure(f"{self.path / 'settings.json'} is damaged", COPY_AGAIN) from error


def _parse_json(content: bytes) -> Any:
    """A JSON document; a ValueError if it is none, and for nesting that no parser can handle."""
    try:
        return json.loads(content)
    except RecursionError as error:
        raise ValueError("too deeply nested") from error


def _parse_files(document: Any) -> dict[str, tuple[int, str]]:
    """Size and SHA-256 of every file that a manifest lists."""
    files = {}
    for name, facts in document["files"].items():
        size, sha256 = facts["size"], facts["sha256"]
        _require(type(size) is int and 0 <= size < 2**62 and bool(_SHA256.fullmatch(sha256)))
        files[name] = size, sha256
    return files


def _parse_settings(content: bytes) -> dict[str, Any]:
    """The settings of a folder; an error unless they are well-formed."""
    settings: dict[str, Any] = _parse_json(content)
    SearchSettings().changed(**settings["search"])
    _require(type(settings["max_tokens"]) is int and 1 <= settings["max_tokens"] <= _MOST_TOKENS)
    _require(type(settings["lowercase"]) is bool)
    for old, new in settings["replacements"]:
        _require(isinstance(old, str) and old != "" and isinstance(new, str))
    patterns = settings.get("placeholder_patterns", [])  # it is there if placeholders are replaced by symbols
    _require(isinstance(patterns, list) and all(isinstance(pattern, str) for pattern in patterns))
    PlaceholderPatterns(patterns)
    _require(len(settings["vocabulary"]) == 2 and all(kind in _KINDS for kind in settings["vocabulary"]))
    for name in ("source_language", "target_language"):
        _require(bool(_LANGUAGE.fullmatch(settings[name])))
    for name in ("model_sha256", "data_sha256"):
        _require(bool(_SHA256.fullmatch(settings[name])))
    if settings["shortlist"] is not None:
        frequent = settings["shortlist"]["frequent"]
        _require(isinstance(frequent, list) and all(type(i) is int and 0 <= i < 2**31 for i in frequent))
    return settings


def _require(condition: bool) -> None:
    if not condition:
        raise ValueError("not well-formed")


# ONNX files are protocol buffers. These fields lead to tensors: graph and functions of a ModelProto; node, initializer
# and sparse_initializer of a GraphProto; t, g, tensors, graphs and sparse tensors of an AttributeProto.
_FIELDS: dict[str, dict[int, str]] = {
    "model": {7: "graph", 25: "function"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "function": {7: "node"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {},
}
_EXTERNAL_DATA, _DATA_LOCATION = 13, 14  # fields of TensorProto


def refers_outside(model: bytes) -> bool:
    """Whether a tensor of this ONNX model has its data in another file; true as well if it cannot be parsed."""
    waiting = [("model", memoryview(model))]
    try:
        while waiting:
            kind, data = waiting.pop()
            for field, value in _proto_fields(data):
                if kind == "tensor" and field in (_EXTERNAL_DATA, _DATA_LOCATION):
                    return True
                if field in _FIELDS[kind] and not isinstance(value, int):
                    waiting.append((_FIELDS[kind][field], value))
    except (IndexError, ValueError):
        return True
    return False


def _proto_fields(data: memoryview) -> Iterator[tuple[int, memoryview | int]]:
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        wire = key & 7
        if wire == 0:
            value, position = _varint(data, position)
            yield key >> 3, value
            continue
        size = {1: 8, 5: 4}.get(wire, 0)
        if wire == 2:
            size, position = _varint(data, position)
        elif not size:
            raise ValueError("no such wire type")
        if position + size > len(data):
            raise ValueError("truncated")
        yield key >> 3, data[position : position + size]
        position += size


def _varint(data: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        value |= (byte & 127) << shift
        position, shift = position + 1, shift + 7
        if byte < 128:
            return value, position
        if shift > 63:
            raise ValueError("too long")
