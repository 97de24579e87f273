"""Changes to text before it is tokenized: lower case, and a user's table of replacements."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nmt_cli.errors import CorpusError


@dataclass(frozen=True)
class Normalization:
    """Lower case first, then each replacement in the order of its table."""

    lowercase: bool = False
    replacements: tuple[tuple[str, str], ...] = ()

    def __call__(self, text: str) -> str:
        """The text as the vocabulary sees it."""
        if self.lowercase:
            text = text.lower()
        for old, new in self.replacements:
            text = text.replace(old, new)
        return text

    def function(self) -> Callable[[str], str] | None:
        """The normalization itself, or None where it changes nothing, so that a caller can skip the work."""
        return self if self.lowercase or self.replacements else None


def write_replacements(path: Path, replacements: tuple[tuple[str, str], ...]) -> None:
    """Write a table that `read_replacements` reads."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{old}\t{new}\n" for old, new in replacements)


def read_replacements(path: Path) -> tuple[tuple[str, str], ...]:
    """Read a table of two tab-separated columns (from, to); an empty second column deletes."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise CorpusError(
            f"cannot read the normalization table {path}: {error.strerror}",
            hint="data.normalization names a TSV file with two columns: from, to",
        ) from error
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"the normalization table {path} is not UTF-8", hint="convert it with iconv"
        ) from error
    rows = []
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        old, tab, new = line.removesuffix("\r").partition("\t")
        if not tab or not old or "\t" in new:
            raise CorpusError(
                f"{path} line {number} is not a replacement: {line!r}",
                hint="write two columns with one tab between them: from, to",
            )
        rows.append((old, new))
    return tuple(rows)
