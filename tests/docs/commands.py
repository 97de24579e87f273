"""The commands that documentation shows, as words."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = [
    REPOSITORY / "README.md",
    REPOSITORY / "CONTRIBUTING.md",
    REPOSITORY / "SECURITY.md",
    *sorted((REPOSITORY / "docs").glob("*.md")),
    *sorted((REPOSITORY / "recipes").glob("*/README.md")),
]
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SHELLS = ("", "sh", "bash", "console")
_HERE_DOCUMENT = re.compile(r"<<'END'\n.*?^END$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`(nmt [^`\n]+)`")


class Shown(NamedTuple):
    """One command of a page."""

    page: Path
    line: str  # as it is shown, with pipes
    words: list[str]  # `nmt` and what follows, up to the next pipe


def shell_lines(page: Path) -> Iterator[str]:
    """The lines of all shell blocks of a page, without comments; continued lines are joined."""
    for language, block in _BLOCK.findall(page.read_text("utf-8")):
        if language not in _SHELLS:
            continue
        text = _HERE_DOCUMENT.sub("", block).replace("\\\n", " ")
        for line in text.split("\n"):
            line = re.sub(r"(^|\s)#\s.*", "", line).strip().removeprefix("$ ")
            if line:
                yield line


def shown_commands(page: Path) -> Iterator[Shown]:
    """Every `nmt …` of a page: in shell blocks, and between backticks within a sentence."""
    prose = _BLOCK.sub("", page.read_text("utf-8"))
    for line in [*shell_lines(page), *_INLINE.findall(prose)]:
        for part in split_pipe(line):
            words = [word for word in part if word not in ("[", "]")]
            if words[:1] == ["torchrun"] and "nmt_cli" in words:
                words = ["nmt", *words[words.index("nmt_cli") + 1 :]]
            if words[:1] == ["NMT_DEBUG=1"]:
                words = words[1:]
            if words[:1] == ["nmt"] and len(words) > 1:
                yield Shown(page, line, words)


def split_pipe(line: str) -> list[list[str]]:
    """The commands of a pipe as words; `<`, `>` and `|` are words of their own."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|<>&;")
    lexer.whitespace_split = True
    parts: list[list[str]] = [[]]
    try:
        for word in lexer:
            if word in ("|", "&&", ";"):
                parts.append([])
            else:
                parts[-1].append(word)
    except ValueError:  # an apostrophe of a sentence
        return [line.split()]
    return parts
