"""Splitting pieces into the words of an explanation."""

import pytest

from nmt_cli.config import VocabularyConfig
from nmt_cli.explanation.explainer import split_words
from nmt_cli.vocabulary import Vocabulary
from nmt_cli.vocabulary.token_ids import EOS


def words(vocabulary: Vocabulary, text: str) -> list[str]:
    return [word.text for word in split_words(vocabulary, [*vocabulary.encode([text])[0].tolist(), EOS])]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ein Hund läuft.", ["ein", "Hund", "läuft", "."]),
        ("ein  Hund", ["ein", "Hund"]),
        (" ein Hund ", ["ein", "Hund"]),
        ("Hund ☃ läuft", ["Hund", "☃", "läuft"]),
        ("don't run", ["don't", "run"]),
        ("(Hund)", ["(", "Hund", ")"]),
    ],
)
def test_words_start_at_spaces_and_at_punctuation(
    vocabulary: Vocabulary, text: str, expected: list[str]
) -> None:
    assert words(vocabulary, text) == [*expected, "<eos>"]


def test_in_a_script_without_spaces_every_piece_is_a_word() -> None:
    lines = ["犬が走る。", "小さい犬が走る。", "猫が走る。", "猫と犬。"] * 6
    vocabulary = Vocabulary.train(lines, VocabularyConfig(kind="char", byte_fallback=False))
    assert words(vocabulary, "犬が走る。") == [*"犬が走る。", "<eos>"]


def test_in_a_word_vocabulary_every_piece_is_a_word() -> None:
    vocabulary = Vocabulary.train(["ein Hund läuft", "ein Hund"] * 3, VocabularyConfig(kind="word", size=7))
    assert words(vocabulary, "ein Walross läuft") == ["ein", "<unk>", "läuft", "<eos>"]
