"""A process that imports torch once and forks a child for every command: real processes without the cost of imports.

`begin` and `end` are for a child that gets signals, `run` for one whose output is wanted, with limits.
"""

import gc
import importlib
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from nmt_cli.data.backbone import import_torchvision
from nmt_cli.errors import UsageError

REPOSITORY = Path(__file__).resolve().parent.parent
TIMEOUT = 600.0  # seconds; what takes this long on a tiny model waits for something that never comes
# Seconds that a limited child may compute; unlike TIMEOUT, it does not depend on other processes.
CPU_TIME = 60
MEMORY = 1 << 30  # bytes that a limited child may allocate; commands on tiny models need far less
PRELOADED = (  # what takes time, once for all children
    "nmt_cli.cli.app",
    "nmt_cli.evaluation.evaluate",
    "nmt_cli.explanation",
    "nmt_cli.export.folder",
    "nmt_cli.run.average",
    "nmt_cli.training",
    "nmt_cli.translator.streaming",
    "jinja2",
    "numpy.ctypeslib",
    "numpy.random",
    "onnx",
    "sacrebleu.metrics",
    "torch._dynamo",  # the optimizer imports it
)


class Outcome(NamedTuple):
    """What a command did. A negative code is the number of the signal that ended it."""

    code: int
    stdout: bytes
    stderr: bytes
    timed_out: bool = False


class ForkServer:
    """The client's side."""

    def __init__(self, environment: dict[str, str] | None = None) -> None:
        variables = {
            **os.environ,
            "OMP_WAIT_POLICY": "PASSIVE",
            "OMP_NUM_THREADS": "1",
            **(environment or {}),
        }
        variables["PYTHONPATH"] = str(REPOSITORY)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fork_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env=variables,
        )

    def begin(self, *arguments: object, **options: Any) -> int:
        """Start a command; its process id."""
        assert self._process.stdin is not None
        request = {"arguments": [str(argument) for argument in arguments], **options}
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        return self._number()

    def end(self) -> int:
        """Wait for the command that was started last; its exit code."""
        return self._number()

    def run(self, arguments: Sequence[str], *, folder: Path, stdin: bytes = b"") -> Outcome:
        """Run a command in `folder` to its end, with a limit on time and memory."""
        with tempfile.TemporaryDirectory() as scratch:
            files = {name: f"{scratch}/{name}" for name in ("stdin", "stdout", "stderr")}
            Path(files["stdin"]).write_bytes(stdin)
            child = self.begin(*arguments, files=files, folder=str(folder), memory=MEMORY)
            assert self._process.stdout is not None
            timed_out = not select.select([self._process.stdout], [], [], TIMEOUT)[0]
            if timed_out:
                os.kill(child, signal.SIGKILL)
            code = self.end()
            stdout, stderr = (Path(files[name]).read_bytes() for name in ("stdout", "stderr"))
        return Outcome(code, stdout, stderr, timed_out)

    def close(self) -> None:
        """End the server."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _number(self) -> int:
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())


@contextmanager
def fork_server(environment: dict[str, str] | None = None) -> Iterator[ForkServer]:
    """A server that ends with the block."""
    server = ForkServer(environment)
    try:
        yield server
    finally:
        server.close()


# ------------------------------------------------------------------------------------------------------------
# The server's side.


def serve() -> None:
    """Answer each request with the child's process id and, when it has ended, its exit code."""
    for name in PRELOADED:
        importlib.import_module(name)
    with suppress(UsageError):
        import_torchvision("")
    gc.collect()
    gc.freeze()  # a collection in a child would copy the memory that it shares with the server
    requests = open(0, "rb", buffering=0, closefd=False)  # noqa: SIM115 - nothing is buffered that a child could read
    while line := requests.readline():
        child = os.fork()
        if not child:
            _become_command(json.loads(line))
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _become_command(request: dict[str, Any]) -> None:
    from nmt_cli.cli import main

    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup makes the tests ignore it
    for descriptor, name in enumerate(request.get("files", {}).values()):
        flags = os.O_RDONLY if descriptor == 0 else os.O_WRONLY | os.O_CREAT
        os.dup2(os.open(name, flags, 0o600), descriptor)
    sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115 - until the end
    if "folder" in request:
        os.chdir(request["folder"])
    if "memory" in request:
        in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (in_use + request["memory"],) * 2)
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_TIME, CPU_TIME))
    sys.argv = ["nmt", *request["arguments"]]
    code: Any = 70
    try:
        main()
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve()
