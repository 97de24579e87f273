"""The command in a process of its own: its messages, SIGTERM under load, SIGHUP, and no torch for exported models."""

import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.conftest import Run, nmt
from tests.conftest import REPOSITORY

__all__ = ["nmt"]  # a fixture

WITHOUT_TORCH = "import sys; sys.modules['torch'] = None; from nmt_cli.cli import main; main()"


@contextmanager
def process(*arguments: object) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """`nmt serve` without torch, on a free port."""
    command = [
        sys.executable,
        "-c",
        WITHOUT_TORCH,
        "serve",
        *map(str, arguments),
        "--port",
        "0",
        "--threads",
        "1",
    ]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as child:
        try:
            assert child.stderr is not None
            line = child.stderr.readline()
            assert line.startswith("serving xx → yy at http://127.0.0.1:"), line + child.stderr.read()
            yield child, int(line.split(":")[2].split()[0])
        finally:
            child.kill()


def post(port: int, text: str) -> tuple[int, str]:
    """Status and translation."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        content = json.dumps({"q": text, "source": "xx", "target": "yy"})
        connection.request("POST", "/translate", content, {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, json.loads(response.read())["translatedText"]
    finally:
        connection.close()


def test_sigterm_under_load_loses_no_accepted_request(exported: Path) -> None:
    answered: list[int] = []
    lost: list[OSError | http.client.HTTPException] = []
    stop = threading.Event()

    def load(port: int) -> None:
        while not stop.is_set():
            try:
                answered.append(post(port, "ba be bi.\n" * 20)[0])
            except http.client.RemoteDisconnected as error:
                lost.append(error)
                return
            except (ConnectionRefusedError, ConnectionResetError, BrokenPipeError):
                return  # reset: what the server has not read is not accepted; a request it has read ends otherwise
            except (OSError, http.client.HTTPException) as error:
                lost.append(error)
                return

    with process(exported) as (child, port):
        threads = [threading.Thread(target=load, args=(port,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        while len(answered) < 20:
            time.sleep(0.01)
        child.send_signal(signal.SIGTERM)
        output, errors = child.communicate(timeout=60)
        stop.set()
        for thread in threads:
            thread.join()
    assert (child.returncode, lost) == (0, [])
    assert set(answered) == {200}
    entries = [json.loads(line) for line in output.splitlines()]
    assert len(entries) == len(answered)
    assert "Traceback" not in errors


def test_sighup_loads_models_again_but_not_half_written_ones(exported: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(exported, folder)
    with process(folder) as (child, port):
        assert child.stderr is not None
        before = post(port, "ba be bi.")
        decoder = (folder / "decoder.onnx").read_bytes()
        (folder / "decoder.onnx").write_bytes(decoder[: len(decoder) // 2])
        assert post(port, "ba be bi.") == before
        child.send_signal(signal.SIGHUP)
        assert "the models were not loaded again: " in child.stderr.readline()
        assert child.stderr.readline().startswith("hint: ")
        assert post(port, "ba be bi.") == before
        (folder / "decoder.onnx").write_bytes(decoder)
        child.send_signal(signal.SIGHUP)
        assert child.stderr.readline() == "loaded xx → yy again\n"
        assert post(port, "ba be bi.") == before
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=60)
        assert child.returncode == 0


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--port", "70000"], "less than or equal to 65535"),
        (["--host", "no.such.host.invalid"], "cannot listen on no.such.host.invalid"),
        (["--keys", "missing.txt"], "cannot read the keys in missing.txt"),
        (["--set", "search.beam=3"], "search.beam"),
        (["--int8"], "int8 arithmetic is chosen when a model is exported"),
        (["--device", "cuda"], "exported models run on the CPU"),
    ],
)
def test_wrong_options_are_reported_at_once(nmt: Run, exported: Path, options: list[str], error: str) -> None:
    outcome = nmt("serve", exported, *options)
    assert outcome.code == 2
    assert error in outcome.error
    assert outcome.hint


def test_two_models_for_one_direction_are_refused(nmt: Run, exported: Path) -> None:
    outcome = nmt("serve", exported, exported, "--port", "0")
    assert outcome.code == 2
    assert "both translate from xx to yy" in outcome.error


def test_a_key_file_needs_keys_that_cannot_be_guessed(nmt: Run, exported: Path, tmp_path: Path) -> None:
    for content, error in (("# none\n\n", "has no keys"), ("abc\n", "shorter than 8 characters")):
        (tmp_path / "keys").write_text(content)
        assert error in nmt("serve", exported, "--keys", tmp_path / "keys", "--port", "0").error
