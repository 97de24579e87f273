"""A run directory as a system: it translates, is scored, and records its scores."""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from nmt_cli.cli.app import app
from nmt_cli.config import resolve
from nmt_cli.errors import CorpusError, UsageError
from nmt_cli.evaluation.evaluate import EvaluationRun, evaluate
from nmt_cli.evaluation.media import check_same_input
from nmt_cli.evaluation.report import report_page
from nmt_cli.evaluation.request import EvaluateRequest
from nmt_cli.evaluation.systems import record_scores
from nmt_cli.evaluation.texts import Text
from nmt_cli.metrics import bleu
from nmt_cli.preprocessing import PreprocessRequest, preprocess
from nmt_cli.run import RunDirectory
from nmt_cli.run.logs import ScoresLog
from nmt_cli.run.model_card import model_card
from nmt_cli.training import Machine, start
from nmt_cli.translator import Translator

WORDS = [consonant + vowel for consonant in "bdf" for vowel in "aeiou"]
SETTINGS = [
    "model.embedding_size=16",
    "model.hidden_size=24",
    "model.encoder_layers=1",
    "model.decoder_layers=1",
    "train.batch_tokens=200",
    "train.max_updates=4",
    "train.samples=0",
    "search.max_length=12",
]


def pairs(path: Path, count: int, seed: int) -> None:
    chance = random.Random(seed)
    lines = [" ".join(chance.choices(WORDS, k=chance.randint(2, 6))) for _ in range(count)]
    path.with_suffix(".xx").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    path.with_suffix(".yy").write_text("".join(f"{line.upper()}\n" for line in lines), "utf-8")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A barely trained run, and the data directory beside it."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("trained")
    for seed, (name, count) in enumerate((("train", 120), ("valid", 8), ("test", 12))):
        pairs(folder / name, count, seed)
    request = PreprocessRequest(
        source_lang="xx",
        target_lang="yy",
        train=[str(folder / "train")],
        valid=[str(folder / "valid")],
        test=[str(folder / "test")],
        out=folder / "data",
        settings=resolve(None, ["vocabulary.size=300"]),
    )
    preprocess(request, lambda report: None)
    machine = Machine(device="cpu", threads=1)
    with start(folder / "data", folder / "run", resolve(None, SETTINGS), machine=machine) as trainer:
        list(trainer.run())
    return folder / "run"


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "run"))


def request(run: Path, **options: object) -> EvaluateRequest:
    return EvaluateRequest(**{"systems": [run], "samples": 10, "device": "cpu", **options})  # type: ignore[arg-type]


def test_a_run_is_scored_on_its_own_test_set(run: Path) -> None:
    (system,) = evaluate(request(run)).systems
    sources, references = ((run / f"test.{side}").read_text().splitlines() for side in ("xx", "yy"))
    texts = [translation.text for translation in Translator.load(run, device="cpu").translate(sources)]
    assert system.scores[0].score == bleu(texts, references).value
    assert system.run is not None
    assert system.run.search["beam_size"] == 5
    assert system.run.data_sha256 == RunDirectory.open(run).facts.data_sha256


def test_a_reference_of_another_length_is_reported_before_anything_is_translated(
    run: Path, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "nmt_cli.evaluation.evaluate.translate", lambda *args, **options: pytest.fail("too late")
    )
    source, reference = write("s.xx", "ba be", "di"), write("r.yy", "BA BE", "DI", "FO")
    with pytest.raises(CorpusError, match=r"s\.xx has 2 lines, .*r\.yy has 3"):
        evaluate(request(run, references=[reference], source=source))


def test_texts_in_memory_are_text_whatever_they_contain() -> None:
    # What a poor model translates, or what a test set contains, may look like another format.
    for lines in (
        ["\0" * 9] * 3,
        ["\x01\x02\x03" * 9],
        ["%PDF-1.4", "PK\x03\x04"],
        ["BZh91AY"],
        ["\ufffd"] * 9,
    ):
        text = Text.of_lines("run", lines)
        assert text.take(10) == lines
        assert text.undecodable == []


def test_search_settings_and_test_set_can_be_overridden(run: Path, write: Callable[..., Path]) -> None:
    source, reference = write("s.xx", "ba be", "", "di"), write("r.yy", "BA BE", "", "DI")
    evaluation = evaluate(
        request(run, references=[reference], source=source, search={"beam_size": 2, "max_length": 4})
    )
    assert evaluation.sentences == 3
    (system,) = evaluation.systems
    assert system.run is not None
    assert (system.run.search["beam_size"], system.run.search["max_length"]) == (2, 4)
    assert system.faults.empty.count == 0  # a blank source has a blank reference


