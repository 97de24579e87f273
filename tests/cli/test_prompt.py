"""`nmt translate` in a terminal: a prompt with history, alternatives, Ctrl-C and Ctrl-D."""

import codecs
import json
import os
import pty
import re
import select
import signal
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from nmt_cli.cli.prompt import prompt_text
from nmt_cli.export.folder import export
from nmt_cli.run import RunDirectory
from nmt_cli.translator.confidence import Calibration

from ..translator.runs import make_run  # noqa: TID252 - tests are no package

PROMPT = "xx → yy › "
_PATIENCE = 60.0  # seconds; loading torch takes a while on a busy machine


class Terminal:
    """`nmt` in a pseudo-terminal."""

    def __init__(self, *arguments: object, state: Path) -> None:
        self.process, self._descriptor = pty.fork()
        if not self.process:
            os.environ.update(TERM="xterm", XDG_STATE_HOME=str(state), OMP_NUM_THREADS="1", PYTHONUTF8="1")
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.execv(sys.executable, [sys.executable, "-m", "nmt_cli", *map(str, arguments)])
        self._unread = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")()  # a read may end inside a character

    def type(self, keys: str) -> None:
        os.write(self._descriptor, keys.encode())

    def read_until(self, text: str) -> str:
        """What appears up to `text`, which is consumed."""
        deadline = time.monotonic() + _PATIENCE
        while text not in self._unread:
            ready, _, _ = select.select([self._descriptor], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"{text!r} did not appear: {self._unread!r}"
            self._unread = re.sub(r"\x1b\[\??[\d;]*\w", "", self._unread + self._read())
        before, _, self._unread = self._unread.partition(text)
        return before.replace("\r", "")

    def _read(self) -> str:
        try:
            data = os.read(self._descriptor, 4096)
        except OSError:  # Linux: the other side is closed
            data = b""
        assert data, f"the process ended: {self._unread!r}"
        return self._decoder.decode(data)

    def wait_until_idle(self) -> None:
        """Until it waits for a key. Python cannot handle a signal between the prompt and that wait."""
        calm = 0
        while calm < 5:
            time.sleep(0.02)
            state = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()[0]
            calm = calm + 1 if state == "S" else 0

    def exit_code(self) -> int:
        _, status = os.waitpid(self.process, 0)
        os.close(self._descriptor)
        return os.waitstatus_to_exitcode(status)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = make_run(tmp_path_factory.mktemp("runs") / "run", ("search.beam_size=2",), prefers_bytes=False)
    # Every translation is less probable than those of the validation set.
    certain = asdict(Calibration(0.0, 0.0, 1, 1))
    facts = {"model_sha256": RunDirectory.open(run).model_sha256, **certain}
    (run / "confidence.json").write_text(json.dumps(facts))
    return run


@pytest.fixture
def terminal(run: Path, tmp_path: Path) -> Terminal:
    return Terminal("translate", run, "--threads", 1, state=tmp_path)


def test_a_terminal_is_a_prompt_with_history_alternatives_and_quiet_interrupts(
    terminal: Terminal, tmp_path: Path
) -> None:
    assert "? shows alternatives" in terminal.read_until(PROMPT)
    terminal.type("?\r")
    assert "nothing is translated yet" in terminal.read_until(PROMPT)
    terminal.type("ba be\r")
    first = terminal.read_until(PROMPT)
    translation = first.rstrip("\n").rpartition("\n")[2]
    assert translation
    terminal.type("half a line")
    terminal.read_until("half a line")
    terminal.wait_until_idle()
    terminal.type("\x03")  # Ctrl-C drops the line
    dropped = terminal.read_until(PROMPT)
    assert "Traceback" not in dropped
    assert "error" not in dropped
    terminal.type("?\r")
    rows = terminal.read_until(PROMPT).strip().split("\n")[1:]
    assert [row.split()[0] for row in rows] == ["1", "2", "3", "4", "5"]
    terminal.type("\x10\x10\r")  # Ctrl-P twice: the line before the last
    assert translation in terminal.read_until(PROMPT)
    for _ in range(3):  # more than a file would get
        terminal.type("ba be\r")
        assert "low confidence" in terminal.read_until(PROMPT)
    terminal.type("\x04")
    assert terminal.exit_code() == 0
    history = (tmp_path / "nmt" / "history").read_text()
    assert "ba be\n" in history
    assert (tmp_path / "nmt" / "history").stat().st_mode & 0o077 == 0


def test_an_exported_model_has_the_same_prompt(run: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    export(run, tmp_path / "exported", shortlist="none")
    terminal = Terminal("translate", tmp_path / "exported", "--threads", 1, state=tmp_path)
    assert "? shows alternatives" in terminal.read_until(PROMPT)
    terminal.type("ba be\r")
    translation = terminal.read_until(PROMPT).rstrip("\n").rpartition("\n")[2]
    terminal.type("?\r")
    rows = terminal.read_until(PROMPT).strip().split("\n")[1:]
    assert [row.split()[0] for row in rows] == ["1", "2", "3", "4", "5"]
    assert any(row.endswith(translation) for row in rows)
    terminal.type("\x04")
    assert terminal.exit_code() == 0


def test_sigterm_ends_the_prompt(terminal: Terminal) -> None:
    terminal.read_until(PROMPT)
    terminal.wait_until_idle()
    os.kill(terminal.process, signal.SIGTERM)
    terminal.read_until("error: terminated")
    assert terminal.exit_code() == 128 + signal.SIGTERM


def test_a_terminal_without_unicode_has_an_ascii_prompt() -> None:
    assert prompt_text(("en", "de"), "utf-8") == "en → de › "
    assert prompt_text(("en", "de"), "ascii") == "en -> de > "
    assert prompt_text(None, "utf-8") == "› "
