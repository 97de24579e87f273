"""Two processes with half of each batch equal one process with the whole batch."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from nmt_cli.training.distributed import ProcessGroup, is_connection_error

from .conftest import SMALL, resume_run, train

EXACT = (
    "model.dropout=0",
    "train.max_updates=8",
    "train.accumulate=2",
    "train.validate_every=4",
    "train.average_best=1",
    "train.guided_alignment=0.5",
)


ENVIRONMENT = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE", "OMP_NUM_THREADS": "1"}


def command(*arguments: object) -> list[str]:
    return [
        *(sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"),
        *("-m", "nmt_cli", "train", "--threads", "1", "--device", "cpu"),
        *map(str, arguments),
    ]


def torchrun(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*arguments), capture_output=True, text=True, env=ENVIRONMENT, check=False)


def assert_two_processes_train_the_same(data: Path, run: Path, settings: Iterable[str]) -> None:
    """Train as `run` was trained, but in two processes; the weights agree."""
    two = run.with_name("two")
    done = torchrun(data, "--out", two, *(part for setting in settings for part in ("--set", setting)))
    assert done.returncode == 0, done.stderr
    ours, theirs = (load_file(folder / "model.safetensors") for folder in (run, two))
    assert ours.keys() == theirs.keys()
    for name, tensor in ours.items():
        assert torch.allclose(tensor, theirs[name], rtol=1e-3, atol=1e-5), name


def run_script(text: str, folder: Path) -> str:
    """What a script prints that runs in two processes."""
    (folder / "script.py").write_text(text)
    start = [*command()[: command().index("-m", 2)], str(folder / "script.py")]
    done = subprocess.run(start, capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_two_processes_equal_one_and_one_can_resume_from_two(data: Path, tmp_path: Path) -> None:
    train(data, tmp_path / "one", *EXACT)
    options = [part for setting in (*SMALL, *EXACT) for part in ("--set", setting)]
    done = torchrun(data, "--out", tmp_path / "two", *options)
    assert done.returncode == 0, done.stderr
    assert "2 processes" in done.stderr
    resume_run(tmp_path / "one", "train.max_updates=10")
    resume_run(tmp_path / "two", "train.max_updates=10")
    name = "state/update-00000010.safetensors"
    one, two = load_file(tmp_path / "one" / name), load_file(tmp_path / "two" / name)
    assert one.keys() == two.keys()
    for key, tensor in one.items():
        assert torch.allclose(tensor, two[key], rtol=1e-3, atol=3e-6), key
    losses = [validation_losses(tmp_path / run) for run in ("one", "two")]
    assert len(losses[0]) == 2
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


EXCHANGE = """
import torch
from nmt_cli.config import TrainConfig
from nmt_cli.training.distributed import ProcessGroup

torch.set_num_threads(1)
group = ProcessGroup.join()
gradients = {}
for exchange in ("fp32", "bf16", "fp16"):
    torch.manual_seed(1)
    model = torch.nn.Sequential(*(torch.nn.Linear(300, 300) for _ in range(6)))
    wrapped = group.wrap(model, TrainConfig(gradient_exchange=exchange, bucket_megabytes=1))
    x = torch.randn(4, 300, generator=torch.Generator().manual_seed(group.rank))
    wrapped(x).square().sum().backward()
    gradients[exchange] = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
exact = gradients["fp32"]
errors = [float((gradients[name] - exact).norm() / exact.norm()) for name in ("bf16", "fp16")]
differs = group.max(int(1000 * float(exact.norm()))) != int(1000 * float(exact.norm()))
group.close()
if group.is_main:
    print(*errors, differs)
"""


def test_gradients_exchanged_in_half_precision_are_those_of_fp32_up_to_rounding(tmp_path: Path) -> None:
    bf16, fp16, differs = run_script(EXCHANGE, tmp_path).split()
    assert 1e-4 < float(bf16) < 1e-2
    assert 1e-5 < float(fp16) < 1e-3
    assert differs == "False"


SHARED = """
import time
from nmt_cli.training.distributed import ProcessGroup
from nmt_cli.vocabulary.token_ids import Ragged

group = ProcessGroup.join(timeout=5)

def compute():
    time.sleep(6)
    return Ragged.from_rows([[1, 2], [], [group.rank]], dtype="uint32")

rows = group.share("rows", compute)
none = group.share("none", lambda: Ragged.from_rows([[]]))
everything = group.gather([rows.values.tolist(), rows.offsets.tolist(), str(rows.values.dtype), len(none)])
group.close()
if group.is_main:
    print(everything == 2 * [[[1, 2, 0], [0, 2, 2, 3], "uint32", 1]])
"""


def test_what_the_main_process_computes_is_shared_even_if_it_takes_longer_than_the_timeout(
    tmp_path: Path,
) -> None:
    assert run_script(SHARED, tmp_path).split() == ["True"]


def test_a_failing_process_stops_all_with_its_message(data: Path, tmp_path: Path) -> None:
    options = [part for setting in SMALL for part in ("--set", setting)]
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "something").touch()
    done = torchrun(data, "--out", tmp_path / "run", *options)
    assert done.returncode != 0
    assert f"error: {tmp_path / 'run'} contains other files" in done.stderr


def validation_losses(run: Path) -> list[float]:
    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [
        record["loss"] for record in records if record["kind"] == "validation" and not record.get("final")
    ]


def test_a_single_process_needs_no_communication() -> None:
    group = ProcessGroup.join(environment={})
    assert (group.world, group.is_main, group.max(3), group.gather("x")) == (1, True, 3, ["x"])
    assert ProcessGroup.join(environment={"RANK": "0", "WORLD_SIZE": "1"}).world == 1


def test_a_broken_connection_is_recognized() -> None:
    assert is_connection_error(RuntimeError("[../gloo/transport/tcp/pair.cc:544] Connection closed by peer"))
    assert not is_connection_error(RuntimeError("size mismatch"))
