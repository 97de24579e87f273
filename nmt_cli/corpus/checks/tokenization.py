"""Text that looks already tokenized or split into subwords; `nmt` expects raw text."""

import re
from collections import Counter
from dataclasses import dataclass


@dataclass(frozen=True)
class Trace:
    """A trace that a tool leaves in text; only `eligible` lines can show it."""

    name: str
    key: str  # a sample without it need not be searched line by line
    pattern: re.Pattern[str]
    eligible: re.Pattern[str] | None  # None: every line
    share: float  # of eligible lines, from which on it is not a coincidence
    meaning: str


_STOP = "[.,、。，](?: |$)"
_CJK = "[\u3040-\u30ff\u3400-\u9fff]"

TRACES: tuple[Trace, ...] = (
    Trace(
        "bpe-split",
        "@@",
        re.compile(r"@@(?: |$)"),
        None,
        0.1,
        "contain @@, the subword marker of subword-nmt",
    ),
    Trace("piece-split", "▁", re.compile("▁"), None, 0.1, "contain '▁', the space marker of sentencepiece"),
    Trace(
        "escaped", "&", re.compile(r"&(?:apos|quot|#\d+|bar);"), None, 0.01, "contain escapes such as &apos;"
    ),
    Trace(
        "hyphen-split",
        "@-@",
        re.compile(r" @-@ "),
        None,
        0.003,
        "contain @-@, the hyphens of the Moses tokenizer",
    ),
    Trace(
        "tokenized",
        " ",
        re.compile(" " + _STOP),
        re.compile(_STOP),
        0.5,
        "have a space before a comma or period",
    ),
    Trace(
        "segmented",
        " ",
        re.compile(f"{_CJK} {_CJK}"),
        re.compile(f"{_CJK}.*{_CJK}"),
        0.5,
        "have spaces between their words",
    ),
)

_MIN_LINES = 20
_MIN_HITS = 3


class TokenizedCheck:
    """Counts these traces in a sample of one side."""

    def __init__(self) -> None:
        self._eligible: Counter[str] = Counter()
        self._hits: Counter[str] = Counter()

    def observe(self, lines: list[str]) -> None:
        """Take a sample of lines."""
        text = "\n".join(lines)
        for trace in TRACES:
            rows = [line for line in lines if trace.eligible.search(line)] if trace.eligible else lines
            self._eligible[trace.name] += len(rows)
            if trace.key in text:
                self._hits[trace.name] += sum(1 for line in rows if trace.pattern.search(line))

    def found(self) -> list[tuple[Trace, int, int]]:
        """Each trace that was found, with the number of lines that have it and of lines that could."""
        results = []
        for trace in TRACES:
            hits, lines = self._hits[trace.name], self._eligible[trace.name]
            if lines >= _MIN_LINES and hits >= _MIN_HITS and hits >= trace.share * lines:
                results.append((trace, hits, lines))
        return results
