"""Two sentences, and the words that only one of them has."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from html import escape

_WIDE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"  # no spaces between words
_UNIT = re.compile(rf"\s+|[{_WIDE}]|[^\W{_WIDE}]+|[^\w\s]")


def units(text: str) -> list[str]:
    """Words, punctuation and spaces; together they are the text again."""
    return _UNIT.findall(text)


def marked_hypothesis(hypothesis: str, reference: str) -> str:
    """The hypothesis as HTML; what the reference does not have in that order is marked."""
    return _marked(hypothesis, reference, "extra")


def marked_reference(reference: str, hypothesis: str) -> str:
    """The reference as HTML; what the hypothesis misses is marked."""
    return _marked(reference, hypothesis, "missing")


def closest(hypothesis: str, references: Sequence[str]) -> str:
    """The reference that the hypothesis is most like."""
    if len(references) < 2:
        return references[0] if references else ""
    words = _words(units(hypothesis))
    return max(
        references, key=lambda text: SequenceMatcher(None, words, _words(units(text)), autojunk=False).ratio()
    )


def _marked(text: str, other: str, kind: str) -> str:
    parts = units(text)
    places = [place for place, part in enumerate(parts) if not part.isspace()]
    matcher = SequenceMatcher(None, [parts[place] for place in places], _words(units(other)), autojunk=False)
    same = {
        places[index]
        for block in matcher.get_matching_blocks()
        for index in range(block.a, block.a + block.size)
    }
    html: list[str] = []
    open_mark = False
    for place, part in enumerate(parts):
        differs = place not in same
        if part.isspace():  # marked only between marked words
            differs = open_mark and place + 1 < len(parts) and place + 1 not in same
        if differs != open_mark:
            html.append(f'<mark class="{kind}">' if differs else "</mark>")
            open_mark = differs
        html.append(escape(part))
    if open_mark:
        html.append("</mark>")
    return "".join(html)


def _words(parts: Sequence[str]) -> list[str]:
    return [part for part in parts if not part.isspace()]
