"""Words of a text, for counting how often they were seen: quick, and without punctuation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nmt_cli.evaluation.result import FrequencyBucket
from nmt_cli.evaluation.texts import Text, refuse_empty
from nmt_cli.metrics.corpus_metric import CorpusMetric
from nmt_cli.metrics.tokenizers import WITHOUT_SPACES

_WORD = re.compile(r"\w+(?:['’-]\w+)*")


def word_splitter(tokenizer: str) -> Callable[[str], list[str]]:
    """Runs of letters and digits; where no spaces stand between words, what BLEU's tokenizer makes of it."""
    if tokenizer not in WITHOUT_SPACES:
        return _WORD.findall
    metric = CorpusMetric("bleu", tokenize=tokenizer)

    def split(text: str) -> list[str]:
        return [word for word in metric.tokens(text) if any(map(str.isalnum, word))]

    return split


# What the training data has to say about a test: how often a word was seen, and whether its references were.


Words = Callable[[str], list[str]]

_LEAST = (0, 1, 2, 5, 10, 100, 1000)  # the least frequency of each bucket
_BLOCK = 1 << 14


class TrainingText:
    """Frequencies of the words of the target side, and which lines it has."""

    def __init__(self, name: str, blocks: Iterable[Sequence[str]], words: Words) -> None:
        self.name = name
        self._words = words
        self.frequencies: Counter[str] = Counter()
        hashes: list[NDArray[np.int64]] = []
        for lines in blocks:
            for line in lines:
                self.frequencies.update(words(line))
            hashes.append(_hashes(lines))
        self._hashes = np.unique(np.concatenate(hashes)) if hashes else np.zeros(0, np.int64)

    @classmethod
    def of_files(cls, paths: Sequence[Path], words: Words) -> TrainingText:
        """The target side of a training corpus, in files of one sentence a line."""
        texts = [Text.open(path) for path in paths]

        def blocks() -> Iterator[list[str]]:
            for text in texts:
                while lines := text.take(_BLOCK):
                    yield lines

        made = cls(", ".join(map(str, paths)), blocks(), words)
        refuse_empty(texts)
        return made

    @classmethod
    def of_data(cls, path: Path, words: Words) -> TrainingText:
        """The target side of a data directory."""
        from nmt_cli.data.directory import DataDirectory

        train = DataDirectory.open(path).train
        blocks = (
            train.texts(np.arange(start, min(start + _BLOCK, len(train))), "target")
            for start in range(0, len(train), _BLOCK)
        )
        return cls(str(path), blocks, words)

    def seen(self, lines: Sequence[str]) -> int:
        """How many of these lines it has, blank ones left out."""
        wanted = _hashes([line for line in lines if line and not line.isspace()])
        return int(np.isin(wanted, self._hashes).sum())


class RecallTally:
    """Recall of the words of the reference, by how often they occur in the training data."""

    def __init__(self, training: TrainingText, words: Words) -> None:
        self._frequencies, self._words = training.frequencies, words
        self._wanted = np.zeros(len(_LEAST), np.int64)
        self._found = np.zeros(len(_LEAST), np.int64)

    def observe(self, hypotheses: Sequence[str], references: Sequence[str | None]) -> None:
        """Take the next lines, with the first reference of each."""
        for hypothesis, reference in zip(hypotheses, references, strict=True):
            there = Counter(self._words(hypothesis))
            for word, count in Counter(self._words(reference or "")).items():
                bucket = _bucket(self._frequencies.get(word, 0))
                self._wanted[bucket] += count
                self._found[bucket] += min(count, there[word])

    def buckets(self) -> list[FrequencyBucket]:
        """Recall for each range of frequencies that has words."""
        ends = [*(least - 1 for least in _LEAST[1:]), None]
        return [
            FrequencyBucket(least=least, most=most, words=wanted, found=found, recall=found / wanted)
            for least, most, wanted, found in zip(
                _LEAST, ends, self._wanted.tolist(), self._found.tolist(), strict=True
            )
            if wanted
        ]


def _bucket(frequency: int) -> int:
    return int(np.searchsorted(_LEAST, frequency, side="right")) - 1


def _hashes(lines: Sequence[str]) -> NDArray[np.int64]:
    return np.fromiter((hash(" ".join(line.split())) for line in lines), np.int64, len(lines))
