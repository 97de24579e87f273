"""HTML pages from Jinja templates, and tables in Markdown.

In a page all text is escaped, and a page needs no other file. Markdown is for cards, reports and generated
documentation.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files
from typing import Any

from nmt_cli.drawing.charts import legal_text

_SPECIAL = frozenset("\\|*_`<>[]")


def render(package: str, template: str, **values: Any) -> str:
    """A template of a package, filled in. Only `markupsafe.Markup` is taken as markup; other text is escaped."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(lambda name: _template(package, name)),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_legal,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(values)


def content_security_policy(*, style: str, script: str | None = None, images: bool = False) -> str:
    """A policy for a page with one style and at most one script element, whose whole content is the given text.

    The browser loads nothing and runs nothing else, whatever text is on the page. Style attributes are not applied.
    `images`: pictures inside the page are shown.
    """
    allowed = ["default-src 'none'", f"style-src {_hash(style)}"]
    if script is not None:
        allowed.append(f"script-src {_hash(script)}")
    if images:
        allowed.append("img-src data:")
    return "; ".join([*allowed, "base-uri 'none'", "form-action 'none'"])


def resource(package: str, name: str) -> str:
    """A text file that comes with a package, such as a style sheet."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


def _template(package: str, name: str) -> str:
    """A template of the package, or `drawing/…`, one that all pages share."""
    shared = name.removeprefix("drawing/")
    return resource(package, name) if shared == name else resource("nmt_cli.drawing", shared)


def _legal(value: Any) -> Any:
    return legal_text(value) if type(value) is str else value


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], align: str = "") -> list[str]:
    """The lines of a table. `align` has `l` or `r` for each column; by default all but the first are `r`."""
    align = align or "l" + "r" * (len(headings) - 1)
    rule = ["---:" if side == "r" else "---" for side in align]
    assert all(len(row) == len(headings) == len(rule) for row in rows)
    return [f"| {' | '.join(cells)} |" for cells in (headings, rule, *rows)]


def cell(text: str) -> str:
    """Markdown that stays inside its cell, on one line; its own markup keeps working."""
    return text.replace("|", "\\|").replace("\n", " ")


def literal(text: str) -> str:
    """Any text, on one line, escaped so that Markdown shows it as it is."""
    escaped = "".join(f"\\{character}" if character in _SPECIAL else character for character in text)
    return escaped.replace("\n", " ")
