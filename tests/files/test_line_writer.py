"""Only complete lines are written, whatever happens."""

import fcntl
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

from nmt_cli.files.line_writer import line_output

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
