"""`evaluate` as a whole: scores, warnings, and the report."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sacrebleu.metrics import BLEU, CHRF, TER  # type: ignore[attr-defined]

from nmt_cli.errors import UsageError
from nmt_cli.evaluation.evaluate import EvaluationRun, evaluate
from nmt_cli.evaluation.report import report_page
from nmt_cli.evaluation.request import EvaluateRequest
from nmt_cli.evaluation.result import Evaluation, Example

Write = Callable[..., Path]
WORDS = ["Haus", "Garten", "der", "die", "steht", "neben", "grün", "12", "und", ",", "."]


def texts(seed: int, count: int = 60) -> list[str]:
    chance = random.Random(seed)
    return [" ".join(chance.choices(WORDS, k=chance.randint(3, 12))) for _ in range(count)]


def _examples(evaluation: Evaluation, name: str) -> list[Example]:
    (examples,) = (system.examples for system in evaluation.systems if system.name == name)
    assert examples is not None
    return [*examples.worst, *examples.best]


def damaged(lines: list[str], seed: int) -> list[str]:
    chance = random.Random(seed)
    return [" ".join(w for w in line.split() if chance.random() > 0.1) or "x" for line in lines]


@pytest.fixture
def request_of(write: Write) -> Callable[..., EvaluateRequest]:
    lines = texts(1)
    systems = [write(f"hyp.{name}.de", *damaged(lines, seed)) for seed, name in enumerate("abc")]
    reference = write("ref.de", *lines)
    return lambda **options: EvaluateRequest(
        **{"systems": systems, "references": [reference], "samples": 50, **options}
    )


def test_scores_and_signatures_equal_those_of_sacrebleu(request_of: Callable[..., EvaluateRequest]) -> None:
    request = request_of(metrics=("bleu", "chrf", "chrf++", "ter"), samples=0, lowercase=True)
    evaluation = evaluate(request)
    references = [texts(1)]
    theirs = [
        BLEU(lowercase=True),
        CHRF(lowercase=True),
        CHRF(word_order=2, lowercase=True),
        TER(),
    ]
    hypotheses = damaged(texts(1), 0)
    (ours,) = (system for system in evaluation.systems if system.name == "a")
    for metric, found in zip(theirs, ours.scores, strict=True):
        result = metric.corpus_score(hypotheses, references)
        assert found.score == pytest.approx(result.score, rel=1e-12)
        assert found.signature == str(metric.get_signature())
        assert found.metric == result.name


def test_the_block_size_does_not_change_the_result(
    request_of: Callable[..., EvaluateRequest], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = evaluate(request_of(examples=True)).model_dump(exclude={"created"})
    monkeypatch.setattr(EvaluationRun, "hypotheses_per_block", 12)
    cut = evaluate(request_of(examples=True, workers=1)).model_dump(exclude={"created"})
    assert cut == whole


def test_a_blank_reference_line_is_ignored_if_another_file_has_a_reference(write: Write) -> None:
    hypotheses = ["a house by the sea", "the cat sat down here", "one two three four five"]
    first = ["a house by the lake", "the cat sat down", "one two three four"]
    second = ["", "a cat was sitting here", ""]
    third = ["", "", "one two three four six"]
    files = [write(f"ref.{n}.en", *lines) for n, lines in enumerate((first, second, third))]
    evaluation = evaluate(EvaluateRequest([write("h.en", *hypotheses)], files, samples=0))
    holes: Any = [first, [None, second[1], None], [None, None, third[2]]]
    metric = BLEU()
    assert evaluation.systems[0].scores[0].score == metric.corpus_score(hypotheses, holes).score
    assert evaluation.systems[0].scores[0].signature == str(metric.get_signature())
    assert "nrefs:var" in evaluation.systems[0].scores[0].signature
    assert evaluation.warnings == []


def test_lines_without_any_reference_are_a_warning_and_scored_like_sacrebleu(write: Write) -> None:
    hypotheses, references = ["a b c d e", "f g", "h i j k l"], ["a b c d x", "", "h i j k l"]
    evaluation = evaluate(
        EvaluateRequest([write("h.en", *hypotheses)], [write("r.en", *references)], samples=0)
    )
    assert evaluation.systems[0].scores[0].score == BLEU().corpus_score(hypotheses, [references]).score
    (warning,) = evaluation.warnings
    assert warning.name == "blank-reference"
    assert "line 2 is blank" in warning.message


def test_the_tokenizer_follows_the_target_language(write: Write) -> None:
    chinese = write("h.zh", "我喜欢猫。"), write("r.zh", "我喜欢狗。")
    evaluation = evaluate(EvaluateRequest([chinese[0]], [chinese[1]], samples=0))
    assert evaluation.tokenizer == "zh"
    assert "tok:zh" in evaluation.systems[0].scores[0].signature
    assert evaluation.length_unit == "words"
    named = evaluate(EvaluateRequest([chinese[0]], [chinese[1]], samples=0, target_language="th"))
    assert named.tokenizer == "char"


@pytest.mark.parametrize(("language", "extra"), [("ja", "sacrebleu[ja]"), ("ko", "sacrebleu[ko]")])
def test_a_missing_tokenizer_names_the_extra_to_install(
    write: Write, monkeypatch: pytest.MonkeyPatch, language: str, extra: str
) -> None:
    monkeypatch.setattr("nmt_cli.metrics.corpus_metric.find_spec", lambda name: None)
    with pytest.raises(UsageError) as error:
        evaluate(EvaluateRequest([write(f"h.{language}", "x")], [write(f"r.{language}", "x")]))
    assert f"{language}-mecab" in error.value.message
    assert extra in error.value.hint


def test_a_tokenizer_that_would_be_downloaded_is_rejected(
    write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sacrebleu.utils.SACREBLEU_DIR", str(tmp_path))
    with pytest.raises(UsageError, match="needs a model that is missing"):
        evaluate(EvaluateRequest([write("h.de", "x")], [write("r.de", "x")], tokenize="flores200"))


def test_tokenized_or_subword_split_hypotheses_are_a_warning(write: Write) -> None:
    clean = [f"Satz Nummer {n}, mit einem Komma." for n in range(300)]
    bad = {
        "bpe-split": [line.replace("Nummer", "Num@@ mer") for line in clean],
        "piece-split": ["▁" + line.replace(" ", " ▁") for line in clean],
        "tokenized": [line.replace(",", " ,").replace(".", " .") for line in clean],
    }
    reference = write("r.de", *clean)
    for name, lines in bad.items():
        (system,) = evaluate(EvaluateRequest([write(f"{name}.de", *lines)], [reference], samples=0)).systems
        assert name in [warning.name for warning in system.warnings]
    other = [line.replace("einem", "dem") for line in clean]
    (system,) = evaluate(EvaluateRequest([write("clean.de", *other)], [reference], samples=0)).systems
    assert system.warnings == []


def test_short_empty_and_copied_hypotheses_are_warnings(write: Write) -> None:
    source = [f"ein Satz mit der Nummer {n} hier" for n in range(40)]
    reference = [f"a sentence with the number {n} here" for n in range(40)]
    short = ["a sentence"] * 38 + ["", ""]
    sources, references = write("s.de", *source), write("r.en", *reference)
    systems = [write("short.en", *short), write("copy.en", *source)]
    evaluation = evaluate(EvaluateRequest(systems, [references], source=sources, samples=0))
    found = {system.name: {warning.name for warning in system.warnings} for system in evaluation.systems}
    assert found["short"] >= {"short", "empty", "dropped-numbers"}
    assert found["copy"] == {"untranslated"}
    messages = [warning.message for warning in evaluation.all_warnings()]
    assert any("lines 39, 40 are empty" in message for message in messages)


def test_the_report_is_self_contained_and_escapes_everything(write: Write) -> None:
    evil = "<script>alert(1)</script> & \"quotes\" <img src=x onerror='y'> \x1b"
    lines = [*texts(3, 20), evil]
    systems = [write("a<b>.de", *damaged(lines[:-1], 1), evil), write("c.de", *damaged(lines, 2))]
    request = EvaluateRequest(
        systems, [write("r.de", *lines)], source=write("s.en", *lines), samples=20, examples=True
    )
    evaluation = evaluate(request)
    page = report_page(evaluation, {("a<b>", 21): "<svg><title>x</title></svg>"})
    assert evil in [example.hypothesis for example in _examples(evaluation, "a<b>")]
    assert "\x1b" not in page
    assert "<script" not in page
    assert "<img" not in page
    assert "a<b>" not in page
    assert "&lt;script&gt;" in page
    assert "<svg><title>x</title></svg>" in page
    for reference in ("http:", "https:", "url(", "@import", "src=", "href="):
        assert reference not in page.replace("&lt;img src=x", ""), reference
    assert page.count("<details") == page.count("</details>")
    assert page.count("<div") == page.count("</div>")
