"""`evaluate`: from systems and references to an `Evaluation`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from nmt_cli.config.defaults import DEFAULT_METRICS, SPEECH_METRICS
from nmt_cli.corpus.workers import ordered_map
from nmt_cli.errors import DataWarning, UsageError
from nmt_cli.evaluation.breakdowns import (
    Baseline,
    TrainingWords,
    WordRecall,
    is_unspaced,
    lengths_of,
    word_splitter,
)
from nmt_cli.evaluation.request import (
    EvaluateRequest,
    TestSet,
    choose_tokenizer,
    find_test_set,
    target_language,
)
from nmt_cli.evaluation.result import Bleu, Evaluation, SystemResult, Versions
from nmt_cli.evaluation.scoring import StatisticsExtractor, SystemScorer, SystemStatistics
from nmt_cli.evaluation.systems import (
    OneProcess,
    Processes,
    System,
    find_baseline,
    find_systems,
    translate,
    translate_exported,
)
from nmt_cli.evaluation.texts import AlignedTexts, Lines, Text, refuse_two_readers
from nmt_cli.evaluation.warnings import (
    identity_warnings,
    reference_warnings,
    system_warnings,
    training_warnings,
)
from nmt_cli.files.byte_stream import Progress
from nmt_cli.metrics.character_ngrams import f_scores
from nmt_cli.metrics.corpus_metric import CorpusMetric, Statistics, check_metrics

if TYPE_CHECKING:  # it imports torch
    from nmt_cli.evaluation.media import MediaTestSet

Reporter = Callable[[Progress], None]


def evaluate(request: EvaluateRequest, report: Reporter = lambda progress: None) -> Evaluation:
    """Score systems, compare them, and analyze what lies behind the scores."""
    return EvaluationRun(request, report).result()


class EvaluationRun:
    """One evaluation. After `result`, the systems still hold their hypotheses and translators.

    The constructor resolves the request, and so reports most mistakes in it; `result` does the work:
    translate with the runs, read all texts in step and count, then turn the counts into scores.
    """

    hypotheses_per_block = 2048

    def __init__(
        self, request: EvaluateRequest, report: Reporter, processes: Processes | None = None
    ) -> None:
        check_metrics(request.metrics)
        if not request.systems:
            raise UsageError("no systems to score", hint="pass hypothesis files or run directories")
        refuse_two_readers(
            [*request.systems, *request.references, *request.train, *filter(None, [request.source])]
        )
        self.systems = find_systems(request.systems)
        if not request.metrics:
            is_speech = any(system.run is not None and system.run.reads == "audio" for system in self.systems)
            request = replace(request, metrics=SPEECH_METRICS if is_speech else DEFAULT_METRICS)
        self._request, self._report, self._processes = request, report, processes or OneProcess()
        self._baseline = find_baseline(self.systems, request.baseline)
        self._test_set: TestSet = self._media_test_set() or find_test_set(request, self.systems)
        self._language, known = target_language(request, self.systems, self._test_set.reference_files)
        self._tokenizer, self._tokenizer_reason = choose_tokenizer(request, self._language, known)
        self._words = word_splitter(self._tokenizer)
        self._metrics = [
            CorpusMetric(key, tokenize=self._tokenizer, lowercase=request.lowercase)
            for key in dict.fromkeys(request.metrics)
        ]
        self._unspaced: bool | None = None  # decided by the first block
        self._references_seen = self._references_checked = 0

    def not_shareable(self) -> Mapping[str, bool]:
        """What several processes cannot do together, and whether it is needed here."""
        return {
            "hypotheses in files": not any(system.run is not None for system in self.systems),
            "an exported model": any(system.exported is not None for system in self.systems),
            "images or recordings": any(
                system.run is not None and system.run.reads != "text" for system in self.systems
            ),
        }

    def _media_test_set(self) -> MediaTestSet | None:
        if not any(system.run is not None for system in self.systems):
            return None  # files need no torch
        from nmt_cli.evaluation.media import find_media_test_set

        return find_media_test_set(self._request, self.systems)

    def result(self) -> Evaluation:
        """Translate, count, score."""
        self.translate()
        training = self._training()
        texts = AlignedTexts(
            self._test_set.references(), self._test_set.source(), [system.open() for system in self.systems]
        )
        statistics = self._count(texts, training)
        named = {system.name: found for system, found in zip(self.systems, statistics, strict=True)}
        scorer = SystemScorer(self._request, self._metrics, named, self._baseline.name)
        results = [
            self._system_result(system, text, found, texts, scorer)
            for system, text, found in zip(self.systems, texts.hypotheses, statistics, strict=True)
        ]
        main = self._metrics[0]
        results.sort(key=lambda result: result.score(main.name).score, reverse=main.higher_is_better)
        return Evaluation(
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            versions=Versions.current(),
            references=[text.facts() for text in texts.references],
            source=texts.source.facts() if texts.source is not None else None,
            target_language=self._language,
            tokenizer=self._tokenizer,
            tokenizer_reason=self._tokenizer_reason,
            lowercase=self._request.lowercase,
            sentences=texts.references[0].lines,
            length_of="source" if texts.source is not None else "reference",
            length_unit="characters" if self._unspaced else "words",
            training_data=training.name if training is not None else None,
            comparison=scorer.comparison(),
            systems=results,
            warnings=list(self._test_set_warnings(texts, training)),
        )

    def pictures(self, evaluation: Evaluation) -> dict[tuple[str, int], str]:
        """The attention maps of the runs, for the examples in their results."""
        from nmt_cli.evaluation.report import attention_pictures

        found: dict[tuple[str, int], str] = {}
        for system in self.systems:
            if system.run is not None and system.run.reads == "text":
                result = next(one for one in evaluation.systems if one.name == system.name)
                found |= attention_pictures(system, result)
        return found

    @property
    def _scores_labels(self) -> bool:
        """Whether texts are labels: all of them are in the training data, and all may be correct."""
        return any(metric.key == "accuracy" for metric in self._metrics)

    def translate(self) -> None:
        """Translate with the runs; a process that is not the first does only this."""
        if any(system.run is not None or system.exported is not None for system in self.systems):
            self._test_set.check_lengths()
        for system in self.systems:
            if system.run is not None:
                self._translate_with(system)
            elif system.exported is not None:
                sources = self._test_set.source_lines()
                translate_exported(system, sources, search=self._request.search, report=self._report)

    def _translate_with(self, system: System) -> None:
        search, device = self._request.search, self._request.device
        if system.run is not None and system.run.reads != "text":
            from nmt_cli.evaluation.media import MediaTestSet, describe

            assert isinstance(self._test_set, MediaTestSet)
            describe(system, self._test_set, search=search, device=device, report=self._report)
            return
        sources = self._test_set.source_lines()
        translate(
            system, sources, search=search, device=device, report=self._report, processes=self._processes
        )

    def _training(self) -> TrainingWords | None:
        """The training data: the files in the request, or what the first run was trained on."""
        run = next((system.run for system in self.systems if system.run is not None), None)
        if not self._request.train and run is None:
            return None
        self._report(Progress("reading the training data", 0))
        if self._request.train:
            return TrainingWords.of_files(self._request.train, self._words)
        assert run is not None
        return TrainingWords.of_run(run, self._words)

    def _count(self, texts: AlignedTexts, training: TrainingWords | None) -> list[SystemStatistics]:
        """Read all texts and gather the statistics of each system."""
        request = self._request
        found = [
            SystemStatistics(
                keep=request.samples > 0,
                examples=request.examples,
                recall=WordRecall(training, self._words) if training is not None else None,
                lowercase=request.lowercase,
            )
            for _ in self.systems
        ]
        extractor = StatisticsExtractor(
            tuple(metric.key for metric in self._metrics), self._tokenizer, request.lowercase
        )
        blocks = texts.blocks(hypotheses_per_block=self.hypotheses_per_block)
        for lines, statistics in ordered_map(extractor, blocks, workers=request.workers):
            self._observe_references(lines, training)
            measured = _measured(lines)
            if self._unspaced is None:
                self._unspaced = is_unspaced(measured)
            lengths = lengths_of(measured, characters=self._unspaced)
            baseline = self._baseline_of(lines, statistics)
            for system, hypotheses, counts in zip(found, lines.hypotheses, statistics, strict=True):
                system.observe(lines, hypotheses, counts, lengths, baseline)
            self._report(Progress("scoring", lines.first - 1 + len(lines.hypotheses[0])))
        return found

    def _observe_references(self, lines: Lines, training: TrainingWords | None) -> None:
        for metric in self._metrics:
            metric.note_references(lines.references)
        references = [text for text in lines.references[0] if text]
        self._references_checked += len(references)
        if training is not None:
            self._references_seen += training.seen(references)

    def _baseline_of(self, lines: Lines, statistics: Sequence[Mapping[str, Statistics]]) -> Baseline | None:
        if len(self.systems) == 1:
            return None
        index = self.systems.index(self._baseline)
        counts = statistics[index].get("chrf")
        return Baseline(lines.hypotheses[index], f_scores(counts) if counts is not None else None)

    def _system_result(
        self, system: System, text: Text, found: SystemStatistics, texts: AlignedTexts, scorer: SystemScorer
    ) -> SystemResult:
        bleu = next((metric for metric in self._metrics if metric.key == "bleu"), None)
        details = bleu.details(found.totals("bleu")) if bleu is not None else None
        references_tokenized = any(check.found() for check in texts.tokenized)
        tokenized = None if references_tokenized else found.tokenized
        return SystemResult(
            name=system.name,
            kind="run" if system.run is not None else "export" if system.exported is not None else "file",
            text=text.facts(),
            run=system.details,
            scores=scorer.scores(system.name),
            bleu=Bleu.model_validate(details, from_attributes=True) if details is not None else None,
            length_buckets=found.lengths.buckets(bleu) if bleu is not None else [],
            frequency_buckets=found.recall.buckets() if found.recall is not None else None,
            distribution=found.distribution(),
            faults=found.errors.result(text.lines, has_source=texts.source is not None),
            examples=found.examples.examples() if found.examples is not None else None,
            warnings=[
                *(() if self._scores_labels else identity_warnings(system.name, text, texts.references)),
                *system_warnings(system.name, text, found.errors, details, tokenized),
            ],
            captions=system.captions,
            confusion=found.labels.confusion(),
        )

    def _test_set_warnings(
        self, texts: AlignedTexts, training: TrainingWords | None
    ) -> Iterator[DataWarning]:
        yield from reference_warnings(texts.references, texts.tokenized, texts.unreferenced)
        # Many images share a caption, recordings a sentence, and sentences a label: that it was seen in training says
        # nothing about them.
        has_media = any(system.run is not None and system.run.reads != "text" for system in self.systems)
        shared = self._scores_labels or has_media
        if training is not None and not shared:
            yield from training_warnings(training, self._references_seen, self._references_checked)


def _measured(lines: Lines) -> list[str]:
    """The lines whose length counts: the source, or else the first reference."""
    return lines.sources if lines.sources is not None else [text or "" for text in lines.references[0]]
