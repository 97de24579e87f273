"""BLEU after the same CPU time: this toolkit and its peers on the same pieces, at the same size, with one thread.

python benchmarks/race.py --install-peers           once, about a minute
python benchmarks/race.py DATA_DIR --out DIR --minutes 10 20 40 [--only SYSTEM …] [--seed N] [--set …]

DATA_DIR is made by `nmt preprocess` from raw text, with a joint vocabulary and a test set. Its training, validation and
test sets become files of piece ids, which every toolkit trains on by its own commands (peers/race_entries.py has the
settings). A minute of training tells how many updates fit into each budget; then each budget is a training of its
own, whose learning rate decays in time for its end. The time reported is what it took: user and system time of
training, validation and loading included. BLEU is sacreBLEU's on raw text, beam 5.

DIR/results.jsonl has the results so far; the same command continues with what is missing. DIR/table.md is the
table, DIR/chart.svg the chart.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from peers import parser
from peers.install import install
from peers.race_entries import ENTRIES, Command, Entry, Ours, Pieces

from nmt_cli.data.directory import DataDirectory
from nmt_cli.drawing.lines import line_chart
from nmt_cli.metrics import bleu, tokenizer_for

PROBE = 60.0  # seconds of CPU time


@dataclass(frozen=True)
class Result:
    """One training."""

    system: str
    seed: int
    settings: tuple[str, ...]  # of ours, beyond its defaults
    budget: float  # minutes
    updates: int
    minutes: float  # of CPU time
    bleu: float


def main() -> None:
    """Run what has not been run yet, and write the table."""
    arguments = parser(__doc__)
    arguments.add_argument("directory", type=Path, nargs="?", metavar="DATA_DIR")
    arguments.add_argument("--out", type=Path, default=Path("race"))
    arguments.add_argument("--minutes", type=float, nargs="+", default=[10.0, 20.0, 40.0])
    arguments.add_argument("--only", nargs="+", default=[entry.name for entry in ENTRIES], metavar="SYSTEM")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--set", action="append", default=[], help="a setting of ours; repeatable")
    arguments.add_argument("--install-peers", action="store_true")
    options = arguments.parse_args()
    if options.install_peers:
        install(options.peers, list(dict.fromkeys(entry.peer for entry in ENTRIES if entry.peer)), print)
    if options.directory is None:
        return
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = "1"  # the peers' checkpoints are pickles
    pieces = write_pieces(options.directory, options.out / "pieces")
    Ours.settings = tuple(options.set)
    for budget in options.minutes:
        for kind in ENTRIES:
            if kind.name in options.only:
                race(kind(options.peers), pieces, budget, options.seed, options.out)
    results = read_results(options.out)
    table = "\n".join(format_table(results))
    (options.out / "table.md").write_text(table + "\n")
    (options.out / "chart.svg").write_text(draw(results), "utf-8")
    print(table)


def write_pieces(directory: Path, folder: Path) -> Pieces:
    """The splits of a data directory as text: the ids of pieces as words; and the test set as it is."""
    data = DataDirectory.open(directory)
    pieces = Pieces(folder, data.source_lang, data.target_lang, directory)
    if folder.is_dir():
        return pieces
    partial = folder.with_name(f"{folder.name}.partial")
    partial.mkdir(parents=True, exist_ok=True)
    for name, split in {"train": data.train, "valid": data.valid, "test": data.test}.items():
        if split is None:
            sys.exit(f"{directory} has no {name} set")
        rows = np.arange(len(split))
        sides = {pieces.source: split.gather(rows, "source"), pieces.target: split.gather(rows, "target")}
        for language, ids in sides.items():
            lines = (" ".join(map(str, ids[row])) for row in range(len(ids)))
            (partial / f"{name}.{language}").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    for language in (pieces.source, pieces.target):
        shutil.copy(directory / f"test.{language}", partial / f"test.{language}.txt")
    partial.rename(folder)
    return pieces


def race(entry: Entry, pieces: Pieces, budget: float, seed: int, out: Path) -> None:
    """Train one system for `budget` minutes of CPU time and score it, unless that has been done."""
    settings = Ours.settings if isinstance(entry, Ours) else ()
    key = (entry.name, seed, settings, budget)
    if any((done.system, done.seed, done.settings, done.budget) == key for done in read_results(out)):
        return
    folder = out / "-".join((entry.name, f"{budget:g}", str(seed), *settings))
    updates = round(updates_per_minute(entry, pieces, out) * budget)
    print(f"{entry.name}: {budget:g} minutes, {updates:,} updates", flush=True)
    seconds = train(entry, pieces, folder, updates, seed)
    output = folder / "output"
    source = pieces.file("test", pieces.source)
    run(entry.translate(pieces, folder, source, output), folder / "translate.log")
    score = score_of(output, pieces, entry)
    result = Result(entry.name, seed, settings, budget, updates, seconds / 60, score)
    with (out / "results.jsonl").open("a") as file:
        file.write(json.dumps(asdict(result)) + "\n")
    print(f"{entry.name}: {result.minutes:.1f} minutes, BLEU {result.bleu:.1f}", flush=True)


def train(entry: Entry, pieces: Pieces, folder: Path, updates: int, seed: int) -> float:
    """Train, unless that has been done, and return the CPU time in seconds."""
    record = folder / "seconds"
    if not record.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        commands = entry.train(pieces, folder, updates, seed)
        record.write_text(str(sum(run(command, folder / "log") for command in commands)))
    return float(record.read_text())


def updates_per_minute(entry: Entry, pieces: Pieces, out: Path) -> float:
    """How many updates a system makes in a minute of CPU time, start-up aside; measured once."""
    cache = out / "speed.json"
    known: dict[str, float] = json.loads(cache.read_text()) if cache.exists() else {}
    name = " ".join((entry.name, *(Ours.settings if isinstance(entry, Ours) else ())))
    if name not in known:
        folder = out / f"{name}-probe"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        *before, train = entry.train(pieces, folder, 100_000, 1)
        for command in before:
            run(command, folder / "log")
        known[name] = probe(entry, train, folder / "log")
        cache.write_text(json.dumps(known))
    return known[name]


def probe(entry: Entry, command: Command, log: Path) -> float:
    """Updates per minute of CPU time between the first ones and the end of the probe."""
    with log.open("ab") as file, subprocess.Popen(command, stdout=file, stderr=file) as process:
        points: list[tuple[float, int]] = []
        while process.poll() is None and (not points or points[-1][0] < points[0][0] + PROBE):
            time.sleep(0.5)
            try:
                points.append((cpu_seconds(process.pid), entry.updates(log.read_text(errors="replace"))))
            except (IndexError, OSError):
                continue
        process.kill()
    if not points:
        sys.exit(f"{entry.name} failed; see {log}")
    (start, first), (end, last) = points[0], points[-1]
    return (last - first) / (end - start) * 60


def cpu_seconds(pid: int) -> float:
    """User and system time of a running process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(command: Command, log: Path) -> float:
    """Run a command to its end and return its user and system time in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with log.open("ab") as file:
        code = subprocess.run(command, stdout=file, stderr=file, check=False).returncode
    if code:
        sys.exit(f"{command[0]} ended with exit code {code}; see {log}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def score_of(output: Path, pieces: Pieces, entry: Entry) -> float:
    """BLEU of a file of translations against the raw test set."""
    hypotheses = output.read_text("utf-8").split("\n")[:-1]
    if entry.writes_ids:
        vocabulary = DataDirectory.open(pieces.data).vocabularies.target
        hypotheses = [
            vocabulary.decode([int(word) for word in line.split() if word.isdecimal()]) for line in hypotheses
        ]
    references = (pieces.folder / f"test.{pieces.target}.txt").read_text("utf-8").split("\n")[:-1]
    return bleu(hypotheses, references, tokenize=tokenizer_for(pieces.target)).value


def read_results(out: Path) -> list[Result]:
    """The trainings that have ended."""
    file = out / "results.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return [Result(**{**row, "settings": tuple(row["settings"])}) for row in rows]


def draw(results: list[Result]) -> str:
    """BLEU over CPU time, a line for each system and its settings."""
    systems: dict[str, list[tuple[float, float]]] = {}
    for result in sorted(results, key=lambda result: result.minutes):
        name = " ".join((result.system, *result.settings))
        systems.setdefault(name, []).append((result.minutes, result.bleu))
    return line_chart(systems, "test BLEU, beam 5", "CPU minutes of training, one thread")


def format_table(results: list[Result]) -> Iterator[str]:
    """One row per training."""
    yield "| system | budget, min | seed | updates | CPU minutes | BLEU |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for result in sorted(results, key=lambda result: (result.budget, result.system, result.seed)):
        name = " ".join((result.system, *(f"`{setting}`" for setting in result.settings)))
        yield (
            f"| {name} | {result.budget:g} | {result.seed} | {result.updates:,} | {result.minutes:.1f} "
            f"| {result.bleu:.1f} |"
        )


if __name__ == "__main__":
    main()
