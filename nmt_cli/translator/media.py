"""`MediaTranslator`: images or recordings in, text out. Search is that of the translator; only the sources differ."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt_cli.data.batch_plan import cut_in_order
from nmt_cli.data.media import MediaRows
from nmt_cli.translator.segmentation import Segment, check_prefixes
from nmt_cli.translator.translation import Details, Translation
from nmt_cli.translator.translator import MAX_LOGITS, Translator
from nmt_cli.vocabulary.token_ids import Ragged


class MediaTranslator(Translator):
    """A model that reads images or recordings, or an ensemble of such models.

    The `source` of a text is the name of its image or recording; its source pieces are the positions of it that
    attention looks at.
    """

    @abstractmethod
    def read(self, path: Path) -> list[tuple[str, NDArray[Any]]]:
        """What the model reads of a file, with its name."""

    @abstractmethod
    def rows_of(self, contents: Sequence[NDArray[Any]]) -> MediaRows:
        """What `read` returned, as the sources of a batch."""

    @abstractmethod
    def piece_names(self, sources: MediaRows) -> list[tuple[str, ...]]:
        """The names of the positions of each source."""

    @abstractmethod
    def _loads(self, sources: MediaRows) -> tuple[NDArray[np.int64], int]:
        """The load of each source, and how much of it fits a batch."""

    def describe(
        self,
        sources: MediaRows,
        names: Sequence[str] | None = None,
        *,
        details: Details = Details(),  # noqa: B008 - frozen
        prefixes: Sequence[str] | None = None,
    ) -> list[Translation]:
        """One text for each source, in the order of the sources; `prefixes` is what each of them starts with."""
        results: dict[int, Translation] = {}
        for rows, texts in self.describe_batches(sources, names, details=details, prefixes=prefixes):
            results.update(zip(rows.tolist(), texts, strict=True))
        return [results[row] for row in range(len(sources))]

    def describe_batches(
        self,
        sources: MediaRows,
        names: Sequence[str] | None = None,
        *,
        details: Details = Details(),  # noqa: B008 - frozen
        prefixes: Sequence[str] | None = None,
    ) -> Iterator[tuple[NDArray[np.int64], list[Translation]]]:
        """`describe` batch by batch, the longest sources first: texts with the indices of their sources."""
        labels = names if names is not None else [""] * len(sources)
        starts = check_prefixes(prefixes, len(sources), reverse_target=self.reverse_target)
        segments = [Segment(*pair, number) for number, pair in enumerate(zip(labels, starts, strict=True))]
        load, budget = self._loads(sources)
        order = np.argsort(-load, kind="stable")
        # With a wide beam a batch has fewer sources: each one counts for at least its share of the logits' memory.
        logits = self.config.width * len(self.vocabularies.target)
        load = np.maximum(load, -(-budget * logits // MAX_LOGITS))
        for run in cut_in_order(load[order], budget):
            rows = order[run]
            yield (
                rows,
                self._search_batch([segments[row] for row in rows.tolist()], sources.take(rows), details),
            )

    def _search_batch(
        self, segments: Sequence[Segment], sources: Ragged | MediaRows, details: Details
    ) -> list[Translation]:
        assert isinstance(sources, MediaRows)
        found = super()._search_batch(segments, sources, details)
        return [
            _with_pieces(each, pieces) for each, pieces in zip(found, self.piece_names(sources), strict=True)
        ]


def _with_pieces(found: Translation, pieces: tuple[str, ...]) -> Translation:
    n_best = None if found.n_best is None else tuple(_with_pieces(each, pieces) for each in found.n_best)
    return replace(found, source_pieces=pieces, n_best=n_best)
