"""The panels of the help page. Each makes options, so that an alias is one or two lines:

    Threads = Annotated[int | None, machine("--threads N", "Number of CPU threads.", min=1)]

An option is spelled as it appears in the help: its names, then its metavar. A flag has no metavar.
"""

from collections.abc import Callable
from typing import Any

import typer


def _panel(title: str) -> Callable[..., Any]:
    def option(spelling: str, text: str, **more: Any) -> Any:
        words = spelling.split()
        names = [word for word in words if word.startswith("-")]
        metavar = " ".join(words[len(names) :])
        return typer.Option(*names, help=text, metavar=metavar, rich_help_panel=title, **more)

    return option


def argument(metavar: str, text: str, **more: Any) -> Any:
    """A positional argument; its panel is typer's."""
    return typer.Argument(metavar=metavar, help=text, **{"show_default": False, **more})


corpora = _panel("Corpora")
inputs = _panel("Input")
test_set = _panel("Test set")
scores = _panel("Scores")
comparison = _panel("Comparison")
alignment_format = _panel("Alignment format")
run = _panel("Run")
search = _panel("Search")
contents = _panel("Contents")
settings = _panel("Settings")
output = _panel("Output")
machine = _panel("Machine")
messages = _panel("Messages")
