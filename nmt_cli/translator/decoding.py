"""From token ids to text: words, word alignments, and source words for <unk>.

A sentencepiece piece carries its preceding space as '▁', so words can be read off the pieces. Byte pieces (<0xE2>)
belong to the word around them. A piece of nothing but white space belongs to the word that follows it.
"""

from __future__ import annotations

import re

import torch
from torch import Tensor

from nmt_cli.runtime.words import Groups, Links
from nmt_cli.search import Hypothesis
from nmt_cli.vocabulary import Vocabularies
from nmt_cli.vocabulary.token_ids import UNK
from nmt_cli.vocabulary.vocabulary import CONTROL

_C1 = re.compile("[\x80-\x9f]")


def word_attention(attention: Tensor, source: Groups, target: Groups) -> Tensor:
    """Attention between pieces (T, S) → between words (J, I)

    A_ji = Σ_{s ∈ word i} mean_{t ∈ word j} α_ts: summed over the pieces of a source word, averaged over the pieces
    of a target word. What is missing from a row's sum went to source pieces in no group, such as <eos>.
    """
    by_source = [attention[:, list(group)].sum(dim=1) for group in source]  # each (T,)
    columns = torch.stack(by_source, dim=1) if source else attention.new_zeros(len(attention), 0)  # (T, I)
    rows = [columns[list(group)].mean(dim=0) for group in target]  # each (I,)
    return torch.stack(rows) if target else attention.new_zeros(0, len(source))  # (J, I)


def links_of(attention: Tensor, source: Groups, target: Groups) -> Links:
    """Link each target word to the source word with the most attention; attention (T, S) is between pieces.

    A target word that attends to the source's <eos> more than to any word has no link. Ties go to the earlier source
    word.
    """
    if not source or not target:
        return ()
    weights = word_attention(attention, source, target)  # (J, I)
    best, words = weights.max(dim=1)  # (J,)
    elsewhere = 1.0 - weights.sum(dim=1)  # (J,) the weight of <eos>
    rows = zip(words.tolist(), (best >= elsewhere).tolist(), strict=True)
    return tuple((i, j) for j, (i, linked) in enumerate(rows) if linked)


def decode_hypothesis(
    hypothesis: Hypothesis, source: str, vocabularies: Vocabularies, *, prefix: str = ""
) -> str:
    """The text of a hypothesis. Each <unk> is replaced by the source word with the most attention.

    Within the given prefix, <unk> is replaced by the word of the prefix. Without attention, <unk> stays. There are no
    control characters but tabs (and those of the prefix): search bans their pieces, and C1 control characters that
    were spelled in bytes become U+FFFD, like bytes that are not UTF-8.
    """
    unknown = _unknown_words(hypothesis, source, vocabularies, prefix)
    text = vocabularies.target.decode(hypothesis.tokens, unknown=unknown)
    given = prefix if text.startswith(prefix) else ""
    return given + _C1.sub("\ufffd", text[len(given) :])


def _unknown_words(hypothesis: Hypothesis, source: str, vocabularies: Vocabularies, prefix: str) -> list[str]:
    """What replaces each <unk>, in order."""
    if UNK not in hypothesis.tokens:
        return []
    given = vocabularies.target.surfaces(prefix) if prefix else []
    words = vocabularies.source.surfaces(source)
    # Without attention only the <unk> of the prefix are replaced.
    positions = [0] * len(given) if hypothesis.alignment is None else hypothesis.alignment
    texts = []
    for t, (token, position) in enumerate(zip(hypothesis.tokens, positions, strict=False)):
        if token == UNK:
            at = min(position, len(words) - 1)  # <eos> stands for the last word
            texts.append(given[t] if t < len(given) else CONTROL.sub(" ", words[at]))
    return texts
