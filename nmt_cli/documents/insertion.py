"""Markup and placeholders back into a translation, where attention says they belong.

A pair of tags wraps the target words that attend to the source words it wrapped: the stretch of words with the most
attention to them. Anything else is inserted in front of the target word that attends most to the source word after it.
The result is a tree like that of the source, so tags are always nested, and nothing is ever lost or doubled.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from nmt_cli.documents.document import Markup, Parts, merged
from nmt_cli.documents.sentences import Line, Placed

Span = tuple[int, int]
_WORD = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")
_CLOSING = ",.;:!?)]}”’»…。，、；：？！）】」』"


@dataclass(frozen=True)
class Alignment:
    """Words of a line and of its translation, as stretches of the texts, and the attention between them."""

    source: Sequence[Span]  # I
    target: Sequence[Span]  # J
    weights: NDArray[np.float32]  # (J, I)


def diagonal(source: str, target: str) -> Alignment:
    """What to assume of a model without attention: the words have the same order."""
    sources = [match.span() for match in _WORD.finditer(source)]
    targets = [match.span() for match in _WORD.finditer(target)]
    weights = np.zeros((len(targets), len(sources)), np.float32)
    for j in range(len(targets) if sources else 0):
        weights[j, j * len(sources) // len(targets)] = 1.0
    return Alignment(sources, targets, weights)


def restore(line: Line, translation: str, alignment: Alignment | None) -> Parts | None:
    """The translation of a line with its markup; None if the model did not copy a placeholder exactly."""
    shown = _copies(line, translation)
    if shown is None:
        return None
    hidden = [one for one in line.placed if one.start == one.end]
    if not hidden:
        return _joined(translation, shown)
    found = alignment or diagonal(line.text, translation)
    found = _with_whole_placeholders(found, line, shown)
    root = _tree(line)
    _place(root, (0, len(found.target)), found, line.text)
    _keep_order(root)
    return merged(_emit(root.children, 0, len(translation), _Target(translation, found.target, shown)))


@dataclass
class _Node:
    """A pair of tags, or a point if there is no `close`, and where it goes in the translation."""

    opening: Placed | None
    close: Placed | None = None
    children: list[_Node] = field(default_factory=list)
    words: Span = (0, 0)  # target words that it wraps; for a point, the word it is in front of

    @property
    def source(self) -> Span:
        """Where it is in the source."""
        if self.opening is None:
            return (0, 1 << 60)
        return self.opening.start, (self.close or self.opening).start


@dataclass(frozen=True)
class _Target:
    text: str
    words: Sequence[Span]
    shown: Sequence[tuple[int, int, Markup]]


def _copies(line: Line, translation: str) -> list[tuple[int, int, Markup]] | None:
    """Where the translation shows each placeholder; None if it is not there exactly as often as in the source."""
    by_text: dict[str, list[Markup]] = {}
    for one in line.placed:
        if one.end > one.start:
            by_text.setdefault(line.text[one.start : one.end], []).append(one.markup)
    taken: list[tuple[int, int, Markup]] = []
    for text in sorted(by_text, key=len, reverse=True):
        found = [
            match.span()
            for match in re.finditer(re.escape(text), translation)
            if not any(start < match.end() and match.start() < end for start, end, _ in taken)
            and not (_is_word(text[0], translation[match.start() - 1 : match.start()]))
            and not (_is_word(text[-1], translation[match.end() : match.end() + 1]))
        ]
        if len(found) != len(by_text[text]):
            return None
        taken += [(*span, markup) for span, markup in zip(found, by_text[text], strict=True)]
    return sorted(taken, key=lambda one: one[:2])


def _is_word(edge: str, neighbor: str) -> bool:
    return edge.isalnum() and neighbor.isalnum()


def _joined(text: str, shown: Sequence[tuple[int, int, Markup]]) -> Parts:
    parts: list[str | Markup] = []
    position = 0
    for start, end, markup in shown:
        parts += [text[position:start], markup]
        position = end
    return merged([*parts, text[position:]])


def _with_whole_placeholders(
    alignment: Alignment, line: Line, shown: Sequence[tuple[int, int, Markup]]
) -> Alignment:
    """Words that belong to the same placeholder become one word, so that nothing is inserted into it."""
    inside = [(one.start, one.end) for one in line.placed if one.end > one.start]
    sources = _grouped(alignment.source, inside)
    targets = _grouped(alignment.target, [(start, end) for start, end, _ in shown])
    weights = alignment.weights
    by_source = [weights[:, first:last].sum(axis=1) for first, last, _ in sources]
    columns = np.stack(by_source, axis=1) if sources else np.zeros((len(weights), 0), np.float32)
    rows = [columns[first:last].mean(axis=0) for first, last, _ in targets]
    merged_weights = np.stack(rows) if targets else np.zeros((0, len(sources)), np.float32)
    return Alignment([span for *_, span in sources], [span for *_, span in targets], merged_weights)


def _grouped(words: Sequence[Span], whole: Sequence[Span]) -> list[tuple[int, int, Span]]:
    groups: list[tuple[int, int, Span]] = []
    current: Span | None = None
    for index, (start, end) in enumerate(words):
        around = next((span for span in whole if span[0] < end and start < span[1]), None)
        if around is not None and around == current:
            first, _, span = groups[-1]
            groups[-1] = (first, index + 1, (span[0], max(span[1], end)))
        else:
            limits = (min(start, around[0]), max(end, around[1])) if around else (start, end)
            groups.append((index, index + 1, limits))
        current = around
    return groups


def _tree(line: Line) -> _Node:
    """Hidden markup as a tree; a tag without its partner is a point."""
    root = _Node(None)
    stack = [root]
    for one in line.placed:
        if one.end > one.start:
            continue
        if one.markup.role == "open":
            stack.append(_Node(one))
            stack[-2].children.append(stack[-1])
        elif one.markup.role == "close" and len(stack) > 1:
            stack.pop().close = one
        else:
            stack[-1].children.append(_Node(one))
    for parent, lone in reversed(list(pairwise(stack))):  # never closed: its children are its siblings
        at = next(index for index, node in enumerate(parent.children) if node is lone)
        parent.children[at + 1 : at + 1] = lone.children
        lone.children = []
    return root


def _place(parent: _Node, limits: Span, alignment: Alignment, source: str) -> None:
    """Choose the target words of the children within those of their parent."""
    free = np.zeros(len(alignment.target), bool)
    free[slice(*limits)] = True
    points = []
    for node in parent.children:
        if node.close is None:
            points.append(node)
            continue
        first, last = node.source
        inside = [i for i, (start, end) in enumerate(alignment.source) if start < last and first < end]
        if not inside:  # nothing to wrap, such as <a name="x"></a>
            points.append(node)
            continue
        node.words = _wrapped(inside, free, limits, alignment.weights)
        free[slice(*node.words)] = False
        _place(node, node.words, alignment, source)
    for node in points:
        at = _in_front(node.source[0], parent.source, limits, alignment, source)
        around = next((pair.words for pair in parent.children if pair.words[0] < at < pair.words[1]), None)
        node.words = (around[1], around[1]) if around else (at, at)


def _is_within(span: Span, around: Span) -> bool:
    return around[0] <= span[0] and span[1] <= around[1]


def _wrapped(inside: list[int], free: NDArray[np.bool_], limits: Span, weights: NDArray[np.float32]) -> Span:
    """The stretch of free target words that attends most to the source words `inside`."""
    candidates = np.flatnonzero(free)
    if not len(candidates):
        return (limits[1], limits[1])
    mass = weights[:, inside].sum(axis=1)  # (J,)
    gain = mass - 0.5 * np.maximum(weights.sum(axis=1), 1e-6)
    best, chosen = 0.0, (0, 0)
    start, total = limits[0], 0.0
    for j in range(*limits):
        if not free[j]:
            start, total = j + 1, 0.0
            continue
        if total <= 0.0:
            start, total = j, 0.0
        total += float(gain[j])
        if total > best:
            best, chosen = total, (start, j + 1)
    if best > 0.0:
        return chosen
    j = int(candidates[mass[candidates].argmax()])
    return (j, j + 1)


def _in_front(position: int, around: Span, limits: Span, alignment: Alignment, source: str) -> int:
    """The target word in front of which a point at this source position goes."""
    lowest, highest = limits
    words = [i for i, span in enumerate(alignment.source) if _is_within(span, around)]
    following = [i for i in words if alignment.source[i][0] >= position]
    before = [i for i in words if alignment.source[i][0] < position]
    if lowest >= highest or not following:
        return highest
    if not before:
        return lowest
    start, end = alignment.source[following[0]]
    if not any(
        map(str.isalnum, source[start:end])
    ):  # punctuation is aligned badly: stay behind the word before it
        return lowest + int(alignment.weights[lowest:highest, before[-1]].argmax()) + 1
    return lowest + int(alignment.weights[lowest:highest, following[0]].argmax())


def _keep_order(parent: _Node) -> None:
    """Format arguments that count by position keep their order."""
    ordered = [node for node in parent.children if node.opening and node.opening.markup.ordered]
    for node, words in zip(ordered, sorted(node.words for node in ordered), strict=True):
        node.words = words
    for node in parent.children:
        _keep_order(node)


def _emit(nodes: Sequence[_Node], start: int, end: int, target: _Target) -> list[str | Markup]:
    """Text and markup of text[start:end]."""
    parts: list[str | Markup] = []
    cursor = start
    for node in sorted(nodes, key=lambda node: node.words):  # stable: in the order of the source
        assert node.opening is not None
        first, last = node.words
        words = target.words
        at = min(max(cursor, words[first][0] if first < len(words) else len(target.text)), end)
        if node.close is None:
            at = _emit_point(parts, node.opening, cursor, at, end, target)
        else:
            stop = min(max(at, words[last - 1][1] if last > first else at), end)
            parts += [*_text(target, cursor, at), node.opening.markup]
            parts += [*_emit(node.children, at, stop, target), node.close.markup]
            at = stop
        cursor = at
    return [*parts, *_text(target, cursor, end)]


def _emit_point(
    parts: list[str | Markup], placed: Placed, cursor: int, at: int, end: int, target: _Target
) -> int:
    """Insert with the spacing of the source: attached to the word before it, or after it, or to none.

    A placeholder that stood next to punctuation is not attached to the word that may be there now.
    """
    text = target.text
    while (
        at > cursor
        and at == end
        and text[at - 1] in _CLOSING
        and placed.markup.role == "word"
        and at == len(text)
    ):
        at -= 1  # a placeholder at the end goes in front of the final punctuation
        if not placed.space_before or at == cursor or text[at - 1] not in _CLOSING:
            break
    gap = at > cursor and text[at - 1].isspace()
    if gap and not placed.space_before and placed.space_after:
        parts += [*_text(target, cursor, at - 1), placed.markup, " "]
        return at
    parts += _text(target, cursor, at)
    last = parts[-1] if parts else ""
    is_first = at == 0 or (isinstance(last, str) and last[-1:].isspace())
    is_word = placed.markup.role == "word"
    touches = isinstance(last, str) and last[-1:].isalnum() and not placed.word_before
    if is_word and not is_first and (placed.space_before or touches):
        parts.append(" ")
    parts.append(placed.markup)
    following = text[at : at + 1]
    wants_space = placed.space_after and not following.isspace() and following not in _CLOSING
    if following and (wants_space or (is_word and following.isalnum() and not placed.word_after)):
        parts.append(" ")
    return at


def _text(target: _Target, start: int, end: int) -> Parts:
    """The text between two places, with the placeholders it shows."""
    shown = [(s - start, e - start, markup) for s, e, markup in target.shown if start <= s and e <= end]
    return _joined(target.text[start:end], shown)
