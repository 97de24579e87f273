"""HTML pages from Jinja templates: all text is escaped, and a page needs no other file."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from nmt_cli.drawing.svg import legal_text


def render(package: str, template: str, **values: Any) -> str:
    """A template of a package, filled in. Only `markupsafe.Markup` is taken as markup; other text is escaped."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(lambda name: resource(package, name)),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_legal,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(values)


def resource(package: str, name: str) -> str:
    """A text file that comes with a package, such as a style sheet."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


def _legal(value: Any) -> Any:
    return legal_text(value) if type(value) is str else value
