"""Random segmentations: the same in every process, of the same text, with the right probabilities."""

import gzip
import hashlib
import io
import math
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.config import VocabularyConfig
from nmt_cli.vocabulary import PAD, UNK, Vocabulary
from nmt_cli.vocabulary import sampling as bpe_module
from nmt_cli.vocabulary.sampling import BpeDropout, Pieces, UnigramSampling

TEXT = [
    "the cat sat on the mat",
    "a dog barks at the cat",
    "<unk> and <s> are only text",
    "Über den Wolken",
    "x\ty",
] * 40
KINDS = ["bpe", "unigram"]
SYMBOLS = ("<ent>", "a,b", "<e", "cat")
NEVER = 5e-324  # the smallest number above 0: no draw is below it


def train(kind: str, lines: list[str] = TEXT, **config: object) -> Vocabulary:
    return Vocabulary.train(lines, VocabularyConfig.model_validate({"kind": kind, **config}))


def variants(kind: str) -> list[Vocabulary]:
    return [
        train(kind, size=290),
        train(kind, symbols=SYMBOLS),
        train(kind, byte_fallback=False),
        train(kind, byte_fallback=False, symbols=SYMBOLS),
    ]


VARIANTS = {kind: variants(kind) for kind in KINDS}


def plain(kind: str) -> Vocabulary:
    return VARIANTS[kind][0]


@pytest.fixture(scope="module")
def files(corpora: Path) -> list[Path]:
    """Text of 12 languages, two of them without spaces."""
    found = [
        *sorted(corpora.glob("align/*.ja-en.ja.gz")),
        *sorted(corpora.glob("*/dev.*.gz")),
        *sorted(corpora.glob("robustness/noisy*.gz")),
    ]
    assert len(found) > 20
    return found


@pytest.fixture(scope="module")
def english(corpora: Path) -> list[str]:
    return head(corpora / "multi30k/train.en.gz", 2000)


def head(path: Path, count: int) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8", errors="replace", newline="\n") as lines:
        return [line.removesuffix("\n") for line in islice(lines, count)]


def sample(vocabulary: Vocabulary, texts: list[str], strength: float, seed: int) -> list[tuple[int, ...]]:
    ids = vocabulary.sample(texts, strength, seed)
    return [tuple(ids[row].tolist()) for row in range(len(ids))]


def pieces_of(vocabulary: Vocabulary) -> Pieces:
    return Pieces(vocabulary._model, vocabulary._processor.normalize)


def without_dropout(vocabulary: Vocabulary, texts: list[str]) -> list[list[int]]:
    pieces = pieces_of(vocabulary)
    return BpeDropout(pieces).sample(pieces.words(texts), NEVER, 1)


def without_chance(vocabulary: Vocabulary, texts: list[str]) -> list[list[int]]:
    """Unigram sampling with a power at which only the best split is left."""
    pieces = pieces_of(vocabulary)
    return UnigramSampling(pieces).sample(pieces.words(texts), 1000.0, 1)


def score(vocabulary: Vocabulary, ids: list[int]) -> float:
    return float(sum(map(vocabulary._processor.get_score, ids)))


any_text = st.text() | st.text(alphabet="thecad <nt>,b▁☃é")


@given(text=any_text)
@settings(deadline=None)
def test_without_dropout_bpe_is_encode(text: str) -> None:
    for vocabulary in VARIANTS["bpe"]:
        assert without_dropout(vocabulary, [text]) == vocabulary._processor.encode([text])


@given(text=any_text)
@settings(deadline=None)
def test_without_randomness_unigram_is_encode(text: str) -> None:
    vocabulary = VARIANTS["unigram"][0]
    (found,), (best,) = without_chance(vocabulary, [text]), vocabulary._processor.encode([text])
    assert found == best or score(vocabulary, found) == pytest.approx(score(vocabulary, best), abs=1e-3)


