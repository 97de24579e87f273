"""Links between words as links between tokens: every token of a source word with every token of its target word.

Text, words and tokens are compared character by character. A word is a stretch of text without white space. A token
belongs to every word of which it has a character, so it may belong to several; one of nothing but white space belongs
to the next word.
"""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt_cli.corpus.cleaning import Normalization
from nmt_cli.data.aligner import LONGEST, unpack_links
from nmt_cli.vocabulary import UNK, Vocabulary
from nmt_cli.vocabulary.token_ids import Ragged, offsets_of

Integers = NDArray[np.int64]

_LAST_SPACE = 0x3000
_IS_SPACE = np.array(
    [chr(code).isspace() for code in range(_LAST_SPACE + 2)]
)  # no later character is white space
# Words with more pairs of tokens are whole sentences, in scripts without spaces: a link between them says nothing.
MOST_TOKEN_PAIRS = 1 << 12
_MOST_COMPARISONS = 1 << 16  # of words before and after normalization


class Words(NamedTuple):
    """The words of some texts, and which tokens of its text each one has."""

    offsets: Integers  # (texts + 1,) the words of each text
    first: Integers  # (words,) its first token, counted from 0
    stop: Integers  # (words,) after its last token; `first` if it is not known which tokens it has


class TokenLinks(NamedTuple):
    """The links of some pairs, as `Aligner.align` returns them, and how many links between words have none."""

    links: Ragged
    left_out: Integers  # (pairs,) because it is not known which tokens a word has
    too_many: Integers  # (pairs,) because the words have more than MOST_TOKEN_PAIRS


def token_links(links: Ragged, source: Words, target: Words) -> TokenLinks:
    """The links between tokens of each pair that follow from its links between words."""
    pairs = len(links)
    row = np.repeat(np.arange(pairs), links.lengths)
    j, i = unpack_links(links.values)
    i, j = source.offsets[row] + i, target.offsets[row] + j
    I, J = source.stop[i] - source.first[i], target.stop[j] - target.first[j]  # noqa: E741 - tokens of each word
    left_out = np.bincount(row[I * J == 0], minlength=pairs)
    too_many = np.bincount(row[I * J > MOST_TOKEN_PAIRS], minlength=pairs)
    kept = (I * J > 0) & (I * J <= MOST_TOKEN_PAIRS)
    row, i, j, I, J = row[kept], i[kept], j[kept], I[kept], J[kept]  # noqa: E741
    link = np.repeat(np.arange(len(row)), I * J)  # of each pair of tokens
    t, s = np.divmod(np.arange(len(link)) - offsets_of(I * J)[link], I[link])
    numbers = (target.first[j][link] + t) << 16 | source.first[i][link] + s
    # A token that belongs to two words may have the same link twice.
    numbers = np.unique(row[link] << 32 | numbers)
    lengths = np.bincount(numbers >> 32, minlength=pairs)
    found = Ragged((numbers & 0xFFFFFFFF).astype(np.uint32), offsets_of(lengths))
    return TokenLinks(found, left_out, too_many)


def words_as_read(
    texts: Sequence[str],
    normalized: Sequence[str],
    normalization: Normalization,
    vocabulary: Vocabulary,
    ids: Ragged,
) -> Words:
    """The words of texts as they were read; `ids` are the tokens of the normalized texts."""
    words = words_of_tokens(normalized, vocabulary, ids)
    if not normalization.replacements and normalization.placeholders is None:
        return words  # lower case has the same words
    counts, ranges = [], list[tuple[int, int]]()
    for row, (before, after) in enumerate(zip(texts, normalized, strict=True)):
        old = (before.lower() if normalization.lowercase else before).split()
        start = int(words.offsets[row])
        ranges += [(start + first, start + stop) for first, stop in words_after(old, after.split())]
        counts.append(len(old))
    first, stop = np.array(ranges, np.int64).reshape(-1, 2).T
    known = stop > first
    result = np.zeros((2, len(first)), np.int64)
    result[:, known] = words.first[first[known]], words.stop[stop[known] - 1]
    return Words(offsets_of(np.array(counts, np.int64)), *result)


