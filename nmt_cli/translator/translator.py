"""`Translator`: texts in, translations out, in the same order. The path of a line:

translate       one translation per text
batches         normalize the lines and split long ones into segments; later join the translated segments
_search         encode the segments as token ids, sort them by length, cut them into batches
_search_batch   run the encoder and search, decode the hypotheses
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Self, overload

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nmt_cli.config import SearchConfig
from nmt_cli.config.defaults import BATCH_TOKENS, TERMS_CASE, TERMS_INFLECTION, TermsCase
from nmt_cli.corpus.cleaning import Normalization
from nmt_cli.data.batch_plan import cut_in_order
from nmt_cli.data.batches import pad_source
from nmt_cli.data.media import MediaRows
from nmt_cli.errors import CorpusError, UsageError
from nmt_cli.metrics import tokenizer_for
from nmt_cli.model import Seq2Seq
from nmt_cli.model.device import choose_device
from nmt_cli.model.fast.step_layout import prepare_for_search
from nmt_cli.run.directory import Reads
from nmt_cli.runtime.segments import replace_surrogates
from nmt_cli.search import Ensemble, ModelScorer, Phrase, Scorer, SearchTree, check_constrained, search
from nmt_cli.search.stopping import pad_positions, pad_rows
from nmt_cli.translator.confidence import Calibration, read_calibration
from nmt_cli.translator.constraints import Terminology, banned_words, phrases_of, word_continuations
from nmt_cli.translator.forced_decoding import MAX_TOKENS, PairScorer
from nmt_cli.translator.loading import load_models
from nmt_cli.translator.minimum_bayes_risk import choose_minimum_risk
from nmt_cli.translator.segmentation import Segment, SegmentedLine, check_prefixes, segment_lines
from nmt_cli.translator.terminology import BannedList, Glossary, TermPair
from nmt_cli.translator.translation import (
    Details,
    Translation,
    blank_translation,
    join_segments,
    translation_of_hypotheses,
)
from nmt_cli.vocabulary import Vocabularies
from nmt_cli.vocabulary.token_ids import Ragged

MAX_LOGITS = 1 << 24  # per step: 64 MB


class Translator:
    """A model, or an ensemble, with its vocabularies and search settings.

    It never changes after construction, so any number of threads may use it at the same time.
    """

    reads: ClassVar[Reads] = "text"  # what the sources are

    def __init__(
        self,
        models: Seq2Seq | Sequence[Seq2Seq],
        vocabularies: Vocabularies,
        config: SearchConfig,
        *,
        normalization: Normalization | None = None,
        device: torch.device | str = "cpu",
        batch_tokens: int = BATCH_TOKENS,
        max_tokens: int | None = None,
        has_attention: bool = True,
        autocast: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        """Several models are an ensemble.

        batch_tokens   maximum of rows × longest source in a batch
        max_tokens     longer lines are translated in parts; None: never
        has_attention  whether attention and alignments are available
        autocast       context for mixed precision
        """
        several = list(models) if isinstance(models, Sequence) else [models]
        self.vocabularies = vocabularies
        self.config = config
        self.max_tokens = max_tokens
        self.has_attention = has_attention
        self.languages: tuple[str, str] | None = None  # of source and target, if the translator was loaded
        self.calibration: Calibration | None = None  # of confidence, to notice text unlike the training data
        self.quantized: tuple[str, ...] = ()  # names of the int8 layers
        self.normalization = normalization or Normalization()
        self.device = torch.device(device)
        self.batch_tokens = batch_tokens
        self.terminology = Terminology(Glossary(normalization=self.normalization.without_placeholders))
        self._autocast = autocast
        self.models = tuple(several)
        self.reverse_target = several[0].reverse_target  # whether the models write from right to left
        self._scorer: Scorer[Any, Any] = (
            ModelScorer(several[0], self.device) if len(several) == 1 else Ensemble(several)
        )

    @classmethod
    def load(
        cls,
        *runs: Path | str,
        device: torch.device | str = "auto",
        search: SearchConfig | Mapping[str, Any] | None = None,
        int8: bool = False,
        batch_tokens: int = BATCH_TOKENS,
        max_tokens: int | None = None,
        language_model: bool = False,
    ) -> Self:
        """The model of a run directory, or an ensemble of several with the same vocabularies.

        device         auto, cpu, cuda, cuda:1 or mps
        search         settings to use instead of those of the (first) run, or some of them by name:
                       `search={"beam_size": 1}`
        int8           use int8 arithmetic on the CPU; `quantized` lists the layers that do
        max_tokens     longer lines are translated in parts (default: data.max_tokens of the run, or
                       search.max_length if that is less)
        language_model the runs are language models, for `generate` and, with blank sources, for `score`
        """
        place = choose_device(device) if isinstance(device, str) else device
        paths = [Path(run) for run in runs]
        loaded = load_models(
            paths, device=place, search=search, language_model=language_model, reads=cls.reads
        )
        run, config = loaded.run, loaded.search
        if language_model and config.mbr != "none":
            raise UsageError(
                f"search.mbr = {config.mbr} is for translations, not for the texts of a language model",
                hint="set search.mbr = none",
            )
        if int8 and place.type != "cpu":
            raise UsageError(f"int8 needs a CPU, not {place.type}", hint="set the device to cpu")
        quantized = set[str]()
        if place.type == "cpu":
            for model in loaded.models:
                quantized.update(prepare_for_search(model, int8=int8))
        translator = cls(
            loaded.models,
            run.vocabularies,
            config,
            normalization=run.normalization,
            device=place,
            batch_tokens=batch_tokens,
            max_tokens=max_tokens or min(run.config.data.max_tokens, config.max_length),
            has_attention=loaded.has_attention,
        )
        translator.languages = run.facts.source_lang, run.facts.target_lang
        if len(paths) == 1:  # an ensemble has no calibration of its own
            translator.calibration = read_calibration(run.path, run.model_sha256)
        translator.quantized = tuple(sorted(quantized))
        return translator

    def with_search(self, **settings: Any) -> Self:
        """The same models with some search settings changed: `translator.with_search(beam_size=1)`."""
        changed = copy(self)
        changed.config = self.config.changed(settings)
        return changed

    def with_terms(
        self,
        terms: Iterable[TermPair] = (),
        *,
        case: TermsCase = TERMS_CASE,
        inflection: int = TERMS_INFLECTION,
        banned: Iterable[str] = (),
    ) -> Self:
        """The same models with a glossary: where a source has a source term, its translation has the target term.

        terms        pairs of source and target term; several targets for one source are alternatives
        case         adapt: any case in the source, and a target that may be capitalized as the source is;
                     keep: any case in the source, and the target as given; exact: both as given
        inflection   number of letters that may follow each word of a source term
        banned       words or phrases that no translation may contain
        """
        normal = self.normalization.without_placeholders
        glossary = Glossary(terms, case=case, inflection=inflection, normalization=normal)
        if glossary:
            check_constrained(self.config)
        words = BannedList(tuple(normal(word) for word in banned))
        self._check_terms(glossary, words.words)
        changed = copy(self)
        changed.terminology = Terminology(glossary, words, banned_words(words, self.vocabularies.target))
        return changed

    @overload
    def translate(  # type: ignore[overload-overlap]  # a string is a sequence of strings, too
        self,
        texts: str,
        *,
        details: Details = ...,
        prefixes: str | None = ...,
        terms: Sequence[Sequence[str]] | None = ...,
        first_line: int = ...,
        progress: Callable[[int], None] | None = ...,
    ) -> Translation: ...

    @overload
    def translate(
        self,
        texts: Sequence[str],
        *,
        details: Details = ...,
        prefixes: Sequence[str] | None = ...,
        terms: Sequence[Sequence[Sequence[str]]] | None = ...,
        first_line: int = ...,
        progress: Callable[[int], None] | None = ...,
    ) -> list[Translation]: ...

    def translate(
        self,
        texts: str | Sequence[str],
        *,
        details: Details = Details(),  # noqa: B008 - frozen
        prefixes: str | Sequence[str] | None = None,
        terms: Sequence[Any] | None = None,
        first_line: int = 0,
        progress: Callable[[int], None] | None = None,
    ) -> Translation | list[Translation]:
        """One translation for each text, in the order of the texts; that of a blank text is blank.

        A single string has a single translation.

        details      what to return besides the text
        prefixes     what each translation starts with (a string if `texts` is one)
        terms        for each text, pairs of source and target term in addition to `with_terms`, or lists of a target
                     alone (only the inner list if `texts` is a string)
        first_line   number of the first text; it determines, with search.seed, what is sampled
        progress     called with the number of texts after each batch
        """
        if isinstance(texts, str):
            given = [prefixes] if isinstance(prefixes, str) else prefixes
            return self.translate(
                [texts],
                details=details,
                prefixes=given,
                terms=None if terms is None else [terms],
                first_line=first_line,
                progress=progress,
            )[0]
        results = [blank_translation(details)] * len(texts)
        for rows, translations in self.batches(
            texts, details=details, prefixes=prefixes, terms=terms, first_line=first_line
        ):
            for row, translation in zip(rows.tolist(), translations, strict=True):
                results[row] = translation
            if progress is not None:
                progress(len(translations))
        return results

    def batches(
        self,
        texts: Sequence[str],
        *,
        details: Details = Details(),  # noqa: B008 - frozen
        prefixes: Sequence[str] | None = None,
        terms: Sequence[Sequence[Sequence[str]]] | None = None,
        first_line: int = 0,
    ) -> Iterator[tuple[NDArray[np.int64], list[Translation]]]:
        """`translate` batch by batch: translations with the indices of their texts, without blank ones.

        Long texts come first. Texts that occur several times are translated once (unless they are sampled).
        """
        _refuse_string(texts, prefixes)
        self._check_terms(*(terms or ()))
        lines = segment_lines(
            texts,
            check_prefixes(prefixes, len(texts), reverse_target=self.reverse_target),
            first_line=first_line,
            normalization=self.normalization,
            vocabulary=self.vocabularies.source,
            max_tokens=self.max_tokens,
        )
        keys_of = [self._keys(line, terms) for line in lines]
        used_by: dict[Segment, list[int]] = {}
        for index, keys in enumerate(keys_of):
            for key in dict.fromkeys(keys):
                used_by.setdefault(key, []).append(index)
        missing = [len(set(keys)) for keys in keys_of]
        done: dict[Segment, Translation] = {}
        for segments, translations in self._search(list(used_by), details):
            done.update(zip(segments, translations, strict=True))
            ready = []
            for index in chain.from_iterable(used_by[segment] for segment in segments):
                missing[index] -= 1
                ready += [index] if not missing[index] else []
            if ready:
                ready.sort()
                yield (
                    np.array([lines[index].row for index in ready], np.int64),
                    [
                        join_segments(
                            [done[key] for key in keys_of[index]], lines[index].separators, self.config
                        )
                        for index in ready
                    ],
                )

    def generate(
        self,
        beginnings: Sequence[str],
        *,
        details: Details = Details(),  # noqa: B008 - frozen
        first_line: int = 0,
    ) -> list[Translation]:
        """Texts of a language model that start with `beginnings`, which may be "". `first_line`: see `translate`."""
        _refuse_string(beginnings)
        prefixes = check_prefixes(beginnings, len(beginnings), reverse_target=self.reverse_target)
        segments = [
            Segment("", replace_surrogates(prefix), first_line + row) for row, prefix in enumerate(prefixes)
        ]
        lengths = self._encode_prefixes(segments).lengths
        for segment, length in zip(segments, lengths.tolist(), strict=True):
            if length > MAX_TOKENS:  # search goes through the beginning step by step
                raise CorpusError(
                    f"line {segment.number + 1} has {length:,} tokens; the limit for a beginning is {MAX_TOKENS:,}",
                    hint="put one sentence on a line",
                )
        done: dict[Segment, Translation] = {}
        for batch, translations in self._search(segments, details):
            done.update(zip(batch, translations, strict=True))
        return [done[segment] for segment in segments]

    def score(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        details: Details = Details(scores=True),  # noqa: B008 - frozen
        first_line: int = 0,
    ) -> list[Translation]:
        """log P(target | source) of given translations, by forced decoding.

        Search gives the same score to the same ids. A pair of two blank texts is blank. `first_line` is the number
        of the first pair, for messages.
        """
        _refuse_string(sources, targets)
        if len(sources) != len(targets):
            raise UsageError(
                f"there are {len(sources)} sources and {len(targets)} targets",
                hint="give one target for each source",
            )
        scorer = PairScorer(
            self.models,
            self.vocabularies,
            self.config,
            self.normalization,
            self.device,
            self.batch_tokens,
            self._autocast,
        )
        return scorer.score(sources, targets, details, first_line)

    def _keys(self, line: SegmentedLine, terms: Sequence[Sequence[Sequence[str]]] | None) -> list[Segment]:
        """The segments of a line with their required terms; equal for segments that have the same translation."""
        keys = []
        for index, segment in enumerate(line.segments):
            self.terminology.refuse_banned([segment.prefix], f"the prefix of line {segment.number + 1}")
            own = () if terms is None else terms[line.row]
            key = self.terminology.required(segment, own, first=index == 0)
            keys.append(key if self.config.sampling else key._replace(number=0))
        return keys

    def _search(
        self, segments: Sequence[Segment], details: Details
    ) -> Iterator[tuple[list[Segment], list[Translation]]]:
        """Translate all segments in batches of similar length, longest first."""
        if not segments:
            return
        ids = self.vocabularies.source.encode([segment.text for segment in segments])
        lengths = ids.lengths + 1
        order = np.argsort(-lengths, kind="stable")
        # With a wide beam a batch has fewer sentences: each one counts for at least as many tokens as its share
        # of the memory for logits.
        logits = self.config.width * len(self.vocabularies.target)  # of a sentence
        load = np.maximum(lengths[order], self.batch_tokens * logits // MAX_LOGITS)
        for run in cut_in_order(load, self.batch_tokens):
            rows = order[run]
            batch = [segments[row] for row in rows.tolist()]
            yield batch, self._search_batch(batch, ids.take(rows), details)

    @torch.inference_mode()
    def _search_batch(
        self, segments: Sequence[Segment], sources: Ragged | MediaRows, details: Details
    ) -> list[Translation]:
        padded = pad_rows(sources) if self.device.type == "cpu" else sources
        padding = len(padded) - len(sources)
        source, lengths = self._pad(padded)
        prefixes = None
        if any(segment.prefix for segment in segments):
            prefix_ids = self._encode_prefixes(segments)
            prefixes = [prefix_ids[row].tolist() for row in range(len(segments))] + [[]] * padding
        target = self.vocabularies.target
        required: list[list[Phrase]] = []
        if any(segment.required for segment in segments):
            required = [phrases_of(segment.required, target) for segment in segments] + [[]] * padding
        n_best = self.config.candidates > 1
        tree = SearchTree() if details.tree else None
        with self._autocast():
            memory = self._scorer.encode(source.to(self.device), lengths)
            results = search(
                self._scorer,
                memory,
                self._memory_lengths(lengths),
                self.config.without_mbr(n_best=self.config.candidates),
                banned=target.banned,
                words=self.terminology.words,
                prefix=prefixes,
                required=required,
                continues=word_continuations(target) if required else None,
                numbers=[*(segment.number for segment in segments), *[0] * padding],
                real=len(segments),
                scores=details.scores or n_best,
                attention=details.attention or details.alignment,
                alignment=target.has_unknown and self.reads == "text",
                tree=tree,
            )
        if self.reverse_target:
            results = [[hypothesis.reversed() for hypothesis in hypotheses] for hypotheses in results]
        translations = []
        for row, (segment, hypotheses) in enumerate(zip(segments, results, strict=True)):
            translation = translation_of_hypotheses(
                segment,
                sources[row].tolist() if isinstance(sources, Ragged) else (),
                hypotheses,
                self.vocabularies,
                details,
                n_best=n_best,
            )
            if self.config.mbr != "none":
                translation = choose_minimum_risk(translation, self.config, self._bleu_tokenizer)
            if tree is not None:
                translation = replace(translation, tree=tuple(map(tuple, tree.steps(row))))
            translations.append(translation)
        return translations

    @property
    def _bleu_tokenizer(self) -> str:
        return tokenizer_for("" if self.languages is None else self.languages[1])

    def _pad(self, sources: Ragged | MediaRows) -> tuple[Tensor, Tensor]:
        """What the encoder reads, and how many positions each source has."""
        source, lengths = pad_source(sources)
        return pad_positions(source) if self.device.type == "cpu" else source, lengths

    def _memory_lengths(self, lengths: Tensor) -> Tensor:
        """How many positions the memory of each source has (B,), if the source has `lengths` (B,)."""
        return lengths

    def _check_terms(self, *terms: object) -> None:
        if self.reverse_target and any(terms):
            raise UsageError(
                "a right-to-left model (model.reverse_target = true) cannot observe terms and banned words",
                hint="leave them out, or use a left-to-right model",
            )

    def _encode_prefixes(self, segments: Sequence[Segment]) -> Ragged:
        return self.vocabularies.target.encode(
            [self.normalization.target(segment.prefix, segment.originals or ()) for segment in segments]
        )


def _refuse_string(*arguments: Sequence[str] | None) -> None:
    """A string is a sequence of strings, too, but nobody wants its characters one by one."""
    if any(isinstance(argument, str) for argument in arguments):
        raise UsageError("texts are given as a list, not as a string", hint="put it in brackets: [text]")
