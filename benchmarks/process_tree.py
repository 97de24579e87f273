"""CPU time and peak memory of each process that a command starts, read from /proc while it runs."""

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_INTERVAL = 0.1  # seconds; what a process uses after the last look at it is lost
_TICK = 1 / os.sysconf("SC_CLK_TCK")


class ProcessUsage(NamedTuple):
    """What one process has used."""

    seconds: float  # of CPU time, user and system
    memory: int  # bytes, at the peak


def measure_tree(command: Sequence[object], environment: Mapping[str, str]) -> list[ProcessUsage]:
    """Run a command; what its first process and all descendants used, in the order of their process numbers."""
    process = subprocess.Popen(list(map(str, command)), env=dict(environment), stdout=subprocess.DEVNULL)
    found: dict[int, ProcessUsage] = {}
    while process.poll() is None:
        for number in _tree(process.pid):
            with suppress(OSError, StopIteration):  # it has just ended
                found[number] = usage_of(number)
        time.sleep(_INTERVAL)
    assert process.returncode == 0, command
    return [found[number] for number in sorted(found)]


def _tree(root: int) -> list[int]:
    """A process and its descendants."""
    numbers = [root]
    for number in numbers:
        with suppress(OSError):
            for task in Path(f"/proc/{number}/task").iterdir():
                numbers += map(int, (task / "children").read_text("ascii").split())
    return numbers


def usage_of(number: int) -> ProcessUsage:
    """What the process with this number has used so far."""
    # The name of the program, in parentheses, may contain spaces.
    fields = Path(f"/proc/{number}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    status = Path(f"/proc/{number}/status").read_text("utf-8", "replace").split("\n")
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    return ProcessUsage((int(fields[11]) + int(fields[12])) * _TICK, 1024 * peak)
