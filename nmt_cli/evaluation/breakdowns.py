"""What lies behind a score: BLEU by length, confused labels, recall of words by their frequency, and examples."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt_cli.errors import NmtError
from nmt_cli.evaluation.result import Confusion, Example, Examples, FrequencyBucket, LengthBucket
from nmt_cli.evaluation.texts import Lines, Text, refuse_empty
from nmt_cli.files.manifest import Manifest
from nmt_cli.metrics.corpus_metric import WITHOUT_SPACES, CorpusMetric

if TYPE_CHECKING:
    from nmt_cli.run import RunDirectory

_LONGEST = 2000  # longer sentences count as this long
_WIDTHS = (2, 5, 10, 20, 50, 100, 200, 500)
_MOST_BUCKETS = 7
_FEW = 10  # sentences that are too few for a bucket of their own at the end
_TAIL = 0.02  # share of sentences, the longest, that go into the last bucket
_CHARACTERS_PER_WORD = 15  # more than this: the text has no spaces between words

_LEAST = (0, 1, 2, 5, 10, 100, 1000)  # the lowest frequency of each bucket
_WORD = re.compile(r"\w+(?:['’-]\w+)*")
_BLOCK = 1 << 14  # lines
_MOST_LABELS = 30  # of a confusion matrix

WordSplitter = Callable[[str], list[str]]


def is_unspaced(lines: Sequence[str]) -> bool:
    """Whether text has no spaces between words, so that its length is counted in characters."""
    return sum(map(len, lines)) > _CHARACTERS_PER_WORD * max(1, sum(len(line.split()) for line in lines))


def lengths_of(lines: Sequence[str], *, characters: bool) -> NDArray[np.int64]:
    """The length of each line, in characters or words."""
    counts = (len("".join(line.split())) if characters else len(line.split()) for line in lines)
    return np.minimum(np.fromiter(counts, np.int64, len(lines)), _LONGEST)


class LengthStatistics:
    """BLEU's statistics summed for each sentence length (compare Bahdanau et al. 2015, figure 2)."""

    def __init__(self) -> None:
        self._sentences = np.zeros(_LONGEST + 1, np.int64)
        self._totals: NDArray[np.float64] | None = None

    def observe(self, lengths: NDArray[np.int64], statistics: NDArray[np.float64]) -> None:
        """Add the next sentences."""
        if self._totals is None:
            self._totals = np.zeros((_LONGEST + 1, statistics.shape[1]))
        np.add.at(self._totals, lengths, statistics)
        self._sentences += np.bincount(lengths, minlength=_LONGEST + 1)

    def buckets(self, metric: CorpusMetric) -> list[LengthBucket]:
        """BLEU in up to seven ranges of equal width, the last of which is open."""
        if self._totals is None:
            return []
        width = self._width()
        found = []
        low = 0
        for index in range(_MOST_BUCKETS):
            high = (index + 1) * width
            rest = int(self._sentences[high + 1 :].sum())
            last = index == _MOST_BUCKETS - 1 or rest < _FEW
            rows = slice(low, None if last else high + 1)
            if sentences := int(self._sentences[rows].sum()):
                bleu = metric.score(self._totals[rows].sum(axis=0))
                longest = None if last and rest else high
                found.append(
                    LengthBucket(shortest=max(low, 1), longest=longest, sentences=sentences, bleu=bleu)
                )
            if last:
                break
            low = high + 1
        return found

    def _width(self) -> int:
        """The smallest width that leaves few sentences for the last bucket."""
        total = self._sentences.sum()
        for width in _WIDTHS:
            beyond = self._sentences[width * (_MOST_BUCKETS - 1) + 1 :].sum()
            if beyond <= _TAIL * total:
                return width
        return _WIDTHS[-1]


