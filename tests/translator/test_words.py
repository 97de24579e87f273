"""Pieces to words, and attention between words."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.runtime.words import group_pieces, pharaoh, words_of
from nmt_cli.translator.translation import links_of, word_attention


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        (["▁Ein", "▁Hu", "nd", ".", "</s>"], ["Ein", "Hund."]),
        (["▁", "Hund", "▁", "da", "</s>"], ["Hund", "da"]),
        (["▁▁", "▁a", "▁", "▁", "b", "▁"], ["a", "b"]),
        (["▁", "<0xC3>", "<0xA4>", "h", "▁x"], ["äh", "x"]),
        (["▁New▁York", "▁x"], ["NewYork", "x"]),
        (["</s>"], []),
        ([], []),
    ],
)
def test_words_are_separated_by_spaces(pieces: list[str], words: list[str]) -> None:
    assert list(words_of(pieces, group_pieces(pieces))) == words


def test_each_piece_of_a_word_vocabulary_is_a_word() -> None:
    assert group_pieces(["▁a", "<unk>", "<unk>", "</s>"], whole_words=True) == ((0,), (1,), (2,))


@given(st.lists(st.text("ab▁", min_size=1, max_size=4), max_size=12))
def test_every_piece_belongs_to_exactly_one_word_if_there_are_words(pieces: list[str]) -> None:
    groups = group_pieces(pieces)
    flat = [position for group in groups for position in group]
    assert flat == (list(range(len(pieces))) if groups else [])


def test_attention_is_summed_over_source_pieces_and_averaged_over_target_pieces() -> None:
    alpha = torch.tensor([[0.5, 0.2, 0.2, 0.1], [0.1, 0.4, 0.4, 0.1], [0.0, 0.0, 0.1, 0.9]])  # (T, S)
    words = word_attention(alpha, ((0,), (1, 2)), ((0, 1),))
    torch.testing.assert_close(words, torch.tensor([[0.3, 0.6]]))
    assert links_of(alpha, ((0,), (1, 2)), ((0, 1), (2,))) == ((1, 0),)  # the last word attends to <eos>
    assert pharaoh(((1, 0), (0, 2), (0, 1))) == "0-1 0-2 1-0"


@pytest.mark.parametrize("tab", ["\t", "<0x09>", "<0x0D>"])
def test_a_tab_or_carriage_return_separates_words(tab: str) -> None:
    pieces = ["▁ein", tab, "Hu", "nd", tab, "</s>"]
    groups = group_pieces(pieces)
    assert groups == ((0,), (1, 2, 3, 4))
    assert words_of(pieces, groups) == ("ein", "Hund")
