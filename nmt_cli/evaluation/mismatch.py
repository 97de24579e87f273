"""Texts with different numbers of lines: where they seem to part."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nmt_cli.corpus.disagreement import unequal_error
from nmt_cli.errors import CorpusError
from nmt_cli.evaluation.texts import Text, read_lines

_WORD = re.compile(r"\w")
_MOST_LINES = 1_000_000  # that are compared


def unequal_lines(text: Text, reference: Text, *, same_language: bool = True) -> CorpusError:
    """The error for a text that has not as many lines as the reference, with what a second look finds out."""
    message = f"{text.name} has {text.lines:,} lines, {reference.name} has {reference.lines:,}"
    if not (_again(text.path) and _again(reference.path)) or max(text.lines, reference.lines) > _MOST_LINES:
        return CorpusError(message, hint="line n of one must belong to line n of the other")
    assert text.path is not None
    assert reference.path is not None
    if not same_language:
        return unequal_error(text.path, reference.path, text.lines, reference.lines)
    return CorpusError(message, hint=_where(text, reference))


def first_line_off(one: Sequence[str], other: Sequence[str]) -> int:
    """The number (from 1) of the first line where pairing line n with line n stops being the best.

    Up to some line the texts agree as they are, after it as many lines further on as one is longer. That line is
    where the agreement of all pairs is largest.
    """
    shorter, longer = sorted((one, other), key=len)
    shift = len(longer) - len(shorter)
    straight = _agreement(shorter, longer)
    shifted = _agreement(shorter, longer[shift:])
    total = np.concatenate([[0.0], np.cumsum(straight)]) + np.concatenate(
        [np.cumsum(shifted[::-1])[::-1], [0.0]]
    )
    return int(len(total) - 1 - np.argmax(total[::-1])) + 1  # the last of equals: the texts agree as far


def _where(text: Text, reference: Text) -> str:
    assert text.path is not None
    assert reference.path is not None
    lines, references = read_lines(text.path), read_lines(reference.path)
    off = first_line_off(lines, references)
    shorter = min(len(lines), len(references))
    if off > shorter:
        rest = max(lines, references, key=len)[shorter:]
        blank = "blank " if not any(line.strip() for line in rest) else ""
        longer = text.name if len(lines) > len(references) else reference.name
        return (
            f"they agree to the end of the shorter one; {longer} has {blank}lines too many from line {off} on"
        )
    return (
        f"they seem to disagree from line {off} on: "
        f"{text.name} has “{_shown(lines[off - 1])}”, {reference.name} “{_shown(references[off - 1])}”"
    )


def _agreement(one: Sequence[str], other: Sequence[str]) -> NDArray[np.float64]:
    """Of each pair, the share of the words (or characters, without spaces) of both that the other has too."""
    return np.array([_overlap(a, b) for a, b in zip(one, other, strict=False)], np.float64)


def _overlap(one: str, other: str) -> float:
    first, second = _units(one), _units(other)
    if not first and not second:
        return 1.0
    return 2 * len(first & second) / (len(first) + len(second))


def _units(text: str) -> set[str]:
    words = text.split()
    if len(text) > 15 * max(len(words), 1):
        return set(_WORD.findall(text))
    return set(words)


def _again(path: Path | None) -> bool:
    """Whether it can be read twice."""
    return path is not None and path.is_file()


def _shown(line: str, most: int = 40) -> str:
    return line if len(line) <= most else line[: most - 1] + "…"
