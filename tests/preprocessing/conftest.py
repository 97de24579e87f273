"""Running the pipeline on a few lines."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from nmt_cli.config import resolve
from nmt_cli.errors import DataWarning
from nmt_cli.preprocessing import DataCard, PreprocessRequest, Report, preprocess

Pair = tuple[str, str]
SMALL = "vocabulary.size=320"


def write_pairs(prefix: Path, pairs: Sequence[Pair]) -> str:
    """Write `prefix.de` and `prefix.en`; the SPEC of both."""
    for side, language in enumerate(("de", "en")):
        text = "".join(pair[side] + "\n" for pair in pairs)
        prefix.with_name(f"{prefix.name}.{language}").write_bytes(text.encode())
    return str(prefix)


def numbered(count: int) -> list[Pair]:
    """Distinct pairs."""
    return [(f"Satz {n} von vielen", f"sentence {n} of many") for n in range(count)]


class Runner:
    """Runs `preprocess` and keeps what it reported."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.reports: list[Report] = []

    @property
    def warnings(self) -> list[str]:
        return [report.name for report in self.reports if isinstance(report, DataWarning)]

    def __call__(
        self, pairs: Sequence[Pair] | str | None, *settings: str, out: str = "out", **options: Any
    ) -> DataCard:
        """Preprocess the pairs, or the corpus of a SPEC, or what `train=` in the options names."""
        if pairs is not None:
            options["train"] = [
                pairs if isinstance(pairs, str) else write_pairs(self.folder / f"train-{out}", pairs)
            ]
        self.reports = []
        request = PreprocessRequest(
            source_lang="de",
            target_lang="en",
            out=self.folder / out,
            settings=resolve(None, [*([] if "vocabulary" in options else [SMALL]), *settings]),
            **options,
        )
        return preprocess(request, self.reports.append)


@pytest.fixture
def run(tmp_path: Path) -> Runner:
    """`run(pairs, "data.blank=false", valid=[...])`."""
    return Runner(tmp_path)
