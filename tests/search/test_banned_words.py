"""Banned words never occur, however they are segmented."""

import itertools
import re

import numpy as np
import pytest
import torch

from nmt_cli.config.search import SearchConfig
from nmt_cli.errors import UsageError
from nmt_cli.search import BannedWords, build_banned_words
from nmt_cli.search.constraints import normal_form
from nmt_cli.vocabulary.token_ids import EOS
from tests.search.toy import Toy

PIECES = [
    "<pad>",
    "<unk>",
    "<s>",
    "</s>",
    "▁a",
    "▁ab",
    "b",
    "a",
    "▁",
    "c",
    ".",
    "▁B",
    "▁bö",
    "<0x62>",
    "<0xC3>",
]
IS_BYTE = np.array([piece.startswith("<0x") for piece in PIECES])
ways = pytest.mark.parametrize(
    "way", [{"beam_size": 1}, {"beam_size": 4, "n_best": 4}, {"sampling": True, "n_best": 4}], ids=str
)


def automaton(*words: str, ignore_case: bool = True) -> BannedWords:
    return build_banned_words(words, PIECES, IS_BYTE, ignore_case=ignore_case)


def text_of(tokens: "list[int] | tuple[int, ...]") -> str:
    return "".join(PIECES[token].replace("<0x62>", "b").replace("▁", " ") for token in tokens)


def has_word(text: str, word: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE) is not None


def test_exactly_the_texts_with_a_banned_word_are_excluded() -> None:
    words = automaton("ab", "b a")
    for tokens in itertools.product(range(4, 14), repeat=4):
        state = words.start((1, 1))
        for token in (*tokens, EOS):
            state = words.after(state, torch.tensor([[token]]))
        text = text_of(tokens)
        banned = (
            has_word(text, "ab") or " b a " in f" {' '.join(normal_form(text, ignore_case=True).split())} "
        )
        assert (int(state) == 0) == banned, text


@ways
def test_banned_words_never_occur_even_at_the_maximum_length(way: dict[str, int]) -> None:
    toy = Toy(1, lengths=(3,) * 20, vocabulary=len(PIECES), scale=3.0)
    config = SearchConfig(max_length=6, **way)
    unknown = (0, 1, 2, 14)
    free = [text_of(h.tokens) for found in toy.search(config, banned=unknown) for h in found]
    assert any(has_word(text, "ab") for text in free)
    held = toy.search(config, banned=unknown, words=[automaton("ab"), automaton("c")])
    texts = [text_of(h.tokens) for found in held for h in found]
    assert not any(has_word(text, word) for text in texts for word in ("ab", "c"))
    assert any("ab" in text for text in texts)  # within longer words


def test_results_do_not_depend_on_the_batch() -> None:
    toy = Toy(5, lengths=(3, 4, 2, 6), vocabulary=len(PIECES), scale=3.0)
    config, words = SearchConfig(beam_size=3, max_length=9), automaton("ab", "a")
    for b, [found] in enumerate(toy.search(config, banned=(0, 1, 2), words=[words])):
        alone = Toy(0, lengths=(int(toy.lengths[b]),))
        alone.logits, alone.attention = toy.logits[b : b + 1], toy.attention[b : b + 1, :, : toy.lengths[b]]
        [[expected]] = alone.search(config, banned=(0, 1, 2), words=[words])
        assert (found.tokens, found.score) == (expected.tokens, expected.score)


@pytest.mark.parametrize(("ignore_case", "excluded"), [(True, True), (False, False)])
def test_case_counts_unless_it_is_ignored(ignore_case: bool, excluded: bool) -> None:
    words = automaton("b", ignore_case=ignore_case)
    state = words.after(words.start((1, 1)), torch.tensor([[PIECES.index("▁B")]]))
    assert (int(words.after(state, torch.tensor([[EOS]]))) == 0) == excluded


def test_too_many_words_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt_cli.search.constraints._MAX_ENTRIES", 1000)
    with pytest.raises(UsageError, match="100 banned words are too many for a vocabulary of 15 tokens"):
        automaton(*(f"word{number}" for number in range(100)))
