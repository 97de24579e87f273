"""Batch padding on a CPU.

A matrix product with fewer than 16 rows is summed in a different order, and so is a softmax over fewer than 16 columns:
the last bits of a sentence's scores, and in rare cases its translation, would depend on its batch. A single sentence is
not padded, because someone may be waiting: 16 rows take up to 2.5 times as long.
"""

import numpy as np
import torch
from torch import Tensor

from nmt_cli.search.stopping import MIN_ROWS
from nmt_cli.vocabulary.token_ids import PAD, Ragged

_MIN_POSITIONS = 16  # of a padded source


def pad_rows(ids: Ragged) -> Ragged:
    """Pad batches of 2 to 15 rows to 16, with copies of the last row, which is the shortest."""
    missing = MIN_ROWS - len(ids)
    if missing <= 0 or len(ids) == 1:
        return ids
    return ids.take(np.append(np.arange(len(ids)), np.full(missing, len(ids) - 1)))


def pad_positions(source: Tensor) -> Tensor:
    """Pad to at least 16 positions: source (B, S) → (B, max(S, 16))"""
    missing = _MIN_POSITIONS - source.shape[1]
    return source if missing <= 0 else torch.nn.functional.pad(source, (0, missing), value=PAD)