def test_without_dropout_bpe_is_encode_on_real_text(files: list[Path]) -> None:
    for number, file in enumerate(files):
        lines = head(file, 400)
        choices: list[dict[str, Any]] = [{}, {"symbols": ("the", "e,")}, {"byte_fallback": False}]
        vocabulary = train("bpe", lines[:300], **choices[number % 3])
        assert without_dropout(vocabulary, lines) == vocabulary._processor.encode(lines), file


def test_without_randomness_unigram_is_encode_on_real_text(files: list[Path]) -> None:
    for file in files[::4]:
        lines = head(file, 400)
        vocabulary = train("unigram", lines[:300])
        found, best = without_chance(vocabulary, lines), vocabulary._processor.encode(lines)
        scores = [[score(vocabulary, ids) for ids in rows] for rows in (found, best)]
        assert scores[0] == pytest.approx(scores[1], abs=1e-2), file
        assert sum(a == b for a, b in zip(found, best, strict=True)) > 0.98 * len(lines)


@pytest.mark.parametrize("kind", KINDS)
@given(text=any_text, strength=st.sampled_from([0.1, 0.5, 1.0]), seed=st.integers(0, 2**70))
@settings(deadline=None)
def test_a_sample_is_the_same_text(kind: str, text: str, strength: float, seed: int) -> None:
    for vocabulary in VARIANTS[kind][:2]:
        (ids,) = sample(vocabulary, [text], strength, seed)
        assert vocabulary.decode(ids) == text.replace("▁", " ")
    for vocabulary in VARIANTS[kind][2:]:
        (ids,) = sample(vocabulary, [text], strength, seed)
        assert vocabulary.decode(ids) == vocabulary.decode(vocabulary.encode([text]).values)


@pytest.mark.parametrize("kind", KINDS)
def test_symbols_are_never_split(kind: str) -> None:
    vocabulary = VARIANTS[kind][1]
    for seed in range(50):
        ids = vocabulary.sample(["a <ent>cat<e", "a,b<e"], 1.0 if kind == "bpe" else 0.01, seed).values
        pieces = [vocabulary.pieces[token] for token in ids if vocabulary.pieces[token] in SYMBOLS]
        assert pieces == ["<ent>", "cat", "<e", "a,b", "<e"]


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 2**40))
@settings(max_examples=20, deadline=None)
def test_the_seed_decides(kind: str, seed: int) -> None:
    first, second = (plain(kind).sample(TEXT[:20], 0.3, seed) for _ in range(2))
    assert np.array_equal(first.values, second.values)
    assert not np.array_equal(first.values, plain(kind).sample(TEXT[:20], 0.3, seed + 1).values)


@pytest.mark.parametrize("kind", KINDS)
def test_another_process_draws_the_same(kind: str, tmp_path: Path) -> None:
    vocabulary = plain(kind)
    vocabulary.save(tmp_path / "shared.model")
    code = """
import hashlib, pathlib, sys
from nmt_cli.vocabulary import Vocabulary
texts = sys.argv[2:]
vocabulary = Vocabulary.load(pathlib.Path(sys.argv[1]))
vocabulary.sample(texts[::-1], 0.5, 1)  # what was drawn before does not matter
print(hashlib.sha256(vocabulary.sample(texts, 0.2, 7).values.tobytes()).hexdigest())
"""
    command = [sys.executable, "-c", code, str(tmp_path / "shared.model"), *TEXT]
    answers = {subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2)}
    ids = vocabulary.sample(TEXT, 0.2, 7).values
    assert answers == {hashlib.sha256(ids.tobytes()).hexdigest() + "\n"}
    assert not np.array_equal(ids, vocabulary.encode(TEXT).values)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("strength", [0.1, 0.3])
def test_there_are_as_many_tokens_as_with_sentencepiece(
    kind: str, strength: float, english: list[str]
) -> None:
    vocabulary = train(kind, english, size=2000)
    texts = english * 5
    theirs = vocabulary._processor.encode(texts, enable_sampling=True, alpha=strength, nbest_size=-1)
    ours = vocabulary.sample(texts, strength, 1)
    assert len(ours.values) == pytest.approx(sum(map(len, theirs)), rel=0.015)  # six standard deviations
    assert len(ours.values) > 1.04 * len(vocabulary.encode(texts).values)


