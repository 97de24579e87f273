"""`evaluate`: from systems and references to an `Evaluation`."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from nmt_cli import __version__
from nmt_cli.corpus.checks.tokenization import TokenizedCheck
from nmt_cli.errors import NmtError, UsageError
from nmt_cli.evaluation.comparison import Comparer, Counter, Lines
from nmt_cli.evaluation.examples import Block
from nmt_cli.evaluation.length_buckets import counts_characters, lengths_of
from nmt_cli.evaluation.request import Progress, Request
from nmt_cli.evaluation.result import (
    Bleu,
    Evaluation,
    FaultLines,
    FaultReport,
    SystemResult,
    TextFacts,
    Versions,
)
from nmt_cli.evaluation.systems import System, find_baseline, find_systems, translate
from nmt_cli.evaluation.tally import SystemTally, observe_sample
from nmt_cli.evaluation.test_set import TestSet, choose_tokenizer, find_test_set, target_language
from nmt_cli.evaluation.texts import Text, refuse_empty, refuse_two_readers, unequal_lines
from nmt_cli.evaluation.training_text import RecallTally, TrainingText, word_splitter
from nmt_cli.evaluation.warnings import (
    identical_notices,
    reference_notices,
    system_notices,
    training_notices,
)
from nmt_cli.metrics.character_ngrams import f_scores
from nmt_cli.metrics.corpus_metric import CorpusMetric, check_metrics

_KEPT_FAULTS = 20  # lines of each fault that are named


def evaluate(request: Request, report: Callable[[Progress], None] = lambda progress: None) -> Evaluation:
    """Score systems, compare them, and look at what lies behind the scores."""
    return EvaluationRun(request, report).result()


class EvaluationRun:
    """One evaluation; after `result`, the systems with their hypotheses are still at hand."""

    hypotheses_a_block = 2048

    def __init__(self, request: Request, report: Callable[[Progress], None]) -> None:
        check_metrics(request.metrics)
        if not request.systems:
            raise UsageError(
                "there is no system to score", hint="name files of hypotheses or run directories"
            )
        refuse_two_readers(
            [*request.systems, *request.references, *request.train, *filter(None, [request.source])]
        )
        self._request, self._report = request, report
        self.systems = find_systems(request.systems)
        self.baseline = find_baseline(self.systems, request.baseline)
        self._test_set: TestSet = find_test_set(request, self.systems)
        self._language, known = target_language(request, self.systems, self._test_set.reference_files)
        self._tokenizer, self._reason = choose_tokenizer(request, self._language, known)
        self._metrics = [
            CorpusMetric(key, tokenize=self._tokenizer, lowercase=request.lowercase)
            for key in dict.fromkeys(request.metrics)
        ]
        self._references = self._test_set.references()
        self._source = self._test_set.source()
        self._reference_checks = [TokenizedCheck() for _ in self._references]
        self._unreferenced: list[int] = []
        self._characters: bool | None = None
        self._seen = self._referenced = 0

    def result(self) -> Evaluation:
        """Translate, count, compare."""
        for system in self.systems:
            if system.run is not None:
                translate(system, self._test_set.source_lines(), self._request, self._report)
        training = self._training()
        texts = [system.open() for system in self.systems]
        tallies = self._count(texts, training)
        comparer = Comparer(self._request, self._metrics, self.systems, self.baseline, tallies)
        results = [
            self._system(system, text, tally, comparer)
            for system, text, tally in zip(self.systems, texts, tallies, strict=True)
        ]
        main = self._metrics[0]
        results.sort(key=lambda one: one.score(main.name).score, reverse=main.higher_is_better)
        notices = reference_notices(self._references, self._reference_checks, self._unreferenced)
        if training is not None:
            notices += training_notices(training, self._seen, self._referenced)
        return Evaluation(
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            versions=versions(),
            references=[text_facts(text) for text in self._references],
            source=text_facts(self._source) if self._source is not None else None,
            target_language=self._language,
            tokenizer=self._tokenizer,
            tokenizer_reason=self._reason,
            lowercase=self._request.lowercase,
            sentences=self._references[0].lines,
            length_of="source" if self._source is not None else "reference",
            length_unit="characters" if self._characters else "words",
            training_data=training.name if training is not None else None,
            comparison=comparer.comparison(),
            systems=results,
            warnings=notices,
        )

    def pictures(self, evaluation: Evaluation) -> dict[tuple[str, int], str]:
        """The attention of the runs in the examples of their result."""
        from nmt_cli.evaluation.examples import attention_pictures

        found: dict[tuple[str, int], str] = {}
        for system in self.systems:
            if system.run is not None:
                result = next(one for one in evaluation.systems if one.name == system.name)
                found |= attention_pictures(system, result)
        return found

    def _count(self, texts: Sequence[Text], training: TrainingText | None) -> list[SystemTally]:
        """Let all texts go by."""
        from nmt_cli.corpus.workers import ordered_map

        words = word_splitter(self._tokenizer)
        tallies = [
            SystemTally(
                keep=self._request.samples > 0,
                examples=self._request.examples,
                recall=RecallTally(training, words) if training is not None else None,
            )
            for _ in texts
        ]
        counter = Counter(
            tuple(metric.key for metric in self._metrics), self._tokenizer, self._request.lowercase
        )
        blocks = self._blocks(texts)
        for lines, statistics in ordered_map(counter, blocks, workers=self._request.workers):
            self._observe(lines, training)
            block = self._block(lines, statistics)
            lengths = lengths_of(_measured(lines), characters=bool(self._characters))
            for tally, hypotheses, counts in zip(tallies, lines.hypotheses, statistics, strict=True):
                tally.observe(block, hypotheses, counts, lengths)
            self._report(Progress("scoring", lines.first - 1 + len(lines.hypotheses[0]), None))
        return tallies

    def _blocks(self, texts: Sequence[Text]) -> Iterator[Lines]:
        """The same lines of all texts; an error if they do not have equally many."""
        everything = [*self._references, *([self._source] if self._source is not None else []), *texts]
        size = max(4, self.hypotheses_a_block // len(texts))
        first = 1
        while True:
            taken = [text.take(size) for text in everything]
            if len({len(lines) for lines in taken}) > 1:
                self._refuse_unequal(texts)
            if not taken[0]:
                refuse_empty(everything)
                return
            count = len(self._references)
            yield Lines(
                first,
                taken[count] if self._source is not None else None,
                self._variable_references(first, taken[:count]),
                taken[len(taken) - len(texts) :],
            )
            first += len(taken[0])

    def _variable_references(self, first: int, files: Sequence[list[str]]) -> list[list[str | None]]:
        """A blank line is no reference, if another file has one there; else it is an empty reference."""
        for check, lines in zip(self._reference_checks, files, strict=True):
            observe_sample(check, first, lines)
        found: list[list[str | None]] = [
            [line if line.strip() else None for line in lines] for lines in files
        ]
        for row, texts in enumerate(zip(*found, strict=True)):
            if all(text is None for text in texts):
                found[0][row] = ""
                self._unreferenced.append(first + row)
        return found

    def _observe(self, lines: Lines, training: TrainingText | None) -> None:
        for metric in self._metrics:
            metric.note_references(lines.references)
        if self._characters is None:
            self._characters = counts_characters(_measured(lines))
        texts = [text for text in lines.references[0] if text]
        self._referenced += len(texts)
        if training is not None:
            self._seen += training.seen(texts)

    def _block(self, lines: Lines, statistics: Sequence[dict[str, np.ndarray]]) -> Block:
        baseline = chrf = None
        if len(self.systems) > 1:
            index = self.systems.index(self.baseline)
            baseline = lines.hypotheses[index]
            if "chrf" in statistics[index]:
                chrf = f_scores(statistics[index]["chrf"])
        return Block(lines.first, lines.sources, lines.references, baseline, chrf)

    def _refuse_unequal(self, texts: Sequence[Text]) -> None:
        reference, *others = self._references
        source = [self._source] if self._source is not None else []
        everything = [reference, *others, *source, *texts]
        for text in everything:
            text.count_rest()
        refuse_empty(everything)
        for text in (*others, *source, *texts):
            if text.lines != reference.lines:
                raise unequal_lines(text, reference, same_language=text not in source)

    def _training(self) -> TrainingText | None:
        """The training data: the files named, or what the first run was trained on, where it still is."""
        words = word_splitter(self._tokenizer)
        run = next((system.run for system in self.systems if system.run is not None), None)
        if not self._request.train and run is None:
            return None
        self._report(Progress("reading the training data", 0, None))
        if self._request.train:
            return TrainingText.of_files(self._request.train, words)
        assert run is not None
        from nmt_cli.run.directory import fingerprint

        path = Path(run.facts.data)
        try:
            same = fingerprint(path) == run.facts.data_sha256
            return TrainingText.of_data(path, words) if same else None
        except (OSError, NmtError):  # it was moved or removed since, which is no fault
            return None

    def _system(self, system: System, text: Text, tally: SystemTally, comparer: Comparer) -> SystemResult:
        bleu = next((metric for metric in self._metrics if metric.key == "bleu"), None)
        details = bleu.details(tally.totals("bleu")) if bleu is not None else None
        tokenized = any(check.found() for check in self._reference_checks)
        return SystemResult(
            name=system.name,
            kind="file" if system.run is None else "run",
            text=text_facts(text),
            run=system.details,
            scores=comparer.scores(system),
            bleu=Bleu(
                precisions=list(details.precisions),
                matches=list(details.matches),
                counts=list(details.counts),
                brevity_penalty=details.brevity_penalty,
                length_ratio=details.length_ratio,
                hypothesis_length=details.hypothesis_length,
                reference_length=details.reference_length,
            )
            if details is not None
            else None,
            length_buckets=tally.lengths.buckets(bleu) if bleu is not None else [],
            frequency_buckets=tally.recall.buckets() if tally.recall is not None else None,
            distribution=tally.distribution(),
            faults=self._faults(tally, text.lines),
            examples=tally.keeper.examples() if tally.keeper is not None else None,
            warnings=[
                *identical_notices(system.name, text, self._references),
                *system_notices(system.name, text, tally, details, tokenized_references=tokenized),
            ],
        )

    def _faults(self, tally: SystemTally, lines: int) -> FaultReport:
        def of(numbers: list[int], total: int) -> FaultLines:
            return FaultLines(count=len(numbers), of=total, lines=numbers[:_KEPT_FAULTS])

        faults = tally.faults
        return FaultReport(
            empty=of(faults.empty, lines),
            untranslated=of(faults.untranslated, lines) if self._source is not None else None,
            repeated=of(faults.repeated, lines),
            dropped_numbers=of(faults.dropped_numbers, faults.with_numbers),
        )


def text_facts(text: Text) -> TextFacts:
    """Which text it was."""
    return TextFacts(name=text.name, sha256=text.sha256, lines=text.lines)


def versions() -> Versions:
    """What computes the scores."""
    import sacrebleu

    return Versions(nmt=__version__, sacrebleu=sacrebleu.__version__, python=platform.python_version())


def _measured(lines: Lines) -> list[str]:
    """What lengths are counted of."""
    return lines.sources if lines.sources is not None else [text or "" for text in lines.references[0]]
