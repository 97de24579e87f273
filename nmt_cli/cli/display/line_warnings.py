"""What happened to single lines: said for the first few of each kind, counted for the rest."""

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from nmt_cli.translator import Translation
    from nmt_cli.translator.streaming import LineWindow

_FEW = 3


class LineNotes:
    """Notes on standard error. They are never silenced: nothing is changed or cut without a word."""

    def __init__(self, console: Console) -> None:
        """`console` is also that of the progress: a note stands above its live line, not within."""
        self._console = console
        self._counts: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for what, count in self._counts.items():
            if count > _FEW:
                self._say("note", f"{count:,} lines {what} in all")

    def undecodable(self, number: int, file: str = "") -> None:
        """A line that is not UTF-8; `file` is named where there are several."""
        where, of = (f"{file}, ", f"of {file} ") if file else ("", "")
        self._note(
            f"{of}are not UTF-8", f"{where}line {number} is not UTF-8; U+FFFD stands for what cannot be read"
        )

    def translated(self, window: "LineWindow") -> None:
        """Lines that were too long for the model, or whose translations became too long."""
        for number, translation in enumerate(window.translations, start=window.first + 1):
            if translation.parts > 1:
                self._note(
                    "were translated in parts",
                    f"line {number} is long: translated in {translation.parts} parts",
                )
            if translation.reached_limit:
                self._note(
                    "have translations that were cut off",
                    f"the translation of line {number} was cut off at its longest length "
                    "(search.max_length, search.max_length_ratio)",
                )

    def generated(self, number: int, texts: "Sequence[Translation]") -> None:
        """Texts that became too long."""
        if any(text.reached_limit for text in texts):
            self._note(
                "have texts that were cut off",
                f"a text of line {number} was cut off at its longest length (search.max_length)",
            )

    def _note(self, what: str, text: str) -> None:
        self._counts[what] = self._counts.get(what, 0) + 1
        if self._counts[what] <= _FEW:
            self._say("warning", text)

    def _say(self, label: str, message: str) -> None:
        self._console.print(Text.assemble((f"{label}: ", "bold yellow"), message))
