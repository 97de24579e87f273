"""The HTTP server: uvicorn with signals, deadlines for headers, and a shutdown that loses no accepted request."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from nmt_cli.errors import NmtError, UsageError
from nmt_cli.server.app import Log, build_app
from nmt_cli.server.service import Service

_HEADER_SECONDS = 10.0  # for the head of a request to arrive
_HEADER_BYTES = 1 << 16
_MAX_CONNECTIONS = 1000
_GRACE = 3.0  # seconds in which connections that were just accepted may still send their request
_BACKLOG = 512


def listen(host: str, port: int) -> socket.socket:
    """A socket on an address; port 0 is any free one."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        found = socket.socket(family, kind, protocol)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"cannot listen on {host}, port {port}: {reason[:1].lower()}{reason[1:]}",
            hint="choose another --port, or another --host",
        ) from error
    return found


class HttpServer(uvicorn.Server):
    """One server on one socket, in the main thread or in any other."""

    def __init__(self, service: Service, listener: socket.socket, *, log: Log) -> None:
        """`log` gets the lines of the access log and messages about reloads."""
        config = uvicorn.Config(
            build_app(service, log),
            http=_Protocol,
            ws="none",
            lifespan="off",
            access_log=False,
            log_level="error",  # what is wrong with a request is told to its sender
            log_config=None,
            server_header=False,
            limit_concurrency=_MAX_CONNECTIONS,
            backlog=_BACKLOG,
            timeout_graceful_shutdown=int(service.settings.seconds) + 5,
        )
        super().__init__(config)
        self._service, self._listener = service, listener
        self._stopping: Callable[[], None] = lambda: None

    @property
    def directions(self) -> str:
        """`de → en, en → fr`"""
        return ", ".join(f"{source} → {target}" for source, target in sorted(self._service.router.batchers))

    @property
    def address(self) -> str:
        """http://127.0.0.1:5000"""
        host, port = self._listener.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def run_until_stopped(
        self,
        *,
        started: Callable[[], None] = lambda: None,
        reloaded: Callable[[NmtError | None], None] = lambda error: None,
        stopping: Callable[[], None] = lambda: None,
    ) -> None:
        """Serve until `stop`, SIGTERM or SIGINT.

        started    called when connections are accepted
        reloaded   called after SIGHUP has loaded the models again, or failed to
        stopping   called when no connections are accepted any more
        """
        self._stopping = stopping

        async def main() -> None:
            self._handle_signals(reloaded)
            task = asyncio.create_task(self._serve([self._listener]))
            while not self.started and not task.done():
                await asyncio.sleep(0.01)
            if self.started:
                started()
            await task

        try:
            asyncio.run(main())
        finally:
            self._service.close()

    def stop(self) -> None:
        """Stop accepting connections, answer what was accepted, and return from `run_until_stopped`."""
        if self.should_exit:  # the second time: at once
            self.force_exit = True
        self.should_exit = True

    def _handle_signals(self, reloaded: Callable[[NmtError | None], None]) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        loop = asyncio.get_running_loop()
        tasks: set[asyncio.Task[None]] = set()
        in_terminal = sys.stderr.isatty()

        async def reload() -> None:
            try:
                await self._service.reload()
            except NmtError as error:
                reloaded(error)
            else:
                reloaded(None)

        def hang_up() -> None:
            if in_terminal and not sys.stderr.isatty():  # the terminal was closed
                self.stop()
                return
            task = asyncio.create_task(reload())
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        loop.add_signal_handler(signal.SIGHUP, hang_up)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are handled here, not by uvicorn, which would end the process with their exit codes."""
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the listening socket, and give requests that are on their way the time to arrive."""
        self._service.draining = True
        if self._service.metrics.in_flight:
            self._stopping()
        late = self._accept_waiting()
        for server in self.servers:
            server.close()
        for connection in late:
            await asyncio.get_running_loop().connect_accepted_socket(self._protocol, connection)
        end = time.monotonic() + _GRACE
        while self._has_silent_connections() and not self.force_exit and time.monotonic() < end:
            await asyncio.sleep(0.01)
        await super().shutdown(sockets)

    def _accept_waiting(self) -> list[socket.socket]:
        """The connections that the system has accepted for us: closing the listening socket would reset them."""
        found = []
        while True:
            try:
                found.append(self._listener.accept()[0])
            except OSError:  # none is left
                return found

    def _protocol(self) -> asyncio.Protocol:
        return _Protocol(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)

    def _has_silent_connections(self) -> bool:
        """Whether a client that is connected has not sent its first request yet."""
        return any(getattr(one, "cycle", None) is None for one in self.server_state.connections)


class _Protocol(HttpToolsProtocol):
    """HTTP/1.1 where the head of a request has a limited size and a limited time to arrive."""

    _deadline: asyncio.TimerHandle | None = None
    _head = 0  # bytes that have arrived of it

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._deadline = self.loop.call_later(_HEADER_SECONDS, self._give_up)

    def data_received(self, data: bytes) -> None:
        before = self.cycle
        if before is None or before.response_complete:  # a head begins, or goes on
            self._head += len(data)
            if self._deadline is None:
                self._deadline = self.loop.call_later(_HEADER_SECONDS, self._give_up)
        super().data_received(data)
        if self.cycle is not before:
            self._head = 0
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None
        elif self._head > _HEADER_BYTES:
            self._give_up()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()