def words_after(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int]]:
    """For each old word the new words [first, stop) that it has become; none if it was removed.

    If several words were replaced by a different number of words, each of them has become all of those.
    """
    if len(old) * len(new) > _MOST_COMPARISONS and old != new:
        yield from [(0, 0)] * len(old)
        return
    for kind, start, stop, new_start, new_stop in (
        [("equal", 0, len(old), 0, len(new))]
        if old == new
        else SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    ):
        one_to_one = kind == "equal" or stop - start == new_stop - new_start
        for place in range(stop - start):
            yield (new_start + place, new_start + place + 1) if one_to_one else (new_start, new_stop)


def words_of_tokens(texts: Sequence[str], vocabulary: Vocabulary, ids: Ragged) -> Words:
    """The words of texts that were encoded as they are."""
    # A space before each text, as sentencepiece puts one there.
    characters = np.frombuffer("".join(f" {text}" for text in texts).encode("utf-32-le"), "<u4")
    ends = np.cumsum([len(text) + 1 for text in texts], dtype=np.int64)
    starts = ends - np.fromiter(map(len, texts), np.int64, len(texts)) - 1
    is_space = _IS_SPACE[np.minimum(characters, _LAST_SPACE + 1)]
    begins = ~is_space
    begins[1:] &= is_space[:-1]
    begun = np.cumsum(begins)  # words so far, those of earlier texts included
    offsets = np.concatenate([[0], begun[ends - 1]])

    # The first and the last word of each token.
    row = np.repeat(np.arange(len(ids)), ids.lengths)
    counts = _character_counts(texts, vocabulary, ids)
    stop = np.cumsum(counts)
    stop -= offsets_of(counts)[ids.offsets[:-1]][row]  # within its text
    total = np.bincount(row, counts, minlength=len(ids)).astype(np.int64)
    missing = ends - starts - total
    start = np.clip(starts[row] + missing[row] + stop - np.maximum(counts, 1), starts[row], ends[row] - 1)
    last = np.clip(starts[row] + missing[row] + stop - 1, start, ends[row] - 1)
    highest = offsets[row + 1] - 1  # white space at the end belongs to the last word
    first_word = np.minimum(begun[start] - ~is_space[start], highest)
    last_word = np.clip(begun[last] - 1, first_word, highest)

    number = np.arange(offsets[-1])
    text = np.repeat(np.arange(len(texts)), np.diff(offsets))
    known = (missing[text] == _missing_space(vocabulary)) & (ids.lengths[text] <= LONGEST)
    first = np.searchsorted(last_word, number, "left") - ids.offsets[text]
    after = (
        np.minimum(np.searchsorted(first_word, number, "right"), ids.offsets[text + 1]) - ids.offsets[text]
    )
    return Words(offsets, np.where(known, first, 0), np.where(known, after, 0))


def _missing_space(vocabulary: Vocabulary) -> int:
    """1 if the vocabulary puts no space before a text, otherwise 0."""
    return 2 - int(_character_counts(["a"], vocabulary, vocabulary.encode(["a"])).sum())


def _character_counts(texts: Sequence[str], vocabulary: Vocabulary, ids: Ragged) -> Integers:
    """How many characters each token stands for; of bytes of one character, only the first does."""
    if vocabulary.kind == "word":
        return np.array([count for text in texts for count in _word_counts(text)], np.int64)
    lengths = np.array([len(piece) for piece in vocabulary.pieces], np.int64)
    for token in np.flatnonzero(vocabulary.is_byte).tolist():
        lengths[token] = not 0x80 <= int(vocabulary.pieces[token][3:5], 16) < 0xC0
    counts: Integers = lengths[ids.values]
    unknown = np.flatnonzero(ids.values == UNK)
    rows = np.searchsorted(ids.offsets, unknown, "right") - 1
    for at, row in zip(unknown.tolist(), rows.tolist(), strict=True):
        counts[at] = len(vocabulary.surfaces(texts[row])[at - int(ids.offsets[row])])
    return counts


def _word_counts(text: str) -> list[int]:
    """The characters of each word between spaces, with the spaces before it; those at the end belong to the last."""
    counts: list[int] = []
    spaces = 0
    for word in text.split(" "):
        spaces += 1
        if word:
            counts.append(spaces + len(word))
            spaces = 0
    if counts:
        counts[-1] += spaces
    return counts
