"""The scripts and styles that draw explanations in a browser, for the page of `nmt explain` and for a server.

views.js describes their interface.
"""

from nmt_cli.drawing.html import resource

_PACKAGE = "nmt_cli.explanation"
_SCRIPTS = ("elements.js", "words.js", "matrix.js", "beam.js", "views.js")  # each uses those before it
_INTERFACE = ("showExplanation", "showAttention", "showAlternatives", "showBeam", "showNBest")


def views_script() -> str:
    """A script that defines `nmtViews` and nothing else."""
    body = "\n".join(resource(_PACKAGE, name) for name in _SCRIPTS)
    exported = ", ".join(_INTERFACE)
    return f'const nmtViews = (() => {{\n"use strict";\n{body}\nreturn {{ {exported} }};\n}})();\n'


def views_style() -> str:
    """The style sheet of the views, with the colors of light and dark mode."""
    return resource(_PACKAGE, "views.css")
