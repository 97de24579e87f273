"""From links between words to links between tokens, against plain loops."""

import io
import re
from typing import Any

import numpy as np
import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.config import VocabularyConfig
from nmt_cli.corpus.cleaning import Normalization
from nmt_cli.data.aligner import pack_links, unpack_links
from nmt_cli.preprocessing.token_links import Words, token_links, words_after, words_as_read, words_of_tokens
from nmt_cli.runtime.placeholders import PlaceholderSymbols
from nmt_cli.vocabulary import Vocabulary
from nmt_cli.vocabulary.token_ids import Ragged, offsets_of

LINES = ["the cat sat on the mat", "a dog and a cat", "the cat and the dog"] * 9
KINDS = {
    "bpe": VocabularyConfig(size=290),
    "unigram": VocabularyConfig(kind="unigram", size=276),
    "char": VocabularyConfig(kind="char"),
    "word": VocabularyConfig(kind="word", size=12),
    "no-bytes": VocabularyConfig(size=30, byte_fallback=False),
}
# Known and unknown letters, several kinds of white space, and sentencepiece's own space.
TEXTS = st.lists(st.text("theca dogé語字\t\u00a0\u3000\u2028▁12.  ", max_size=25), max_size=6)


@pytest.fixture(scope="module")
def vocabularies() -> dict[str, Vocabulary]:
    return {name: Vocabulary.train(LINES, config) for name, config in KINDS.items()}


def external(**options: Any) -> Vocabulary:
    """A vocabulary that sentencepiece made with settings of its own."""
    model = io.BytesIO()
    options = {"vocab_size": 60, "pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3, **options}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_writer=model, minloglevel=2, hard_vocab_limit=False, **options
    )
    return Vocabulary(model.getvalue())


def token_lengths(vocabulary: Vocabulary, text: str) -> list[int]:
    """The number of characters of each token; of the bytes of a character, only the first counts."""
    if vocabulary.kind == "word":
        return list(map(len, re.findall(" +[^ ]+(?: +$)?", f" {text}")))
    pieces = vocabulary._processor.encode(text, out_type=str)
    return [len(piece) if not piece.startswith("<0x") else int(piece[3] not in "89AB") for piece in pieces]


def by_loops(vocabulary: Vocabulary, text: str) -> list[list[int]]:
    """The tokens of each word, found character by character."""
    text = f" {text}"
    # Of a letter, the number of its word; of white space, that of the next word.
    words = [
        len(text[:place].split()) if letter.isspace() else len(text[: place + 1].split()) - 1
        for place, letter in enumerate(text)
    ]
    tokens: list[list[int]] = [[] for _ in text.split()]
    place = 0
    for token, length in enumerate(token_lengths(vocabulary, text[1:])):
        own = range(place, place + length) if length else [place - 1]
        found = {words[at] for at in own if not text[at].isspace()}
        if not found and tokens:
            found = {min(words[own[0]], len(tokens) - 1)}  # white space belongs to the next word
        for word in found:
            tokens[word].append(token)
        place += length
    assert place == len(text) or not text.strip()
    return tokens


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None)
@given(texts=TEXTS)
def test_words_have_the_tokens_of_their_characters(
    vocabularies: dict[str, Vocabulary], kind: str, texts: list[str]
) -> None:
    vocabulary = vocabularies[kind]
    words = words_of_tokens(texts, vocabulary, vocabulary.encode(texts))
    assert np.diff(words.offsets).tolist() == [len(text.split()) for text in texts]
    for row, text in enumerate(texts):
        own = slice(words.offsets[row], words.offsets[row + 1])
        found = [list(range(*each)) for each in zip(words.first[own], words.stop[own], strict=True)]
        assert found == by_loops(vocabulary, text), text


@pytest.mark.parametrize(
    ("options", "text", "expected"),
    [
        ({"add_dummy_prefix": False}, "the cat", [[0], [1]]),
        ({"treat_whitespace_as_suffix": True}, "the cat", [[0], [1]]),
        ({"user_defined_symbols": ["▁the▁cat"]}, "the cat", [[0], [0]]),
        ({"normalization_rule_name": "nmt_nfkc"}, "the ﬁ", [[], []]),
        ({"normalization_rule_name": "nmt_nfkc"}, "the  cat", [[], []]),
        ({"normalization_rule_name": "nmt_nfkc"}, "the cat", [[0], [1]]),
    ],
)
def test_tokens_of_other_vocabularies_are_found_or_known_not_to_be(
    options: dict[str, object], text: str, expected: list[list[int]]
) -> None:
    vocabulary = external(**{"normalization_rule_name": "identity", **options})
    words = words_of_tokens([text], vocabulary, vocabulary.encode([text]))
    assert [list(range(*each)) for each in zip(words.first, words.stop, strict=True)] == expected


