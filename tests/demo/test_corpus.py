"""What the generated corpus promises, measured on a generated corpus."""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import sacrebleu

from nmt_cli.demo import MAX_SIZE, DemoCorpus, generate, lexicon, write
from nmt_cli.demo.corpus import candidates, held_out, words
from nmt_cli.demo.tree import combinations
from nmt_cli.errors import OutputError, UsageError

SIZE = 6_000
Pairs = list[tuple[str, str]]


@pytest.fixture(scope="module")
def corpus() -> DemoCorpus:
    return generate(SIZE)


def test_the_sizes_are_as_asked(corpus: DemoCorpus) -> None:
    assert [len(split) for split in corpus] == [SIZE, 300, 300]
    assert [len(split) for split in generate(1)] == [1, 1, 1]


def test_the_same_seed_gives_the_same_corpus_in_another_process() -> None:
    command = "from nmt_cli.demo import generate; print(*generate(40, seed=7), sep='\\n')"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", command], env={"PYTHONHASHSEED": seed, "PYTHONUTF8": "1"}, text=True,
            capture_output=True, check=True, cwd=Path(__file__).parents[2], encoding="utf-8",
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert outputs == {"\n".join(map(str, generate(40, seed=7))) + "\n"}
    assert generate(40, seed=7) != generate(40, seed=8)


def test_the_corpus_of_a_seed_never_changes() -> None:
    """Published scores were measured on this text; a change here makes them incomparable."""
    lines = [f"{split} {en} | {de}\n" for split, pairs in generate(500)._asdict().items() for en, de in pairs]
    assert (
        sha256("".join(lines).encode()).hexdigest()
        == "b4925906174c634d0b7e3bdd1c6287c064bfd9eef4f76575888959fc9d8aabe4"
    )


def test_a_smaller_corpus_is_the_beginning_of_a_larger_one(corpus: DemoCorpus) -> None:
    assert generate(100).train == corpus.train[:100]


def test_no_sentence_of_either_language_comes_twice(corpus: DemoCorpus) -> None:
    for side in (0, 1):
        sentences = [pair[side] for split in corpus for pair in split]
        assert len(sentences) == len(set(sentences))


def test_every_test_sentence_has_a_combination_that_training_never_has() -> None:
    for split, tree, _ in islice(candidates(3), 2_000):
        assert any(held_out(*pair) for pair in combinations(tree)) == (split == "test")


def test_the_splits_of_different_seeds_are_disjoint() -> None:
    first, second = generate(1_000, seed=11), generate(1_000, seed=12)
    assert not {source for source, _ in first.train} & {source for source, _ in second.test + second.valid}


def test_every_word_of_valid_and_test_is_known_from_training(corpus: DemoCorpus) -> None:
    for each in (corpus, generate(5_000, seed=7)):  # the promise begins at 5000 pairs
        known = {word for pair in each.train for word in words(pair)}
        assert known >= {word for pair in each.valid + each.test for word in words(pair)}


def test_the_lexicon_has_at_least_750_words_and_nearly_all_of_them_occur_in_4000_sentences() -> None:
    groups = [lexicon.NOUNS, *lexicon.VERBS.values(), *lexicon.ADJECTIVES.values(), *lexicon.WORDS.values()]
    listed = {word for group in groups for word in group} - {
        *lexicon.WORDS["conjunction"],
        *lexicon.WORDS["modal"],
    }
    assert len(listed) >= 750
    used: set[object] = set()
    for candidate in islice(candidates(1), 4_000):
        used.update(leaves(candidate.tree))
    assert len(listed & used) >= 0.95 * len(listed)


def leaves(node: object) -> Iterator[object]:
    if isinstance(node, tuple):
        for child in node:
            yield from leaves(child)
    else:
        yield node


def test_a_tenth_of_the_sentences_is_long_and_none_is_endless(corpus: DemoCorpus) -> None:
    for split in (corpus.train, corpus.valid + corpus.test):
        lengths = [len(source.split()) for source, _ in split]
        assert sum(length > 20 for length in lengths) >= 0.1 * len(lengths)
        assert 10 <= sum(lengths) / len(lengths) <= 14
        assert max(lengths) <= 40


def test_no_sentence_pattern_makes_up_more_than_two_percent(corpus: DemoCorpus) -> None:
    category = categories()
    counts = Counter(
        " ".join(category.get(word, word) for word in re.findall(r"[\w'-]+|[.,?!]", source.lower()))
        for source, _ in corpus.train
    )
    assert counts.most_common(1)[0][1] <= 0.02 * SIZE
    assert len(counts) > 0.5 * SIZE


def categories() -> dict[str, str]:
    """Every content word of English and what kind of word it is, whatever its form."""
    category: dict[str, str] = {}
    for verb in [*lexicon.VERBS["action"], *lexicon.VERBS["clause"], *lexicon.VERBS["control"]]:
        forms = (
            verb.english,
            verb.english_third,
            verb.english_past,
            verb.english_participle,
            verb.english_gerund,
        )
        category |= dict.fromkeys(forms, "VERB")
    for word in [*lexicon.ADJECTIVES["noun"], *lexicon.ADJECTIVES["mood"]]:
        category[word.english] = "ADJECTIVE"
    for noun in lexicon.NOUNS:
        category |= dict.fromkeys((noun.english, noun.english_plural), "NOUN")
    for group in ("woman", "man", "surname", "city", "country"):
        category |= {name.english.lower(): "NAME" for name in lexicon.WORDS[group]}
    return category


def tokens(text: str) -> list[str]:
    return re.findall(r"[\w'-]+|[.,?!]", text)


