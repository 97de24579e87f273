"""The analysis behind a score: lengths, frequencies, output errors, differences, missing lines."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nmt_cli.evaluation.breakdowns import (
    LengthStatistics,
    TrainingWords,
    WordRecall,
    closest,
    differences,
    units_of,
)
from nmt_cli.evaluation.evaluate import evaluate
from nmt_cli.evaluation.request import EvaluateRequest
from nmt_cli.evaluation.texts import Lines, Text, first_line_off, language_of
from nmt_cli.evaluation.warnings import OutputErrorCounter, has_loop
from nmt_cli.metrics.corpus_metric import CorpusMetric

Write = Callable[..., Path]


@pytest.mark.parametrize(
    ("text", "loops"),
    [
        ("the man the man the man runs", True),
        ("a very very long road", False),
        ("no no no no", True),
        ("one two three one two three four", True),
        ("one two one two", False),
        (". . . . . .", False),
        ("", False),
        ("我喜欢我喜欢我喜欢我喜欢我喜欢我喜欢我喜欢", True),
    ],
)
def test_repetition_loops_are_told_from_ordinary_repetition(text: str, loops: bool) -> None:
    assert has_loop(text) is loops


def test_output_errors_are_reported_by_line() -> None:
    errors = OutputErrorCounter()
    hypotheses = ["", "Ein Haus", "so so so so", "er kam", "1.000 Euro", "Berlin"]
    references = ["x", "a house", "so", "he came in 1999", "1,000 euros", "Berlin"]
    sources = ["x", "Ein Haus", "so", "er kam 1999", "1.000 Euro", "Berlin"]
    errors.observe(Lines(11, sources, [list(references)], [hypotheses]), hypotheses)
    assert (errors.empty, errors.untranslated, errors.repeated) == ([11], [12, 15], [13])
    assert (errors.dropped_numbers, errors.with_numbers) == ([14], 2)


def test_length_buckets_add_up_to_the_whole() -> None:
    metric = CorpusMetric("bleu")
    hypotheses = [" ".join(f"w{i % 7}" for i in range(n)) for n in range(1, 41)]
    metric.prepare([[line + " w1" for line in hypotheses]])
    statistics = metric.statistics(hypotheses)
    lengths = LengthStatistics()
    lengths.observe(np.arange(1, 41), statistics)
    buckets = lengths.buckets(metric)
    assert sum(bucket.sentences for bucket in buckets) == 40
    assert [bucket.shortest for bucket in buckets] == [1, 11, 21, 31]
    rows = statistics[10:20].sum(axis=0)
    assert buckets[1].bleu == metric.score(rows)


def test_word_recall_is_broken_down_by_training_frequency() -> None:
    training = TrainingWords("train", [["a a a b", "a b c"]], str.split)
    assert training.frequencies == Counter(a=4, b=2, c=1)
    recall = WordRecall(training, str.split)
    recall.observe(["a b b x"], ["a b c new c"])
    found = {(bucket.least, bucket.most): (bucket.found, bucket.words) for bucket in recall.buckets()}
    assert found == {(0, 0): (0, 1), (1, 1): (0, 2), (2, 4): (2, 2)}
    assert training.seen(["a  b c", "a b", ""]) == 1


def test_references_in_the_training_data_are_a_warning(write: Write) -> None:
    lines = [f"this is sentence number {n}" for n in range(50)]
    hypotheses, references, train = write("h.en", *lines), write("r.en", *lines), write("t.en", *lines[:10])
    evaluation = evaluate(EvaluateRequest([hypotheses], [references], train=[train], samples=0))
    (warning,) = evaluation.warnings
    assert warning.name == "seen-in-training"
    assert "10 of 50 references (20.0%)" in warning.message


def test_a_reference_among_the_systems_is_a_warning(write: Write) -> None:
    lines = ["ein Haus am See", "zwei Hunde"]
    files = [write("ref.de", *lines), write("hyp.de", "ein Haus am Meer", "zwei Hunde")]
    evaluation = evaluate(EvaluateRequest(files, files[:1], samples=0))
    names = {system.name: [warning.name for warning in system.warnings] for system in evaluation.systems}
    assert names == {"ref": ["is-the-reference"], "hyp": []}


def test_the_line_at_which_texts_diverge_is_found() -> None:
    lines = [f"line {n} has the words w{n} and v{n}" for n in range(200)]
    noisy = [line.replace("words", "sounds") for line in lines]
    assert first_line_off(noisy[:80] + noisy[81:], lines) == 81
    assert first_line_off(lines, [*noisy[:120], "an extra line", *noisy[120:]]) == 121
    assert first_line_off(lines[:150], lines) == 151


def test_differences_are_marked_and_the_text_stays() -> None:
    assert differences("a big <b> house", "a small house") == [
        ("a ", False),
        ("big <b>", True),
        (" house", False),
    ]
    assert differences("a small house", "a big house") == [("a ", False), ("small", True), (" house", False)]
    for text in ("Das ist's, 3.5 %!", "  我喜欢 Python3。", ""):
        assert "".join(units_of(text)) == "".join(piece for piece, _ in differences(text, "Das")) == text
    assert closest("the cat sat", ["a dog", "the cat sits"]) == "the cat sits"


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("ref.de", "de"),
        ("ref.A.zh.gz", "zh"),
        ("x.pt_BR", "pt_BR"),
        ("hyp.txt", None),
        ("hyp", None),
        ("a.0", None),
    ],
)
def test_the_language_is_read_from_the_file_name(name: str, language: str | None) -> None:
    assert language_of(Path(name)) == language


def test_only_newlines_end_a_line(tmp_path: Path) -> None:
    path = tmp_path / "odd"
    path.write_bytes("a\u2028b\r\n\n c\x0bd".encode())
    text = Text.open(path)
    assert text.take(10) == ["a\u2028b", "", " c\x0bd"]
    assert text.lines == 3
