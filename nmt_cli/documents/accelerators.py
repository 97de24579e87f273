"""Keyboard accelerators: `_File` and `&File` mark the key that opens a menu entry.

The model sees the text without the mark. In the translation it goes in front of the same letter if there is one.
"""

from __future__ import annotations

import re

from nmt_cli.documents.document import Markup, Parts, merged

_LONGEST = 80  # characters of a text that may be a menu entry
_MARK = re.compile(
    r"(?<![\w&])&(?=[^\W_])(?!\w{1,30};)|(?<=[A-Za-z])&(?=[a-z])(?!\w{1,30};)"
    r"|(?<![\w./-])_(?=[^\W_])(?![^\W_]*[_.(])|(?<=\b[A-Z])_(?=[a-z]{2,})(?![a-z]*[_.(])"
    r"|(?<=\b[A-Z][a-z])_(?=[a-z]+\b)(?![a-z]*[_.(])"
)
_LATIN = re.compile(r"[A-Za-zÀ-ɏͰ-ӿ]")
_TAIL = re.compile(r"[\s.:…]*$")


def remove_accelerator(parts: Parts) -> tuple[Parts, str]:
    """The parts without their accelerator, and the accelerator, such as `_F`; "" if there is none."""
    texts = [part for part in parts if isinstance(part, str)]
    found = [match for text in texts if len(text) <= _LONGEST for match in _MARK.finditer(text)]
    if len(found) != 1 or sum(text.count(found[0][0]) for text in texts) != 1:
        return parts, ""
    mark = found[0]
    at = mark.start()
    text = mark.string
    changed = [text[:at] + text[at + 1 :] if part is text else part for part in parts]
    return merged(changed), text[at : at + 2]


def insert_accelerator(parts: Parts, accelerator: str) -> Parts | None:
    """The translation with the accelerator; None if it has such a mark already, or no place for one."""
    mark, key = accelerator[0], accelerator[1]
    texts = [(index, part) for index, part in enumerate(parts) if isinstance(part, str)]
    if any(mark in text for _, text in texts):
        return None
    for pattern in (rf"(?<!\w){re.escape(key)}", re.escape(key), r"(?<!\w)[^\W\d_]"):
        for index, text in texts:
            match = re.search(pattern, text, re.IGNORECASE)
            if match and _LATIN.match(text, match.start()):
                return _inserted(parts, index, match.start(), mark)
    if not texts:
        return None
    # Scripts without such keys: 文件(_F)
    index, text = texts[-1]
    match = _TAIL.search(text)
    assert match
    return _inserted(parts, index, match.start(), f"({mark}{key.upper()})")


def _inserted(parts: Parts, index: int, at: int, text: str) -> Parts:
    changed: list[str | Markup] = list(parts)
    part = changed[index]
    assert isinstance(part, str)
    changed[index] = part[:at] + text + part[at:]
    return tuple(changed)
