"""What comparing a model with its SHA-256 adds to the start of `nmt translate`.

python benchmarks/integrity.py [--sizes 20 110 500] [--rounds 7]

From the start of the process to the end of the first translation, imports included, in turns with and without hashing.
CPU time counts the thread that hashes; wall time shows how much of it is hidden behind other work if a core is idle.
The figures are medians, since other processes disturb single ones.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import torch

from nmt_cli.config import Resolved, resolve
from nmt_cli.files.manifest import write_manifest
from nmt_cli.model import build_model
from nmt_cli.model.seq2seq import expected_weights
from nmt_cli.run.weights import tensor_bytes, weights_of
from nmt_cli.vocabulary import Vocabularies

LINES = [
    "the cat sat on the mat .",
    "a dog ran quickly home .",
    "we saw 12 red birds in the old garden .",
] * 20
COMMAND = ["translate", "--beam", "1", "--set", "search.max_length=5", "--threads", "1", "--quiet"]
START = "import sys; from nmt_cli.cli import main; sys.argv[0] = 'nmt'; {without}main()"
# Every hash of a file in a run directory is computed and compared here.
WITHOUT = "from nmt_cli.files.manifest import Manifest; Manifest.verify = lambda *_: None; "


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", type=int, nargs="+", default=[20, 110, 500], help="megabytes of weights")
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    print(f"SHA-256: {speed():,.0f} MB per CPU second")
    print("weights   start-up, CPU s   hashing        start-up, wall s   hashing")
    for size in arguments.sizes:
        with tempfile.TemporaryDirectory() as folder:
            run = make_run(Path(folder) / "run", size)
            weights = (run / "model.safetensors").stat().st_size / 1e6
            start_up(run, WITHOUT)  # the files are in the cache from here on
            times = [(start_up(run, WITHOUT), start_up(run, "")) for _ in range(arguments.rounds)]
            columns = []
            for kind in (0, 1):
                without = median(first[kind] for first, _ in times)
                added = median(second[kind] - first[kind] for first, second in times)
                columns.append(f"{without:15.2f}   {added:+.3f} ({added / without:+.1%})")
            print(f"{weights:4.0f} MB  {columns[0]}   {columns[1]}", flush=True)


def start_up(run: Path, without: str) -> tuple[float, float]:
    """CPU and wall seconds of one process that translates one line."""
    command = [sys.executable, "-c", START.format(without=without), COMMAND[0], str(run), *COMMAND[1:]]
    began = time.perf_counter()
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    assert process.stdin is not None
    process.stdin.write(b"the cat\n")
    process.stdin.close()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_utime + usage.ru_stime, wall


def speed() -> float:
    """Megabytes that one CPU second hashes."""
    content = bytes(100_000_000)
    began = time.process_time()
    hashlib.sha256(content).digest()
    return len(content) / 1e6 / (time.process_time() - began)


def make_run(folder: Path, megabytes: int) -> Path:
    """An untrained run with about this much of weights."""
    folder.mkdir()
    resolved, vocabularies = _sized(megabytes)
    vocabularies.save(folder)
    (folder / "config.json").write_text(resolved.to_json(), "utf-8")
    (folder / "run.json").write_text(
        f'{{"source_lang": "en", "target_lang": "de", "data": "data", "data_sha256": "{"0" * 64}"}}', "utf-8"
    )
    sizes = len(vocabularies.source), len(vocabularies.target)
    model = build_model(
        resolved.config.model, *sizes, shared=vocabularies.joint, generator=torch.Generator().manual_seed(1)
    )
    (folder / "model.safetensors").write_bytes(tensor_bytes(weights_of(model)))
    write_manifest(folder, "run")
    return folder


def _sized(megabytes: int) -> tuple[Resolved, Vocabularies]:
    """The smallest model of the default preset with at least so much of weights."""
    vocabularies: Vocabularies | None = None
    for hidden in range(256, 8192, 32):
        resolved = resolve(
            None,
            ["vocabulary.size=330", f"model.hidden_size={hidden}", f"model.embedding_size={hidden}"],
        )
        config = resolved.config
        vocabularies = vocabularies or Vocabularies.train(lambda sides: LINES * len(sides), config.vocabulary)
        sizes = len(vocabularies.source), len(vocabularies.target)
        weights = expected_weights(config.model, *sizes, shared=vocabularies.joint)
        if sum(tensor.numel() for tensor in weights.values()) * 4 >= megabytes * 1e6:
            return resolved, vocabularies
    raise SystemExit(f"no model has {megabytes} MB")


if __name__ == "__main__":
    main()
