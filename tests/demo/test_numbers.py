"""The embedded recordings: numbers in words, tones that depend on the seed alone, and no number in two splits."""

import json
import shutil
import wave
from pathlib import Path
from random import Random

import numpy as np
import pytest

from nmt_cli.demo import numbers
from nmt_cli.errors import UsageError


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "zero"),
        (13, "thirteen"),
        (42, "forty-two"),
        (90, "ninety"),
        (100, "one hundred"),
        (107, "one hundred seven"),
        (999, "nine hundred ninety-nine"),
    ],
)
def test_a_number_is_written_as_it_is_said(number: int, words: str) -> None:
    assert numbers.spelled(number) == words


def test_all_numbers_are_different_and_every_word_has_tones_of_its_own() -> None:
    assert len({numbers.spelled(number) for number in range(1000)}) == 1000
    assert len(set(numbers.TONES.values())) == len(numbers.WORDS)
    words = {word for number in range(1000) for word in numbers.spelled(number).replace("-", " ").split()}
    assert words == set(numbers.TONES)


def test_no_number_is_in_two_splits() -> None:
    found = numbers.generate(2000)
    assert {split: len(drawn) for split, drawn in found.items()} == {"train": 2000, "valid": 200, "test": 200}
    assert not set(found["train"]) & set(found["valid"])
    assert not (set(found["train"]) | set(found["valid"])) & set(found["test"])
    words = {split: {w for n in drawn for w in numbers.spelled(n).split()} for split, drawn in found.items()}
    assert len(words["train"]) > 80
    assert numbers.generate(2000, seed=2) != found == numbers.generate(2000)


def test_tones_depend_on_the_seed_alone(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        numbers.write(tmp_path / name, 12, seed=seed)
    files = {name: (tmp_path / name / "manifest.json").read_bytes() for name in "abc"}
    assert files["a"] == files["b"] != files["c"]
    records = [json.loads(line) for line in (tmp_path / "a" / "train.jsonl").read_text().splitlines()]
    assert len(records) == 12
    for record in records:
        with wave.open(str(tmp_path / "a" / record["audio"])) as file:
            assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 16_000)
            assert 0.2 < file.getnframes() / 16_000 < 3


def test_the_same_word_never_sounds_the_same() -> None:
    random = Random(1)
    one, other = (numbers.tones("six", random) for _ in range(2))
    assert len(one) != len(other)
    assert max(np.abs(one).max(), np.abs(other).max()) < 1


@pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="needs espeak-ng")
def test_espeak_speaks_every_number(tmp_path: Path) -> None:
    espeak = numbers.espeak()
    assert espeak is not None
    numbers.write(tmp_path / "spoken", 6, espeak=espeak)
    for path in (tmp_path / "spoken" / "audio").iterdir():
        with wave.open(str(path)) as file:
            samples = np.frombuffer(file.readframes(file.getnframes()), "<i2")
            assert file.getnframes() / file.getframerate() > 0.2
            assert np.abs(samples).max() > 1000


@pytest.mark.parametrize("size", [0, -1, 10**9])
def test_an_impossible_size_is_refused(size: int) -> None:
    with pytest.raises(UsageError, match="cannot record"):
        numbers.generate(size)
