"""Long lines are split at the best places, and nothing is lost."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.runtime.segments import join_texts, split_line


def characters(texts: Sequence[str]) -> list[int]:
    return [len(text) for text in texts]


def cut(text: str, limit: int) -> list[str]:
    return [segment.text for segment in split_line(text, limit, characters)]


@pytest.mark.parametrize(
    ("text", "limit", "segments"),
    [
        ("One. Two! “Three.” Four", 10, ["One.", "Two!", "“Three.”", "Four"]),
        ("one two, three four, five", 12, ["one two,", "three four,", "five"]),
        ("one two three", 7, ["one two", "three"]),
        ("abcdefgh", 3, ["abc", "def", "gh"]),
        ("你好。再见。", 3, ["你好。", "再见。"]),
        ("  a b  ", 1, ["a", "b"]),
        ("e\u0301e\u0301", 3, ["e\u0301", "e\u0301"]),
    ],
)
def test_lines_are_split_at_sentences_then_clauses_then_spaces_then_anywhere(
    text: str, limit: int, segments: list[str]
) -> None:
    assert cut(text, limit) == segments


@given(st.text("ab .,!?。，\r\t\u2028é\u0301", max_size=120), st.integers(1, 30))
def test_no_chunk_is_too_long_and_nothing_is_lost(text: str, limit: int) -> None:
    segments = split_line(text, limit, characters)
    assert all(len(segment.text) <= limit for segment in segments)
    whole = "".join(segment.text + segment.separator.replace("\0", "") for segment in segments)
    assert whole.replace("\r", " ") == text.strip().replace("\r", " ")
    assert not any(set("\r\n") & set(segment.separator) for segment in segments)


def test_translations_are_joined_with_the_spacing_of_the_source() -> None:
    segments = split_line("Eins.  Zwei.\tDrei.", 6, characters)
    separators = [segment.separator for segment in segments]
    assert join_texts(["One.", "Two.", "Three."], separators) == "One.  Two.\tThree."
    assert join_texts(["One.", "", "Three."], separators) == "One.  Three."
    chinese = [segment.separator for segment in split_line("你好。再见。", 3, characters)]
    assert join_texts(["Hello.", "Bye."], chinese) == "Hello. Bye."
    assert join_texts(["こんにちは。", "さようなら。"], chinese) == "こんにちは。さようなら。"


@pytest.mark.parametrize("unit", [".", "a", "a, ", "a.' "])
def test_splitting_takes_linear_time(unit: str) -> None:
    def counted(length: int) -> int:
        """How many characters were tokenized for a line of this length."""
        seen = 0

        def count(texts: Sequence[str]) -> list[int]:
            nonlocal seen
            seen += sum(map(len, texts))
            return characters(texts)

        segments = split_line(unit * (length // len(unit)), 256, count)
        assert all(len(segment.text) <= 256 for segment in segments)
        return seen

    assert counted(120_000) < 5 * counted(30_000)  # quadratic would be 16 times as much


def test_a_character_with_more_code_points_than_the_limit_is_split() -> None:
    assert cut("e\u0301\u0301\u0301\u0301", 1) == ["e", *["\u0301"] * 4]
