"""The translation of a line from those of its parts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import torch
from torch import Tensor

from nmt_cli.config import SearchConfig
from nmt_cli.search.penalties import LengthNormalization
from nmt_cli.translator.segments import join_texts
from nmt_cli.translator.translation import Translation


def join(parts: Sequence[Translation], separators: Sequence[str], config: SearchConfig) -> Translation:
    """One translation of all parts; its i-th best is made of the i-th best of each part (or of their last).

    log P is the sum over the parts, and the score is that of a translation with this log P and as many tokens (a
    coverage penalty is left out).
    """
    if len(parts) == 1:
        return parts[0]
    n_best = None
    if parts[0].n_best is not None:
        lists = [part.n_best or (part,) for part in parts]
        n_best = tuple(
            _join([some[min(i, len(some) - 1)] for some in lists], separators, config)
            for i in range(max(map(len, lists)))
        )
    return _join(parts, separators, config, n_best)


def _join(
    parts: Sequence[Translation],
    separators: Sequence[str],
    config: SearchConfig,
    n_best: tuple[Translation, ...] | None = None,
) -> Translation:
    first = parts[0]
    log_p = None if first.log_probability is None else sum(part.log_probability or 0.0 for part in parts)
    length = sum(len(part.target_pieces) for part in parts)
    return Translation(
        text=join_texts([part.text for part in parts], separators),
        source=join_texts([part.source for part in parts], separators),
        source_pieces=tuple(chain.from_iterable(part.source_pieces for part in parts)),
        target_pieces=tuple(chain.from_iterable(part.target_pieces for part in parts)),
        score=None
        if log_p is None
        else float(LengthNormalization.of(config).score(torch.tensor(log_p), length)),
        log_probability=log_p,
        token_log_probabilities=_tokens(parts),
        attention=_blocks(parts),
        alignment=_links(parts),
        n_best=n_best,
        tree=None if first.tree is None else tuple(chain.from_iterable(part.tree or () for part in parts)),
        parts=sum(part.parts for part in parts),
        reached_limit=any(part.reached_limit for part in parts),
        whole_words=first.whole_words,
    )


def _tokens(parts: Sequence[Translation]) -> tuple[float, ...] | None:
    if parts[0].token_log_probabilities is None:
        return None
    return tuple(chain.from_iterable(part.token_log_probabilities or () for part in parts))


def _blocks(parts: Sequence[Translation]) -> Tensor | None:
    """Each part looks at its own source only."""
    blocks = [part.attention for part in parts if part.attention is not None]
    if len(blocks) != len(parts):
        return None
    T, S = (sum(block.shape[side] for block in blocks) for side in (0, 1))
    whole = blocks[0].new_zeros(T, S)
    t = s = 0
    for block in blocks:
        whole[t : t + len(block), s : s + block.shape[1]] = block
        t, s = t + len(block), s + block.shape[1]
    return whole


def _links(parts: Sequence[Translation]) -> tuple[tuple[int, int], ...] | None:
    """The words of a part are counted on after those of the parts before it."""
    links: list[tuple[int, int]] = []
    i = j = 0
    for part in parts:
        if part.alignment is None:
            return None
        links += [(i + source, j + target) for source, target in part.alignment]
        i, j = i + len(part.source_groups), j + len(part.target_groups)
    return tuple(links)
