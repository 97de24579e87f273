"""Diverse beam search: groups of hypotheses that avoid each other's tokens   (Vijayakumar et al. 2018, algorithm 1)

B sentences · K hypotheses per sentence, in groups of k · V tokens · C candidates of a group per step

In each step the groups choose one after the other. What earlier groups have just chosen costs λ:

    score_kv = log P_k + log p_kv - λ · |{hypotheses of earlier groups that chose v in this step}|

Only the choice is affected: log P stays that of the model. <eos> costs nothing, because a translation that ends at the
same time is not similar for that reason.
"""

import torch
from torch import Tensor
from torch.nn.functional import pad

from nmt_cli.search.candidates import Candidates, EndedAndOpen, best_candidates, force, split_ended
from nmt_cli.vocabulary.token_ids import EOS


def diverse_candidates(
    log_p: Tensor,
    scores: Tensor,
    groups: int,
    strength: float,
    width: int,
    forced: Tensor | None,
    forced_log_p: Tensor | None,
) -> tuple[Candidates, EndedAndOpen]:
    """Candidates (B, 2 K) and those that end or stay open, group by group: log p (B, K, V), log P (B, K) so far.

    Before the first step there is a single hypothesis, and all groups start from it. The first K candidates, those
    that may end, are the first k of each group. Where forced (B,) is not negative, that token with its log p (B, K) is
    the only one.
    """
    k = width // groups
    chosen = log_p.new_zeros(len(log_p), 0, dtype=torch.long)  # (B, n) the tokens of earlier groups
    parts: list[tuple[Candidates, EndedAndOpen]] = []
    for group in range(groups):
        first = group * k if log_p.shape[1] > 1 else 0
        slots = slice(first, first + k)
        before = scores[:, slots]
        penalized, candidates = _group_candidates(log_p[:, slots], before, chosen, strength, 2 * k)
        if forced is not None and forced_log_p is not None:
            given = forced, forced_log_p[:, slots], before
            penalized, candidates = force(penalized, *given), force(candidates, *given)
        split = split_ended(penalized, k)
        total, token_log_p = (x.gather(1, split.order) for x in (candidates.scores, candidates.log_p))
        total = total.masked_fill(split.open.scores == -torch.inf, -torch.inf)
        open_ = split.open._replace(scores=total, log_p=token_log_p)
        parts.append((_shift(candidates, first), split._replace(open=_shift(open_, first))))
        chosen = torch.cat([chosen, split.open.tokens], dim=1)
    return _join(parts, k)


def _group_candidates(
    log_p: Tensor, scores: Tensor, chosen: Tensor, strength: float, count: int
) -> tuple[Candidates, Candidates]:
    """The best candidates (B, `count`) of one group, with penalized and with plain scores.

    From log p (B, k, V), which is as before afterwards, log P (B, k) so far, and tokens chosen by others (B, n).
    """
    index = chosen[:, None].expand(-1, log_p.shape[1], -1)  # (B, k, n)
    original = log_p.gather(2, index)
    cost = torch.where(index == EOS, 0.0, -strength).to(log_p.dtype)
    log_p.scatter_add_(2, index, cost)
    penalized = best_candidates(log_p, scores, count)
    log_p.scatter_(2, index, original)
    missing = (0, count - penalized.tokens.shape[1])  # a tiny vocabulary has fewer continuations
    penalized = Candidates(
        pad(penalized.tokens, missing),
        pad(penalized.parents, missing),
        pad(penalized.scores, missing, value=-torch.inf),
        pad(penalized.log_p, missing, value=-torch.inf),
    )
    tokens, parents, total, _ = penalized
    rows = torch.arange(len(log_p), device=log_p.device)[:, None]
    token_log_p = log_p[rows, parents, tokens]  # (B, C)
    plain = (scores.gather(1, parents) + token_log_p).masked_fill(total == -torch.inf, -torch.inf)
    return penalized, Candidates(tokens, parents, plain, token_log_p)


def _shift(candidates: Candidates, first: int) -> Candidates:
    """Parents counted within the beam instead of within the group."""
    return candidates._replace(parents=candidates.parents + first)


def _join(parts: list[tuple[Candidates, EndedAndOpen]], k: int) -> tuple[Candidates, EndedAndOpen]:
    """Side by side: the first k candidates of each group, then the others of each group."""
    G = len(parts)
    columns = []
    for field in zip(*(candidates for candidates, _ in parts), strict=True):
        columns.append(torch.cat([x[:, :k] for x in field] + [x[:, k:] for x in field], dim=1))
    orders = []
    for group, (_, split) in enumerate(parts):
        among_first, among_rest = split.order + group * k, split.order + (G - 1) * k + group * k
        orders.append(torch.where(split.order < k, among_first, among_rest))
    splits = [split for _, split in parts]
    opened = (torch.cat(field, dim=1) for field in zip(*(split.open for split in splits), strict=True))
    ended = torch.cat([split.ended for split in splits], dim=1)
    return Candidates(*columns), EndedAndOpen(ended, torch.cat(orders, dim=1), Candidates(*opened))
