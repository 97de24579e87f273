"""Clients that are broken or hostile: each gets a clear answer or is disconnected, and the others notice nothing."""

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

import pytest

from nmt_cli.server import process
from nmt_cli.server.batcher import Batcher
from nmt_cli.server.service import ServerSettings
from tests.server.servers import Answer, Client, serving, until
from tests.server.upper import Upper

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def patient() -> Iterator[Client]:
    with serving([Upper()], ServerSettings(max_queue=10)) as client:
        yield client


@pytest.fixture(scope="module")
def impatient() -> Iterator[Client]:
    """A server that gives every request half a second."""
    with serving([Upper()], ServerSettings(seconds=0.5)) as client:
        yield client


@contextmanager
def held(client: Client) -> Iterator[tuple[Upper, Batcher]]:
    """The model of a server, which does not translate until `go` is set, and its batcher."""
    [batcher] = client.service.router.batchers.values()
    model = batcher.model
    assert isinstance(model, Upper)
    model.started.clear()
    model.go.clear()
    try:
        yield model, batcher
    finally:
        model.go.set()


def is_well(client: Client) -> bool:
    return bool(client.translate("well", "en", "up") == {"translatedText": "WELL"})


def raw(client: Client, *parts: bytes) -> socket.socket:
    """A connection on which these bytes were sent."""
    connection = socket.create_connection((client.host, client.port), timeout=30)
    for part in parts:
        connection.sendall(part)
    return connection


def rest(connection: socket.socket) -> bytes:
    """All that the server sends until it closes the connection."""
    data = b""
    with closing(connection):
        try:
            while chunk := connection.recv(1 << 16):
                data += chunk
        except ConnectionResetError:
            pass
    return data


def head(length: object, kind: str = "application/json") -> bytes:
    return f"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n".encode()


def body(text: str) -> bytes:
    return json.dumps({"q": text, "source": "en", "target": "up"}).encode()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'"q"',
        b"nul",
        b"[" * 100_000,
        b'{"q":' * 50_000,
        b'{"q": ' + b"[" * 100_000,
        b'{"q": ' + b"9" * 10_000 + b"}",
        b'{"q": "\xff\xfe", "source": "en", "target": "up"}',
        b'{"q": {"a": 1}, "source": "en", "target": "up"}',
        b'{"q": "a", "source": ["en"], "target": "up"}',
        b'{"q": "a", "source": "en", "target": NaN}',
        b'{"q": "a", "source": "en", "target": "up", "alternatives": 1e400}',
        b'{"q": "a", "source": "en", "target": "up", "alternatives": {}}',
        b'{"q": "a", "source": "en", "target": "up", "api_key": 7}',
        b'{"q": "a", "source": "en", "target": "up", "prefix": [1]}',
    ],
    ids=lambda content: repr(content[:30]),
)
def test_json_that_is_no_request_is_refused(patient: Client, content: bytes) -> None:
    answer = patient.request("POST", "/translate", content, JSON)
    assert answer.status == 400
    assert set(answer.json) == {"error"}


@pytest.mark.parametrize("content", [b"q=%FF&source=en", b"q=\xff", b"&".join([b"a=1"] * 200)])
def test_a_damaged_form_is_refused(patient: Client, content: bytes) -> None:
    for kind in (
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "multipart/form-data; boundary=x",
    ):
        answer = patient.request("POST", "/translate", content, {"Content-Type": kind})
        assert answer.status == 400
        assert set(answer.json) == {"error"}


def test_characters_that_are_no_characters_are_replaced(patient: Client) -> None:
    content = b'{"q": "a\\ud800b", "source": "en", "target": "up"}'
    answer = patient.request("POST", "/translate", content, JSON)
    assert (answer.status, answer.json["translatedText"]) == (200, "A\ufffd\ufffd\ufffdB")


@pytest.mark.parametrize("length", ["-1", "1e3", "99999999999999999999999", "0x10", "5, 6"])
def test_a_length_that_is_no_number_is_refused(patient: Client, length: str) -> None:
    answer = rest(raw(patient, head(length), b"{}"))
    assert answer.split(b" ")[1] in (b"400", b"413")
    assert is_well(patient)


def test_a_body_that_never_ends_is_given_up(impatient: Client) -> None:
    content = body("hello")
    for parts in ([head(len(content)), content[:-5]], [head(len(content) + 7), content]):
        answer = rest(raw(impatient, *parts))
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b"connection: close" in answer.lower()
    assert is_well(impatient)


def test_a_body_longer_than_announced_is_refused(patient: Client) -> None:
    content = body("hello")
    answer = rest(raw(patient, head(len(content)), content + b"surplus\r\n\r\n"))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert is_well(patient)


