"""Token ids for a page of cleaned text, and the filters that need them."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt_cli.config import DataConfig
from nmt_cli.corpus.cleaning import Dropped
from nmt_cli.corpus.normalization import Normalization
from nmt_cli.preprocess.spool import Page
from nmt_cli.preprocess.statistics import SideStatistics, SplitStatistics
from nmt_cli.ragged import Ragged
from nmt_cli.vocabulary import Vocabularies


class Encoded(NamedTuple):
    """Pairs with their token ids, ready for the store."""

    page: Page
    source_ids: Ragged
    target_ids: Ragged
    statistics: SplitStatistics
    dropped: list[Dropped]


@dataclass(frozen=True)
class Encoder:
    """Normalizes and encodes pages; without a DataConfig it keeps every pair, as validation and test need."""

    vocabularies: Vocabularies
    normalization: Normalization
    config: DataConfig | None = None

    def __call__(self, page: Page) -> Encoded:
        """Encode one page and drop what is too long or too unequal."""
        normalize = self.normalization.function()
        if normalize is not None:
            page = page._replace(source=[*map(normalize, page.source)], target=[*map(normalize, page.target)])
        source_ids = self.vocabularies.source.encode(page.source)
        target_ids = self.vocabularies.target.encode(page.target)
        dropped: list[Dropped] = []
        if self.config is not None:
            reasons = _reasons(source_ids.lengths, target_ids.lengths, self.config)
            dropped = [
                Dropped(
                    int(page.corpus[row]), int(page.line[row]), reason, page.source[row], page.target[row]
                )
                for reason, mask in reasons
                for row in np.flatnonzero(mask)
            ]
            if dropped:
                keep = ~np.logical_or.reduce([mask for _, mask in reasons])
                rows = np.flatnonzero(keep)
                page, source_ids, target_ids = page.take(keep), source_ids.take(rows), target_ids.take(rows)
        statistics = SplitStatistics(
            pairs=len(page.source),
            source=SideStatistics.of(page.source, source_ids, self.vocabularies.source),
            target=SideStatistics.of(page.target, target_ids, self.vocabularies.target),
        )
        return Encoded(page, source_ids, target_ids, statistics, dropped)


def _reasons(
    source: NDArray[np.int64], target: NDArray[np.int64], config: DataConfig
) -> list[tuple[str, NDArray[np.bool_]]]:
    """The filters by token count that are switched on, each with the rows that only it and no earlier one drops."""
    reasons: list[tuple[str, NDArray[np.bool_]]] = []
    longer, shorter = np.maximum(source, target), np.minimum(source, target)
    too_long = (longer > config.max_tokens) & config.too_long
    slack = config.ratio_slack
    unequal = (longer + slack > config.max_ratio * (shorter + slack)) & ~too_long & config.length_ratio
    reasons.append(("too_long", too_long))
    reasons.append(("length_ratio", unequal))
    return reasons
