"""Learning is proved by learning, then by reloading."""

import json
import logging
import math
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch

from nmt_cli.drawing.charts import ticks
from nmt_cli.drawing.curves import draw_curves
from nmt_cli.metrics import bleu, chrf, tokenizer_for
from nmt_cli.run import RunDirectory
from nmt_cli.run.weights import mean_weights, parse_tensors, weights_of
from nmt_cli.translator import Details, Translator

from .conftest import Run, make_data, options, write_pairs

LEARNS = (
    "model.preset=bahdanau2015",
    "model.hidden_size=64",
    "model.embedding_size=32",
    "model.dropout=0",
    "train.batch_tokens=300",
    "train.label_smoothing=0",
    "train.learning_rate=0.01",
    "train.schedule=cosine",
    "train.max_updates=300",
    "train.validate_every=150",
    "train.ema_decay=0.8",
    "train.warmup_updates=20",
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_data(tmp_path_factory.mktemp("learning"), pairs=600, size=337)


@pytest.fixture(scope="module")
def learned(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from nmt_cli.cli.app import app

    out = tmp_path_factory.mktemp("learned") / "run"
    with pytest.raises(SystemExit) as end:
        app(["train", str(corpus), "--out", str(out), "--threads", "1", "--quiet", *options(*LEARNS)])
    assert end.value.code == 0
    return out


def translator(path: Path) -> Translator:
    run = RunDirectory.open(path, hashes=True)
    return Translator(run.load_model(), run.vocabularies, run.config.search, normalization=run.normalization)


def test_a_tiny_model_learns_and_still_translates_after_reloading(learned: Path, tmp_path: Path) -> None:
    write_pairs(tmp_path, "new", 30, seed=77)
    source, target = ((tmp_path / f"new.{side}").read_text().splitlines() for side in ("xx", "yy"))
    translations = translator(learned).translate(source, details=Details(attention=True))
    assert [translation.text for translation in translations] == target
    first = translations[0]
    assert first.attention is not None
    assert first.attention.shape == (len(first.target_pieces), len(first.source_pieces))


def test_validation_and_translation_agree(learned: Path) -> None:
    samples = json.loads((learned / "samples.json").read_text())["samples"]
    run = RunDirectory.open(learned)
    held_out = run.held_out("valid")
    assert held_out is not None
    translations = [translation.text for translation in translator(learned).translate(held_out[0])]
    best = best_record(learned)
    assert bleu(translations, held_out[1]).value == pytest.approx(best["bleu"])
    assert chrf(translations, held_out[1]).value == pytest.approx(best["chrf"])
    assert {sample["source"] for sample in samples} <= set(held_out[0])
    assert all(len(sample["attention"]) == len(sample["target_pieces"]) for sample in samples)


def best_record(run: Path) -> dict[str, float]:
    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    validations = [record for record in records if record["kind"] == "validation"]
    best: dict[str, float] = max(validations, key=lambda record: (record["score"], -record["loss"]))
    return best


def test_blank_lines_stay_blank_and_in_place(learned: Path) -> None:
    texts = ["", "ba be", "  ", "bi", ""]
    assert [translation.text for translation in translator(learned).translate(texts)] == [
        "",
        "BA BE",
        "",
        "BI",
        "",
    ]


def test_the_batch_size_of_translation_changes_nothing(learned: Path) -> None:
    run = RunDirectory.open(learned)
    model, lines = run.load_model(), ["ba", "be bi bo bu", "fa fe", "di do du da de"] * 3
    results = [
        [
            t.text
            for t in Translator(model, run.vocabularies, run.config.search, batch_tokens=size).translate(
                lines
            )
        ]
        for size in (1, 20, 1000)
    ]
    assert results[0] == results[1] == results[2]


def test_metrics_and_curves_are_readable(learned: Path) -> None:
    records = [json.loads(line) for line in (learned / "metrics.jsonl").read_text().splitlines()]
    steps = [record for record in records if record["kind"] == "step"]
    assert [record["update"] for record in steps] == list(range(3, 301, 3))
    assert all(math.isfinite(record["loss"]) and record["tokens_per_second"] > 0 for record in steps)
    assert steps[-1]["loss"] < 0.5 < 4 < steps[0]["loss"]
    tree = ElementTree.parse(learned / "curves.svg")
    texts = [element.text for element in tree.iter("{http://www.w3.org/2000/svg}text")]
    assert "cross-entropy per target token" in texts
    assert any(text and text.startswith("BLEU ") for text in texts)
    assert f"{learned.name}: bahdanau2015, xx → yy" in texts
    assert "learning rate" in texts
    assert len(list(tree.iter("{http://www.w3.org/2000/svg}polyline"))) == 5
    tooltips = [element.text for element in tree.iter("{http://www.w3.org/2000/svg}title")]
    # Points and their rings.
    assert len([text for text in tooltips if text and "best model" in text]) == 2 * 3
    assert tooltips[0] == f"update 3: {math.log(steps[0]['perplexity']):.2f}"


def test_the_model_card_names_the_scores_of_the_model(learned: Path) -> None:
    card = (learned / "README.md").read_text()
    assert "# Translation from xx to yy" in card
    assert f"| BLEU | {best_record(learned)['bleu']:.1f} | `nrefs:1\\|case:mixed" in card
    assert "`model.hidden_size = 64`" in card


def test_curves_of_long_runs_stay_small_and_any_title_is_safe() -> None:
    steps = [{"kind": "step", "update": n, "perplexity": 9.0, "learning_rate": 0.1} for n in range(1, 20_000)]
    picture = draw_curves(steps, title="<b>" + "W" * 500)
    ElementTree.fromstring(picture)
    assert len(picture) < 30 * len(steps)
    assert "<b>" not in picture


def test_curves_can_be_drawn_from_no_points_and_from_one() -> None:
    ElementTree.fromstring(draw_curves([]))
    ElementTree.fromstring(draw_curves([{"kind": "step", "update": 1, "perplexity": 10.0}]))
    assert ticks(0, 1000) == [0, 200, 400, 600, 800, 1000]
    assert ticks(5, 5)[0] <= 5 <= ticks(5, 5)[-1]


def test_average_writes_the_mean_of_the_kept_checkpoints(nmt: Run, learned: Path, tmp_path: Path) -> None:
    outcome = nmt("average", learned, "--out", tmp_path / "mean")
    assert outcome.code == 0, outcome.stderr
    files = sorted((learned / "checkpoints").iterdir())
    expected = mean_weights([parse_tensors(file.read_bytes(), file, hint="") for file in files])
    model = RunDirectory.open(tmp_path / "mean", hashes=True).load_model()
    for name, tensor in weights_of(model).items():
        assert torch.equal(tensor, expected[name])
    assert nmt("average", learned, tmp_path / "mean", "--out", tmp_path / "again").code == 0
    outcome = nmt("average", tmp_path / "mean", "--out", tmp_path / "other")
    assert (outcome.code, "has no state to resume from" in outcome.stderr) == (1, True)


def test_a_model_is_averaged_with_one_fine_tuned_with_another_dropout_but_not_with_another_model(
    nmt: Run, learned: Path, corpus: Path, tmp_path: Path
) -> None:
    tuned, other, out = tmp_path / "tuned", tmp_path / "other", tmp_path / "mean"
    short = ("--threads", 1, "--set", "train.max_updates=1")
    outcome = nmt("train", corpus, "--out", tuned, "--init", learned, *short, "--set", "model.dropout=0.5")
    assert outcome.code == 0, outcome.stderr
    assert nmt("average", learned, tuned, "--out", out).code == 0
    mean, runs = RunDirectory.open(out), [RunDirectory.open(path) for path in (learned, tuned)]
    assert mean.config.model == runs[0].config.model
    expected = mean_weights([weights_of(run.load_model()) for run in runs])
    assert all(torch.equal(tensor, expected[name]) for name, tensor in weights_of(mean.load_model()).items())

    outcome = nmt("train", corpus, "--out", other, *short, "--set", "model.hidden_size=32")
    assert outcome.code == 0, outcome.stderr
    outcome = nmt("average", learned, other, "--out", tmp_path / "none")
    assert outcome.code == 2
    assert "are different models: " in outcome.stderr
    assert "model.preset = luong2015 instead of bahdanau2015" in outcome.stderr
    assert "model.hidden_size = 32 instead of 64" in outcome.stderr


def test_fine_tuning_starts_from_the_weights_of_another_run(
    nmt: Run, learned: Path, corpus: Path, tmp_path: Path
) -> None:
    outcome = nmt(
        "train",
        corpus,
        "--out",
        tmp_path / "tuned",
        "--init",
        learned,
        "--threads",
        1,
        "--set",
        "train.max_updates=1",
    )
    assert outcome.code == 0, outcome.stderr
    tuned = RunDirectory.open(tmp_path / "tuned")
    assert tuned.config.model == RunDirectory.open(learned).config.model  # without saying so again
    assert tuned.resolved.provenance["model.hidden_size"] == "--init"
    assert best_record(tmp_path / "tuned")["bleu"] > 80


def test_no_warning_about_tokenized_text_reaches_the_display(caplog: pytest.LogCaptureFixture) -> None:
    """sacreBLEU warns if many lines end in a period that is a token of its own."""
    lines = ["It is tokenized ."] * 120
    with caplog.at_level(logging.WARNING, logger="sacrebleu"):
        assert bleu(lines, lines).value == pytest.approx(100)
    assert not caplog.records


def test_tokenizers_by_language() -> None:
    assert [tokenizer_for(language) for language in ("de", "zh", "zh_TW", "th")] == [
        "13a",
        "zh",
        "zh",
        "char",
    ]
