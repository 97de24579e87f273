"""torchrun brings a run back after any loss, and the result is that of one process that was never disturbed.

`make test` runs the first case; `make soak` runs all of them.
"""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from .conftest import options, train

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")
soak = pytest.mark.skipif("NMT_SOAK_ROUNDS" not in os.environ, reason="takes long; run `make soak`")

UPDATES = 240
# Small steps, so that rounding errors stay rounding errors.
STEADY = (
    *("model.dropout=0", "train.learning_rate=1e-4", f"train.max_updates={UPDATES}", "train.max_epochs=0"),
    *("train.schedule=constant", "train.validate_every=80", "train.save_every=10", "train.average_best=1"),
)
ENVIRONMENT = {
    **os.environ,
    "OMP_WAIT_POLICY": "PASSIVE",
    "OMP_NUM_THREADS": "1",
    # With torch 2.13 a machine that joins later waits for the address of a store that only the others know.
    "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
}


@pytest.fixture(scope="module")
def alone(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of a single process."""
    run = tmp_path_factory.mktemp("alone") / "run"
    train(data, run, *STEADY)
    return run


class Agent:
    """A torchrun agent, which stands for one machine, and its processes."""

    def __init__(self, data: Path, run: Path, *agent_options: object, more: tuple[object, ...] = ()) -> None:
        self.log = run.parent / f"agent-{time.monotonic_ns()}.log"
        command = [
            sys.executable,
            "-m",
            "torch.distributed.run",
            *agent_options,
            "-m",
            "nmt_cli",
            "train",
            data,
        ]
        command += [
            "--out",
            run,
            "--auto-resume",
            "--threads",
            "1",
            "--device",
            "cpu",
            *more,
            *options(*STEADY),
        ]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [str(word) for word in command], stderr=log, env=ENVIRONMENT, start_new_session=True
            )

    def worker(self) -> int:
        """The process id of its last worker, which is not the one that writes if there are several."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        workers = {rank(int(child)): int(child) for child in path.read_text().split()}
        workers.pop(None, None)
        return workers[max(number for number in workers if number is not None)]

    def main_worker(self) -> int:
        """The process id of the worker that writes."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return next(int(child) for child in path.read_text().split() if rank(int(child)) == 0)

    def messages(self) -> str:
        return self.log.read_text()

    def wait(self) -> int:
        return self.process.wait(timeout=240)

    def kill(self) -> None:
        """The machine is gone, with everything on it."""
        if self.process.poll() is None:
            for process in [self.process.pid, *descendants(self.process.pid)]:
                os.kill(process, signal.SIGKILL)
            self.process.wait()


def rank(process: int) -> int | None:
    variables = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    return next((int(value[5:]) for value in variables if value.startswith(b"RANK=")), None)


def descendants(process: int) -> list[int]:
    children = [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    return children + [grandchild for child in children for grandchild in descendants(child)]


@contextmanager
def agents(*makers: Callable[[], Agent]) -> Iterator[list[Agent]]:
    """Start agents, and leave none of them behind."""
    with ExitStack() as stack:
        started: list[Agent] = []
        for make in makers:
            agent = make()
            stack.callback(agent.kill)
            started.append(agent)
        yield started


def one_agent(data: Path, run: Path, *more: object) -> Callable[[], Agent]:
    return lambda: Agent(data, run, "--standalone", "--nproc-per-node", 2, "--max-restarts", 2, more=more)


def machine(
    data: Path, run: Path, port: int, *, hosts: bool = False, restarts: int = 3
) -> Callable[[], Agent]:
    """One of up to two machines, each with one process; the one that hosts the rendezvous must survive."""
    rendezvous = ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"127.0.0.1:{port}", "--rdzv-id", "test"]
    rendezvous += ["--rdzv-conf", f"is_host={int(hosts)},last_call_timeout=3,keep_alive_interval=1"]
    arguments = ["--nnodes", "1:2", "--nproc-per-node", 1, "--max-restarts", restarts, *rendezvous]
    return lambda: Agent(data, run, *arguments)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def saved_update(run: Path) -> int:
    try:
        return int(json.loads((run / "state" / "current.json").read_text())["update"])
    except FileNotFoundError:
        return -1


def wait_for(run: Path, update: int, running: list[Agent]) -> None:
    """Wait until a checkpoint of at least this update exists."""
    while saved_update(run) < update:
        for agent in running:
            assert agent.process.poll() is None, agent.messages()
        time.sleep(0.05)


def assert_equal(run: Path, alone: Path) -> None:
    """Same updates, same losses, same weights up to floating-point tolerance."""
    for name in ("state", "checkpoints"):
        file = f"{name}/update-{UPDATES:08d}.safetensors"
        ours, theirs = load_file(run / file), load_file(alone / file)
        assert ours.keys() == theirs.keys()
        for key, tensor in ours.items():
            assert torch.allclose(tensor, theirs[key], rtol=1e-3, atol=1e-5), key
    records = [
        [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        for folder in (run, alone)
    ]
    positions = [[(record["kind"], record["update"]) for record in found] for found in records]
    assert positions[0] == positions[1]
    losses = [[record["loss"] for record in found] for found in records]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


def test_torchrun_recovers_from_a_killed_process(data: Path, tmp_path: Path, alone: Path) -> None:
    run = tmp_path / "run"
    with agents(one_agent(data, run)) as [agent]:
        wait_for(run, 20, [agent])
        os.kill(agent.worker(), signal.SIGKILL)
        assert agent.wait() == 0, agent.messages()
    host = socket.gethostname()
    assert f"error: process 0 lost the connection: process 1 on {host} has ended" in agent.messages()
    assert "torchrun has restarted this run (attempt 2)\nresuming after update" in agent.messages()
    assert_equal(run, alone)


@soak
def test_a_process_that_hangs_is_named_and_replaced(data: Path, tmp_path: Path, alone: Path) -> None:
    run = tmp_path / "run"
    with agents(one_agent(data, run, "--process-timeout", "6s")) as [agent]:
        wait_for(run, 20, [agent])
        os.kill(agent.worker(), signal.SIGSTOP)
        assert agent.wait() == 0, agent.messages()
    assert f"process 1 on {socket.gethostname()} did not respond in time" in agent.messages()
    assert_equal(run, alone)


@soak
def test_a_full_disk_costs_one_attempt(data: Path, tmp_path: Path, alone: Path) -> None:
    run = tmp_path / "run"
    with agents(one_agent(data, run)) as [agent]:
        wait_for(run, 20, [agent])
        resource.prlimit(agent.main_worker(), resource.RLIMIT_FSIZE, (4096, 4096))
        assert agent.wait() == 0, agent.messages()
    assert "is intact" in agent.messages()
    assert "attempt 2" in agent.messages()
    assert_equal(run, alone)


@soak
def test_preemption_saves_and_the_same_command_continues(data: Path, tmp_path: Path, alone: Path) -> None:
    run = tmp_path / "run"
    with agents(one_agent(data, run)) as [agent]:
        wait_for(run, 20, [agent])
        agent.process.terminate()
        assert agent.wait() != 0
    saved = saved_update(run)
    assert f"stopped after update {saved}" in agent.messages()
    with agents(one_agent(data, run)) as [agent]:
        assert agent.wait() == 0, agent.messages()
    assert f"resuming after update {saved} " in agent.messages()
    assert_equal(run, alone)
    with agents(one_agent(data, run)) as [agent]:  # there is nothing left to do
        assert agent.wait() == 0, agent.messages()
    assert_equal(run, alone)


@soak
def test_a_process_killed_on_one_of_two_machines_comes_back(data: Path, tmp_path: Path, alone: Path) -> None:
    run, port = tmp_path / "run", free_port()
    with agents(machine(data, run, port, hosts=True), machine(data, run, port)) as both:
        wait_for(run, 20, both)
        os.kill(both[1].worker(), signal.SIGKILL)
        assert [agent.wait() for agent in both] == [0, 0], both[0].messages() + both[1].messages()
    assert "2 processes" in both[0].messages() + both[1].messages()
    assert_equal(run, alone)


@soak
def test_a_lost_machine_is_done_without_and_a_new_one_joins(data: Path, tmp_path: Path, alone: Path) -> None:
    run, port = tmp_path / "run", free_port()
    host, lost = machine(data, run, port, hosts=True), machine(data, run, port)
    with agents(host, lost) as both:
        wait_for(run, 20, both)
        both[1].kill()
        wait_for(run, saved_update(run) + 20, both[:1])
        with agents(machine(data, run, port)) as [new]:
            assert both[0].wait() == 0, both[0].messages()
            assert new.wait() == 0, new.messages()
    assert "continues with 1" in both[0].messages()
    assert "continues with 2" in both[0].messages() + new.messages()
    assert_equal(run, alone)