def dictionary(pairs: Pairs) -> dict[str, str]:
    """IBM model 1 (Brown et al. 1993): the most probable translation of each word, learned by EM.

    A word that explains less than half a word of the other language translates to nothing: that makes the
    dictionary two BLEU stronger.
    """
    sources: dict[str, int] = {}
    targets: dict[str, int] = {}
    source_ids, target_ids, positions, position = [], [], [], 0
    for source, target in pairs:
        ids = [sources.setdefault(word, len(sources)) for word in tokens(source) if word not in ".,?!"]
        for word in (word for word in tokens(target) if word not in ".,?!"):
            source_ids += ids
            target_ids += [targets.setdefault(word, len(targets))] * len(ids)
            positions += [position] * len(ids)
            position += 1
    e, f, j = np.array(source_ids), np.array(target_ids), np.array(positions)
    links, link = np.unique(e.astype(np.int64) * len(targets) + f, return_inverse=True)
    t = np.ones(len(links))  # t(f | e)
    for _ in range(8):
        counts = np.bincount(link, t[link] / np.bincount(j, t[link])[j])
        explained = np.bincount(links // len(targets), counts)
        t = counts / explained[links // len(targets)]
    source_words, target_words = list(sources), list(targets)
    order = np.argsort(t)  # the most probable comes last and stays
    best = {source_words[links[i] // len(targets)]: target_words[links[i] % len(targets)] for i in order}
    frequency = Counter(word for source, _ in pairs for word in tokens(source))
    return {word: best[word] if explained[i] >= 0.5 * frequency[word] else "" for word, i in sources.items()}


def spelled(output: list[str]) -> str:
    text = re.sub(r" ([.,?!])", r"\1", " ".join(filter(None, output)))
    return text[:1].upper() + text[1:]


@pytest.mark.parametrize("reverse", [False, True], ids=["en-de", "de-en"])
def test_word_by_word_with_a_learned_dictionary_scores_below_30_bleu(
    corpus: DemoCorpus, reverse: bool
) -> None:
    train, test = corpus.train[:5_000], corpus.test
    if reverse:
        train, test = [(b, a) for a, b in train], [(b, a) for a, b in test]
    best = dictionary(train)
    output = [spelled([best.get(word, word) for word in tokens(source)]) for source, _ in test]
    bleu = sacrebleu.corpus_bleu(output, [[target for _, target in test]]).score
    assert 10 < bleu < 30  # above 10, or the dictionary would be no fair opponent


@pytest.mark.parametrize("size", [0, -5, MAX_SIZE + 1])
def test_an_impossible_size_is_refused(size: int) -> None:
    with pytest.raises(UsageError, match=f"a demo corpus of {size} pairs") as caught:
        generate(size)
    assert str(MAX_SIZE) in caught.value.hint


def test_the_files_hold_the_corpus(tmp_path: Path) -> None:
    corpus = write(tmp_path / "new" / "data", 60, seed=2)
    assert corpus == generate(60, seed=2)
    files = sorted(path.name for path in (tmp_path / "new" / "data").iterdir())
    assert files == ["manifest.json", "test.de", "test.en", "train.de", "train.en", "valid.de", "valid.en"]
    for split, pairs in corpus._asdict().items():
        for language, side in (("en", 0), ("de", 1)):
            text = (tmp_path / "new" / "data" / f"{split}.{language}").read_text(encoding="utf-8")
            assert text == "".join(f"{pair[side]}\n" for pair in pairs)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["data"]


def english_side(directory: Path) -> list[str]:
    return (directory / "train.en").read_text("utf-8").rstrip("\n").split("\n")


def test_an_earlier_corpus_is_kept_unless_overwriting_is_asked_for(tmp_path: Path) -> None:
    first = write(tmp_path / "data", 10)
    with pytest.raises(UsageError, match="already exists") as caught:
        write(tmp_path / "data", 10, seed=2)
    assert "--overwrite" in caught.value.hint
    assert english_side(tmp_path / "data") == [source for source, _ in first.train]
    second = write(tmp_path / "data", 10, seed=2, overwrite=True)
    assert english_side(tmp_path / "data") == [source for source, _ in second.train]
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_other_files_are_never_touched(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(UsageError, match="contains other files"):
        write(tmp_path, 10, overwrite=True)
    with pytest.raises(UsageError, match="is not a directory"):
        write(tmp_path / "mine.txt", 10, overwrite=True)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["precious"]


def test_an_impossible_size_makes_no_directory(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot generate"):
        write(tmp_path / "new" / "data", 0)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_a_named_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write"):
        write(tmp_path / "file" / "data", 10)


def test_labels_are_the_tenses_of_main_clauses() -> None:
    corpus = generate(400, labels=True)
    assert [len(split) for split in corpus] == [400, 20, 20]
    sentences = [sentence for split in corpus for sentence, _ in split]
    assert len(sentences) == len(set(sentences))
    labels = Counter(label for split in corpus for _, label in split)
    assert set(labels) == {"present", "past", "future", "order"}
    for sentence, label in (pair for split in corpus for pair in split):
        assert label != "future" or re.search(r"\b([Ww]ill|[Ww]on't)\b", sentence), sentence
        assert label != "order" or not sentence.endswith("?"), sentence


def test_labeled_text_is_written_in_two_files(tmp_path: Path) -> None:
    written = write(tmp_path / "tenses", 40, labels=True)
    names = sorted(path.name for path in (tmp_path / "tenses").iterdir() if path.suffix != ".json")
    assert names == sorted(
        f"{split}.{side}" for split in ("train", "valid", "test") for side in ("en", "tense")
    )
    assert (tmp_path / "tenses" / "train.tense").read_text("utf-8").split() == [
        tag for _, tag in written.train
    ]
