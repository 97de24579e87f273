"""Speech recognition on the command line: from demo data to transcripts, scores and heat maps, and what is refused."""

import json
from pathlib import Path

import pytest
import torch

from nmt_cli.demo import numbers
from nmt_cli.errors import UsageError
from nmt_cli.translator import Transcriber

from .conftest import Run

SETTINGS = (
    "model.hidden_size=16",
    "model.embedding_size=8",
    "train.max_updates=3",
    "train.validate_every=3",
    "train.batch_sentences=8",
    "search.max_length=15",
)


@pytest.fixture(scope="module")
def tones(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("speech") / "tones"
    numbers.write(folder, 30)
    return folder


@pytest.fixture(scope="module")
def run(tones: Path) -> Path:
    """A model that has learned nothing, made with the commands of the page."""
    return trained(tones, "run")


@pytest.fixture(scope="module")
def narrow(tones: Path) -> Path:
    """The same model for frames of another size."""
    return trained(tones, "narrow", "data.mel_bands=20")


def trained(tones: Path, name: str, *data_settings: str) -> Path:
    from typer.testing import CliRunner

    from nmt_cli.cli.app import app

    torch.set_num_threads(1)
    data, out = tones.parent / f"{name}-data", tones.parent / name
    specs = [
        part for split in ("train", "valid", "test") for part in (f"--{split}", tones / f"{split}.jsonl")
    ]
    prepare = ["preprocess", "--audio", tones, "--target-lang", "en", *specs, "--out", data, "--quiet"]
    prepare += [part for setting in data_settings for part in ("--set", setting)]
    options = [part for setting in SETTINGS for part in ("--set", setting)]
    training = ["train", data, "--out", out, *options, "--threads", 1]
    for arguments in (prepare, training):
        result = CliRunner().invoke(app, list(map(str, arguments)))
        assert result.exit_code == 0, result.stderr
    assert "transcribe recordings with: nmt transcribe" in result.stderr
    assert "WER" in result.stderr
    return out


def test_one_line_for_each_recording_in_order(nmt: Run, run: Path, tones: Path) -> None:
    paths = sorted((tones / "audio").glob("test-*.wav"))
    done = nmt("transcribe", run, *paths, "--threads", 1)
    assert done.code == 0, done.stderr
    assert len(done.stdout.splitlines()) == len(paths)
    piped = nmt("transcribe", run, "--threads", 1, stdin="".join(f"{path}\n" for path in paths))
    assert piped.stdout == done.stdout


def test_a_file_that_cannot_be_read_keeps_its_line(nmt: Run, run: Path, tones: Path, tmp_path: Path) -> None:
    (tmp_path / "b.flac").write_bytes(b"fLaC")
    good = tones / "audio" / "test-00001.wav"
    done = nmt("transcribe", run, good, tmp_path / "b.flac", tmp_path / "c.wav", good, "--json")
    assert done.code == 1
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["recording"] for line in lines] == [
        str(path) for path in (good, tmp_path / "b.flac", tmp_path / "c.wav", good)
    ]
    assert "is FLAC, not WAV" in lines[1]["error"]
    assert "does not exist" in lines[2]["error"]
    assert lines[0] == lines[3]
    assert lines[0]["log_probability"] < 0
    assert "2 of 4 recordings could not be read" in done.stderr


def test_json_has_attention_over_time_and_n_best(nmt: Run, run: Path, tones: Path) -> None:
    path = tones / "audio" / "test-00001.wav"
    done = nmt("transcribe", run, path, "--json", "--attention", "--n-best", 2, "--beam", 2)
    found = json.loads(done.stdout)
    assert len(found["n_best"]) == 2
    assert found["positions"][:3] == ["0.00", "0.08", "0.16"]
    assert all(len(row) == len(found["positions"]) for row in found["attention"])
    assert len(found["attention"]) == len(found["tokens"])
    for row in found["attention"]:
        assert sum(row) == pytest.approx(1, abs=0.01)


def test_both_error_rates_are_in_the_model_card_and_in_info(nmt: Run, run: Path) -> None:
    assert nmt("evaluate", run, "--metrics", "wer,cer,accuracy", "--threads", 1).code == 0
    card = (run / "README.md").read_text("utf-8").partition("From `nmt evaluate`")[2]
    shown = nmt("info", run).stdout
    for name in ("WER", "CER", "accuracy"):
        assert f"| {name} |" in card
        assert name in shown


def test_a_run_is_evaluated_by_error_rates(nmt: Run, run: Path, tones: Path) -> None:
    done = nmt("evaluate", run, "--json", "--threads", 1)
    assert done.code == 0, done.stderr
    [system] = json.loads(done.stdout)["systems"]
    assert [score["metric"] for score in system["scores"]] == ["WER", "CER"]
    other = nmt("evaluate", run, "--source", tones / "test.jsonl", "--plain", "--no-record", "--threads", 1)
    assert other.stdout == f"WER = {system['scores'][0]['score']:.2f}\n"
    report = tones.parent / "report.html"
    assert nmt("evaluate", run, "--report", report, "--no-record", "--threads", 1).code == 0
    assert "WER" in report.read_text("utf-8")


@pytest.mark.parametrize("source", [(), ("--source", "test.jsonl")])
def test_models_that_read_different_frames_are_not_compared(
    nmt: Run, run: Path, narrow: Path, tones: Path, source: tuple[str, ...]
) -> None:
    options = [tones / part if part.endswith(".jsonl") else part for part in source]
    done = nmt("evaluate", run, narrow, *options, "--no-record", "--threads", 1)
    assert done.code == 2
    assert "read different frames: data.sample_rate or data.mel_bands differ" in done.error
    assert "evaluate them one at a time" in done.hint


