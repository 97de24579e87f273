"""Hostile contents of JSON documents, safetensors files and sentencepiece models."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

SEQUENCES = ("\x1b]0;owned\x07", "\x1b[2J\x1b[31m", "\x9b31m", "\b\b\b", "\x7f", "\u202e")
TEXTS = (
    *SEQUENCES,
    "\0",
    "a\0b",
    "",
    "zz",
    "zz\x1b[31m",
    "..",
    "../..",
    "../outside/home/.bashrc",
    "/etc/passwd",
    "/dev/zero",
    "$(touch owned)",
    "line\nbreak",
    "x" * 100_000,
    "\ud800",
    "[bold]markup[/bold]",
    "<script>alert(1)</script>",
)
LONG = "a number of 5000 digits"  # which Python refuses to print
HUGE = (2**31, 2**63, 10**9, 10**30, 1e308, LONG)
NOT_FINITE = (math.nan, math.inf, -math.inf)


# ------------------------------------------------------------------------------------------------------------
# JSON


def paths(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The position of every value of a document, the document itself included."""
    yield path
    if isinstance(document, dict):
        for key, child in document.items():
            yield from paths(child, (*path, key))
    elif isinstance(document, list):
        for index, child in enumerate(document):
            yield from paths(child, (*path, index))


def replaced(document: Any, path: tuple[Any, ...], new: Any) -> Any:
    """A copy of the document with another value at `path`."""
    if not path:
        return new
    copy = dict(document) if isinstance(document, dict) else list(document)
    copy[path[0]] = replaced(document[path[0]], path[1:], new)
    return copy


def at(document: Any, path: tuple[Any, ...]) -> Any:
    """The value at `path`."""
    for step in path:
        document = document[step]
    return document


def written(document: Any) -> str:
    """As Python writes it, NaN and Infinity included."""
    return json.dumps(document, indent=2).replace(f'"{LONG}"', "1" + "0" * 5000)


def with_value(text: str, dice: random.Random, replacement: Callable[[random.Random, Any], Any]) -> str:
    """Replace one value, more often a leaf than a container."""
    document = json.loads(text)
    places = list(paths(document))
    leaves = [path for path in places if not isinstance(at(document, path), dict | list)]
    path = dice.choice(leaves if leaves and dice.random() < 0.8 else places)
    return written(replaced(document, path, replacement(dice, at(document, path))))


def with_number(text: str, dice: random.Random) -> str:
    """Change one number a little: still of its type, and perhaps still valid."""
    document = json.loads(text)
    numbers = [path for path in paths(document) if type(at(document, path)) in (int, float)]
    if not numbers:
        return text
    path = dice.choice(numbers)
    return written(replaced(document, path, at(document, path) + dice.choice([-2, -1, 1, 2, 100])))


def without_key(text: str, dice: random.Random) -> str:
    """Remove one key."""
    document = json.loads(text)
    keys = [path for path in paths(document) if path and isinstance(path[-1], str)]
    if not keys:
        return text
    path = dice.choice(keys)
    parent = dict(at(document, path[:-1]))
    del parent[path[-1]]
    return written(replaced(document, path[:-1], parent))


def with_key(text: str, dice: random.Random) -> str:
    """Add a key, perhaps with the value of another one, as manifests and checkpoints have file names as keys."""
    document = json.loads(text)
    containers = [path for path in paths(document) if isinstance(at(document, path), dict)]
    if not containers:
        return text
    path = dice.choice(containers)
    parent = at(document, path)
    new = dice.choice([*parent.values(), None, 1])
    return written(replaced(document, path, {**parent, dice.choice(TEXTS): new}))


def nested(dice: random.Random) -> str:
    """Brackets that a recursive parser cannot handle."""
    opening, closing = dice.choice([("[", "]"), ('{"a":', "}"), ("[", "")])
    return opening * 100_000 + ("0" if opening != "[" else "") + closing * 100_000


# ------------------------------------------------------------------------------------------------------------
# safetensors: the size of the header in 8 bytes, the header as JSON, the values


