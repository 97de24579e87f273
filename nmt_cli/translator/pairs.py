"""Two texts read side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest

from nmt_cli.errors import CorpusError
from nmt_cli.translator.lines import TextInput


class Pairs:
    """Line n of one text with line n of the other; texts of different lengths are an error."""

    def __init__(self, source: TextInput, target: TextInput) -> None:
        self._sides = source, target

    def __iter__(self) -> Iterator[tuple[str, str]]:
        source, target = (iter(side) for side in self._sides)
        for count, (one, other) in enumerate(zip_longest(source, target)):
            if one is None or other is None:
                longer = count + 1 + _rest(target if one is None else source)
                counts = (count, longer) if one is None else (longer, count)
                raise CorpusError(
                    f"{self._sides[0].name} has {counts[0]:,} lines, {self._sides[1].name} has {counts[1]:,}",
                    hint="line n of one file must be the translation of line n of the other",
                )
            yield one, other


def _rest(lines: Iterable[str]) -> int:
    return sum(1 for _ in lines)
