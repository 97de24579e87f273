"""`--processes N`: the same command in N processes of this machine, started by torch's launcher.

`torchrun --nproc-per-node N -m nmt_cli …` does the same on any number of machines.
"""

import logging
import os
import signal
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import typer

from nmt_cli.cli.options.checks import STANDARD_STREAM
from nmt_cli.errors import NmtError, OutputError, UsageError

if TYPE_CHECKING:
    from nmt_cli.training.distributed import ProcessGroup

Result = TypeVar("Result")


def world_size() -> int:
    """The number of processes, if torchrun or `launch` started this one among several; else 1."""
    return int(os.environ.get("WORLD_SIZE", "1")) if "RANK" in os.environ else 1


def is_first() -> bool:
    """Whether this is the only or the first process."""
    return os.environ.get("RANK", "0") == "0"


def check_shareable(
    problems: Mapping[str, bool],
    possible: str = "translate lines of a file into a file: --input FILE --output FILE",
) -> None:
    """Raise an error if several processes cannot do this together: `problems` says what is in the way."""
    if found := next((problem for problem, exists in problems.items() if exists), None):
        raise UsageError(
            f"several processes cannot share this: {found}", hint=f"{possible}; or leave out --processes"
        )


def are_files(sources: Iterable[Path | None], out: Path | None) -> bool:
    """Whether the text is in files, and `out` is, or will be, one: not a pipe, a device or a directory."""
    if out is None or not all(source is not None and source.is_file() for source in sources):
        return False
    return out != STANDARD_STREAM and (out.is_file() or not out.exists())


@contextmanager
def joined() -> "Iterator[ProcessGroup]":
    """The group of processes that this one belongs to."""
    from nmt_cli.training.distributed import ProcessGroup

    with ProcessGroup.joined() as group:
        yield group


def prepared(group: "ProcessGroup | None", prepare: Callable[[], Result]) -> Result | None:
    """What `prepare` returns in the first process; the others wait for it and get None.

    If it fails, only the first process says why: the others exit with the same code.
    """
    if group is None:
        return prepare()
    if not group.is_main:
        if code := group.max(0):
            raise typer.Exit(code)
        return None
    try:
        result = prepare()
    except NmtError as error:
        group.max(error.exit_code)
        raise
    group.max(0)
    return result


def launch(processes: int, *, threads: int | None) -> None:
    """Run this command in several processes, and exit as they do."""
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    command = _without_processes(sys.argv[1:])
    if threads is None:
        command += ["--threads", str(max(1, (os.cpu_count() or 1) // processes))]
    # The processes say themselves what went wrong.
    logging.getLogger("torch.distributed.elastic").setLevel(logging.CRITICAL)
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=processes,
        run_id=uuid.uuid4().hex,
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        max_restarts=0,
        monitor_interval=0.1,
    )
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    try:
        elastic_launch(config, sys.executable)("-m", "nmt_cli", *command)
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        if failure.exitcode > 0:  # it has said why
            raise typer.Exit(failure.exitcode) from error
        raise OutputError(
            f"process {rank} was ended by {signal.Signals(-failure.exitcode).name}",
            hint="the lines that are done are kept: run the same command again to continue",
        ) from error
    except SignalException as error:
        raise typer.Exit(128 + error.sigval) from error


def _without_processes(words: Sequence[str]) -> list[str]:
    """The words of a command without the option --processes."""
    kept: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--processes":
            next(rest)
        elif not word.startswith("--processes="):
            kept.append(word)
    return kept
