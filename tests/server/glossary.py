"""A model that translates word by word and explains it, so that tests of the page know what to expect."""

from collections.abc import Sequence
from dataclasses import replace
from math import log
from pathlib import Path

from nmt_cli.corpus.checks.language import LetterProfile
from nmt_cli.explanation import Alternative, Explanation, Prediction
from nmt_cli.translator.confidence import Calibration
from tests.explanation.conftest import explanation
from tests.server.upper import Upper

WORDS = {
    "a": "ein",
    "small": "kleiner",
    "dog": "Hund",
    "cat": "Katze",
    "sleeps": "schläft",
    "runs": "läuft",
    "fog": "Nebel",
}
ALTERNATIVES = ((" Vogel", 0.25), (" Kat", 0.125))  # the second is the beginning of a word
EVIL = "<script>document.title='run'</script><img/src=http://192.0.2.1/x/onerror=document.title='run'>"


class Glossary(Upper):
    """`a small dog` → `ein kleiner Hund`. After a prefix of n words it continues with word n + 1.

    The confidence of each word is higher than that of the word before; fog lowers that of a whole sentence.
    """

    explains = True
    calibration: Calibration | None = Calibration(-log(0.1), 0.0, 1, 1)

    def __init__(self, source: str = "en", target: str = "de") -> None:
        super().__init__()
        self.path, self.source, self.target = Path(f"{source}-{target}"), source, target
        self._words = WORDS if source == "en" else {target: source for source, target in WORDS.items()}

    def translated(self, text: str, prefix: str = "") -> str:
        words = [self._words.get(word, word) for word in text.split()]
        start = prefix.split()
        if start and start[-1] == "Kat":
            start[-1] = "Katze"
        return " ".join([*start, *words[len(start) :]])

    def translate(
        self, texts: Sequence[str], prefixes: Sequence[str] | None, n_best: int
    ) -> list[tuple[str, ...]]:
        super().translate(texts, prefixes, n_best)
        starts = prefixes or [""] * len(texts)
        return [(self.translated(text, start),) * n_best for text, start in zip(texts, starts, strict=True)]

    def explain(self, text: str, *, prefix: str, target: str | None, alternatives: int) -> Explanation:
        words = (target or self.translated(text, prefix)).split()
        found = explanation([*text.split(), "<eos>"], [*words, "<eos>"])
        pieces = (*(f"▁{word}" for word in words), "<eos>")
        others = tuple(Alternative(piece.replace(" ", "▁"), p, True) for piece, p in ALTERNATIVES)
        return replace(
            found,
            log_probability=len(pieces) * log(0.01 if "fog" in text else 0.5),
            target_pieces=pieces,
            steps=tuple(
                Prediction(piece, p, others) for piece, p in zip(pieces, found.confidence, strict=True)
            ),
        )

    def profiles(self) -> dict[str, LetterProfile]:
        return {
            self.source: LetterProfile.of(" ".join(self._words)),
            self.target: LetterProfile.of(" ".join(self._words.values())),
        }
