"""The commands of README, tutorial and guides run, in their order, on less data and for fewer updates."""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nmt_cli.demo import generate
from tests.cli.conftest import Run
from tests.docs.commands import REPOSITORY, shell_lines, split_pipe

# What a page's training is reduced to.
SMALL = {
    "model.embedding_size": 8,
    "model.hidden_size": 8,
    "train.max_epochs": 0,
    "train.max_updates": 2,
    "train.warmup_updates": 1,
    "train.validate_every": 2,
    "train.validate_sentences": 2,
    "train.average_best": 1,
    "train.precision": "fp32",  # not every CPU has bf16
    "search.max_length": 4,
}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory and a copy of the hub's Multi30k."""
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    pairs = generate(200)
    hub = tmp_path / "hub"
    hub.mkdir()
    for split, rows in (("train", pairs.train), ("validation", pairs.valid), ("test", pairs.test)):
        table = pa.table({"en": [pair[0] for pair in rows], "de": [pair[1] for pair in rows]})
        pq.write_table(table, hub / f"{split}.parquet")
    return hub


def reduced(words: list[str], hub: Path) -> list[str]:
    """The same command on less data."""
    words = [word.replace("hf:bentrevett/multi30k", f"hf:{hub}") for word in words]
    if words[0] == "demo-data":
        words[words.index("--size") + 1] = "300"
    elif words[0] == "preprocess":
        words = [word for word in words if not word.startswith("vocabulary.size")]
        words = [
            word
            for word, after in zip(words, [*words[1:], ""], strict=False)
            if word != "--set" or "=" in after
        ]
        words += ["--workers", "1", "--overwrite"]  # a guide shows alternatives with the same output
    elif words[0] == "train":
        # A guide trains the same run again with other settings.
        words += ["--overwrite"] if "--out" in words else []
        words += [part for key, value in SMALL.items() for part in ("--set", f"{key}={value}")]
        words += ["--threads", "1"]
    elif words[0] == "evaluate":
        words += ["--samples", "10", "--workers", "1"]
    elif words[0] == "recipe" and len(words) > 1:
        words += ["--dry-run"]
    return words


def write_corpora() -> None:
    """The files that readers of the guides have: a corpus of their own, and text of another domain."""
    pairs = generate(300)
    sets = {
        "corpus": pairs.train,
        "a": pairs.train[:150],
        "mono": pairs.train[:60],
        "chat.train": pairs.train[150:],
        "tatoeba": pairs.train[:150],
        "captions": pairs.train[150:],
        "quarter": pairs.train[:80],
        **dict.fromkeys(("valid", "chat.dev", "tatoeba.dev", "captions.dev"), pairs.valid),
        **dict.fromkeys(("test", "input"), pairs.test),
        **dict.fromkeys(("chat.test", "general.test", "tatoeba.test", "captions.test"), pairs.test),
    }
    for name, rows in sets.items():
        for side, language in enumerate(("en", "de")):
            Path(f"{name}.{language}").write_text("".join(f"{row[side]}\n" for row in rows), "utf-8")
    Path("corpus.align").write_text("0-0\n" * len(pairs.train), "utf-8")
    for name in ("b.tsv", "general.tsv"):
        Path(name).write_text(
            "".join(f"{english}\t{german}\n" for english, german in pairs.train[:150]), "utf-8"
        )


def run(line: str, run_nmt: Run, hub: Path) -> bool:
    """Run a line as a shell would, as far as documentation needs it; False if there is no `nmt` in it."""
    given = ""
    ran = False
    for part in split_pipe(line):
        words, redirections = [], {}
        rest = iter(part)
        for word in rest:
            if word in ("<", ">"):
                redirections[word] = Path(next(rest))
            else:
                words.append(word)
        if "<" in redirections:
            given = redirections["<"].read_text("utf-8")
        if words[0] == "echo":
            given = " ".join(words[1:]) + "\n"
        elif words[0] == "nmt":
            outcome = run_nmt(*reduced(words[1:], hub), stdin=given)
            # A model that has learned nothing may leave entries of a document untranslated.
            assert outcome.code == 0 or ": left as it is: " in outcome.stderr, (
                f"{shlex.join(words)}\n{outcome.stderr}"
            )
            given, ran = outcome.stdout, True
        elif words[0] == "sed":
            given = subprocess.run(
                words, input=given, check=True, capture_output=True, encoding="utf-8"
            ).stdout
        elif words[0] == "python":
            subprocess.run([sys.executable, *words[1:]], check=True)
        elif words[0] == "msgfmt" and shutil.which("msgfmt"):
            subprocess.run(words, check=True)
        else:
            return ran  # make, source, cat
        if ">" in redirections:
            redirections[">"].write_text(given, "utf-8")
    return ran


def here_documents(page: Path) -> Iterator[tuple[str, str]]:
    """Files that a page writes with cat."""
    text = page.read_text("utf-8")
    yield from re.findall(r"^cat > (\S+) <<'END'\n(.*?)^END$", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    ("name", "least"), [("README.md", 10), ("docs/tutorial.md", 16), ("docs/localization.md", 5)]
)
def test_the_commands_of_a_page_run_in_their_order(
    name: str,
    least: int,
    nmt: Run,
    place: Path,
) -> None:
    page = REPOSITORY / name
    for file, content in here_documents(page):
        Path(file).write_text(content, "utf-8")
    done = [run(line, nmt, place) for line in shell_lines(page)]
    assert sum(done) >= least


# What the reader of a guide has already.
BEFORE = {
    "own-corpus": (),
    "fine-tuning": (
        "nmt preprocess -s en -t de --train general.tsv --out data/general",
        "nmt train data/general --out runs/general",
    ),
    "methods": (
        "nmt preprocess -s en -t de --train corpus --valid valid --out data/en-de",
        "nmt train data/en-de --out runs/en-de",
        "nmt preprocess -s de -t en --train corpus --valid valid --out data/de-en",
        "nmt train data/de-en --out runs/de-en",
    ),
}


@pytest.mark.parametrize(("name", "least"), [("own-corpus", 13), ("fine-tuning", 17), ("methods", 30)])
def test_the_commands_of_a_guide_run_in_their_order(name: str, least: int, nmt: Run, place: Path) -> None:
    write_corpora()
    Path("gold.talp").write_text("1-1\n" * 150, "utf-8")
    for line in BEFORE[name]:
        assert run(line, nmt, place)
    done = [run(line, nmt, place) for line in shell_lines(REPOSITORY / "docs" / f"{name}.md")]
    assert sum(done) >= least