def test_the_models_of_an_ensemble_read_the_same_frames(run: Path, narrow: Path) -> None:
    assert len(Transcriber.load(run, run, device="cpu").models) == 2
    with pytest.raises(UsageError, match="read recordings differently"):
        Transcriber.load(run, narrow, device="cpu")


def test_a_heat_map_has_a_row_for_each_character(nmt: Run, run: Path, tones: Path, tmp_path: Path) -> None:
    path = tones / "audio" / "test-00001.wav"
    done = nmt("explain", run, path, "--svg", tmp_path / "a.svg", "--html", tmp_path / "a.html", "--json")
    assert done.code == 0, done.stderr
    [found] = json.loads(done.stdout)
    assert found["times"][:2] == [0.0, 0.08]
    assert found["tokens"][-1]["token"] == "<eos>"
    assert all(len(token["attention"]) == len(found["times"]) for token in found["tokens"])
    svg = (tmp_path / "a.svg").read_text("utf-8")
    assert svg.startswith("<svg ")
    assert "0.08 s" in svg
    assert "When the model listens" in (tmp_path / "a.html").read_text("utf-8")
    shown = nmt("explain", run, path)
    assert "test-00001.wav" in shown.stdout
    assert "0.08" in shown.stdout


def test_a_heat_map_is_complete_before_anything_is_printed(
    nmt: Run, run: Path, tones: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("nmt_cli.cli.media_explanations._show_media", interrupted)
    done = nmt("explain", run, tones / "audio" / "test-00001.wav", "--svg", tmp_path / "map.svg")
    assert "map.svg" not in done.stderr
    assert (tmp_path / "map.svg").read_text("utf-8").startswith("<svg ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["translate", "RUN"], "is a speech recognition model"),
        (["caption", "RUN", "WAV"], "is a speech recognition model"),
        (["score", "RUN", "--source", "TEXT", "--target", "TEXT"], "is a speech recognition model"),
        (["generate", "RUN", "a"], "is a speech recognition model"),
        (["export", "RUN", "--out", "NEW"], "is a speech recognition model"),
        (["rerank", "--input", "TEXT", "--forward", "RUN"], "is a speech recognition model"),
        (["explain", "RUN", "WAV", "--gradients"], "transcribes recordings"),
        (["explain", "RUN", "WAV", "--alternatives", "5"], "transcribes recordings"),
        (
            ["explain", "RUN", "WAV", "WAV", "--svg", "NEW"],
            "--svg draws a single recording, but 2 were given",
        ),
        (["explain", "RUN", "NEW"], "does not exist"),
        (["explain", "RUN"], "no recording given"),
        (["transcribe", "RUN", "WAV", "--attention"], "--attention and --n-best need --json"),
        (["evaluate", "RUN", "--reference", "TEXT"], "speech recognition models take no --reference"),
        (["evaluate", "RUN", "--source", "NEW"], "NEW"),
        (["evaluate", "RUN", "TEXT"], "transcribes recordings, but other systems do not"),
        (["evaluate", "RUN", "--processes", "2"], "images or recordings"),
        (
            [
                "preprocess",
                "--audio",
                "RUN",
                "--images",
                "RUN",
                "-t",
                "en",
                "--train",
                "x.jsonl",
                "--out",
                "NEW",
            ],
            "--images",
        ),
        (
            ["preprocess", "--audio", "RUN", "-s", "de", "-t", "en", "--train", "x.jsonl", "--out", "NEW"],
            "--source-lang",
        ),
        (["preprocess", "--audio", "RUN", "-t", "en", "--train", "x.jsonl", "--out", "NEW"], "x.jsonl"),
        (["demo-data", "--kind", "tones", "--clauses", "3", "--out", "NEW"], "--clauses has no effect"),
        (["demo-data", "--kind", "tones", "--size", "0", "--out", "NEW"], "cannot record 0 numbers"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    nmt: Run, run: Path, tones: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "text").write_text("forty-two\n")
    places = {
        "RUN": run,
        "WAV": tones / "audio" / "test-00001.wav",
        "TEXT": tmp_path / "text",
        "NEW": tmp_path / "NEW",
    }
    done = nmt(*(places.get(argument, argument) for argument in arguments), stdin="")
    assert done.code in (1, 2)
    assert message in done.error
    assert done.hint
    assert not (tmp_path / "NEW").exists()


def test_a_text_model_cannot_transcribe(nmt: Run, tmp_path: Path, tones: Path) -> None:
    for side in ("de", "en"):
        (tmp_path / f"train.{side}").write_text("".join(f"{a} {b}\n" for a in "abcdefg" for b in "hijklmn"))
    pairs = ["--source-lang", "de", "--target-lang", "en", "--train", tmp_path / "train", "--keep-all"]
    assert nmt("preprocess", *pairs, "--out", tmp_path / "data", "--quiet").code == 0
    options = [part for setting in SETTINGS for part in ("--set", setting)]
    assert nmt("train", tmp_path / "data", "--out", tmp_path / "run", *options, "--quiet").code == 0
    done = nmt("transcribe", tmp_path / "run", tones / "audio" / "test-00001.wav")
    assert done.code == 2
    assert "is not a speech recognition model" in done.error
    assert "nmt preprocess --audio" in done.hint


def test_demo_data_says_who_speaks(nmt: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbers, "espeak", lambda: None)
    done = nmt("demo-data", "--kind", "numbers", "--size", 3, "--out", tmp_path / "numbers")
    assert done.code == 0, done.stderr
    assert "3 train, 1 valid, 1 test, in tones (espeak-ng is not installed)" in done.stderr.replace("\n", " ")
