"""Training a language model on monolingual text, from lines to a model that continues them."""

import json
import math
import random
from pathlib import Path

import pytest
import torch

from nmt_cli.config import Resolved, resolve
from nmt_cli.data.directory import preset_for
from nmt_cli.errors import ConfigError
from nmt_cli.preprocessing import PreprocessRequest, preprocess
from nmt_cli.run import RunDirectory
from nmt_cli.training import Report, UpdateReport, ValidationReport, WarningReport, resume, start
from nmt_cli.training.dry_run import estimate_run
from nmt_cli.translator import Translator

from .conftest import ON_CPU, Run, assert_same, make_data, resume_run

SMALL = (
    "model.embedding_size=32",
    "model.hidden_size=32",
    "model.dropout=0.0",
    "model.decoder_layers=1",
    "train.batch_tokens=160",
    "train.pool_batches=4",
    "train.warmup_updates=5",
    "train.learning_rate=0.01",
    "train.save_every=0",
)


def line(chance: random.Random) -> tuple[str, float]:
    """`ba … bo` or `da … do` with any number of `mi` and `mu` within, and its log-probability."""
    opening = chance.choice("bd")
    words, log_p = [f"{opening}a"], math.log(0.5)
    while chance.random() < 0.75:
        words.append(chance.choice(["mi", "mu"]))
        log_p += math.log(0.75) + math.log(0.5)
    return " ".join([*words, f"{opening}o"]), log_p + math.log(0.25)


def in_language(text: str) -> bool:
    first, *middle, last = text.split(" ")
    return first[:-1] + "o" == last and first in ("ba", "da") and set(middle) <= {"mi", "mu"}


def write(path: Path, count: int, seed: int) -> float:
    """Lines of the language, and the true perplexity of a token, <eos> included."""
    chance = random.Random(seed)
    drawn = [line(chance) for _ in range(count)]
    path.write_text("".join(f"{text}\n" for text, _ in drawn))
    tokens = sum(text.count(" ") + 2 for text, _ in drawn)
    return math.exp(-sum(log_p for _, log_p in drawn) / tokens)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """A monolingual data directory, and the true perplexity of its validation set."""
    folder = tmp_path_factory.mktemp("monolingual")
    write(folder / "train.yy", 2000, 1)
    true = write(folder / "valid.yy", 300, 2)
    request = PreprocessRequest(
        source_lang="",
        target_lang="yy",
        train=[str(folder / "train")],
        valid=[str(folder / "valid")],
        out=folder / "data",
        settings=resolve(
            None,
            ["vocabulary.kind=word", "data.duplicate=false", "data.in_heldout=false", "data.test_size=0"],
        ),
    )
    preprocess(request, lambda report: None)
    return folder / "data", true


def settings(data: Path, *assignments: str) -> Resolved:
    return resolve(None, [*SMALL, *assignments], preset=preset_for(data))


def train(data: Path, out: Path, *assignments: str) -> list[Report]:
    with start(data, out, settings(data, *assignments), machine=ON_CPU) as trainer:
        return list(trainer.run())


