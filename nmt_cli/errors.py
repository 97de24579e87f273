"""Every error that a user can cause. The message says what is wrong, the hint says what to do.

    NmtError                 something failed                          exit code 1
    ├── CorpusError          the text cannot be read or does not align
    ├── VocabularyError      sentencepiece cannot build or load the vocabulary
    ├── StoreError           a data or run directory is missing, damaged or of a newer version
    ├── OutputError          a result cannot be written
    ├── TrainingError        training cannot continue
    └── UsageError           the request itself is invalid             exit code 2
        └── ConfigError      one or more settings are invalid

`assert` is for bugs; anything a user can cause is raised as one of these. The command line turns them into one line,
a hint and an exit code in a single place (`nmt_cli.cli.boundary`).
"""


class NmtError(Exception):
    """An error for the user: what is wrong, and what to do about it."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class CorpusError(NmtError):
    """The text cannot be read, or its two sides do not align."""


class VocabularyError(NmtError):
    """sentencepiece cannot build or load the vocabulary."""


class StoreError(NmtError):
    """A data or run directory is missing, incomplete, damaged or of a newer version."""


class OutputError(NmtError):
    """A result cannot be written."""


class TrainingError(NmtError):
    """Training cannot continue: out of memory, non-finite gradients, or a lost process."""


class UsageError(NmtError):
    """The request itself is invalid; nothing was attempted."""

    exit_code = 2


class ConfigError(UsageError):
    """One or more settings are invalid; all of them are listed."""
