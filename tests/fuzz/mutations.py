"""What can be wrong with a file or a folder of a directory. Each mutation is one entry of `MUTATIONS`.

A mutation gets the path, a random generator and the surroundings, changes what is at the path, and returns False if
it does not apply there. A directory whose manifest still has the old hashes is damaged; after `sign` it is forged:
all hashes match, and only the checks behind them are left.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tests.fuzz import contents


class Surroundings(NamedTuple):
    """What a mutation may use besides the path."""

    directory: Path  # the mutated directory
    outside: Path  # files that no command may change
    other: Path  # an intact directory of the same kind, made from other text


Mutation = Callable[[Path, random.Random, Surroundings], bool | None]


def sign(directory: Path) -> None:
    """Write the present sizes and hashes of all files wherever a JSON file of the directory records them."""
    for listing in (directory / "state" / "current.json", directory / "manifest.json"):
        try:
            if not _is_plain(listing):
                continue
            content = json.loads(listing.read_text("utf-8"))
            for name, facts in content["files"].items():
                if _is_plain(directory / name):
                    data = (directory / name).read_bytes()
                    facts["size"], facts["sha256"] = len(data), hashlib.sha256(data).hexdigest()
            listing.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8")
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            continue  # it is itself what was mutated


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()  # a device or a FIFO could be read forever


def delete(path: Path, dice: random.Random, place: Surroundings) -> None:
    """Remove a file or a folder."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _bytes(change: Callable[[bytes, random.Random], bytes]) -> Mutation:
    """A mutation of the content of a file; one that changes nothing does not apply."""

    def mutate(path: Path, dice: random.Random, place: Surroundings) -> bool:
        if path.is_dir():
            return False
        before = path.read_bytes()
        after = change(before, dice)
        path.write_bytes(after)
        return after != before

    return mutate


def _truncated(data: bytes, dice: random.Random) -> bytes:
    return data[: dice.randrange(len(data))] if data else data


def _flipped(data: bytes, dice: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(dice.choice((1, 1, 8)) if data else 0):
        changed[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    return bytes(changed)


def _inserted(*pieces: bytes) -> Callable[[bytes, random.Random], bytes]:
    def change(data: bytes, dice: random.Random) -> bytes:
        at = dice.randrange(len(data) + 1)
        return data[:at] + dice.choice(pieces) + data[at:]

    return change


def _replaced(make: Callable[[Path, Surroundings], None]) -> Mutation:
    """Put something else than a file or a folder at the path."""

    def mutate(path: Path, dice: random.Random, place: Surroundings) -> None:
        delete(path, dice, place)
        make(path, place)

    return mutate


def _link_to_copy(path: Path, dice: random.Random, place: Surroundings) -> None:
    """The same content, but elsewhere."""
    elsewhere = place.outside / "copy"
    if path.is_dir():
        shutil.copytree(path, elsewhere)
    else:
        shutil.copyfile(path, elsewhere)
    delete(path, dice, place)
    path.symlink_to(elsewhere)


def _swap(path: Path, dice: random.Random, place: Surroundings) -> bool:
    """The file of another directory, or another file with the same suffix."""
    name = path.relative_to(place.directory)
    choices = [place.other / name, *sorted(place.directory.rglob(f"*{path.suffix}"))]
    choices = [choice for choice in choices if choice.is_file() and choice != path]
    if path.is_dir() or not choices:
        return False
    before = path.read_bytes()
    shutil.copyfile(dice.choice(choices), path)
    return path.read_bytes() != before


def _json(change: Callable[[str, random.Random], str]) -> Mutation:
    """A mutation of a JSON document, or of one line of a log."""

    def mutate(path: Path, dice: random.Random, place: Surroundings) -> bool:
        if path.suffix not in (".json", ".jsonl") or path.is_dir():
            return False
        text = path.read_text("utf-8")
        if path.suffix == ".json":
            path.write_text(change(text, dice), "utf-8", errors="surrogatepass")
        else:
            lines = text.splitlines()
            at = dice.randrange(len(lines))
            lines[at] = change(lines[at], dice)
            path.write_text("\n".join(lines) + "\n", "utf-8", errors="surrogatepass")
        return path.read_bytes() != text.encode()

    return mutate


def _by_suffix(suffix: str, change: Callable[[bytes, random.Random], bytes]) -> Mutation:
    changed = _bytes(change)
    return lambda path, dice, place: path.suffix == suffix and changed(path, dice, place)


def value(replacement: Callable[[random.Random, Any], Any]) -> Mutation:
    """Replace a random value of a JSON document."""
    return _json(lambda text, dice: contents.with_value(text, dice, replacement))


MUTATIONS: dict[str, Mutation] = {
    "delete": delete,
    "truncate": _bytes(_truncated),
    "empty": _bytes(lambda data, dice: b""),
    "flip": _bytes(_flipped),
    "nul": _bytes(_inserted(b"\0")),
    "not-utf-8": _bytes(_inserted(b"\xff", b"\xed\xa0\x80", b"\xc3")),
    "escape-sequence": _bytes(_inserted(*(sequence.encode() for sequence in contents.SEQUENCES))),
    "line-break": _bytes(_inserted(b"\n", b"\r", b"\n\n\n", "\u2028".encode())),
    "append": _bytes(lambda data, dice: data + dice.randbytes(100)),
    "random": _bytes(lambda data, dice: dice.randbytes(max(len(data), 1))),
    "swap": _swap,
    "directory": _replaced(lambda path, place: path.mkdir()),
    "fifo": _replaced(lambda path, place: os.mkfifo(path)),
    "link": _link_to_copy,
    "link-to-file": _replaced(lambda path, place: path.symlink_to(place.outside / "home" / ".bashrc")),
    "link-to-folder": _replaced(lambda path, place: path.symlink_to(place.outside / "home")),
    "link-to-new-file": _replaced(lambda path, place: path.symlink_to(place.outside / "home" / "new")),
    "link-to-device": _replaced(lambda path, place: path.symlink_to("/dev/zero")),
    "link-to-itself": _replaced(lambda path, place: path.symlink_to(path.name)),
    "relative-link": _replaced(
        lambda path, place: path.symlink_to(os.path.relpath(place.outside / "home" / ".bashrc", path.parent))
    ),
    "deep-nesting": _json(lambda text, dice: contents.nested(dice)),
    "other-json": _json(
        lambda text, dice: dice.choice(["null", "[]", "{}", "0", '""', "NaN", "[{}]", "true"])
    ),
    "no-key": _json(contents.without_key),
    "new-key": _json(contents.with_key),
    "huge-number": value(lambda dice, old: dice.choice(contents.HUGE)),
    "not-finite": value(lambda dice, old: dice.choice(contents.NOT_FINITE)),
    "negative": value(lambda dice, old: dice.choice([-1, -(2**31), -0.5])),
    "wrong-type": value(lambda dice, old: dice.choice([None, True, [], {}, "", "x", 0.5, [[]], {"": None}])),
    "hostile-text": value(lambda dice, old: dice.choice(contents.TEXTS)),
    "number": _json(contents.with_number),
    "tensor-dtype": _by_suffix(".safetensors", contents.other_dtype),
    "tensor-shape": _by_suffix(".safetensors", contents.other_shape),
    "tensor-offsets": _by_suffix(".safetensors", contents.other_offsets),
    "tensor-name": _by_suffix(".safetensors", contents.other_name),
    "tensor-header": _by_suffix(".safetensors", contents.other_header),
    "tensor-values": _by_suffix(".safetensors", contents.other_values),
    "piece": _by_suffix(".model", contents.other_piece),
}
