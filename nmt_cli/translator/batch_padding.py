"""Batches whose shape cannot change a result.

A matrix product on a CPU adds up in another order if it has fewer than 16 rows, and a softmax if it has fewer than 16
columns: the last bits of a sentence's numbers, and in rare cases its translation, would depend on how many other
sentences are in its batch. So small batches are filled up with copies, whose translations nobody looks at. Only a
sentence that is alone stays alone: who asks for one line at a time waits for the answer, and 16 rows take up to
2.5 times as long as one.
"""

import numpy as np
import torch
from torch import Tensor

from nmt_cli.search.compaction import ROWS
from nmt_cli.vocabulary.token_ids import PAD, Ragged

_POSITIONS = 16


def fill(ids: Ragged) -> Ragged:
    """One row, or at least 16; those that were not there are copies of the last, which is the shortest."""
    missing = ROWS - len(ids)
    return (
        ids
        if missing <= 0 or len(ids) == 1
        else ids.take(np.append(np.arange(len(ids)), np.full(missing, len(ids) - 1)))
    )


def widen(source: Tensor) -> Tensor:
    """At least 16 positions: source (B, S) → (B, max(S, 16))"""
    missing = _POSITIONS - source.shape[1]
    return source if missing <= 0 else torch.nn.functional.pad(source, (0, missing), value=PAD)
