"""The splits: which sentences are for training, validation and test, and the files they are written to.

Training and test are disjoint by construction: one in sixteen pairs of words (a verb and its object, an adjective
and its noun) is held out, the same ones for every seed and size. A sentence with a held-out pair can only be a
test sentence, and every test sentence has one. Validation has the distribution of training; a hash of the
sentence separates the two. From 5,000 training pairs on, training has every word of the other sets, in other
combinations; fewer pairs cannot contain them all.

Chains of short clauses (`chained_sentence`) have too few words for that: there, only whole sentences are held out.

For classification, the other side of a sentence is a label instead of a translation: its tense (`tense_of`).
"""

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from random import Random
from typing import NamedTuple
from zlib import crc32

from nmt_cli.demo import english, german
from nmt_cli.demo.sentences import MAX_CLAUSES, MIN_CLAUSES, chained_sentence, sentence
from nmt_cli.demo.tree import Clause, Sentence, Subordination, combinations
from nmt_cli.errors import UsageError
from nmt_cli.files.atomic import new_directory
from nmt_cli.files.manifest import demo_refusal, write_manifest

Pair = tuple[str, str]

MAX_SIZE = 1_000_000
HELD_OUT_SIZE = 500  # of valid and test; a small corpus gets a twentieth of its size
HELD_OUT_EVERY = 16
VALID_EVERY = 20
MAX_WORDS = 40
# A smaller training set cannot contain all words, so valid and test need not keep to them.
KNOWS_ALL_WORDS = 5_000
SPLITS = ("train", "valid", "test")
LANGUAGES = ("en", "de")
TENSES = {  # of a clause → label
    "present": "present",
    "progressive": "present",
    "past": "past",
    "pluperfect": "past",
    "future": "future",
}
ORDER = "order"


class DemoCorpus(NamedTuple):
    """Three disjoint lists of (English, German); no sentence of either language occurs twice."""

    train: list[Pair]
    valid: list[Pair]
    test: list[Pair]


class Candidate(NamedTuple):
    """A tree, its English sentence, and the only split it can belong to, whatever the seed."""

    split: str
    tree: Sentence
    english: str


def held_out(first: str, second: str) -> bool:
    """Whether this pair of words is reserved for the test set; crc32 is the same on every machine."""
    return crc32(f"{first} {second}".encode()) % HELD_OUT_EVERY == 0


def candidates(seed: int) -> Iterator[Candidate]:
    """An endless stream of sentences, each with its split."""
    random = Random(f"nmt demo {seed}")
    while True:
        tree = sentence(random)
        text = english.sentence(tree)
        if text.count(" ") >= MAX_WORDS:
            continue
        checksum = crc32(text.encode())
        pairs = combinations(tree)
        if not any(held_out(first, second) for first, second in pairs):
            yield Candidate("valid" if checksum % VALID_EVERY == 0 else "train", tree, text)
        elif checksum % len(pairs) == 0:
            # A longer sentence has more pairs to be held out; keeping one in n makes test as long as train.
            yield Candidate("test", tree, text)


def chains(seed: int, clauses: int) -> Iterator[Candidate]:
    """An endless stream of sentences with up to that many clauses; a hash of the sentence decides its split."""
    random = Random(f"nmt demo {seed}")
    splits = {0: "valid", 1: "test"}
    while True:
        tree = chained_sentence(random, clauses)
        text = english.sentence(tree)
        yield Candidate(splits.get(crc32(text.encode()) % VALID_EVERY, "train"), tree, text)


def tense_of(tree: Sentence) -> str:
    """The label of a sentence: the tense of its (first) main clause, or `ORDER` for an imperative."""
    body = tree.body
    while not isinstance(body, Clause):
        body = body.main if isinstance(body, Subordination) else body.left
    return ORDER if tree.kind == "order" else TENSES[body.tense]


def generate(size: int, *, seed: int = 1, clauses: int | None = None, labels: bool = False) -> DemoCorpus:
    """`size` training pairs; valid and test get a twentieth of that each, at least 1 and at most 500.

    With the same seed, the training pairs of a smaller size are the first ones of a larger size.
    With `clauses`, sentences are chains of up to that many short clauses. With `labels`, pairs are (English, tense).
    """
    _check(size, clauses)
    stream = candidates(seed) if clauses is None else chains(seed, clauses)
    other = tense_of if labels else german.sentence
    train: list[Pair] = []
    waiting: list[Candidate] = []
    seen: set[str] = set()
    while len(train) < size:
        candidate = next(stream)
        if candidate.split == "train":
            train += _unseen(candidate, seen, other)
        elif len(waiting) < 8 * HELD_OUT_SIZE:
            waiting.append(candidate)
    known = {word for pair in train for word in words(pair)} if size >= KNOWS_ALL_WORDS else None
    wanted = max(1, min(HELD_OUT_SIZE, size // 20))
    corpus = DemoCorpus(train, [], [])
    for candidate in chain(waiting, stream):
        pairs = corpus.valid if candidate.split == "valid" else corpus.test
        if candidate.split != "train" and len(pairs) < wanted:
            pairs += _unseen(candidate, seen, other, known)
        if len(corpus.valid) == len(corpus.test) == wanted:
            break
    return corpus


def words(pair: Pair) -> Iterator[str]:
    """The words of both sides, each marked with its language, in lower case and without punctuation."""
    for language, text in zip(LANGUAGES, pair, strict=True):
        for word in text.lower().split():
            yield f"{language} {word.strip(',.?!')}"


def _unseen(
    candidate: Candidate, seen: set[str], other: Callable[[Sentence], str], known: set[str] | None = None
) -> list[Pair]:
    """The pair, or nothing if one of its sentences was seen before or has a word that is not known."""
    if candidate.english in seen:
        return []
    pair = candidate.english, other(candidate.tree)
    if pair[1] in seen or (known is not None and not known.issuperset(words(pair))):
        return []
    seen.update(pair if other is german.sentence else pair[:1])  # many sentences share a label
    return [pair]


def write(
    out: Path,
    size: int,
    *,
    seed: int = 1,
    clauses: int | None = None,
    labels: bool = False,
    overwrite: bool = False,
) -> DemoCorpus:
    """Write `train|valid|test.{en,de}`, or `.{en,tense}`, into the directory `out`, all or none; return the corpus.

    `overwrite` replaces an earlier demo corpus; a directory with anything else in it is never touched.
    """
    _check(size, clauses)
    with new_directory(out, overwrite=overwrite, refusal=demo_refusal) as building:
        corpus = generate(size, seed=seed, clauses=clauses, labels=labels)
        languages = (LANGUAGES[0], "tense") if labels else LANGUAGES
        for split, pairs in zip(SPLITS, corpus, strict=True):
            for side, language in enumerate(languages):
                text = "".join(f"{pair[side]}\n" for pair in pairs)
                (building / f"{split}.{language}").write_text(text, "utf-8", newline="\n")
        write_manifest(building, "demo")
    return corpus


def _check(size: int, clauses: int | None) -> None:
    if not 1 <= size <= MAX_SIZE:
        raise UsageError(
            f"cannot generate a demo corpus of {size} pairs", hint=f"choose a size from 1 to {MAX_SIZE}"
        )
    if clauses is not None and not MIN_CLAUSES <= clauses <= MAX_CLAUSES:
        raise UsageError(
            f"cannot generate chains of up to {clauses} clauses",
            hint=f"choose a number of clauses from {MIN_CLAUSES} to {MAX_CLAUSES}",
        )
