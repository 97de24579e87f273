"""Traces of wrong conversions: characters that do not belong in text, and text that is already tokenized."""

import re
from collections import Counter
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


# ------------------------------------------------------------------------------------------------------------
# Text that looks already tokenized or split into subwords; `nmt` expects raw text.


@dataclass(frozen=True)
class ToolTrace:
    """A trace that a tool leaves in text; only `eligible` lines can show it."""

    name: str
    key: str  # a sample without it need not be searched line by line
    pattern: re.Pattern[str]
    eligible: re.Pattern[str] | None  # None: every line
    share: float  # of eligible lines, from which on it is not a coincidence
    meaning: str


_STOP = "[.,、。，](?: |$)"
_CJK = "[\u3040-\u30ff\u3400-\u9fff]"

TRACES: tuple[ToolTrace, ...] = (
    ToolTrace(
        "bpe-split",
        "@@",
        re.compile(r"@@(?: |$)"),
        None,
        0.1,
        "contain @@, the subword marker of subword-nmt",
    ),
    ToolTrace(
        "piece-split", "▁", re.compile("▁"), None, 0.1, "contain '▁', the space marker of sentencepiece"
    ),
    ToolTrace(
        "escaped", "&", re.compile(r"&(?:apos|quot|#\d+|bar);"), None, 0.01, "contain escapes such as &apos;"
    ),
    ToolTrace(
        "hyphen-split",
        "@-@",
        re.compile(r" @-@ "),
        None,
        0.003,
        "contain @-@, the hyphens of the Moses tokenizer",
    ),
    ToolTrace(
        "tokenized",
        " ",
        re.compile(" " + _STOP),
        re.compile(_STOP),
        0.5,
        "have a space before a comma or period",
    ),
    ToolTrace(
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

    def add(self, other: "TokenizedCheck") -> None:
        """Add the counts of another sample."""
        self._eligible.update(other._eligible)
        self._hits.update(other._hits)

    def found(self) -> list[tuple[ToolTrace, int, int]]:
        """Each trace that was found, with the number of lines that have it and of lines that could."""
        results = []
        for trace in TRACES:
            hits, lines = self._hits[trace.name], self._eligible[trace.name]
            if lines >= _MIN_LINES and hits >= _MIN_HITS and hits >= trace.share * lines:
                results.append((trace, hits, lines))
        return results
