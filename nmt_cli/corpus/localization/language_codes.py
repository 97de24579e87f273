"""Language codes as files spell them: `de` matches `de`, `DE-AT`, `de_DE` and `de@informal`, but not `den`."""

import re
from collections.abc import Sequence
from functools import lru_cache

_SEPARATOR = re.compile(r"[-_@.]")


@lru_cache(maxsize=1024)  # a file has few codes and many units
def normalized(code: str) -> str:
    """Lowercase, with hyphens: `de_AT` is `de-at`."""
    return _SEPARATOR.sub("-", code.strip().lower())


@lru_cache(maxsize=1024)
def matches(code: str, wanted: str) -> bool:
    """Whether a code in a file is the wanted language or a variant of it."""
    code, wanted = normalized(code), normalized(wanted)
    return code == wanted or code.startswith(f"{wanted}-")


def choose(codes: Sequence[str], wanted: str) -> tuple[int | None, bool]:
    """The index of the wanted language among codes, and whether several variants match and none exactly.

    The exact code wins over its variants; otherwise, the first variant wins.
    """
    found = [index for index, code in enumerate(codes) if matches(code, wanted)]
    for index in found:
        if normalized(codes[index]) == normalized(wanted):
            return index, False
    return (found[0] if found else None), len(found) > 1
