"""`nmt recipe`: the whole chain through the command, on a recipe of a few hundred pairs."""

import json
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nmt_cli.corpus import hub
from tests.cli.conftest import Run


def commands(stderr: str) -> list[list[str]]:
    """The commands that were shown."""
    return [shlex.split(line[2:]) for line in stderr.split("\n") if line.startswith("$ ")]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def test_all_recipes_are_listed(nmt: Run) -> None:
    listed = nmt("recipe")
    rows = listed.stdout.rstrip("\n").split("\n")
    assert len(rows) == 1 + 16 + 1  # with the ladder
    assert rows[0].split() == ["recipe", "corpus", "pairs", "time"]
    assert any(row.startswith("wmt14-en-de") and "4,508,785" in row for row in rows)
    assert any(row.startswith("ladder") and "40,000" in row for row in rows)


@pytest.mark.usefixtures("recipes")
class TestChain:
    def test_it_ends_with_a_verdict_and_a_second_run_skips_every_step(
        self, nmt: Run, text: Path, out: Path
    ) -> None:
        first = nmt("recipe", "numbers", "--data", text, "--out", out, "--threads", 1, "--device", "cpu")
        assert first.code == 0, first.stderr
        assert [words[:2] for words in commands(first.stderr)] == [
            ["nmt", name] for name in ("preprocess", "train", "translate", "evaluate")
        ]
        assert "on numbers; no expected band has been measured yet" in first.stdout
        assert "signature: nrefs:1|" in first.stdout
        assert len((out / "test.hyp.en").read_bytes().split(b"\n")) == 5 + 1
        assert (out / "report.html").exists()

        model = (out / "run" / "model.safetensors").stat().st_mtime_ns
        again = nmt("recipe", "numbers", "--data", text, "--out", out)
        assert again.code == 0
        assert commands(again.stderr) == []
        assert (out / "run" / "model.safetensors").stat().st_mtime_ns == model

        other = nmt("recipe", "numbers", "--data", text, "--out", out, "--set", "search.beam_size=1")
        assert [words[1] for words in commands(other.stderr)] == ["translate", "evaluate"]

        refused = nmt("recipe", "numbers", "--data", text, "--out", out, "--set", "train.seed=2")
        assert refused.code == 2
        assert "run was made with other settings or other text" in refused.error
        assert "--overwrite" in refused.hint
        assert (out / "run" / "model.safetensors").stat().st_mtime_ns == model

        replaced = nmt(
            "recipe", "numbers", "--data", text, "--out", out, "--set", "train.seed=2", "--overwrite"
        )
        assert replaced.code == 0, replaced.stderr
        assert [words[1] for words in commands(replaced.stderr)] == ["train", "translate", "evaluate"]

    def test_a_score_below_the_expected_band_is_a_failure(
        self,
        nmt: Run,
        text: Path,
        out: Path,
        recipes: Path,
    ) -> None:
        band = '[band]\nlow = 90.0\nhigh = 99.0\nscores = [95.0]\nhardware = "-"\ntime = "-"\nversion = "-"\n'
        with (recipes / "numbers" / "expected.toml").open("a", encoding="utf-8") as file:
            file.write(band)
        found = nmt("recipe", "numbers", "--data", text, "--out", out, "--threads", 1)
        assert found.code == 1
        assert "below the expected band 90.0–99.0" in found.stdout
        assert "the score is lower than expected" in found.error
        assert "curves.svg" in found.hint

    def test_a_smoke_run_gets_no_verdict(self, nmt: Run, text: Path, out: Path) -> None:
        found = nmt("recipe", "numbers", "--smoke", "--data", text, "--out", out, "--threads", 1)
        assert found.code == 0, found.stderr
        assert found.stdout.rstrip("\n").split("\n")[-1] == (
            "numbers: every step works; the score of a smoke run is meaningless"
        )

    def test_dry_run_shows_the_commands_and_writes_nothing(self, nmt: Run, text: Path, out: Path) -> None:
        found = nmt("recipe", "numbers", "--data", text, "--out", out, "--processes", 2, "--dry-run")
        lines = found.stdout.rstrip("\n").split("\n")
        assert lines[0].startswith(f"nmt preprocess --source-lang de --target-lang en --train {text}/train ")
        assert lines[1].startswith(f"torchrun --standalone --nproc-per-node 2 -m nmt_cli train {out}/data ")
        assert not out.exists()

    def test_a_config_file_sets_what_the_recipe_does_not_and_set_overrides_both(
        self, nmt: Run, text: Path, out: Path, tmp_path: Path
    ) -> None:
        config = tmp_path / "mine.toml"
        config.write_text(
            "[train]\nmax_updates = 3\nseed = 5\n[vocabulary]\nsize = 310\n[search]\nbeam_size = 3\n", "utf-8"
        )
        options = ["--config", config, "--set", "train.seed=7", "--dry-run"]
        found = nmt("recipe", "numbers", "--data", text, "--out", out, *options)
        assert found.code == 0, found.stderr
        preprocess, train, translate, evaluate = (
            [words[index + 1] for index, word in enumerate(words) if word == "--set"]
            for words in map(shlex.split, found.stdout.rstrip("\n").split("\n"))
        )
        assert preprocess == ["vocabulary.size=310"]
        assert {"train.max_updates=3", "train.seed=7", "train.validate_every=4"} <= set(train)
        assert not {"train.seed=5", "train.max_updates=4"} & set(train)
        assert translate == evaluate == ["search.beam_size=3"]

    def test_a_wrong_setting_in_a_config_file_names_the_file(
        self, nmt: Run, text: Path, out: Path, tmp_path: Path
    ) -> None:
        config = tmp_path / "mine.toml"
        config.write_text("[train]\nsead = 5\n", "utf-8")
        found = nmt("recipe", "numbers", "--data", text, "--out", out, "--config", config)
        assert found.code == 2
        assert "did you mean train.seed" in found.error
        assert not out.exists()

    def test_a_wrong_setting_is_rejected_before_any_step_runs(self, nmt: Run, text: Path, out: Path) -> None:
        found = nmt("recipe", "numbers", "--data", text, "--out", out, "--set", "train.sead=2")
        assert found.code == 2
        assert "did you mean train.seed" in found.error
        assert not out.exists()


