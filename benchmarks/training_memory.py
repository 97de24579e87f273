"""Memory of a training process over many updates, as the system sees it.

    python benchmarks/training_memory.py [DATA_DIR] [--updates 600] [--set …]     (without a directory: the demo corpus)

`nmt train` runs twice: with the settings that `nmt` makes, and with torch's default size of oneDNN's cache of
primitives; `--once` leaves out the second. The table shows the largest anonymous memory (what the process has
allocated, without files) in each interval of updates, and the CPU time of the whole run.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from demo_corpus import demo_corpus

INTERVAL = 50  # updates
CACHE = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"
SETTINGS = (
    f"train.log_every={INTERVAL}",
    f"train.validate_every={2 * INTERVAL}",
    "train.validate_sentences=50",
    "train.max_epochs=0",
    "train.patience=0",
)


def main() -> None:
    """Run and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", nargs="?", type=Path)
    parser.add_argument("--updates", type=int, default=600)
    parser.add_argument("--once", action="store_true", help="only with the settings that nmt makes")
    parser.add_argument("--set", action="append", default=[], dest="settings")
    arguments = parser.parse_args()
    settings = [*SETTINGS, f"train.max_updates={arguments.updates}", *arguments.settings]
    with tempfile.TemporaryDirectory() as folder:
        data = arguments.data or demo_corpus(Path(folder), pairs=20_000, vocabulary=4000)
        columns = {}
        environments: dict[str, dict[str, str]] = {"nmt": {}}
        if not arguments.once:
            environments["1024 primitives"] = {CACHE: "1024"}
        for name, environment in environments.items():
            columns[name], seconds = measure(data, Path(folder) / name, settings, environment)
            print(f"{name}: {seconds:.1f} s of CPU time", flush=True)
    print(f"\n| updates | {' | '.join(columns)} |")
    print(f"| ---: |{' ---: |' * len(columns)}")
    for update in range(0, arguments.updates, INTERVAL):
        cells = (f"{column.get(update, 0) / 1024:,.0f} MB" for column in columns.values())
        print(f"| {update} – {update + INTERVAL} | {' | '.join(cells)} |")


def measure(
    data: Path, run: Path, settings: list[str], environment: dict[str, str]
) -> tuple[dict[int, int], float]:
    """Largest anonymous memory in kB by the last update that was reported, and CPU seconds."""
    before = children_seconds()
    options = [word for setting in settings for word in ("--set", setting)]
    process = subprocess.Popen(
        [sys.executable, "-m", "nmt_cli", "train", data, "--out", run, "--threads", "1", "--quiet", *options],
        env={**os.environ, **environment},
    )
    found: dict[int, int] = {}
    while process.poll() is None:
        with suppress(OSError):  # it has just ended
            update = last_update(run)
            found[update] = max(found.get(update, 0), anonymous(process.pid))
        time.sleep(0.2)
    assert process.returncode == 0
    return found, children_seconds() - before


def children_seconds() -> float:
    """CPU time of all children that have ended."""
    used = os.times()
    return used.children_user + used.children_system


def last_update(run: Path) -> int:
    """The last update in the log of a run."""
    log = run / "metrics.jsonl"
    lines = log.read_text("utf-8").splitlines() if log.exists() else []
    updates = [json.loads(line).get("update", 0) for line in lines if line.endswith("}")]
    return max(updates, default=0)


def anonymous(process: int) -> int:
    """The anonymous memory of a process in kB."""
    status = Path(f"/proc/{process}/status").read_text("ascii", "replace")
    values = (int(line.split()[1]) for line in status.split("\n") if line.startswith("RssAnon"))
    return next(values, 0)  # none if it has just ended


if __name__ == "__main__":
    main()
