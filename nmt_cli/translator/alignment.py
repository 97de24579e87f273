"""Word alignments from attention, as Pharaoh writes them: `0-0 1-2 2-1`, source-target, counted from 0."""

from collections.abc import Iterable

from torch import Tensor

from nmt_cli.translator.words import Groups, word_attention

Links = tuple[tuple[int, int], ...]


def links_of(attention: Tensor, source: Groups, target: Groups) -> Links:
    """One link for each target word, from the source word that it looked at most.

    attention: (T, S) between pieces. A target word that looked at the source's <eos> more than at any word has no
    link. Of two source words with the same weight the earlier one is taken.
    """
    if not source or not target:
        return ()
    weights = word_attention(attention, source, target)  # (J, I)
    best, words = weights.max(dim=1)  # (J,)
    elsewhere = 1.0 - weights.sum(dim=1)  # (J,) what <eos> got
    rows = zip(words.tolist(), (best >= elsewhere).tolist(), strict=True)
    return tuple((i, j) for j, (i, linked) in enumerate(rows) if linked)


def pharaoh(links: Iterable[tuple[int, int]]) -> str:
    """The links of a line, sorted."""
    return " ".join(f"{i}-{j}" for i, j in sorted(links))
