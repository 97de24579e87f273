"""Every error a user can see, and the warning. The message says what is wrong, the hint says what to do.

    NmtError                 something failed                          exit code 1
    ├── CorpusError          the text cannot be read or does not align
    ├── VocabularyError      sentencepiece cannot build or load the vocabulary
    ├── DirectoryError       a data or run directory is missing, incomplete or of another version
    ├── OutputError          a result cannot be written
    ├── TrainingError        training cannot continue
    └── UsageError           the request itself is impossible          exit code 2
        └── ConfigError      one or more settings are wrong

`assert` is for our own mistakes; anything a user can cause is one of these. The command line turns them into
one line, a hint and the exit code at a single boundary (`nmt_cli.cli.boundary`).

A `DataWarning` reports a probable problem in a user's text, and the work continues.
"""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


class NmtError(Exception):
    """An error for the user: what is wrong, and what to do about it."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}"


class CorpusError(NmtError):
    """The text cannot be read, or its two sides do not align."""


class VocabularyError(NmtError):
    """sentencepiece cannot build or load the vocabulary."""


class DirectoryError(NmtError):
    """A data or run directory is missing, incomplete, changed or of another version."""


class OutputError(NmtError):
    """A result cannot be written."""


class TrainingError(NmtError):
    """Training cannot continue: out of memory, no finite gradients, or another process of the run is gone."""


class UsageError(NmtError):
    """The request itself is impossible; nothing was tried."""

    exit_code = 2


class ConfigError(UsageError):
    """One or more settings are wrong; all of them are named."""


@dataclass(frozen=True)
class DataWarning:
    """A likely problem in a corpus, a system's output or a reference."""

    name: str  # short and stable, such as "undecodable"; programs match on it
    message: str
    hint: str


def first_line(error: BaseException) -> str:
    """The first line of another library's message, or the kind of error if there is no message."""
    return str(error).strip().partition("\n")[0] or type(error).__name__


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """` (did you mean bleu?)`, to append to a message about a name that does not exist."""
    return "".join(f" (did you mean {match}?)" for match in closest(name, known))


def closest(name: str, known: Iterable[str], *, most: int = 1, cutoff: float = 0.0) -> list[str]:
    """The known names most similar to `name`, best first; a `cutoff` of 1 accepts only equal ones."""
    return difflib.get_close_matches(name, list(known), n=most, cutoff=cutoff)