@pytest.fixture(scope="module")
def learned(text: tuple[Path, float], tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    out = tmp_path_factory.mktemp("learned") / "run"
    train(text[0], out, "train.max_epochs=4", "train.ema_decay=0.8")
    return out


def test_a_language_model_reaches_the_true_perplexity_of_its_text(
    text: tuple[Path, float], learned: Path
) -> None:
    run = RunDirectory.open(learned, hashes=True)
    assert run.config.model.preset == "zaremba2014"
    assert run.config.model.is_language_model
    assert run.resolved.provenance["model.preset"] == "monolingual text"
    assert run.resolved.provenance["model.cell"] == "preset zaremba2014"
    assert run.resolved.provenance["model.decoder_layers"] == "--set"
    records = [json.loads(line) for line in (learned / "metrics.jsonl").read_text().splitlines()]
    validations = [record for record in records if record["kind"] == "validation"]
    best = max(validations, key=lambda record: record["score"])
    assert best["perplexity"] == pytest.approx(text[1], rel=0.02)
    assert best["score"] == -best["perplexity"]
    assert not any("bleu" in record or "chrf" in record for record in validations)


def test_the_run_reports_perplexity_only(learned: Path) -> None:
    card = (learned / "README.md").read_text()
    assert card.startswith("# Language model for yy\n")
    assert "nmt generate DIRECTORY TEXT" in card
    assert "| perplexity |" in card
    curves = (learned / "curves.svg").read_text()
    assert "cross-entropy" in curves
    for page in (card, curves):
        assert "BLEU" not in page
        assert "chrF" not in page


def test_generated_text_is_in_the_language_and_continues_the_prompt(learned: Path) -> None:
    model = Translator.load(learned, device="cpu", language_model=True, search={"n_best": 10})
    found = [text.text for one in model.generate(["ba mi", "da", ""]) for text in one.n_best or ()]
    assert len(found) == 30
    assert sum(map(in_language, found)) >= 28
    assert all(text.startswith("ba mi") for text in found[:10])
    assert all(text.startswith("da") for text in found[10:20])
    assert len(set(found)) > 10


def test_the_score_of_a_text_is_its_true_probability(learned: Path, text: tuple[Path, float]) -> None:
    model = Translator.load(learned, device="cpu", language_model=True)
    lines = (text[0] / "valid.yy").read_text().split("\n")[:-1]
    found = model.score([""] * len(lines), lines)
    tokens = sum(len(one.target_pieces) for one in found)
    log_p = sum(one.log_probability or 0.0 for one in found)
    assert math.exp(-log_p / tokens) == pytest.approx(text[1], rel=0.02)
    right, wrong = model.score(["", ""], ["ba mi bo", "ba mi do"])
    assert right.log_probability == pytest.approx(math.log(0.5 * 0.75 * 0.5 * 0.25), abs=0.5)
    assert right.log_probability is not None
    assert wrong.log_probability is not None
    assert wrong.log_probability < right.log_probability - 3


@pytest.mark.parametrize("preset", ["zaremba2014", "radford2018"])
def test_a_stopped_and_resumed_run_equals_an_uninterrupted_one(
    preset: str, text: tuple[Path, float], tmp_path: Path
) -> None:
    some = (
        f"model.preset={preset}",
        "train.max_updates=9",
        "train.validate_every=4",
        "model.dropout=0.3",
        "train.save_every=2",
    )
    train(text[0], tmp_path / "whole", *some)
    with start(text[0], tmp_path / "run", settings(text[0], *some), machine=ON_CPU) as trainer:
        for report in trainer.run():
            if isinstance(report, UpdateReport) and report.update == 5:
                trainer.stop()
    with resume(tmp_path / "run", machine=ON_CPU) as trainer:
        assert not any(isinstance(report, WarningReport) for report in trainer.run())
    assert_same(tmp_path / "whole", tmp_path / "run")


def test_a_language_model_can_train_on_the_target_side_of_parallel_text(tmp_path: Path) -> None:
    data = make_data(tmp_path)
    some = ("model.preset=mikolov2010", "train.max_updates=4", "train.subword_sampling=0.1")
    reports = train(data, tmp_path / "run", *some)
    (validation,) = (each for each in reports if isinstance(each, ValidationReport))
    assert validation.bleu is validation.chrf is None
    assert validation.samples == ()
    resume_run(tmp_path / "run", "train.max_updates=6")


def test_a_model_that_needs_a_source_is_rejected(text: tuple[Path, float], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"needs a source, but the text in .* is monolingual") as caught:
        train(text[0], tmp_path / "run", "model.preset=luong2015")
    assert "--preset mikolov2010, zaremba2014 or radford2018" in caught.value.hint
    assert not (tmp_path / "run").exists()


def test_a_language_model_with_an_encoder_is_rejected(text: tuple[Path, float], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"model\.encoder_layers = 1 needs a source") as caught:
        train(text[0], tmp_path / "run", "model.encoder_layers=1", "model.initial_state=copy")
    assert "leave out model.encoder_layers" in caught.value.hint


def test_a_dry_run_accepts_monolingual_text(text: tuple[Path, float]) -> None:
    found = estimate_run(text[0], settings(text[0]), machine=ON_CPU)
    assert found.resolved.config.model.is_language_model
    assert found.pairs == 2000


def test_the_command_shows_perplexity_and_says_what_to_do_next(
    nmt: Run, text: tuple[Path, float], tmp_path: Path
) -> None:
    options = [part for setting in (*SMALL, "train.max_updates=4") for part in ("--set", setting)]
    outcome = nmt("train", text[0], "--out", tmp_path / "run", "--threads", 1, *options)
    assert outcome.code == 0, outcome.stderr
    assert " ppl " in outcome.stderr
    assert "BLEU" not in outcome.stderr
    assert "generate text with: nmt generate" in outcome.stderr.replace("\n", " ")


def test_a_language_model_can_be_initialized_resumed_and_averaged(
    nmt: Run, text: tuple[Path, float], tmp_path: Path
) -> None:
    sizes = ("model.embedding_size=8", "model.hidden_size=8", "train.max_updates=2")
    options = [part for setting in sizes for part in ("--set", setting)]
    first, second = tmp_path / "first", tmp_path / "second"
    begun = nmt("train", text[0], "--out", first, "--preset", "mikolov2010", "--threads", 1, *options)
    assert begun.code == 0, begun.stderr
    assert nmt("train", text[0], "--resume", first, "--set", "train.max_updates=3", "--threads", 1).code == 0
    other = nmt(
        "train", text[0], "--out", second, "--init", first, "--set", "train.max_updates=1", "--threads", 1
    )
    assert other.code == 0, other.stderr
    assert RunDirectory.open(second).config.model == RunDirectory.open(first).config.model
    mean = nmt("average", first, second, "--out", tmp_path / "mean")
    assert "nmt generate" in mean.stderr.replace("\n", " ")
    assert (tmp_path / "mean" / "README.md").read_text().startswith("# Language model for yy\n")


def test_scored_text_has_no_source_in_json(nmt: Run, learned: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a b\n", "utf-8")
    outcome = nmt("score", learned, "--target", tmp_path / "text", "--json", "--tokens", "--threads", 1)
    assert outcome.code == 0, outcome.stderr
    found = json.loads(outcome.stdout)
    assert found["target"] == "a b"
    assert not {"source", "source_tokens"} & found.keys()