class LabelCounts:
    """How often each label was predicted for each, as long as there are few of them."""

    def __init__(self, *, lowercase: bool) -> None:
        self._lowercase = lowercase
        self._references: Counter[str] = Counter()
        self._pairs: Counter[tuple[str, str]] = Counter()

    def observe(self, hypotheses: Sequence[str], references: Sequence[Sequence[str | None]]) -> None:
        """Add the next sentences; of several references, the one that the hypothesis equals or else the first."""
        if len(self._references) > _MOST_LABELS:
            return
        for hypothesis, *texts in zip(hypotheses, *references, strict=True):
            predicted = self._label(hypothesis)
            labels = [self._label(text) for text in texts if text is not None] or [""]
            label = predicted if predicted in labels else labels[0]
            self._references[label] += 1
            self._pairs[label, predicted] += 1

    def _label(self, text: str) -> str:
        return text.strip().lower() if self._lowercase else text.strip()

    def confusion(self) -> Confusion | None:
        """The table; None if there are too many labels for one."""
        if not 0 < len(self._references) <= _MOST_LABELS:
            return None
        labels = [label for label, _ in self._references.most_common()]
        counts = [[self._pairs[reference, predicted] for predicted in labels] for reference in labels]
        totals = [self._references[label] for label in labels]
        missing = [total - sum(row) for total, row in zip(totals, counts, strict=True)]
        return Confusion(labels=labels, counts=counts, missing=missing)


def word_splitter(tokenizer: str) -> WordSplitter:
    """How to split text into words without punctuation; unspaced languages use BLEU's tokenizer."""
    if tokenizer not in WITHOUT_SPACES:
        return _WORD.findall
    metric = CorpusMetric("bleu", tokenize=tokenizer)

    def split(text: str) -> list[str]:
        return [word for word in metric.tokens(text) if any(map(str.isalnum, word))]

    return split


class TrainingWords:
    """The target side of the training data: how often each word occurs, and which lines there are."""

    def __init__(self, name: str, blocks: Iterable[Sequence[str]], words: WordSplitter) -> None:
        self.name = name
        self.frequencies: Counter[str] = Counter()
        hashes: list[NDArray[np.int64]] = []
        for lines in blocks:
            for line in lines:
                self.frequencies.update(words(line))
            hashes.append(_hashes(lines))
        self._hashes = np.unique(np.concatenate(hashes)) if hashes else np.zeros(0, np.int64)

    @classmethod
    def of_files(cls, paths: Sequence[Path], words: WordSplitter) -> TrainingWords:
        """From files with one sentence per line."""
        texts = [Text.open(path) for path in paths]
        blocks = (lines for text in texts for lines in text.blocks())
        made = cls(", ".join(map(str, paths)), blocks, words)
        refuse_empty(texts)
        return made

    @classmethod
    def of_data(cls, path: Path, words: WordSplitter) -> TrainingWords:
        """From a data directory."""
        from nmt_cli.data.directory import DataDirectory

        train = DataDirectory.open(path).train
        blocks = (
            train.texts(np.arange(start, min(start + _BLOCK, len(train))), "target")
            for start in range(0, len(train), _BLOCK)
        )
        return cls(str(path), blocks, words)

    @classmethod
    def of_run(cls, run: RunDirectory, words: WordSplitter) -> TrainingWords | None:
        """From the data directory that a run was trained on, if it is still there and unchanged."""
        path = Path(run.facts.data)
        try:
            unchanged = Manifest.open(path, "data").sha256 == run.facts.data_sha256
            return cls.of_data(path, words) if unchanged else None
        except (OSError, NmtError):  # moved or deleted, which is nothing to complain about
            return None

    def seen(self, lines: Sequence[str]) -> int:
        """How many of these lines occur in the training data; blank lines do not count."""
        wanted = _hashes([line for line in lines if line and not line.isspace()])
        return int(np.isin(wanted, self._hashes).sum())


class WordRecall:
    """The share of reference words found in the hypotheses, by their frequency in the training data."""

    def __init__(self, training: TrainingWords, words: WordSplitter) -> None:
        self._frequencies, self._words = training.frequencies, words
        self._wanted = np.zeros(len(_LEAST), np.int64)
        self._found = np.zeros(len(_LEAST), np.int64)

    def observe(self, hypotheses: Sequence[str], references: Sequence[str | None]) -> None:
        """Add the next sentences, with the first reference of each."""
        for hypothesis, reference in zip(hypotheses, references, strict=True):
            available = Counter(self._words(hypothesis))
            for word, count in Counter(self._words(reference or "")).items():
                bucket = _bucket(self._frequencies.get(word, 0))
                self._wanted[bucket] += count
                self._found[bucket] += min(count, available[word])

    def buckets(self) -> list[FrequencyBucket]:
        """Recall in each range of frequencies that has any words."""
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