Rows = list[list[tuple[int, int]]]


def packed(links: Rows) -> Ragged:
    flat = np.array([link for row in links for link in row], np.int64).reshape(-1, 2)
    return Ragged(pack_links(flat[:, 1], flat[:, 0]), offsets_of(np.array([len(row) for row in links])))


def unpacked(links: Ragged) -> Rows:
    rows = [unpack_links(links[row]) for row in range(len(links))]
    return [list(zip(s.tolist(), t.tolist(), strict=True)) for t, s in rows]


def tokens_of(words: list[list[tuple[int, int]]]) -> Words:
    """Words with the given tokens [first, stop)."""
    flat = np.array([word for row in words for word in row], np.int64).reshape(-1, 2)
    return Words(offsets_of(np.array([len(row) for row in words])), flat[:, 0], flat[:, 1])


ranges = st.tuples(st.integers(0, 9), st.integers(0, 3)).map(lambda pair: (pair[0], sum(pair)))
pairs_of_words = st.tuples(st.lists(ranges, min_size=1, max_size=4), st.lists(ranges, min_size=1, max_size=4))


@given(st.lists(pairs_of_words, max_size=4), st.data())
def test_all_tokens_of_linked_words_are_linked(pairs: list[tuple[list, list]], data: st.DataObject) -> None:  # type: ignore[type-arg]
    links = [
        data.draw(st.lists(st.tuples(st.integers(0, len(x) - 1), st.integers(0, len(y) - 1)), max_size=5))
        for x, y in pairs
    ]
    found = token_links(packed(links), tokens_of([x for x, _ in pairs]), tokens_of([y for _, y in pairs]))
    for row, ((source, target), words) in enumerate(zip(pairs, links, strict=True)):
        expected = {(t, s) for i, j in words for s in range(*source[i]) for t in range(*target[j])}
        assert [(t, s) for s, t in unpacked(found.links)[row]] == sorted(expected)
        assert found.left_out[row] == sum(
            source[i][0] == source[i][1] or target[j][0] == target[j][1] for i, j in words
        )


def test_a_link_between_whole_sentences_is_left_out() -> None:
    long, short = tokens_of([[(0, 90)]]), tokens_of([[(0, 3)]])
    found = token_links(packed([[(0, 0)]]), long, long)
    assert (found.left_out.tolist(), found.too_many.tolist()) == ([0], [1])
    assert len(token_links(packed([[(0, 0)]]), long, short).links.values) == 270


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("a b c", "a b c", [[0], [1], [2]]),
        ("a ß c", "a ss c", [[0], [1], [2]]),
        ("- a b", "a b", [[], [0], [1]]),
        ("a b", "- a b", [[1], [2]]),
        ("a x y b", "a z b", [[0], [1], [1], [2]]),
        ("a x b", "a y z b", [[0], [1, 2], [3]]),
        ("- a & b", "a and b more", [[], [0], [1], [2]]),
        ("a", "", [[]]),
        ("", "a", []),
        ("x " * 300, "y " * 299, [[]] * 300),
    ],
)
def test_words_are_found_again_after_normalization(old: str, new: str, expected: list[list[int]]) -> None:
    assert [list(range(*each)) for each in words_after(old.split(), new.split())] == expected


@pytest.mark.parametrize(
    ("normalization", "text", "expected"),
    [
        (Normalization(lowercase=True), "THE Cat İ", ["▁the", "▁cat", "▁i̇"]),
        (
            Normalization(replacements=(("- ", ""), ("&", "and the"))),
            "- dog & cat",
            ["", "▁dog", "▁and▁the", "▁cat"],
        ),
        (
            Normalization(placeholders=PlaceholderSymbols()),
            'the <a href="x">cat</a> sat',
            ["▁the", "▁⟦1⟧cat⟦2⟧", "▁⟦1⟧cat⟦2⟧", "▁sat"],
        ),
    ],
)
def test_words_as_they_were_read_have_the_tokens_of_what_they_became(
    vocabularies: dict[str, Vocabulary], normalization: Normalization, text: str, expected: list[str]
) -> None:
    vocabulary = vocabularies["bpe"]
    normalized = [normalization.pair(text, text)[0]]
    ids = vocabulary.encode(normalized)
    words = words_as_read([text], normalized, normalization, vocabulary, ids)
    found = [
        vocabulary.decode(ids.values[first:stop]) for first, stop in zip(words.first, words.stop, strict=True)
    ]
    assert found == [each.replace("▁", " ").strip() for each in expected]
