"""Token ids for a page of cleaned text, and the filters that need them."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt_cli.config import DataConfig
from nmt_cli.preprocess.spool import Page
from nmt_cli.preprocess.statistics import SideStatistics, SplitStatistics
from nmt_cli.ragged import Ragged
from nmt_cli.vocabulary import Vocabularies


class Encoded(NamedTuple):
    """The pairs of a page that stay, with their token ids, and why the others do not."""

    rows: NDArray[np.int64]  # of the page
    source_ids: Ragged
    target_ids: Ragged
    statistics: SplitStatistics
    dropped: list[tuple[int, str]]  # row, reason


@dataclass(frozen=True)
class Encoder:
    """Encodes pages; without a DataConfig it keeps every pair, as validation and test need."""

    vocabularies: Vocabularies
    config: DataConfig | None = None

    def __call__(self, page: Page) -> Encoded:
        """Encode one page and drop what is too long or too unequal."""
        source_ids = self.vocabularies.source.encode(page.source)
        target_ids = self.vocabularies.target.encode(page.target)
        rows = np.arange(len(page.source))
        dropped: list[tuple[int, str]] = []
        if self.config is not None:
            too_long, unequal = _too_long_or_unequal(source_ids.lengths, target_ids.lengths, self.config)
            dropped += [(row, "too_long") for row in np.flatnonzero(too_long).tolist()]
            dropped += [(row, "length_ratio") for row in np.flatnonzero(unequal).tolist()]
            if dropped:
                rows = np.flatnonzero(~(too_long | unequal))
                page, source_ids, target_ids = page.take(rows), source_ids.take(rows), target_ids.take(rows)
        statistics = SplitStatistics(
            pairs=len(rows),
            source=SideStatistics.of(page.source, source_ids, self.vocabularies.source),
            target=SideStatistics.of(page.target, target_ids, self.vocabularies.target),
        )
        return Encoded(rows, source_ids, target_ids, statistics, sorted(dropped))


def _too_long_or_unequal(
    source: NDArray[np.int64], target: NDArray[np.int64], config: DataConfig
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The rows that each of the two filters drops, if it is switched on; no row is in both."""
    longer, shorter = np.maximum(source, target), np.minimum(source, target)
    too_long = (longer > config.max_tokens) & config.too_long
    slack = config.ratio_slack
    unequal = longer + slack > config.max_ratio * (shorter + slack)
    return too_long, unequal & ~too_long & config.length_ratio
