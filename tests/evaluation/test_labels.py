"""Sequence to label: accuracy and confusion, and a tiny classifier that learns its labels."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from nmt_cli.config import resolve
from nmt_cli.evaluation.evaluate import evaluate
from nmt_cli.evaluation.report import confusion_rows, evaluation_markdown, report_page
from nmt_cli.evaluation.request import EvaluateRequest
from nmt_cli.evaluation.result import Confusion
from nmt_cli.explanation.explainer import Explainer
from nmt_cli.preprocessing import PreprocessRequest, preprocess
from tests.cli.conftest import Run, nmt
from tests.training.conftest import train

__all__ = ["nmt"]

Write = Callable[..., Path]
CUES = {"gestern": "past", "jetzt": "present", "morgen": "future"}
FILLERS = [consonant + vowel for consonant in "bdfgklmn" for vowel in "aeiou"]


def test_accuracy_is_the_share_of_lines_that_equal_a_reference(write: Write) -> None:
    hypotheses = write("hyp.de", "a", " b ", "c", "B", "")
    first, second = write("ref.1", "a", "b", "x", "b", "a"), write("ref.2", "a", "b", "c", "", "")
    request = EvaluateRequest(
        systems=[hypotheses], references=[first, second], metrics=["accuracy"], samples=200
    )
    [system] = evaluate(request).systems
    [score] = system.scores
    assert score.score == pytest.approx(100 * 3 / 5)
    assert score.signature.startswith("nrefs:var|bs:200|")
    assert "case:mixed" in score.signature
    assert score.interval is not None
    assert score.interval.low < 60 < score.interval.high
    lower = EvaluateRequest(
        systems=[hypotheses], references=[first], metrics=["accuracy"], samples=0, lowercase=True
    )
    assert evaluate(lower).systems[0].scores[0].score == pytest.approx(100 * 3 / 5)


def test_the_confusion_matrix_counts_every_line(write: Write) -> None:
    references = write("ref.label", *["past"] * 5, *["future"] * 3, "order")
    hypotheses = write("hyp.label", *["past"] * 4, "future", *["future"] * 2, "nothing", "past")
    request = EvaluateRequest(systems=[hypotheses], references=[references], metrics=["accuracy"], samples=0)
    evaluation = evaluate(request)
    [system] = evaluation.systems
    assert system.confusion == Confusion(
        labels=["past", "future", "order"], counts=[[4, 1, 0], [0, 2, 0], [1, 0, 0]], missing=[0, 1, 0]
    )
    assert confusion_rows(system.confusion) == [
        ["", "past", "future", "order", "other", "recall"],
        ["past", "4", "1", "0", "0", "80.0 %"],
        ["future", "0", "2", "0", "1", "66.7 %"],
        ["order", "1", "0", "0", "0", "0.0 %"],
        ["precision", "80.0 %", "66.7 %", "–", "", ""],
    ]
    assert "| future | 0 | 2 | 0 | 1 |" in evaluation_markdown(evaluation).replace("  ", " ")
    assert "predicted one" in report_page(evaluation, {})


def test_there_is_no_confusion_matrix_without_the_metric_or_with_many_labels(write: Write) -> None:
    many = write("ref.label", *(f"label{number}" for number in range(40)))
    for metrics in (["accuracy"], ["chrf"]):
        request = EvaluateRequest(systems=[many], references=[many], metrics=metrics, samples=0)
        assert evaluate(request).systems[0].confusion is None


def test_a_perfect_classifier_is_not_taken_for_the_reference(write: Write) -> None:
    same = write("ref.label", "past", "future")
    for metric, warned in (("accuracy", False), ("chrf", True)):
        request = EvaluateRequest(systems=[same], references=[same], metrics=[metric], samples=0)
        warnings = evaluate(request).systems[0].warnings
        assert any(warning.name == "is-the-reference" for warning in warnings) is warned


def write_labeled(folder: Path, name: str, count: int, seed: int) -> None:
    draw = random.Random(seed)
    pairs = []
    for _ in range(count):
        cue = draw.choice(list(CUES))
        words = draw.choices(FILLERS, k=draw.randint(2, 7))
        words.insert(draw.randint(0, len(words)), cue)
        pairs.append((" ".join(words), CUES[cue]))
    for side, language in enumerate(("xx", "label")):
        (folder / f"{name}.{language}").write_text("".join(f"{pair[side]}\n" for pair in pairs), "utf-8")


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("labels")
    for seed, (name, count) in enumerate({"train": 600, "valid": 30, "test": 60}.items()):
        write_labeled(folder, name, count, seed)
    settings = ("vocabulary.kind=word", "vocabulary.joint=false", "data.length_ratio=false")
    train_text, valid, test = ([str(folder / name)] for name in ("train", "valid", "test"))
    request = PreprocessRequest(
        source_lang="xx",
        target_lang="label",
        train=train_text,
        valid=valid,
        test=test,
        out=folder / "data",
        settings=resolve(None, settings),
    )
    preprocess(request, lambda report: None)
    torch.set_num_threads(1)
    train(
        folder / "data",
        folder / "run",
        "model.preset=bahdanau2015",
        "model.initial_state=zero",
        "model.embedding_size=16",
        "model.hidden_size=16",
        "train.batch_sentences=32",
        "train.learning_rate=2e-2",
        "train.label_smoothing=0.0",
        "train.metric=perplexity",
        "train.max_updates=120",
        "train.validate_every=120",
        "train.ema_decay=0",
        "model.dropout=0.0",
    )
    return folder / "run"


def test_a_tiny_classifier_learns_its_labels(nmt: Run, classifier: Path) -> None:
    outcome = nmt("evaluate", classifier, "--metrics", "accuracy", "--json", "--samples", 0, "--threads", 1)
    assert outcome.code == 0, outcome.stderr
    [system] = json.loads(outcome.stdout)["systems"]
    assert system["scores"][0]["score"] >= 95
    assert sorted(system["confusion"]["labels"]) == sorted(CUES.values())
    assert system["warnings"] == []
    shown = nmt(
        "evaluate", classifier, "--metrics", "accuracy", "--samples", 0, "--no-record", "--threads", 1
    )
    assert "correct label by row, predicted label by column" in shown.stdout
    assert "precision" in shown.stdout


def test_a_label_is_one_token_with_attention_over_all_words(classifier: Path) -> None:
    explainer = Explainer.load(classifier)
    for cue, label in CUES.items():
        found = explainer.explain(f"ba {cue} du fe")
        assert found.translation == label
        assert found.target_pieces == (f"▁{label}", "<eos>")
        assert found.word_attention is not None
        assert sum(found.word_attention[0]) == pytest.approx(1.0, abs=1e-5)
        assert found.source_labels == ["ba", cue, "du", "fe", "<eos>"]
