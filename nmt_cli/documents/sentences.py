"""From segments to the lines that are translated, one sentence each, because models are trained on sentences.

A `Line` is a sentence as the model sees it, with the markup that belongs to it. Tags are not part of its text;
placeholders are, because they stand for words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from nmt_cli.documents.document import Markup, Parts, merged

_END = re.compile(r"[.!?…‽؟।۔]{1,5}[\"'’”»›)\]]{0,3}(?=\s)|[。！？]{1,5}[」』）】]{0,3}|\n")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"'„“])(?:[A-Za-z]|e\.g|i\.e|etc|vs|cf|approx|resp|incl|Mr|Mrs|Ms|Dr|Prof|St|No|Nr|Fig|Eq|Sec|Vol|pp|ca"
    r"|bzw|usw|z\.B|d\.h|u\.a|ggf|evtl|vgl|Abs|Abb|Hr|Fr|M|Mme|p\.ex|Sr|Sra|núm|pág)\.$"
)
_SPACES = re.compile(r"[ \t\r\n\f]+")
_LETTER = re.compile(r"[^\W\d_]")


class Placed(NamedTuple):
    """Markup at a place in the text of a line: text[start:end] shows it, which is nothing if it is hidden."""

    markup: Markup
    start: int
    end: int
    space_before: bool  # there is white space, or the end of the text
    space_after: bool
    word_before: bool = False  # it is attached to a word, as in "%dpx"
    word_after: bool = False


@dataclass(frozen=True)
class Line:
    """A sentence: white space around it, its text, and its markup in order."""

    before: Parts
    parts: Parts  # as in the document
    after: Parts
    text: str  # as the model sees it
    placed: tuple[Placed, ...]

    @property
    def is_text(self) -> bool:
        """Whether it has a letter to translate outside of its placeholders."""
        return bool(_LETTER.search(without_placeholders(self).text))

    @property
    def shows(self) -> bool:
        """Whether some placeholder is part of the text."""
        return any(one.end > one.start for one in self.placed)

    @property
    def hides(self) -> bool:
        """Whether some markup is not part of the text."""
        return any(one.start == one.end for one in self.placed)


def lines_of(parts: Parts, *, hard_breaks: bool = False, symbols: Sequence[str] = ()) -> list[Line]:
    """The sentences of a segment whose placeholders were recognized; together they are the segment.

    `symbols` are shown instead of the placeholders of each sentence, in order, to a model that has learned them.
    """
    return [_line(sentence, hard_breaks, symbols) for sentence in _sentences(parts, hard_breaks)]


def without_placeholders(line: Line) -> Line:
    """The line with all placeholders hidden, for a model that does not know them."""
    text, placed, cut = "", list[Placed](), 0
    for one in line.placed:
        text += line.text[cut : one.start]
        rest = line.text[one.end : one.end + 1]
        # No two spaces, and none in front of punctuation, where the placeholder was.
        if one.end > one.start and text.endswith(" ") and (not rest or rest in " ,.;:!?)"):
            text = text[:-1]
        placed.append(one._replace(start=len(text), end=len(text)))
        cut = one.end
    text += line.text[cut:]
    stripped, positions = _stripped(text, placed)
    return replace(line, text=stripped, placed=positions)


def _stripped(text: str, placed: Sequence[Placed]) -> tuple[str, tuple[Placed, ...]]:
    """The text without spaces at its ends, which are left where something is hidden, and the new places."""
    stripped = text.strip()
    shift, end = len(text) - len(text.lstrip()), len(stripped)
    return stripped, tuple(
        one._replace(start=min(max(0, one.start - shift), end), end=min(max(0, one.end - shift), end))
        for one in placed
    )


def _sentences(parts: Parts, hard_breaks: bool) -> list[list[str | Markup]]:
    """Cut after each sentence that does not end within a pair of tags."""
    sentences: list[list[str | Markup]] = [[]]
    depth, before = 0, ""
    for part in parts:
        if not isinstance(part, str):
            depth += (part.role == "open") - (part.role == "close")
            sentences[-1].append(part)
            before = (before + part.shown)[-16:]
            continue
        start = 0
        for match in _END.finditer(part):
            end = match.end()
            if depth > 0 or not _is_end(part, match, before, hard_breaks):
                continue
            sentences[-1].append(part[start:end])
            sentences.append([])
            start = end
        sentences[-1].append(part[start:])
        before = (before + part)[-16:]
    return [sentence for sentence in sentences if merged(sentence)]


def _is_end(text: str, match: re.Match[str], before: str, hard_breaks: bool) -> bool:
    if match[0] == "\n":
        return hard_breaks
    if match[0][0] != ".":
        return True
    following = text[match.end() : match.end() + 40].lstrip()
    if following and following[0].islower():
        return False
    return not _ABBREVIATION.search((before + text[max(0, match.start() - 12) : match.start()])[-16:] + ".")


def _line(parts: Sequence[str | Markup], hard_breaks: bool, symbols: Sequence[str]) -> Line:
    parts = merged(parts)
    before, core, after = _trimmed(parts)
    text, placed, waiting = "", list[Placed](), iter(symbols)
    for index, part in enumerate(core):
        if isinstance(part, str):
            shown = part if hard_breaks else _SPACES.sub(" ", part)
            # Where something between two spaces is hidden, one is left.
            text += shown[1:] if text.endswith(" ") and shown.startswith(" ") else shown
            continue
        previous, following = (
            core[index - 1] if index else " ",
            core[index + 1] if index + 1 < len(core) else " ",
        )
        left = not isinstance(previous, str) or previous[-1].isspace()
        right = not isinstance(following, str) or following[0].isspace()
        if part.role == "point" and not left and not right and text[-1:].isalnum():
            text += " "  # the words around an empty tag are two words
        visible = next(waiting, part.shown) if part.shown else ""
        attached = (
            isinstance(previous, str) and previous[-1].isalnum(),
            isinstance(following, str) and following[0].isalnum(),
        )
        placed.append(Placed(part, len(text), len(text) + len(visible), left, right, *attached))
        text += visible
    return Line(before, core, after, *_stripped(text, placed))


def _trimmed(parts: Parts) -> tuple[Parts, Parts, Parts]:
    """White space and hidden markup without words at both ends stay where they are.

    A tag at an end is trimmed only together with its partner at the other end, or if it has none.
    """
    first, last = 0, len(parts)
    while first < last and _is_blank(parts[first]):
        first += 1
    while last > first and _is_blank(parts[last - 1]):
        last -= 1
    while last - first > 2 and _is_pair_around(parts[first:last]):
        first, last = first + 1, last - 1
    before, core, after = list(parts[:first]), list(parts[first:last]), list(parts[last:])
    if core and isinstance(core[0], str):
        text = core[0].lstrip()
        before.append(core[0][: len(core[0]) - len(text)])
        core[0] = text
    if core and isinstance(core[-1], str):
        text = core[-1].rstrip()
        after.insert(0, core[-1][len(text) :])
        core[-1] = text
    return merged(before), tuple(part for part in core if part != ""), merged(after)


def _is_blank(part: str | Markup) -> bool:
    return not part.strip() if isinstance(part, str) else part.role == "point"


def _is_pair_around(parts: Parts) -> bool:
    """Whether the first tag closes with the last part."""
    first, last = parts[0], parts[-1]
    if isinstance(first, str) or isinstance(last, str) or (first.role, last.role) != ("open", "close"):
        return False
    depth = 0
    for part in parts[:-1]:
        if not isinstance(part, str):
            depth += (part.role == "open") - (part.role == "close")
            if depth < 1:
                return False
    return depth == 1
