"""The shortlist: which target tokens are likely for each source token, and whether restricting search to them pays.

The lexicon is IBM Model 1 on token ids (Brown et al. 1993): a few iterations of EM on the training data; the source's
<eos> is the empty word.

    t(f | e) ← Σ_pairs c(f | e) / Σ_f' Σ_pairs c(f' | e)      c(f | e) = t(f | e) / Σ_{e' in the source} t(f | e')
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt_cli.data.directory import DataDirectory
from nmt_cli.errors import NmtError, UsageError
from nmt_cli.run import RunDirectory
from nmt_cli.runtime.translate import ExportedTranslator
from nmt_cli.vocabulary.token_ids import EOS, Ragged

if TYPE_CHECKING:
    from nmt_cli.export.folder import Reporter
    from nmt_cli.model import Seq2Seq

_FREQUENT = 100  # tokens that every sentence may use
_SIZES = (50, 100, 200)  # tokens per source token that `auto` tries
_MOST_LOST = 0.1  # BLEU
_VALID_LINES = 1000
_CLOCK_STEP = 1e-3  # seconds: the CPU clock of a process with a CPU limit (`ulimit -t`) advances in steps
_ITERATIONS = 5
_MAX_LINKS = 20_000_000  # source × target tokens that are looked at; of a larger corpus a sample
_LEAST = 1e-4  # less probable tokens are left out


class Lexicon(NamedTuple):
    """Pairs of tokens, sorted by source token and then by falling probability."""

    source: NDArray[np.int64]  # (P,)
    target: NDArray[np.int64]  # (P,)
    probability: NDArray[np.float64]  # (P,)
    frequent: NDArray[np.int64]  # target tokens, most frequent first

    def table(self, source_size: int, target_size: int, n: int) -> NDArray[Any]:
        """(source_size, n) the n likeliest target tokens of each source token; the most frequent one fills up rows."""
        table = np.full((source_size, n), self.frequent[0], np.min_scalar_type(target_size))
        first = np.searchsorted(self.source, np.arange(source_size))
        rank = np.arange(len(self.source)) - first[self.source]
        kept = (rank < n) & (self.probability >= _LEAST)
        table[self.source[kept], rank[kept]] = self.target[kept]
        return table


def cooccurrence(source: Ragged, target: Ragged, source_size: int, target_size: int) -> Lexicon:
    """Model 1 without EM: the share of each target token among those that occur with a source token."""
    return model_1(source, target, source_size, target_size, iterations=1)


def model_1(
    source: Ragged, target: Ragged, source_size: int, target_size: int, *, iterations: int = _ITERATIONS
) -> Lexicon:
    """The lexicon of these pairs of sentences."""
    frequency = np.bincount(target.values.astype(np.int64), minlength=target_size)
    frequent = np.argsort(-frequency, kind="stable")[: max(1, np.count_nonzero(frequency))]
    source, target = _sample(source, target)
    e, occurrence, f = _links(source, target)
    keys, link = np.unique(e * target_size + f, return_inverse=True)
    of_source = keys // target_size  # (P,)
    t = np.ones(len(keys))
    for _ in range(iterations):
        weights = t[link]
        weights /= np.bincount(occurrence, weights)[occurrence]
        counts = np.bincount(link, weights, len(keys))
        t = counts / np.maximum(np.bincount(of_source, counts, source_size)[of_source], 1e-12)
    order = np.lexsort((-t, of_source))
    return Lexicon(of_source[order], keys[order] % target_size, t[order], frequent)


def _sample(source: Ragged, target: Ragged) -> tuple[Ragged, Ragged]:
    links = int(((source.lengths + 1) * target.lengths).sum())
    if links <= _MAX_LINKS:
        return source, target
    rows = np.arange(0, len(source), -(-links // _MAX_LINKS))
    return source.take(rows), target.take(rows)


def _links(source: Ragged, target: Ragged) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Source token, index of the target token in the corpus, and target token of every pair within a sentence."""
    S, T = source.lengths + 1, target.lengths  # with <eos>
    occurrence = np.repeat(np.arange(len(target.values)), np.repeat(S, T))  # each target token S times
    f = target.values.astype(np.int64)[occurrence]
    with_end = np.insert(source.values.astype(np.int64), source.offsets[1:], EOS)
    starts = source.offsets[:-1] + np.arange(len(S))
    first = np.repeat(np.repeat(starts, T), np.repeat(S, T))
    ends = np.cumsum(np.repeat(S, T))
    within = np.arange(len(occurrence)) - np.repeat(ends - np.repeat(S, T), np.repeat(S, T))
    return with_end[first + within], occurrence, f


@dataclass(frozen=True)
class ChosenShortlist:
    """The shortlist and what it costs on the validation set."""

    size: int  # target tokens per source token
    frequent: Sequence[int]  # tokens that every sentence may use
    recall: float | None = None  # of the tokens of the references
    tokens: float | None = None  # that a sentence may use, on average
    bleu: tuple[float, float] | None = None  # with and without it
    speedup: float | None = None

    @property
    def facts(self) -> dict[str, Any]:
        """For settings.json."""
        measured = {"recall": self.recall, "tokens": self.tokens, "bleu": self.bleu, "speedup": self.speedup}
        return {"size": self.size, **measured, "frequent": list(self.frequent)}

    def text(self) -> str:
        """One line for a person."""
        if self.recall is None or self.bleu is None:
            return (
                f"shortlist: {self.size} target tokens per source token (no validation set to measure it on)"
            )
        return (
            f"shortlist of {self.size}: {self.tokens:.0f} tokens per sentence, {self.recall:.2%} of the reference "
            f"tokens; validation BLEU {self.bleu[0]:.2f} (without: {self.bleu[1]:.2f}), {self.speedup:.2f} × as fast"
        )


