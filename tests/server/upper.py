"""A model made of plain Python, which can be held up."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nmt_cli.corpus.checks.language import LetterProfile
from nmt_cli.documents.segment_translation import Translated
from nmt_cli.runtime.segments import Chunk
from nmt_cli.server.documents import Unaligned


class Upper:
    """Translates into upper case, and remembers its batches; it can be held up, and fails on the text `fail`."""

    path, source, target = Path("upper"), "en", "up"
    beam_size, batch_tokens = 5, 1024
    explains = False
    calibration: Any = None
    placeholders: Any = None

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.go = threading.Event()
        self.go.set()
        self.started = threading.Event()

    def split(self, text: str) -> list[Chunk]:
        return [Chunk(text, "")]

    def translate(
        self, texts: Sequence[str], prefixes: Sequence[str] | None, n_best: int
    ) -> list[tuple[str, ...]]:
        self.started.set()
        assert self.go.wait(60)
        self.batches.append(list(texts))
        if "fail" in texts:
            raise ValueError("fail")
        starts = prefixes or [""] * len(texts)
        return [
            tuple(f"{start}{text.upper()}{rank or ''}" for rank in range(n_best))
            for text, start in zip(texts, starts, strict=True)
        ]

    def translations(self, texts: Sequence[str], *, attention: bool) -> Sequence[Translated]:
        return [Unaligned(best) for (best,) in self.translate(texts, None, 1)]

    def explain(self, text: str, *, prefix: str, target: str | None, alternatives: int) -> Any:
        raise NotImplementedError

    def profiles(self) -> dict[str, LetterProfile]:
        return {}
