"""The splits: which sentences train, which validate, which test, and how they are written to files.

Train and test are disjoint by construction: one in sixteen pairs of words (a verb and its object, an
adjective and its noun) is held out, the same ones for all seeds and sizes. A sentence with a held-out pair
can only be a test sentence, and every test sentence has one. Validation comes from the distribution of
training; a hash of the sentence tells the two apart. From 5000 training pairs on, training has every word of
the other sets, in other company; fewer pairs cannot hold them all.
"""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from random import Random
from typing import NamedTuple
from zlib import crc32

from nmt_cli.demo import english, german
from nmt_cli.demo.sentences import Sentences
from nmt_cli.demo.tree import Sentence, combinations
from nmt_cli.errors import UsageError
from nmt_cli.files.atomic import new_directory

Pair = tuple[str, str]

MAX_SIZE = 1_000_000
HELD_OUT_SIZE = 500  # valid and test; a small corpus gets a twentieth of itself
HELD_OUT_EVERY = 16
VALID_EVERY = 20
MAX_WORDS = 40
# With fewer pairs than this the training half cannot know all words, and test is not asked to keep to them.
KNOWS_ALL_WORDS = 5_000
SPLITS = ("train", "valid", "test")
LANGUAGES = ("en", "de")


class DemoCorpus(NamedTuple):
    """Three disjoint lists of (English, German); no sentence of either language comes twice anywhere."""

    train: list[Pair]
    valid: list[Pair]
    test: list[Pair]


def held_out(first: str, second: str) -> bool:
    """Whether these two words together belong to the test; crc32 says the same on every machine."""
    return crc32(f"{first} {second}".encode()) % HELD_OUT_EVERY == 0


class Candidate(NamedTuple):
    """A tree, its English sentence, and the only split that it can be in, whatever the seed."""

    split: str
    tree: Sentence
    english: str


def candidates(seed: int) -> Iterator[Candidate]:
    """An endless stream of sentences, each of which already knows its split."""
    source = Sentences(Random(f"nmt demo {seed}"))
    while True:
        tree = source.sentence()
        text = english.sentence(tree)
        if text.count(" ") >= MAX_WORDS:
            continue
        chance = crc32(text.encode())
        pairs = combinations(tree)
        if not any(held_out(first, second) for first, second in pairs):
            yield Candidate("valid" if chance % VALID_EVERY == 0 else "train", tree, text)
        elif chance % len(pairs) == 0:
            # The longer a sentence, the more chances of such a pair: one in n keeps test as long as train.
            yield Candidate("test", tree, text)


def generate(size: int, *, seed: int = 1) -> DemoCorpus:
    """`size` pairs to train on; valid and test get a twentieth of that each, at least 1 and at most 500.

    The training pairs of a smaller size are the first ones of a larger size with the same seed. From 5000
    pairs on, training has every word of valid and test.
    """
    _check_size(size)
    held_out_size = max(1, min(HELD_OUT_SIZE, size // 20))
    stream = candidates(seed)
    train: list[Pair] = []
    waiting: list[Candidate] = []
    seen: set[str] = set()
    for candidate in stream:
        if candidate.split != "train":
            if len(waiting) < 8 * HELD_OUT_SIZE:
                waiting.append(candidate)
        elif pair := _unseen(candidate, seen):
            train.append(pair)
            if len(train) == size:
                break
    known = {word for pair in train for word in words(pair)} if size >= KNOWS_ALL_WORDS else None
    held: dict[str, list[Pair]] = {"valid": [], "test": []}
    for candidate in chain(waiting, stream):
        if candidate.split == "train" or len(held[candidate.split]) == held_out_size:
            continue
        if pair := _unseen(candidate, seen, known):
            held[candidate.split].append(pair)
        if all(len(pairs) == held_out_size for pairs in held.values()):
            break
    return DemoCorpus(train, held["valid"], held["test"])


def words(pair: Pair) -> Iterator[str]:
    """The words of both sides, each marked with its language, without punctuation and capitals."""
    for language, text in zip(LANGUAGES, pair, strict=True):
        for word in text.lower().split():
            yield f"{language} {word.strip(',.?!')}"


def _unseen(candidate: Candidate, seen: set[str], known: set[str] | None = None) -> Pair | None:
    """The pair, unless one of its sentences was seen before or holds a word that is not known."""
    if candidate.english in seen:
        return None
    pair = candidate.english, german.sentence(candidate.tree)
    if pair[1] in seen or (known is not None and not known.issuperset(words(pair))):
        return None
    seen.update(pair)
    return pair


def write(out: Path, size: int, *, seed: int = 1, overwrite: bool = False) -> DemoCorpus:
    """Write `train|valid|test.{en,de}` into the directory `out`, all or none, and give the corpus back.

    `overwrite` replaces an earlier demo corpus; a directory with anything else in it is never touched.
    """
    _check_size(size)
    with new_directory(out, overwrite=overwrite, ours=_is_demo_corpus) as building:
        corpus = generate(size, seed=seed)
        for split, pairs in zip(SPLITS, corpus, strict=True):
            for side, language in enumerate(LANGUAGES):
                text = "".join(f"{pair[side]}\n" for pair in pairs)
                (building / f"{split}.{language}").write_text(text, "utf-8", newline="\n")
    return corpus


def _is_demo_corpus(directory: Path) -> bool:
    ours = {f"{split}.{language}" for split in SPLITS for language in LANGUAGES}
    return ours.issuperset(path.name for path in directory.iterdir())


def _check_size(size: int) -> None:
    if not 1 <= size <= MAX_SIZE:
        raise UsageError(
            f"a demo corpus of {size} pairs cannot be made", hint=f"choose a size from 1 to {MAX_SIZE}"
        )
