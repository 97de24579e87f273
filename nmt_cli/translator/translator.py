"""Texts to texts with a model: encode, search in batches of similar length, decode, put back in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from nmt_cli.config import SearchConfig
from nmt_cli.config.defaults import BATCH_TOKENS
from nmt_cli.corpus.cleaning import Normalization
from nmt_cli.data.batch import pad_source
from nmt_cli.data.batch_plan import cut_in_order
from nmt_cli.errors import CorpusError, UsageError
from nmt_cli.model import Seq2Seq
from nmt_cli.model.device import choose_device
from nmt_cli.model.fast.step_layout import arrange
from nmt_cli.search import Ensemble, ModelScorer, Scorer, SearchTree, search
from nmt_cli.search.constraints import length_limits
from nmt_cli.translator.batch_padding import fill, widen
from nmt_cli.translator.decoding import Decoding
from nmt_cli.translator.forced_decoding import MAX_TOKENS, ForcedDecoding
from nmt_cli.translator.loading import load_models
from nmt_cli.translator.segmentation import Part, check_prefixes, join, make_lines, readable
from nmt_cli.translator.translation import Details, Translation, blank
from nmt_cli.vocabulary import Vocabularies
from nmt_cli.vocabulary.token_ids import Ragged

_LOGITS = 1 << 24  # of a step, at most: 64 MB


class Translator:
    """A model, or an ensemble, with its vocabularies and search settings.

    All that it holds is decided when it is made, so that any number of threads may use it at the same time.
    """

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

        batch_tokens   bounds rows × longest source of a batch
        max_tokens     a line with more is translated in parts; None: however long it is
        has_attention  whether there can be attention and alignments
        autocast       the number format of products
        """
        several = list(models) if isinstance(models, Sequence) else [models]
        self.vocabularies = vocabularies
        self.config = config
        self.max_tokens = max_tokens
        self.has_attention = has_attention
        self.quantized: tuple[str, ...] = ()  # names of layers with 8-bit products
        self.normalization = normalization or Normalization()
        self.device = torch.device(device)
        self.batch_tokens = batch_tokens
        self._autocast = autocast
        self._models = several
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
        """The model of a run directory, or an ensemble of several with the same vocabulary.

        device         auto, cpu, cuda, cuda:1 or mps
        search         settings to use instead of those of the (first) run, or some of them by name:
                       `search={"beam_size": 1}`
        int8           products in 8-bit integers on a CPU: see `quantized` for the layers that it is done in
        max_tokens     a line with more is translated in parts (default: data.max_tokens of the run, or
                       search.max_length if that is less)
        language_model the runs are language models, for `generate` and, with blank sources, for `score`
        """
        place = choose_device(device) if isinstance(device, str) else device
        paths = [Path(run) for run in runs]
        loaded = load_models(paths, device=place, search=search, language_model=language_model)
        run, config = loaded.run, loaded.search
        if int8 and place.type != "cpu":
            raise UsageError(f"int8 is for a CPU, not for {place.type}", hint="set the device to cpu")
        quantized = set[str]()
        if place.type == "cpu":
            for model in loaded.models:
                quantized.update(arrange(model, int8=int8))
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
        translator.quantized = tuple(sorted(quantized))
        return translator

    def translate(
        self,
        texts: Sequence[str],
        *,
        details: Details = Details(),  # noqa: B008 - frozen
        prefixes: Sequence[str] | None = None,
        first_line: int = 0,
    ) -> list[Translation]:
        """One translation for each text, in the order of the texts; that of a blank text is blank.

        details      what to find out besides the text
        prefixes     what each translation begins with
        first_line   number of the first text, which decides, with search.seed, what is sampled
        """
        results: list[Translation | None] = [None] * len(texts)
        for rows, translations in self.batches(
            texts, details=details, prefixes=prefixes, first_line=first_line
        ):
            for row, translation in zip(rows.tolist(), translations, strict=True):
                results[row] = translation
        return [blank(details) if found is None else found for found in results]

    def batches(
        self,
        texts: Sequence[str],
        *,
        details: Details = Details(),  # noqa: B008 - frozen
        prefixes: Sequence[str] | None = None,
        first_line: int = 0,
    ) -> Iterator[tuple[NDArray[np.int64], list[Translation]]]:
        """`translate` batch by batch: translations with the numbers of their texts, blank ones left out.

        The longest come first. Texts that occur several times are translated once (unless they are sampled).
        """
        lines = make_lines(
            texts,
            check_prefixes(prefixes, len(texts)),
            first_line=first_line,
            normalization=self.normalization,
            vocabulary=self.vocabularies.source,
            max_tokens=self.max_tokens,
        )
        parts = list(dict.fromkeys(self._key(part) for line in lines for part in line.parts))
        found: dict[Part, Translation] = {}
        waiting = [(line, [self._key(part) for part in line.parts]) for line in lines]
        for batch, translations in self._search(parts, details):
            found.update(zip(batch, translations, strict=True))
            ready = [(line, keys) for line, keys in waiting if all(key in found for key in keys)]
            if ready:
                waiting = [(line, keys) for line, keys in waiting if not all(key in found for key in keys)]
                rows = np.array([line.row for line, _ in ready], np.int64)
                yield (
                    rows,
                    [
                        join([found[key] for key in keys], line.separators, self.config)
                        for line, keys in ready
                    ],
                )

    def generate(
        self,
        beginnings: Sequence[str],
        *,
        details: Details = Details(),  # noqa: B008 - frozen
        first_line: int = 0,
    ) -> list[Translation]:
        """Texts of a language model that begin with these; "" is an open beginning. `first_line`: see `translate`."""
        prefixes = check_prefixes(beginnings, len(beginnings))
        parts = [Part("", readable(prefix), first_line + row) for row, prefix in enumerate(prefixes)]
        self._check_beginnings(parts)
        found: dict[Part, Translation] = {}
        for batch, texts in self._search(parts, details):
            found.update(zip(batch, texts, strict=True))
        return [found[part] for part in parts]

    def _check_beginnings(self, parts: Sequence[Part]) -> None:
        """Refuse what search, which goes through a beginning step by step, would not come to the end of."""
        lengths = self.vocabularies.target.encode([self.normalization(part.prefix) for part in parts]).lengths
        for part, length in zip(parts, lengths.tolist(), strict=True):
            if length > MAX_TOKENS:
                raise CorpusError(
                    f"line {part.number + 1} has {length:,} tokens; a beginning may have {MAX_TOKENS:,}",
                    hint="put one sentence on a line",
                )

    def score(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        details: Details = Details(scores=True),  # noqa: B008 - frozen
        first_line: int = 0,
    ) -> list[Translation]:
        """What the model thinks of given translations: log P(target | source), by forced decoding.

        It is what search gives to the same ids. A pair of two blank texts is blank. `first_line` is the number
        of the first pair, for messages.
        """
        if len(sources) != len(targets):
            raise UsageError(
                f"there are {len(sources)} sources and {len(targets)} targets",
                hint="give one target for each source",
            )
        decoding = ForcedDecoding(
            self._models,
            self.vocabularies,
            self.config,
            self.normalization,
            self.device,
            self.batch_tokens,
            self._autocast,
        )
        return decoding.score(sources, targets, details, first_line)

    def _key(self, part: Part) -> Part:
        """What is the same for parts that have the same translation."""
        return part if self.config.sampling else part._replace(number=0)

    def _search(
        self, parts: Sequence[Part], details: Details
    ) -> Iterator[tuple[list[Part], list[Translation]]]:
        """The translations of all parts, the longest first, in batches."""
        if not parts:
            return
        ids = self.vocabularies.source.encode([part.text for part in parts])
        lengths = ids.lengths + 1
        order = np.argsort(-lengths, kind="stable")
        # A wide beam takes fewer sentences at a time: this load allows no more of them than have room for their logits.
        logits = self.config.width * len(self.vocabularies.target)  # of a sentence
        load = np.maximum(lengths[order], self.batch_tokens * logits // _LOGITS)
        for run in cut_in_order(load, self.batch_tokens):
            rows = order[run]
            batch = [parts[row] for row in rows.tolist()]
            yield batch, self._search_batch(batch, ids.take(rows), details)

    @torch.inference_mode()
    def _search_batch(self, parts: Sequence[Part], ids: Ragged, details: Details) -> list[Translation]:
        filled = fill(ids) if self.device.type == "cpu" else ids
        source, lengths = pad_source(filled)
        if self.device.type == "cpu":
            source = widen(source)
        n_best = self.config.n_best > 1
        tree = SearchTree() if details.tree else None
        with self._autocast():
            memory = self._scorer.encode(source.to(self.device), lengths)
            found = search(
                self._scorer,
                memory,
                lengths,
                self.config,
                banned=self.vocabularies.target.banned,
                prefix=self._prefixes(parts, len(filled)),
                numbers=[*(part.number for part in parts), *[0] * (len(filled) - len(parts))],
                real=len(parts),
                scores=details.scores or n_best,
                attention=details.attention or details.alignment,
                alignment=self.vocabularies.target.has_unknown,
                tree=tree,
            )
        decoding = Decoding(self.vocabularies, details)
        limits = length_limits(self.config, lengths).tolist()
        return [
            decoding.translation(
                parts[row],
                ids[row].tolist(),
                hypotheses,
                limit=limits[row],
                n_best=n_best,
                tree=None if tree is None else (tree, row),
            )
            for row, hypotheses in enumerate(found)
        ]

    def _prefixes(self, parts: Sequence[Part], rows: int) -> list[list[int]] | None:
        """The ids of what the translation of each row begins with, if any does."""
        if not any(part.prefix for part in parts):
            return None
        ids = self.vocabularies.target.encode([self.normalization(part.prefix) for part in parts])
        return [ids[row].tolist() for row in range(len(parts))] + [[]] * (rows - len(parts))
