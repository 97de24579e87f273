"""The directories that are fuzzed, and the commands that read them. A new kind of directory is one entry of `KINDS`."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from nmt_cli.demo import scenes
from tests.fork_server import ForkServer, Outcome

_WORDS = [consonant + vowel for consonant in "bdf" for vowel in "aeiou"]
_SMALL = (
    "model.embedding_size=8",
    "model.hidden_size=8",
    "model.decoder_layers=1",
    "train.batch_tokens=96",
    "train.pool_batches=4",
    "train.warmup_updates=1",
    "train.log_every=2",
    "train.validate_every=2",
    "train.save_every=1",
    "train.samples=2",
    "search.max_length=8",
)
_LINES = b"ba be bi\ndo du\n\nfa fe fi fo fu\n"
_QUIET = ("--threads", "1", "--quiet")
_SHORT = ("--time-limit", "20s")


@dataclass(frozen=True)
class Command:
    """A command that reads a directory, and what counts as its result."""

    arguments: tuple[str, ...]  # in a folder that has copies of all directories
    result: Callable[[Path, Outcome], bytes]
    stdin: bytes = b""
    may_change: tuple[str, ...] | None = ()  # files of the directory; None: any
    if_forged: tuple[str, ...] = ()  # more arguments: a forged run may ask for any number of updates


@dataclass(frozen=True)
class Kind:
    """A kind of directory: its name in the folder of a trial, and the commands that read it."""

    folder: str
    commands: Mapping[str, Command]


def standard_output(folder: Path, outcome: Outcome) -> bytes:
    """What the command printed."""
    return outcome.stdout


def evaluation(folder: Path, outcome: Outcome) -> bytes:
    """The scores that were printed, without times."""
    return re.sub(rb'"(created|seconds)": [^,\n]*', b"", outcome.stdout)


def information(folder: Path, outcome: Outcome) -> bytes:
    """What was printed about a run, without sizes: logs and the model card are not part of the result."""
    lines = re.sub(rb"(?m) +$", b"", outcome.stdout)  # the table is as wide as its longest line
    return re.sub(rb"(?m)^(disk|training|validation|test) .*\n", b"", lines)


def file(name: str) -> Callable[[Path, Outcome], bytes]:
    """A file that the command wrote."""
    return lambda folder, outcome: (folder / name).read_bytes()


def trained(name: str) -> Callable[[Path, Outcome], bytes]:
    """The weights and the state of a run, without times."""

    def result(folder: Path, outcome: Outcome) -> bytes:
        run = folder / name
        files = json.loads((run / "manifest.json").read_text("utf-8"))["files"]
        weights = sorted(
            str(facts["sha256"]) for path, facts in files.items() if path.endswith(".safetensors")
        )
        state = run / "state" / "current.json"
        current = json.loads(state.read_text("utf-8")) if state.exists() else {}
        current.get("progress", {}).pop("seconds", None)
        return json.dumps([weights, current.get("update"), current.get("progress")]).encode()

    return result


def _options(*assignments: str) -> list[str]:
    return [part for setting in assignments for part in ("--set", setting)]


def _train(*arguments: str, settings: tuple[str, ...] = ()) -> Command:
    options = _options(*_SMALL, "train.max_updates=2", *settings)
    words = ("train", *arguments, "--out", "new", *options, *_QUIET)
    return Command(words, trained("new"), if_forged=_SHORT)


def _resume(*arguments: str, run: str = "run") -> Command:
    words = ("train", *arguments, "--resume", run, "--set", "train.max_updates=6", *_QUIET)
    return Command(words, trained(run), may_change=None, if_forged=_SHORT)


HAS_TORCHVISION = find_spec("torchvision") is not None
KINDS = {
    "run": Kind(
        "run",
        {
            "translate": Command(("translate", "run", "--tsv", *_QUIET), standard_output, _LINES),
            "score": Command(
                ("score", "run", "--source", "-", "--target", "target.yy", *_QUIET), standard_output, _LINES
            ),
            "evaluate": Command(
                ("evaluate", "run", "--samples", "10", "--json", "--workers", "1", *_QUIET),
                evaluation,
                may_change=("scores.jsonl", "README.md"),
            ),
            "explain": Command(
                ("explain", "run", "ba be", "--html", "page.html", *_QUIET), file("page.html")
            ),
            "resume": _resume(),
            "info": Command(("info", "run"), information),
            "export": Command(
                ("export", "run", "--out", "new", "--shortlist", "none", "--quiet"), file("new/encoder.onnx")
            ),
            "init": _train("data", "--init", "run"),
            "average": Command(("average", "run", "--out", "new", "--quiet"), trained("new")),
        },
    ),
    "export": Kind(
        "exported",
        {
            "translate": Command(("translate", "exported", "--tsv", *_QUIET), standard_output, _LINES),
            "score": Command(
                ("score", "exported", "--source", "-", "--target", "target.yy", *_QUIET),
                standard_output,
                _LINES,
            ),
            "evaluate": Command(
                (
                    "evaluate",
                    "exported",
                    *("--source", "text/test.xx", "--reference", "text/test.yy"),
                    *("--samples", "10", "--json", "--workers", "1", *_QUIET),
                ),
                evaluation,
            ),
        },
    ),
    "language-model": Kind(
        "lm",
        {
            "generate": Command(("generate", "lm", "ba", "--seed", "1", *_QUIET), standard_output),
            "score": Command(("score", "lm", "--target", "target.yy", *_QUIET), standard_output),
            "resume": _resume(run="lm"),
        },
    ),
    **(
        {
            "backbone": Kind(
                "captioner",
                {
                    "caption": Command(
                        ("caption", "captioner", "image.png", "--threads", "1"), standard_output
                    ),
                    "evaluate": Command(
                        ("evaluate", "captioner", "--samples", "10", "--json", "--workers", "1", *_QUIET),
                        evaluation,
                        may_change=("scores.jsonl", "README.md"),
                    ),
                },
            )
        }
        if HAS_TORCHVISION
        else {}
    ),
    "data": Kind(
        "data",
        {
            "train": _train("data"),
            "guided": _train("data", settings=("train.guided_alignment=0.5",)),
            "init": _train("data", "--init", "run"),
            "resume": _resume("data"),
        },
    ),
}


@dataclass(frozen=True)
class Originals:
    """Intact directories, a run and its data made from other text, and the result of each command on the first."""

    folder: Path
    others: Path
    results: Mapping[tuple[str, str], bytes]

    @classmethod
    def make(cls, place: Path, server: ForkServer) -> Originals:
        """Make the directories, and run every command on the intact ones."""
        _make_directories(place / "originals", server, seed=0)
        _make_directories(place / "others", server, seed=1, language_model=False)
        results = {}
        for kind_name, kind in KINDS.items():
            for name, command in kind.commands.items():
                folder = place / "intact"
                shutil.copytree(place / "originals", folder, symlinks=True)
                outcome = server.run(command.arguments, folder=folder, stdin=command.stdin)
                assert outcome.code == 0, (kind_name, name, outcome.stderr.decode())
                results[kind_name, name] = command.result(folder, outcome)
                shutil.rmtree(folder)
        return cls(place / "originals", place / "others", results)


def _make_directories(folder: Path, server: ForkServer, *, seed: int, language_model: bool = True) -> None:
    """A data directory, a run on it, a language model, and texts; the same bytes for the same seed."""
    text = folder / "text"
    text.mkdir(parents=True)
    dice = random.Random(seed)
    for name, count in (("train", 120), ("valid", 4), ("test", 4)):
        lines = [" ".join(dice.choices(_WORDS, k=dice.randint(1, 5))) for _ in range(count)]
        (text / f"{name}.xx").write_text("".join(f"{line}\n" for line in lines), "utf-8")
        (text / f"{name}.yy").write_text("".join(f"{line.upper()}\n" for line in lines), "utf-8")
        links = [" ".join(f"{i}-{i}" for i in range(len(line.split()))) for line in lines]
        (text / f"{name}.align").write_text("".join(f"{line}\n" for line in links), "utf-8")
    (folder / "target.yy").write_text("BA BE BI\nDO DU\n\nFA FE FI FO FU\n", "utf-8")
    (folder / "replacements.tsv").write_text("ä\ta\n", "utf-8")
    sets = ("--train", "text/train", "--valid", "text/valid", "--test", "text/test")
    options = ("--set", "vocabulary.size=290", "--set", "data.duplicate=false", "--workers", "1", "--quiet")
    aligned = ("--alignments", "text/train.align", "--set", "data.normalization=replacements.tsv")
    bilingual = ("-s", "xx", *sets, *aligned, "--out", "data")
    monolingual = (*(f"{word}.yy" if "/" in word else word for word in sets), "--out", "lm-data")
    settings = _options(*_SMALL, "train.max_updates=4", "train.average_best=2")
    commands = [
        ("preprocess", "-t", "yy", *options, *bilingual),
        ("train", "data", "--out", "run", *settings, *_QUIET),
        ("evaluate", "run", "--samples", "10", "--workers", "1", *_QUIET),
        ("export", "run", "--out", "exported", "--shortlist", "5", "--quiet"),
    ]
    if language_model:
        commands += [
            ("preprocess", "-t", "yy", *options, *monolingual),
            ("train", "lm-data", "--out", "lm", *settings, *_QUIET),
        ]
        commands += _captioner(folder, settings) if HAS_TORCHVISION else []
    for command in commands:
        outcome = server.run(command, folder=folder)
        assert outcome.code == 0, outcome.stderr.decode()


def _captioner(folder: Path, settings: list[str]) -> list[tuple[str, ...]]:
    """Images and weights for a backbone, and the commands that make a captioning model that reads its features."""
    scenes.write(folder / "scenes", 20, side=16)
    shutil.copy(folder / "scenes" / "images" / "test-00001.png", folder / "image.png")
    numbers = np.random.default_rng(1)
    weights = {"weight": numbers.normal(size=(64, 3, 3, 3)), "bias": numbers.normal(size=64)}
    tensors = {f"features.0.{name}": value.astype(np.float32) for name, value in weights.items()}
    save_file(tensors, folder / "weights.safetensors")
    backbone = ("squeezenet1_1", "features.0", "weights.safetensors", "16")
    keys = ("backbone", "backbone_layer", "backbone_weights", "image_size")
    options = _options(*(f"data.{key}={value}" for key, value in zip(keys, backbone, strict=True)))
    sets = [part for name in ("train", "valid", "test") for part in (f"--{name}", f"scenes/{name}.jsonl")]
    return [
        ("preprocess", "-t", "en", "--images", "scenes", *sets, *options, "--out", "images", "--quiet"),
        ("train", "images", "--out", "captioner", *settings, *_QUIET),
    ]
