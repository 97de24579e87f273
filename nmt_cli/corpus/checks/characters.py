"""Characters that do not belong in text and usually come from a wrong conversion."""

import re
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Oddity:
    """A kind of character to warn about."""

    name: str
    characters: str
    meaning: str
    hint: str


_DROPPED = "data.control drops such pairs from train; find out where the characters come from"
_C0 = "".join(chr(code) for code in (*range(1, 9), *range(11, 32), 127))
_C1 = "".join(chr(code) for code in range(0x80, 0xA0) if code != 0x85)

ODDITIES: tuple[Oddity, ...] = (
    Oddity("nul", "\0", "NUL characters", _DROPPED),
    Oddity("control", _C0, "control characters", _DROPPED),
    Oddity(
        "c1-control",
        _C1,
        "C1 control characters",
        f"this is often Windows-1252 text decoded as ISO-8859-1; {_DROPPED}",
    ),
    Oddity("next-line", "\x85", "NEL (U+0085)", f"it does not end a line here; {_DROPPED}"),
    Oddity(
        "line-separator",
        "\u2028\u2029",
        "U+2028 or U+2029",
        "they do not end a line here, but other tools may count more lines; replace them with spaces",
    ),
    Oddity(
        "byte-order-mark",
        "\ufeff",
        "a byte-order mark (U+FEFF) inside the text",
        "remove them; they come from concatenating files that start with one",
    ),
    Oddity(
        "replacement",
        "\ufffd",
        "U+FFFD, which replaces a lost character",
        "convert the text again from its original encoding; data.undecodable drops such pairs from train",
    ),
)

_PATTERNS = {oddity.name: re.compile(f"[{re.escape(oddity.characters)}]") for oddity in ODDITIES}
_ENCODED_C1 = re.compile(rb"\xc2[\x80-\x84\x86-\x9f]")


def find_odd_lines(lines: list[str]) -> dict[str, list[int]]:
    """Name of an oddity → rows that have it. Almost free if there are none."""
    text = "\n".join(lines)
    return {
        name: [row for row, line in enumerate(lines) if _PATTERNS[name].search(line)]
        for name in _kinds_in(text, newlines=len(lines) - 1)
    }


def _kinds_in(text: str, newlines: int) -> list[str]:
    """Which oddities occur anywhere: a few vectorized passes over the whole text."""
    encoded = text.encode(errors="replace")
    low = int(np.count_nonzero(np.frombuffer(encoded, dtype=np.uint8) < 32)) - newlines
    has_low = (low > 0 and low > encoded.count(b"\t")) or "\x7f" in text
    kinds = []
    for oddity in ODDITIES:
        if oddity.name in ("nul", "control"):
            present = has_low and bool(_PATTERNS[oddity.name].search(text))
        elif oddity.name == "c1-control":
            present = not text.isascii() and bool(_ENCODED_C1.search(encoded))
        else:
            present = any(character in text for character in oddity.characters)
        if present:
            kinds.append(oddity.name)
    return kinds
