"""A regression test of learning: train fixed small settings and compare BLEU with what they reached before.

python benchmarks/quality.py [--out DIR] [--seed N]

`make quality` runs it, with two systems on the embedded corpus: about ten minutes of CPU time. quality.toml has their
settings and bands. A score outside of its band ends with exit code 1: below it something was broken, above it the band
should be raised. Another CPU or version of torch rounds differently, which changes BLEU by a few tenths.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

TASKS = Path(__file__).with_suffix(".toml")


@dataclass(frozen=True)
class Task:
    """Settings of a training and the BLEU they should reach."""

    settings: tuple[str, ...]
    low: float
    high: float


def main() -> None:
    """Train and evaluate every system."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("quality"))
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    shutil.rmtree(options.out, ignore_errors=True)
    text, data = options.out / "text", options.out / "data"
    nmt("demo-data", "--out", text, "--size", "17000")
    splits = [f"--{split}={text / split}" for split in ("train", "valid", "test")]
    nmt("preprocess", "-s", "en", "-t", "de", *splits, "--set", "vocabulary.size=4000", "--out", data)
    inside = []
    for name, table in tomllib.loads(TASKS.read_text()).items():
        task = Task(tuple(table["settings"]), table["low"], table["high"])
        inside.append(report(name, task, train(task, data, options.out / name, options.seed)))
    sys.exit(not all(inside))


def train(task: Task, data: Path, out: Path, seed: int) -> float:
    """Train and evaluate; BLEU on the test set."""
    settings = [part for one in (*task.settings, f"train.seed={seed}") for part in ("--set", one)]
    nmt("train", data, "--out", out, "--threads", "1", *settings)
    result = json.loads(nmt("evaluate", out, "--threads", "1", "--json"))
    score: float = result["systems"][0]["scores"][0]["score"]  # BLEU comes first
    return score


def nmt(*arguments: str | Path) -> str:
    """The output of a command of ours; what it reports on the way goes to the terminal."""
    command = [sys.executable, "-m", "nmt_cli", *map(str, arguments)]
    print("nmt", *command[3:], flush=True)
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def report(name: str, task: Task, score: float) -> bool:
    """Print the score and whether it is within the band."""
    inside = task.low <= score <= task.high
    verdict = "as expected" if inside else "below the band" if score < task.low else "above the band"
    print(f"{name}: BLEU {score:.1f}, expected {task.low:g} to {task.high:g}: {verdict}", flush=True)
    return inside


if __name__ == "__main__":
    main()
