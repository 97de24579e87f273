"""`Translation`: everything known about a translated line, from its hypotheses and from its segments.

The second half goes from token ids to text: words, word alignments, and source words for <unk>. A sentencepiece piece
carries its preceding space as '▁', so words can be read off the pieces. Byte pieces (<0xE2>) belong to the word around
them. A piece of nothing but white space belongs to the word that follows it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise

import torch
from torch import Tensor

from nmt_cli.config import SearchConfig
from nmt_cli.runtime.placeholders import restore
from nmt_cli.runtime.segments import join_texts
from nmt_cli.runtime.translation import Derived, joined_links
from nmt_cli.runtime.words import SPACE, Groups, Links, group_pieces, words_of
from nmt_cli.search import Hypothesis, SearchNode
from nmt_cli.search.penalties import LengthNormalization
from nmt_cli.translator.segmentation import Segment
from nmt_cli.translator.terminology import TermResult, check_terms
from nmt_cli.vocabulary import Vocabularies
from nmt_cli.vocabulary.token_ids import EOS, UNK
from nmt_cli.vocabulary.vocabulary import CONTROL

END = "<eos>"  # as it is shown
_C1 = re.compile("[\x80-\x9f]")


@dataclass(frozen=True)
class Details:
    """What to return besides the text; what is not requested is None and costs nothing."""

    scores: bool = False  # score, and log-probability of the translation and of each token
    attention: bool = False  # the matrix between pieces
    alignment: bool = False  # links between words
    tree: bool = False  # the search tree


@dataclass(frozen=True, eq=False)
class Translation(Derived):
    """One translated line: S source pieces and T target pieces, <eos> included on both sides.

    A line that was too long was translated in several `parts`: its pieces are concatenated, each part has its own
    <eos>, and attention is 0 between parts. A blank line has no parts.
    """

    text: str
    source: str  # the line as the vocabulary saw it: normalized
    source_pieces: tuple[str, ...]  # S
    target_pieces: tuple[str, ...]  # T
    score: float | None = None  # by which search compares
    log_probability: float | None = None  # log P(text | source), <eos> included; summed over parts
    token_log_probabilities: tuple[float, ...] | None = None  # T
    attention: Tensor | None = None  # (T, S) on the CPU
    alignment: Links | None = None  # (source word, target word), counted from 0
    n_best: tuple[Translation, ...] | None = None  # best first, starting with this one, if search.n_best > 1
    tree: tuple[tuple[SearchNode, ...], ...] | None = None  # the candidates of each step, best first
    parts: int = 1
    reached_limit: bool = False  # the maximum length ended it; the model would have continued
    whole_words: tuple[bool, bool] = (False, False)  # whether each piece is a word, source and target
    terms: tuple[TermResult, ...] = ()  # the terms that the source requires, and whether they are there

    @property
    def source_words(self) -> tuple[str, ...]:
        """The words of the source, split at spaces."""
        return words_of(self.source_pieces, self.source_groups)

    @property
    def target_words(self) -> tuple[str, ...]:
        """The words of the translation, split at spaces."""
        return words_of(self.target_pieces, self.target_groups)

    @property
    def word_attention(self) -> Tensor | None:
        """Attention between words (J, I), if attention was requested."""
        if self.attention is None:
            return None
        return word_attention(self.attention, self.source_groups, self.target_groups)

    def attention_map(self) -> tuple[tuple[str, ...], tuple[str, ...], Tensor] | None:
        """Source words, target words and the attention between them (J, I), with <eos> and separate punctuation."""
        if self.attention is None or not self.parts:
            return None
        source, target = (
            displayed_words(pieces, whole_words=whole)
            for pieces, whole in zip((self.source_pieces, self.target_pieces), self.whole_words, strict=True)
        )
        return source[0], target[0], word_attention(self.attention, source[1], target[1])


def blank_translation(details: Details) -> Translation:
    """The translation of a blank line: empty, with probability 1."""
    log_p = 0.0 if details.scores else None
    return Translation(
        "",
        "",
        (),
        (),
        score=log_p,
        log_probability=log_p,
        token_log_probabilities=() if details.scores else None,
        alignment=() if details.alignment else None,
        parts=0,
    )


def translation_of_ids(
    source: str,
    source_ids: Sequence[int],
    text: str,
    target_ids: Sequence[int],
    vocabularies: Vocabularies,
    details: Details,
    *,
    score: float | None,
    log_probability: float | None,
    token_log_probabilities: Sequence[float] | None,
    attention: Tensor | None,
    reached_limit: bool = False,
) -> Translation:
    """A translation from its texts and ids without <eos>; attention (T, S) also yields the word alignment."""
    translation = Translation(
        text=text,
        source=source,
        source_pieces=tuple(vocabularies.source.pieces[i] for i in (*source_ids, EOS)),
        target_pieces=tuple(vocabularies.target.pieces[i] for i in (*target_ids, EOS)),
        score=score,
        log_probability=log_probability,
        token_log_probabilities=None if token_log_probabilities is None else tuple(token_log_probabilities),
        attention=attention if details.attention else None,
        reached_limit=reached_limit,
        whole_words=(vocabularies.source.kind == "word", vocabularies.target.kind == "word"),
    )
    if not details.alignment or attention is None:
        return translation
    links = links_of(attention, translation.source_groups, translation.target_groups)
    return replace(translation, alignment=links)


def translation_of_hypotheses(
    segment: Segment,
    source_ids: Sequence[int],
    hypotheses: Sequence[Hypothesis],
    vocabularies: Vocabularies,
    details: Details,
    *,
    n_best: bool,
) -> Translation:
    """The best hypothesis, with all of them as `n_best` if requested."""
    translations = [
        translation_of_ids(
            segment.text,
            source_ids,
            _text(segment, hypothesis, vocabularies),
            hypothesis.tokens,
            vocabularies,
            details,
            score=hypothesis.score,
            log_probability=hypothesis.log_probability,
            token_log_probabilities=hypothesis.token_log_probabilities,
            attention=hypothesis.attention,
            reached_limit=hypothesis.truncated,
        )
        for hypothesis in hypotheses
    ]
    if segment.required:
        translations = [replace(one, terms=check_terms(segment.required, one.text)) for one in translations]
    return replace(translations[0], n_best=tuple(translations)) if n_best else translations[0]


def _text(segment: Segment, hypothesis: Hypothesis, vocabularies: Vocabularies) -> str:
    text = decode_hypothesis(hypothesis, segment.text, vocabularies, prefix=segment.prefix)
    return text if segment.originals is None else restore(text, segment.originals)


def join_segments(
    segments: Sequence[Translation], separators: Sequence[str], config: SearchConfig
) -> Translation:
    """The translation of a line from those of its segments; its i-th best joins the i-th best of each segment.

    A segment with fewer than i translations contributes its last one. log P is the sum over the segments, and the score
    is that of a translation with this log P and as many tokens (without coverage penalty); with minimum Bayes risk
    decoding, it is the mean of the segments' expected utilities.
    """
    if len(segments) == 1:
        return segments[0]
    n_best = None
    if segments[0].n_best is not None:
        lists = [segment.n_best or (segment,) for segment in segments]
        n_best = tuple(
            _join([translations[min(i, len(translations) - 1)] for translations in lists], separators, config)
            for i in range(max(map(len, lists)))
        )
    return replace(_join(segments, separators, config), n_best=n_best)


def _join(segments: Sequence[Translation], separators: Sequence[str], config: SearchConfig) -> Translation:
    first = segments[0]
    log_p = score = tokens = tree = None
    if first.log_probability is not None:
        log_p = sum(segment.log_probability or 0.0 for segment in segments)
        length = sum(len(segment.target_pieces) for segment in segments)
        score = float(LengthNormalization.of(config).score(torch.tensor(log_p), length))
        if config.mbr != "none":
            score = sum(segment.score or 0.0 for segment in segments) / len(segments)
    if first.token_log_probabilities is not None:
        tokens = tuple(chain.from_iterable(segment.token_log_probabilities or () for segment in segments))
    if first.tree is not None:
        tree = tuple(chain.from_iterable(segment.tree or () for segment in segments))
    return Translation(
        text=join_texts([segment.text for segment in segments], separators),
        source=join_texts([segment.source for segment in segments], separators),
        source_pieces=tuple(chain.from_iterable(segment.source_pieces for segment in segments)),
        target_pieces=tuple(chain.from_iterable(segment.target_pieces for segment in segments)),
        score=score,
        log_probability=log_p,
        token_log_probabilities=tokens,
        attention=_join_attention(segments),
        alignment=joined_links(segments),
        tree=tree,
        parts=sum(segment.parts for segment in segments),
        reached_limit=any(segment.reached_limit for segment in segments),
        whole_words=first.whole_words,
        terms=tuple(chain.from_iterable(segment.terms for segment in segments)),
    )


def _join_attention(segments: Sequence[Translation]) -> Tensor | None:
    """A block-diagonal matrix (T, S): each segment attends to its own source only."""
    blocks = [segment.attention for segment in segments if segment.attention is not None]
    if len(blocks) != len(segments):
        return None
    return torch.block_diag(*blocks)  # type: ignore[no-untyped-call, no-any-return]


def displayed_words(pieces: Sequence[str], *, whole_words: bool) -> tuple[tuple[str, ...], Groups]:
    """The words of an attention map and the positions of their pieces, which end in <eos>.

    Every piece belongs to a word, and <eos> is a word of its own. So is punctuation, because the attention of a full
    stop says little about the word before it.
    """
    # More than one in a line of several parts.
    ends = [at for at, piece in enumerate(pieces) if piece == pieces[-1]]
    groups = group_pieces(pieces, whole_words=whole_words, separate_punctuation=True)
    starts = {0, *(group[0] for group in groups), *ends, *(end + 1 for end in ends)}
    spans = tuple(tuple(range(*span)) for span in pairwise(sorted(starts)))
    texts = words_of(pieces, spans)
    words = (
        END if span[0] in ends else text.strip() or SPACE for text, span in zip(texts, spans, strict=True)
    )
    return tuple(words), spans


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
