"""The scripts and styles that draw explanations in a browser, for the page of `nmt explain` and for a server.

views.js describes their interface.
"""

from nmt_cli.drawing.markup import resource

_PACKAGE = "nmt_cli.explanation"
_SCRIPTS = ("elements.js", "words.js", "matrix.js", "beam.js", "views.js")  # each uses those before it
_VIEWS = ("showExplanation", "showAttention", "showAlternatives", "showBeam", "showNBest")
_PARTS = (  # for pages that draw words of their own
    "make",
    "roving",
    "direction",
    "percent",
    "shade",
    "confidenceBar",
    "confidenceClass",
    "levelOf",
    "weightsOf",
    "describeWord",
)


def views_script() -> str:
    """A script that defines `nmtViews` and nothing else."""
    body = "\n".join(resource(_PACKAGE, name) for name in _SCRIPTS)
    exported = ", ".join((*_VIEWS, *_PARTS))
    return f'const nmtViews = (() => {{\n"use strict";\n{body}\nreturn {{ {exported} }};\n}})();\n'


def views_style() -> str:
    """The style sheet of the views, with the colors of light and dark mode."""
    return resource(_PACKAGE, "views.css")
