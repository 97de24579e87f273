"""A real server on a loopback port in a thread, with tiny models."""

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from nmt_cli.server.models import ServedModel, load_model
from nmt_cli.server.process import HttpServer, listen
from nmt_cli.server.service import ServerSettings, Service


def until(condition: Callable[[], bool]) -> None:
    """Wait for something that must happen, such as a line of the log, which follows the answer."""
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """A server, and requests to it."""

    def __init__(self, server: HttpServer, service: Service, log: list[str]) -> None:
        self.server, self.service, self.log = server, service, log
        self.address = server.address
        self.host, port = server.address.removeprefix("http://").split(":")
        self.port = int(port)

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Answer:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, response.read())
        finally:
            connection.close()

    def get(self, path: str) -> Answer:
        return self.request("GET", path)

    def post(self, path: str, **fields: Any) -> Answer:
        body = json.dumps(fields).encode()
        return self.request("POST", path, body, {"Content-Type": "application/json"})

    def form(self, path: str, **fields: Any) -> Answer:
        kind = "application/x-www-form-urlencoded"
        return self.request("POST", path, urlencode(fields).encode(), {"Content-Type": kind})

    def translate(self, q: Any, source: str = "xx", target: str = "yy", **fields: Any) -> Any:
        answer = self.post("/translate", q=q, source=source, target=target, **fields)
        assert answer.status == 200, answer.body
        return answer.json


@contextmanager
def serving(models: Sequence[Path | ServedModel], settings: ServerSettings | None = None) -> Iterator[Client]:
    """Serve run directories, exported folders and models made for a test."""

    def load() -> list[ServedModel]:
        return [
            load_model(model, search={}, device="cpu", int8=False, threads=1)
            if isinstance(model, Path)
            else model
            for model in models
        ]

    service = Service(load, settings or ServerSettings())
    log: list[str] = []
    server = HttpServer(service, listen("127.0.0.1", 0), log=log.append)
    started = threading.Event()
    thread = threading.Thread(target=server.run_until_stopped, kwargs={"started": started.set})
    thread.start()
    assert started.wait(60)
    try:
        yield Client(server, service, log)
    finally:
        server.stop()
        thread.join(60)
        assert not thread.is_alive()