def test_segmentations_by_dropout_are_as_frequent_as_with_sentencepiece() -> None:
    vocabulary = plain("bpe")
    words = ["barks cat"] * 20_000
    theirs = vocabulary._processor.encode(words, enable_sampling=True, alpha=0.3, nbest_size=-1)
    found = Counter(sample(vocabulary, words, 0.3, 3))
    wanted = Counter(map(tuple, theirs))
    distance = sum(abs(found[split] - wanted[split]) for split in {*found, *wanted}) / 2
    assert distance < 0.05 * len(words)


def all_splits(vocabulary: Vocabulary, text: str) -> Iterator[tuple[int, ...]]:
    if not text:
        yield ()
    for end in range(1, len(text) + 1):
        if text[:end] in vocabulary.pieces:
            for rest in all_splits(vocabulary, text[end:]):
                yield (vocabulary.pieces.index(text[:end]), *rest)


@pytest.mark.parametrize("alpha", [0.1, 0.5, 1.0])
def test_unigram_segmentations_have_their_probability_to_the_power_of_alpha(alpha: float) -> None:
    vocabulary = plain("unigram")
    splits = list(all_splits(vocabulary, "▁the▁cat"))
    weights = [math.exp(alpha * score(vocabulary, list(split))) for split in splits]
    assert len(splits) > 10
    draws = 20_000
    found = Counter(sample(vocabulary, ["the cat"] * draws, alpha, 5))
    assert set(found) <= set(splits)
    for split, weight in zip(splits, weights, strict=True):
        assert found[split] / draws == pytest.approx(weight / sum(weights), abs=0.015)


def test_the_cache_does_not_change_the_samples(monkeypatch: pytest.MonkeyPatch, english: list[str]) -> None:
    pieces = pieces_of(train("bpe", english, size=1000))
    words = pieces.words(english)
    kept = BpeDropout(pieces).sample(words, 0.3, 9)
    monkeypatch.setattr(bpe_module, "LONG_WORD", 0)
    assert BpeDropout(pieces).sample(words, 0.3, 9) == kept


def test_skipping_every_merge_leaves_characters() -> None:
    vocabulary = plain("bpe")
    (ids,) = sample(vocabulary, ["the cat"], 1.0, 1)
    assert [vocabulary.pieces[token] for token in ids] == list("▁the▁cat")


def test_zero_strength_and_other_kinds_give_the_best_segmentation() -> None:
    for vocabulary, strength in [(plain("bpe"), 0.0), (train("char"), 0.5), (train("word", size=10), 0.5)]:
        assert np.array_equal(vocabulary.sample(TEXT, strength, 1).values, vocabulary.encode(TEXT).values)
    assert [plain(kind).has_many_segmentations for kind in KINDS] == [True, True]
    assert not train("char").has_many_segmentations


def test_a_long_word_does_not_take_long() -> None:
    for kind in KINDS:
        text = "thecatsaton" * 10_000
        (ids,) = sample(plain(kind), [text], 0.1, 1)
        assert plain(kind).decode(ids) == text


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_whose_pieces_contain_spaces_treats_a_text_as_one_word(kind: str) -> None:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT),
        model_writer=model,
        model_type=kind,
        vocab_size=80,
        hard_vocab_limit=False,
        split_by_whitespace=False,
        pad_id=PAD,
        unk_id=UNK,
        bos_id=2,
        eos_id=3,
        minloglevel=2,
    )
    vocabulary = Vocabulary(model.getvalue())
    assert any("▁" in piece[1:] for piece in vocabulary.pieces)
    best = without_dropout if kind == "bpe" else without_chance
    assert best(vocabulary, TEXT[:2]) == vocabulary._processor.encode(TEXT[:2])
    assert [vocabulary.decode(ids) for ids in sample(vocabulary, TEXT[:2], 0.3, 1)] == TEXT[:2]
