"""Peak memory and processor time of an `nmt` command and its workers."""

import subprocess
import sys
from collections.abc import Sequence
from typing import NamedTuple

WORKERS = 2
_MEASURED_RUN = """
import multiprocessing, resource, sys
from nmt_cli.cli import main
workers, *sys.argv[1:] = sys.argv[1:]
sys.argv[0] = "nmt"
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
for worker in multiprocessing.active_children():
    worker.join()  # only those count that have ended
for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
    used = resource.getrusage(who)
    print(used.ru_maxrss, used.ru_utime + used.ru_stime, file=sys.stderr)
"""


class Usage(NamedTuple):
    """What a command has used."""

    memory: int  # bytes: the process itself and, for each worker, as much as the largest of them
    own_seconds: float  # of processor time, in the process itself
    worker_seconds: float  # in all workers together


def usage(command: Sequence[object], workers: int = WORKERS, option: str = "--workers") -> Usage:
    """Run a command with this many workers."""
    arguments = [*map(str, command), option, str(workers)]
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED_RUN, str(workers), *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    own_memory, own_seconds, largest, worker_seconds = map(float, done.stderr.split()[-4:])
    return Usage(1024 * int(own_memory + workers * largest), own_seconds, worker_seconds)


def peak_memory(command: Sequence[object]) -> int:
    """Bytes: the process itself and, for each worker, as much as the largest of them."""
    return usage(command).memory
