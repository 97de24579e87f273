"""A block of pairs: what every reader yields and every later step takes."""

from collections.abc import Mapping
from typing import NamedTuple

UNDECODABLE = "undecodable"
MALFORMED = "malformed"

# Keys of `Block.removed`.
BYTE_ORDER_MARK = "byte-order mark"
CARRIAGE_RETURN = "carriage return"
INNER_NEWLINE = "inner newline"

_NOTHING: Mapping[str, int] = {}  # a plain dict: blocks travel between processes


class Block(NamedTuple):
    """Consecutive pairs of one corpus. No text contains a newline; row n of both sides belongs together."""

    first: int  # 1-based number of the first pair in its corpus
    source: list[str]
    target: list[str]
    damage: Mapping[int, str]  # row in this block → UNDECODABLE or MALFORMED
    removed: Mapping[str, int] = _NOTHING  # what the reader took away on the way, for the warnings