def test_a_head_that_never_ends_is_disconnected(patient: Client) -> None:
    connection = raw(patient, b"POST /translate HTTP/1.1\r\n")
    with suppress(OSError):
        for number in range(100_000):
            connection.sendall(b"X-%d: %s\r\n" % (number, b"x" * 1000))
        raise AssertionError("100 MB of headers were accepted")
    connection.close()
    assert is_well(patient)


def test_half_a_request_and_silence_is_disconnected(patient: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_HEADER_SECONDS", 0.3)
    for start in (b"", b"POST /translate HTTP/1.1\r\nHost: a\r\nX: "):
        assert rest(raw(patient, start)) == b""
    slow = raw(patient)
    with pytest.raises(ConnectionError):  # one byte at a time does not help
        for byte in b"GET /health HTTP/1.1\r\n" * 100:
            slow.sendall(bytes([byte]))
            time.sleep(0.02)
    slow.close()
    assert is_well(patient)


def test_a_large_body_is_refused(patient: Client) -> None:
    answer = patient.request("POST", "/translate", b"x" * (3 << 20), JSON)
    assert (answer.status, answer.json) == (413, {"error": "the request is larger than 2,097,152 bytes"})
    assert answer.headers["connection"] == "close"


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_of_100_megabytes_is_neither_read_nor_kept(patient: Client, chunked: bool) -> None:
    piece = b"x" * (1 << 20)
    start = (
        b"POST /translate HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        if chunked
        else head(100 << 20)
    )
    connection = raw(patient, start)
    sent = 0
    try:
        for _ in range(100):
            connection.sendall(b"100000\r\n" + piece + b"\r\n" if chunked else piece)
            sent += 1
    except OSError:
        pass
    assert sent < 100
    assert rest(connection)[:12] in (b"", b"HTTP/1.1 413")
    assert is_well(patient)


def test_a_client_that_disconnects_takes_its_work_out_of_the_queue(patient: Client) -> None:
    with held(patient) as (model, batcher):
        content = body("busy")
        busy = raw(patient, head(len(content)), content)
        assert model.started.wait(30)
        content = body("gone\ngone")
        gone = raw(patient, head(len(content)), content)
        until(lambda: batcher.waiting == 2)
        gone.close()
        until(lambda: batcher.waiting == 0)
    assert is_well(patient)
    busy.close()
    assert [batch for batch in model.batches if "gone" in batch] == []
    until(lambda: any('"status": 499' in line for line in patient.log))


def test_overload_is_429_and_passes(patient: Client) -> None:
    answers: list[Answer] = []

    def post(text: str) -> threading.Thread:
        fields = {"q": text, "source": "en", "target": "up"}
        thread = threading.Thread(target=lambda: answers.append(patient.post("/translate", **fields)))
        thread.start()
        return thread

    with held(patient) as (model, batcher):
        busy = post("busy")
        assert model.started.wait(30)
        waiting = post("a\n" * 9)
        until(lambda: batcher.waiting == 9)
        refused = patient.post("/translate", q="b\nb", source="en", target="up")
    assert (refused.status, refused.json) == (429, {"error": "Slowdown: the server is busy"})
    assert int(refused.headers["retry-after"]) >= 1
    for thread in (busy, waiting):
        thread.join()
    assert [answer.status for answer in answers] == [200, 200]
    assert is_well(patient)


def test_a_translation_that_takes_too_long_is_503(impatient: Client) -> None:
    with held(impatient):
        answer = impatient.post("/translate", q="a", source="en", target="up")
    assert (answer.status, answer.json) == (503, {"error": "the translation took longer than 0.5 seconds"})
    assert is_well(impatient)


def test_an_error_in_a_model_is_500_without_its_message(patient: Client) -> None:
    answer = patient.post("/translate", q="fail", source="en", target="up")
    assert (answer.status, answer.json) == (500, {"error": "the server failed to answer this request"})
    until(lambda: any("internal error: ValueError" in line for line in patient.log))
    assert is_well(patient)


def test_a_client_that_does_not_read_blocks_nobody(patient: Client) -> None:
    content = body("x" * 90_000)
    slow = [raw(patient, *[head(len(content)) + content] * 20) for _ in range(5)]  # pipelined, never read
    assert all(is_well(patient) for _ in range(20))
    for connection in slow:
        connection.close()


def test_many_connections_at_once_are_all_answered(patient: Client) -> None:
    connections = [http.client.HTTPConnection(patient.host, patient.port, timeout=60) for _ in range(200)]
    for connection in connections:
        connection.request("GET", "/health")
    assert {connection.getresponse().status for connection in connections} == {200}
    for connection in connections:
        connection.close()