def test_word_frequencies_come_from_the_training_data_of_the_run(run: Path) -> None:
    evaluation = evaluate(request(run))
    assert evaluation.training_data is not None
    buckets = evaluation.systems[0].frequency_buckets
    assert buckets is not None
    assert sum(bucket.words for bucket in buckets) == len((run / "test.yy").read_text().split())


def test_missing_training_data_only_removes_the_frequency_breakdown(run: Path) -> None:
    facts = json.loads((run / "run.json").read_text())
    other = {**facts, "data": "/nowhere/at/all" + "x" * (len(facts["data"]) - len("/nowhere/at/all"))}
    RunDirectory.open(run).publish("run.json", json.dumps(other).encode())
    evaluation = evaluate(request(run))
    assert evaluation.training_data is None
    assert evaluation.systems[0].frequency_buckets is None


def test_the_report_shows_the_attention_of_each_example(run: Path) -> None:
    running = EvaluationRun(request(run, examples=True), lambda progress: None)
    evaluation = running.result()
    pictures = running.pictures(evaluation)
    examples = evaluation.systems[0].examples
    assert examples is not None
    assert {line for _, line in pictures} == {e.line for e in [*examples.worst, *examples.best]}
    page = report_page(evaluation, pictures)
    assert page.count('class="attention"') == len(examples.worst) + len(examples.best)


def test_scores_are_appended_and_shown_in_the_card(run: Path) -> None:
    before = (run / "README.md").read_text("utf-8")
    evaluation = evaluate(request(run))
    for _ in range(2):
        record_scores(evaluation, evaluation.systems[0])
    records = ScoresLog(run).read()
    assert len(records) == 2
    assert records[0]["scores"][0]["signature"] == evaluation.systems[0].scores[0].signature
    assert records[0]["references"][0]["sha256"] == evaluation.references[0].sha256
    assert records[0]["data_sha256"]
    card = (run / "README.md").read_text("utf-8")
    assert card.startswith(before.rstrip("\n"))
    assert card.count("| test.yy (12 sentences") == 2  # BLEU and chrF, each once
    assert "nrefs:1\\|bs:10\\|seed:12345" in card
    again = RunDirectory.open(run, hashes=True)
    assert "## Scores on test sets" in model_card(again, parameters=1, best=None)


def test_scores_of_an_earlier_model_are_not_shown_in_the_card(run: Path) -> None:
    evaluation = evaluate(request(run))
    record_scores(evaluation, evaluation.systems[0])
    opened = RunDirectory.open(run)
    opened.publish("model.safetensors", (run / "model.safetensors").read_bytes() + b" ")
    assert "## Scores on test sets" not in model_card(opened, parameters=1, best=None)


def test_a_truncated_line_in_the_score_log_is_skipped(tmp_path: Path) -> None:
    log = ScoresLog(tmp_path)
    log.append({"n": 1})
    with log.path.open("a") as file:
        file.write('{"n": 2, "unfini')
    log.append({"n": 3})
    assert log.read() == [{"n": 1}, {"n": 3}]


def test_the_command_records_scores_and_saves_hypotheses(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = tmp_path / "saved.yy"
    options = ["--samples", "0", "--device", "cpu", "--save-hypotheses", str(saved), "--plain"]
    with pytest.raises(SystemExit) as end:
        app(["evaluate", str(run), *options])
    assert end.value.code == 0
    output = capsys.readouterr()
    assert output.out.startswith("BLEU = ")
    assert f"wrote {run / 'scores.jsonl'}" in output.err
    assert len(saved.read_text().split("\n")) == 13
    with pytest.raises(SystemExit):
        app(["evaluate", str(run), "--no-record", *options])
    assert len(ScoresLog(run).read()) == 1
    with pytest.raises(SystemExit):
        app(["evaluate", str(saved), "-r", str(run / "test.yy"), "--samples", "0", "--plain"])
    assert capsys.readouterr().out.split("\n")[1] == output.out.strip()


def test_models_that_read_different_images_are_not_compared() -> None:
    runs: list[Any] = [
        SimpleNamespace(path=name, reads="image", image_input=(size, None, None, None))
        for name, size in (("a", 64), ("b", 64), ("c", 96))
    ]
    check_same_input(runs[:2])
    with pytest.raises(UsageError, match="c and a use different image sizes or backbones"):
        check_same_input(runs)
