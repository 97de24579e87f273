"""A tiny corpus, a tiny model, and runs on them."""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

from nmt_cli.cli.app import app
from nmt_cli.config import Resolved, resolve
from nmt_cli.preprocessing import PreprocessRequest, preprocess
from nmt_cli.training import Machine, Report, resume, start
from tests.fork_server import ForkServer, fork_server

WORDS = [consonant + vowel for consonant in "bdf" for vowel in "aeiou"]

SMALL = (
    "model.embedding_size=24",
    "model.hidden_size=32",
    "model.encoder_layers=1",
    "model.decoder_layers=1",
    "model.input_feeding=false",
    "train.batch_tokens=96",
    "train.pool_batches=4",
    "train.warmup_updates=5",
    "train.log_every=3",
    "train.save_every=0",
    "train.samples=2",
    "search.max_length=20",
)
ON_CPU = Machine(device="cpu", threads=1)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def write_pairs(folder: Path, name: str, count: int, seed: int) -> None:
    """Sentences of a made-up language, and the same in upper case."""
    chance = random.Random(seed)
    lines = [" ".join(chance.choices(WORDS, k=chance.randint(1, 6))) for _ in range(count)]
    (folder / f"{name}.xx").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    (folder / f"{name}.yy").write_text("".join(f"{line.upper()}\n" for line in lines), "utf-8")


def make_data(
    folder: Path,
    *,
    pairs: int = 160,
    seed: int = 1,
    valid: bool = True,
    size: int = 300,
    link: Callable[[int, int], int] | None = None,
) -> Path:
    """A data directory made by the real `preprocess`.

    link: word alignments are given, in which target word j of n is linked to source word link(j, n)
    """
    text = folder / "text"
    text.mkdir(parents=True)
    write_pairs(text, "train", pairs, seed)
    write_pairs(text, "valid", 12, seed + 100)
    settings = [f"vocabulary.size={size}", "data.duplicate=false", "data.test_size=0"]
    if not valid:
        settings.append("data.valid_size=0")
    request = PreprocessRequest(
        source_lang="xx",
        target_lang="yy",
        train=[str(text / "train")],
        valid=[str(text / "valid")] if valid else (),
        alignments=[write_links(text / "train", link)] if link else (),
        out=folder / "data",
        settings=resolve(None, settings),
    )
    preprocess(request, lambda report: None)
    return folder / "data"


def write_links(corpus: Path, link: Callable[[int, int], int]) -> Path:
    """Word alignments of a corpus of `write_pairs`; see `make_data`."""
    lines = corpus.with_suffix(".xx").read_text("utf-8").splitlines()
    counts = [len(line.split()) for line in lines]
    rows = [" ".join(f"{link(j, count)}-{j}" for j in range(count)) for count in counts]
    file = corpus.with_suffix(".align")
    file.write_text("".join(f"{row}\n" for row in rows), "utf-8")
    return file


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_data(tmp_path_factory.mktemp("corpus"))


def settings(*assignments: str) -> Resolved:
    return resolve(None, [*SMALL, *assignments])


def train(
    data: Path, out: Path, *assignments: str, machine: Machine = ON_CPU, **options: Any
) -> list[Report]:
    """Train a new run to the end."""
    with start(data, out, settings(*assignments), machine=machine, **options) as trainer:
        return list(trainer.run())


def resume_run(out: Path, *assignments: str, machine: Machine = ON_CPU, **options: Any) -> list[Report]:
    """Resume a run and train it to the end."""
    with resume(out, resolve(None, list(assignments)), machine=machine, **options) as trainer:
        return list(trainer.run())


def result(out: Path) -> dict[str, bytes]:
    """Everything that must be byte-identical in two equal runs."""
    current = json.loads((out / "state" / "current.json").read_text())
    current["progress"].pop("seconds")
    files = {name: (out / name).read_bytes() for name in current["files"]}
    metrics = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    for record in metrics:
        record.pop("seconds"), record.pop("tokens_per_second", None)
    return {
        **files,
        "model": (out / "model.safetensors").read_bytes(),
        "progress": json.dumps(current).encode(),
        "metrics": json.dumps(metrics).encode(),
    }


def assert_same(one: Path, other: Path) -> None:
    first, second = result(one), result(other)
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []


@pytest.fixture(scope="session")
def server() -> Iterator[ForkServer]:
    with fork_server() as server:
        yield server


class Outcome(NamedTuple):
    """What a command did."""

    code: int
    stdout: str
    stderr: str


Run = Callable[..., Outcome]


@pytest.fixture
def nmt(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `nmt` in this process, through the same boundary as a user."""

    def run(*arguments: object) -> Outcome:
        with pytest.raises(SystemExit) as end:
            app([str(argument) for argument in arguments])
        stdout, stderr = capsys.readouterr()
        assert "Traceback" not in stderr
        assert isinstance(end.value.code, int)
        return Outcome(end.value.code, stdout, stderr)

    return run


def options(*assignments: str) -> list[str]:
    """The settings of a small run as options of `nmt train`."""
    return [part for setting in (*SMALL, *assignments) for part in ("--set", setting)]