# ------------------------------------------------------------------------------------------------------------
# Examples for the report: which sentences are kept, and where their words differ.


_KEPT = 10
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"  # no spaces between words
_UNIT = re.compile(rf"\s+|[{_UNSPACED}]|[^\W{_UNSPACED}]+|[^\w\s]")

Pieces = list[tuple[str, bool]]  # stretches of a text, and whether they differ from another text


class Baseline(NamedTuple):
    """The hypotheses of the baseline for some lines, with the chrF of each if it was computed."""

    hypotheses: Sequence[str]
    chrf: NDArray[np.float64] | None


class ExampleSelector:
    """Keeps the best and worst sentences of one system, and those furthest from the baseline."""

    def __init__(self) -> None:
        self._heaps: dict[str, list[tuple[float, int, int, Example]]] = {
            name: [] for name in ("worst", "best", "gained", "lost")
        }

    def observe(
        self,
        lines: Lines,
        hypotheses: Sequence[str],
        chrf: NDArray[np.float64],
        baseline: Baseline | None,
    ) -> None:
        """Consider the next sentences, with the chrF of each."""
        ranks = {"worst": -chrf, "best": chrf}
        if baseline is not None and baseline.chrf is not None:
            ranks |= {"gained": chrf - baseline.chrf, "lost": baseline.chrf - chrf}
        for name, rank in ranks.items():
            heap = self._heaps[name]
            for row in np.argsort(-rank, kind="stable")[: 4 * _KEPT].tolist():
                if name in ("gained", "lost") and rank[row] <= 0:
                    break
                # Of equally ranked sentences, longer ones are more instructive.
                key = (round(float(rank[row]), 6), len(hypotheses[row]), -(lines.first + row))
                if len(heap) < _KEPT or heap[0][:3] < key:
                    example = _example(lines, row, hypotheses[row], float(chrf[row]), baseline)
                    heapq.heappush(heap, (*key, example))
                if len(heap) > _KEPT:
                    heapq.heappop(heap)

    def examples(self) -> Examples:
        """The sentences kept, the most extreme first."""
        found = {
            name: [entry[3] for entry in sorted(heap, key=lambda entry: entry[:3], reverse=True)]
            for name, heap in self._heaps.items()
        }
        return Examples(**found)


def differences(text: str, other: str) -> Pieces:
    """The text in pieces, each with whether its words are missing from `other` at that point."""
    units = units_of(text)
    places = [place for place, unit in enumerate(units) if not unit.isspace()]
    matcher = SequenceMatcher(None, [units[place] for place in places], _words(other), autojunk=False)
    same = {
        places[index]
        for block in matcher.get_matching_blocks()
        for index in range(block.a, block.a + block.size)
    }
    pieces: Pieces = []
    for place, unit in enumerate(units):
        differs = place not in same
        if unit.isspace():  # a space differs only between two words that do
            differs = bool(pieces) and pieces[-1][1] and place + 1 < len(units) and place + 1 not in same
        if pieces and pieces[-1][1] == differs:
            pieces[-1] = (pieces[-1][0] + unit, differs)
        else:
            pieces.append((unit, differs))
    return pieces


def closest(hypothesis: str, references: Sequence[str]) -> str:
    """The reference that is most similar to the hypothesis."""
    if len(references) < 2:
        return references[0] if references else ""
    words = _words(hypothesis)
    return max(
        references, key=lambda text: SequenceMatcher(None, words, _words(text), autojunk=False).ratio()
    )


def units_of(text: str) -> list[str]:
    """Words, punctuation marks and spaces; joined, they are the text again."""
    return _UNIT.findall(text)


def _words(text: str) -> list[str]:
    return [unit for unit in units_of(text) if not unit.isspace()]


def _example(lines: Lines, row: int, hypothesis: str, chrf: float, baseline: Baseline | None) -> Example:
    scores = baseline.chrf if baseline is not None else None
    return Example(
        line=lines.first + row,
        chrf=chrf,
        baseline_chrf=float(scores[row]) if scores is not None else None,
        source=lines.sources[row] if lines.sources is not None else None,
        references=[text for texts in lines.references if (text := texts[row]) is not None],
        hypothesis=hypothesis,
        baseline=baseline.hypotheses[row] if baseline is not None else None,
    )