def _split(data: bytes) -> tuple[dict[str, Any], bytes]:
    size = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + size]), data[8 + size :]


def _joined(header: Any, values: bytes) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + values


def _tensor(header: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    tensor: dict[str, Any] = header[dice.choice([name for name in header if name != "__metadata__"])]
    return tensor


def other_dtype(data: bytes, dice: random.Random) -> bytes:
    """Another type of the same width, of all tensors or of one; or one that does not exist."""
    header, values = _split(data)
    dtype = dice.choice(["I32", "U32", "F64", "I64", "BOOL", "BF16", "X1"])
    tensors = [header[name] for name in header if name != "__metadata__"]
    for tensor in tensors if dice.random() < 0.5 else [dice.choice(tensors)]:
        tensor["dtype"] = dtype
    return _joined(header, values)


def other_shape(data: bytes, dice: random.Random) -> bytes:
    """A shape that is reversed, huge, negative or has another rank."""
    header, values = _split(data)
    tensor = _tensor(header, dice)
    shape = tensor["shape"]
    tensor["shape"] = dice.choice(
        [shape[::-1], [1, *shape], [10**9, *shape], [2**63], [-1, *shape], [math.prod(shape)], [0], []]
    )
    return _joined(header, values)


def other_offsets(data: bytes, dice: random.Random) -> bytes:
    """Offsets that overlap, are reversed, or lie outside the file."""
    header, values = _split(data)
    tensor = _tensor(header, dice)
    first, last = tensor["data_offsets"]
    tensor["data_offsets"] = dice.choice(
        [[last, first], [first, last + 4], [0, last - first], [2**63, 2**63 + 4], [-4, 0], [first]]
    )
    return _joined(header, values)


def other_name(data: bytes, dice: random.Random) -> bytes:
    """A tensor with another name, or twice under two names."""
    header, values = _split(data)
    name = dice.choice([name for name in header if name != "__metadata__"])
    new = dice.choice([text for text in TEXTS if text.isprintable() or "\x1b" in text])
    header[new] = header[name] if dice.random() < 0.2 else header.pop(name)
    return _joined(header, values)


def other_header(data: bytes, dice: random.Random) -> bytes:
    """A header that is not one, or whose size is wrong."""
    header, values = _split(data)
    choice = dice.randrange(4)
    if choice == 0:
        return dice.choice([2**63, 10**9, 0, 2]).to_bytes(8, "little") + data[8:]
    if choice == 1:
        return _joined(nested(dice).encode(), values)
    if choice == 2:
        return _joined(
            with_value(json.dumps(header), dice, lambda dice, old: dice.choice(TEXTS)).encode(), values
        )
    return _joined({"__metadata__": {"format": dice.choice(TEXTS)}}, b"")


def other_values(data: bytes, dice: random.Random) -> bytes:
    """NaN, infinity or a huge number as the weights."""
    header, values = _split(data)
    pattern = dice.choice([b"\x00\x00\xc0\x7f", b"\x00\x00\x80\x7f", b"\xff\xff\x7f\x7f", b"\0\0\0\0"])
    tensor = _tensor(header, dice)
    first, last = tensor["data_offsets"]
    if dice.random() < 0.5:
        first, last = 0, len(values)
    return _joined(header, values[:first] + pattern * ((last - first) // 4) + values[last:])


# ------------------------------------------------------------------------------------------------------------
# sentencepiece


def other_piece(data: bytes, dice: random.Random) -> bytes:
    """Replace the text of one piece; the model stays a valid protocol buffer."""
    pieces = re.finditer(rb"\x0a([\x01-\x0f])((?:\xe2\x96\x81)?[A-Za-z]+)\x15", data)
    whole = [match for match in pieces if len(match[2]) == match[1][0]]
    if not whole:
        return data
    match = dice.choice(whole)
    letters = bytes([dice.choice(b"XYZ\n\x1b\x00")]) * len(match[2])
    return data[: match.start(2)] + letters + data[match.end(2) :]