KILLED_AFTER_UPDATE_5 = """
import os, signal, sys
from pathlib import Path
from nmt_cli.cli import main
from nmt_cli.recipe import definition
from nmt_cli.run.logs import MetricsLog

recipes, append = Path(sys.argv.pop(1)), MetricsLog.append

def append_and_die(log, record):
    append(log, record)
    if record["update"] == 5:
        os.kill(os.getpid(), signal.SIGKILL)

definition.recipes_folder, MetricsLog.append = lambda: recipes, append_and_die
main()
"""


def test_a_killed_recipe_resumes_training(nmt: Run, recipes: Path, text: Path, out: Path) -> None:
    recipe = recipes / "numbers" / "recipe.toml"
    content = recipe.read_text("utf-8").replace("validate_every = 4", "validate_every = 8\nsave_every = 2")
    recipe.write_text(content.replace("max_updates = 4", "max_updates = 8\nlog_every = 1"), "utf-8")
    arguments = ["recipe", "numbers", "--data", str(text), "--out", str(out), "--threads", "1"]
    metrics = out / "run" / "metrics.jsonl"
    command = [sys.executable, "-c", KILLED_AFTER_UPDATE_5, str(recipes), *arguments]
    process = subprocess.run(command, capture_output=True, check=False)
    assert process.returncode == -signal.SIGKILL
    log = json.loads((out / "recipe.json").read_text("utf-8"))["steps"]
    assert (log["preprocess"]["state"], log["train"]["state"]) == ("done", "begun")

    resumed = nmt(*arguments)
    assert resumed.code == 0, resumed.stderr
    first, *others = commands(resumed.stderr)
    assert first == ["nmt", "train", "--resume", f"{out}/run", "--threads", "1"]
    assert [words[1] for words in others] == ["translate", "evaluate"]
    steps = [json.loads(line) for line in metrics.read_text("utf-8").split("\n") if line]
    updates = [step["update"] for step in steps if step["kind"] == "step"]
    assert updates == list(range(1, 9))  # none twice, none left out


def test_a_hub_recipe_without_a_network_fails_with_a_hint(
    nmt: Run, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "_reachable", lambda endpoint: False)
    found = nmt("recipe", "multi30k-de-en", "--out", out)
    assert found.code == 1
    assert "is unreachable" in found.error
    assert "--data DIR (train: train.de + .en" in found.hint


def test_options_without_a_recipe_are_rejected(nmt: Run) -> None:
    found = nmt("recipe", "--smoke")
    assert found.code == 2
    assert "no recipe given" in found.error


def test_a_recipe_for_labels_generates_its_text_and_ends_with_an_accuracy(nmt: Run, out: Path) -> None:
    found = nmt("recipe", "tenses", "--smoke", "--out", out, "--threads", 1)
    assert found.code == 0, found.stderr
    assert (out / "text" / "demo" / "train.tense").exists()
    assert "--metrics accuracy" in found.stderr
    assert "accuracy" in found.stdout
    assert "correct label by row" in found.stdout
    assert "tenses: every step works" in found.stdout
    again = nmt("recipe", "tenses", "--smoke", "--out", out, "--threads", 1)
    assert commands(again.stderr) == []
