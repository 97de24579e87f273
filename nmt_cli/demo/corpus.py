"""The splits: which sentences train, which validate, which test, and how they are written to files.

Train and test are disjoint by construction: one in sixteen pairs of words (a verb and its object, an
adjective and its noun) is held out, the same ones for all seeds and sizes. A sentence with a held-out pair
can only be a test sentence, every test sentence has one, and training knows its words from other company.
Validation comes from the distribution of training; a hash of the sentence tells the two apart.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from random import Random
from typing import NamedTuple
from zlib import crc32

from nmt_cli.demo import english, german
from nmt_cli.demo.sentences import Sentences
from nmt_cli.demo.tree import Sentence, combinations
from nmt_cli.errors import OutputError, UsageError

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

    The training pairs of a smaller size are the first ones of a larger size with the same seed.
    """
    if not 1 <= size <= MAX_SIZE:
        raise UsageError(
            f"a demo corpus of {size} pairs cannot be made", hint=f"choose a size from 1 to {MAX_SIZE}"
        )
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
    _check_free(out, overwrite=overwrite)
    corpus = generate(size, seed=seed)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        building = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
        try:
            for split, pairs in zip(SPLITS, corpus, strict=True):
                for side, language in enumerate(LANGUAGES):
                    _write_lines(building / f"{split}.{language}", [pair[side] for pair in pairs])
            _replace(building, out)
        finally:
            shutil.rmtree(building, ignore_errors=True)
    except OSError as error:
        hint = "check that the disk has room and that the directory above may be written to"
        raise OutputError(f"cannot write {out}: {error.strerror or error}", hint=hint) from error
    return corpus


def _check_free(out: Path, *, overwrite: bool) -> None:
    if not out.exists():
        return
    if not out.is_dir():
        raise OutputError(f"{out} is not a directory", hint="name a directory that is new or empty")
    ours = {f"{split}.{language}" for split in SPLITS for language in LANGUAGES}
    found = {path.name for path in out.iterdir()}
    if found - ours:
        hint = "name a directory that is new, empty or holds an earlier demo corpus"
        raise OutputError(f"{out} holds other files, such as {min(found - ours)}", hint=hint)
    if found and not overwrite:
        hint = "name another directory or ask to overwrite this one"
        raise OutputError(f"{out} already holds a demo corpus", hint=hint)


def _write_lines(path: Path, lines: list[str]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)
        file.flush()
        os.fsync(file.fileno())


def _replace(building: Path, out: Path) -> None:
    """Move the finished directory to its name; what stood there is deleted only afterwards."""
    building.chmod(0o755)  # mkdtemp makes it private
    if not out.exists():
        building.rename(out)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{out.name}.old.", dir=out.parent))
    out.rename(old / out.name)
    building.rename(out)
    shutil.rmtree(old, ignore_errors=True)
