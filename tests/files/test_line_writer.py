"""Only complete lines are written, whatever happens."""

import fcntl
import resource
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from nmt_cli.errors import OutputError, UsageError
from nmt_cli.files.line_writer import PartialOutput, line_output

WRITER = """
import threading, time
from nmt_cli.files.line_writer import line_output
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()  # it may be the one that gets the signal
with line_output(None) as write:
    write(["short"])
    write(["x" * 1_000_000])
    time.sleep(60)
"""


def test_ctrl_c_does_not_interrupt_a_long_line() -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", WRITER],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"short\n"
    while not _waiting(child.stdout.fileno()):  # then the long line is on its way, and nobody reads on
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    time.sleep(0.2)
    assert child.stdout.read() == b"x" * 1_000_000 + b"\n"
    assert child.wait(timeout=600) != 0


def _waiting(descriptor: int) -> int:
    """The number of bytes in a pipe."""
    return int.from_bytes(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_a_file_appears_complete_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "out"
    try:
        with line_output(path) as write:
            write(["one"])
            raise RuntimeError
    except RuntimeError:
        assert not list(tmp_path.iterdir())
    with line_output(path) as write:
        write(["one", "", "two"])
    assert path.read_bytes() == b"one\n\ntwo\n"


def test_a_full_disk_names_the_file_and_keeps_the_lines_that_are_done(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, before[1]))
    try:
        with (
            pytest.raises(OutputError, match=r"cannot write .*out\.partial: File too large"),
            PartialOutput(tmp_path / "out", {}) as output,
        ):
            output.write(["a" * 100] * 10)
            output.write(["b" * 100] * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    with PartialOutput(tmp_path / "out", {}) as output:
        assert output.lines == 10
        output.write(["c"])
    assert (tmp_path / "out").read_text() == ("a" * 100 + "\n") * 10 + "c\n"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_file_that_its_writer_publishes_just_now_is_not_truncated(tmp_path: Path) -> None:
    first = PartialOutput(tmp_path / "out", {}).__enter__()
    first.write(["first"])
    with pytest.raises(UsageError, match="being written by another process"):
        PartialOutput(tmp_path / "out", {}).__enter__()
    flock = fcntl.flock

    def lock_after_publication(descriptor: int, operation: int) -> None:
        if not (tmp_path / "out").exists():  # opened, but not yet locked
            first.__exit__(None, None, None)
        flock(descriptor, operation)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fcntl, "flock", lock_after_publication)
        second = PartialOutput(tmp_path / "out", {})
        with second:
            assert second.lines == 0
            assert (tmp_path / "out").read_text() == "first\n"
            second.write(["second"])
    assert (tmp_path / "out").read_text() == "second\n"