def choose_shortlist(
    run: RunDirectory,
    model: Seq2Seq,
    folder: Path,
    settings: Mapping[str, Any],
    wanted: Literal["auto", "none"] | int,
    data: Path | None,
    *,
    int8: bool,
    report: Reporter,
) -> ChosenShortlist | None:
    """Write shortlist.npy into the folder, or return None if there is to be no shortlist."""
    if wanted == "none":
        return None
    try:
        lexicon = _lexicon(run, data)
    except NmtError as error:
        if wanted != "auto" or data is not None:
            raise
        report(f"no shortlist: {error.message}")
        return None
    V, frequent = _sizes(run), lexicon.frequent[:_FREQUENT].tolist()
    held_out = run.held_out("valid")
    if held_out is None:
        if wanted == "auto":
            report("no shortlist: there is no validation set to measure it on")
            return None
        np.save(folder / "shortlist.npy", lexicon.table(*V, wanted), allow_pickle=False)
        return ChosenShortlist(wanted, frequent)
    report("translating the validation set with and without a shortlist")
    trial = _Trial(run, model, settings, held_out, int8=int8)
    for size in [wanted] if isinstance(wanted, int) else _SIZES:
        table = lexicon.table(*V, size)
        found = trial.measure(size, table, frequent)
        report(found.text())
        assert found.bleu is not None
        if isinstance(wanted, int) or found.bleu[1] - found.bleu[0] < _MOST_LOST:
            np.save(folder / "shortlist.npy", table, allow_pickle=False)
            return found
    report(f"no shortlist: each costs {_MOST_LOST} BLEU or more")
    return None


def _sizes(run: RunDirectory) -> tuple[int, int]:
    return len(run.vocabularies.source), len(run.vocabularies.target)


def _lexicon(run: RunDirectory, data: Path | None) -> Lexicon:
    path = data or Path(run.facts.data)
    if not path.is_dir():
        raise UsageError(
            f"the training data is no longer at {path}",
            hint="name the data directory with --data, or export with --shortlist none",
        )
    directory = DataDirectory.open(path)
    if directory.fingerprint != run.facts.data_sha256:
        raise UsageError(
            f"{path} is not the data directory that {run.path} was trained on",
            hint="name the right one with --data, or export with --shortlist none",
        )
    train = directory.train
    rows = np.arange(len(train))
    return model_1(train.gather(rows, "source"), train.gather(rows, "target"), *_sizes(run))


class _Trial:
    """Translations of the validation set by temporary exports, with and without a shortlist."""

    def __init__(
        self,
        run: RunDirectory,
        model: Seq2Seq,
        settings: Mapping[str, Any],
        held_out: tuple[list[str], list[str]],
        *,
        int8: bool,
    ) -> None:
        self._run, self._model, self._settings, self._int8 = run, model, settings, int8
        self._sources, self._references = (side[:_VALID_LINES] for side in held_out)
        self._without = self._translate(None)

    def measure(self, size: int, table: Any, frequent: Sequence[int]) -> ChosenShortlist:
        """The effect of this shortlist."""
        bleu, seconds, recall, tokens = self._translate(table, frequent)
        return ChosenShortlist(
            size,
            frequent,
            recall,
            tokens,
            (round(bleu, 2), round(self._without[0], 2)),
            round(self._without[1] / seconds, 2),
        )

    def _translate(self, table: Any, frequent: Sequence[int] = ()) -> tuple[float, float, float, float]:
        """BLEU, CPU seconds, recall of reference tokens, tokens per sentence."""
        from sacrebleu.metrics.bleu import BLEU

        from nmt_cli.export.folder import sign, write_graphs, write_settings

        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            self._run.vocabularies.save(folder)
            write_graphs(folder, self._model, self._run.config, int8=self._int8, shortlist=table is not None)
            facts = None if table is None else {"frequent": list(frequent)}
            write_settings(folder, {**self._settings, "shortlist": facts})
            if table is not None:
                np.save(folder / "shortlist.npy", table, allow_pickle=False)
            sign(folder)
            translator = ExportedTranslator(folder, threads=1)
            began = time.process_time()
            texts = [translation.text for translation in translator.translate(self._sources)]
            seconds = max(time.process_time() - began, _CLOCK_STEP)
            recall, tokens = _recall(translator, self._sources, self._references)
        bleu = BLEU(lowercase=self._run.config.data.lowercase).corpus_score(texts, [self._references]).score
        return bleu, seconds, recall, tokens


def _recall(
    translator: ExportedTranslator, sources: Sequence[str], references: Sequence[str]
) -> tuple[float, float]:
    """The share of reference tokens that are in the shortlist of their source, and the mean size of the shortlists."""
    model = translator.model
    if model.shortlist is None:
        return 1.0, float(len(model.target.pieces))
    found = total = size = 0
    source_ids = model.source.encode([translator.normalized(text) for text in sources])
    target_ids = model.target.encode([translator.normalized(text) for text in references])
    for source, target in zip(source_ids, target_ids, strict=True):
        ids, _ = model.shortlist.of([source])
        found += int(np.isin([*target, EOS], ids).sum())
        total, size = total + len(target) + 1, size + len(ids)
    return found / total, size / len(sources)
