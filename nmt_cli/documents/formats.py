"""The formats by name, and the names of files that have them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from nmt_cli.documents.document import Document, DocumentOptions

Read = Callable[[bytes, Path, DocumentOptions], Document]


class Format(NamedTuple):
    """A kind of document."""

    name: str
    title: str
    suffixes: tuple[str, ...]
    files: tuple[str, ...] = ()  # names of files with an ambiguous suffix


FORMATS = {
    one.name: one
    for one in (
        Format("po", "gettext PO", (".po", ".pot")),
        Format("xliff", "XLIFF", (".xlf", ".xliff")),
        Format("srt", "SubRip subtitles", (".srt",)),
        Format("vtt", "WebVTT subtitles", (".vtt",)),
        Format("markdown", "Markdown", (".md", ".markdown", ".mkd")),
        Format("html", "HTML", (".html", ".htm", ".xhtml")),
        Format("json", "JSON messages", (".json", ".arb")),
        Format("android", "Android strings", (), ("strings.xml", "plurals.xml", "arrays.xml")),
        Format("properties", "Java properties", (".properties",)),
        Format("text", "plain text with paragraphs", ()),
    )
}


def format_of(path: Path) -> Format | None:
    """The format of a file according to its name; None for lines of text."""
    name = path.name.lower()
    suffix = Path(name).suffix
    return next((one for one in FORMATS.values() if suffix in one.suffixes or name in one.files), None)


def reader(name: str) -> Read:
    """The function that reads a format; its module is imported now."""
    if name == "po":
        from nmt_cli.documents.po import read_po as read
    elif name == "xliff":
        from nmt_cli.documents.xliff import read_xliff as read
    elif name == "srt":
        from nmt_cli.documents.plain_text import read_srt as read
    elif name == "vtt":
        from nmt_cli.documents.plain_text import read_vtt as read
    elif name == "markdown":
        from nmt_cli.documents.markdown import read_markdown as read
    elif name == "html":
        from nmt_cli.documents.web_page import read_html as read
    elif name == "json":
        from nmt_cli.documents.messages import read_json as read
    elif name == "android":
        from nmt_cli.documents.android import read_android as read
    elif name == "properties":
        from nmt_cli.documents.messages import read_properties as read
    else:
        assert name == "text", name
        from nmt_cli.documents.plain_text import read_text as read
    return read
