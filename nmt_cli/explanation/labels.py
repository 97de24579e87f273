"""Text that becomes a label: how wide it is, which way it runs, and what a file may hold of it."""

import re
import unicodedata
from html import escape

_NARROW = frozenset("iIljtfr.,:;'!|()[]{}-‐‘’`/ ")
_BROAD = frozenset("mwMW@%&—…")
# What XML 1.0 cannot hold, escaped or not; HTML takes it no better.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def markup_text(text: str) -> str:
    """Text as the content of an element or attribute, whatever it holds."""
    return escape(_ILLEGAL.sub("\ufffd", text))


def is_right_to_left(text: str) -> bool:
    """Whether the first letter that has a direction runs from right to left."""
    directions = (unicodedata.bidirectional(character) for character in text)
    return next((direction != "L" for direction in directions if direction in ("L", "R", "AL")), False)


def width_in_ems(text: str) -> float:
    """About how wide a sans-serif font sets the text, in units of its size; rather too much than too little."""
    return sum(map(_width, text))


def shortened(text: str, ems: float) -> str:
    """The text, or as much of its beginning as fits into that width, with an ellipsis."""
    if width_in_ems(text) <= ems:
        return text
    room = ems - _width("…")
    for at, character in enumerate(text):
        room -= _width(character)
        if room < 0:
            return text[:at] + "…"
    return text


def _width(character: str) -> float:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF" or character in _BROAD:
        return 1.0
    if character in _NARROW:
        return 0.36
    return 0.74 if character.isupper() else 0.6
