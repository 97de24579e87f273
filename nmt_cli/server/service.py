"""`Service`: what all endpoints share: limits, access, models, and waiting for their work.

Models can be loaded again while requests are being answered.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from starlette.requests import Request

from nmt_cli.config import defaults
from nmt_cli.errors import NmtError
from nmt_cli.server.access import Keys, RateLimit
from nmt_cli.server.batcher import Batcher, Overloaded
from nmt_cli.server.documents import Downloads
from nmt_cli.server.metrics import Metrics
from nmt_cli.server.models import ServedModel
from nmt_cli.server.requests import ApiError, Fields, invalid, read_fields
from nmt_cli.server.routing import Router, language_name

AUTO = "auto"
LoadModels = Callable[[], Sequence[ServedModel]]
Result = TypeVar("Result")


@dataclass(frozen=True)
class ServerSettings:
    """What a request may be, who may send it, and what is logged."""

    max_body: int = defaults.MAX_BODY  # bytes
    max_characters: int = defaults.MAX_CHARACTERS  # of all texts of a request
    max_lines: int = defaults.MAX_LINES
    max_queue: int = defaults.MAX_QUEUE  # lines that wait for a model
    seconds: float = defaults.REQUEST_SECONDS  # for a request to arrive, to be translated, and to be sent
    rate: int = 0  # requests per minute and key or address; 0: any number
    batch_lines: int = defaults.BATCH_LINES
    keys: frozenset[str] = frozenset()  # none: no key is needed
    cors: tuple[str, ...] = ()  # origins whose pages may use the API
    log: bool = True
    log_text: bool = False


class Direction(NamedTuple):
    """From one language to another."""

    source: str
    target: str
    chain: list[Batcher]  # none if the languages are the same
    detected: dict[str, Any] | None  # if the source language was not given


class Service:
    """The models, the limits and the counters of a running server."""

    def __init__(self, load: LoadModels, settings: ServerSettings) -> None:
        """Load the models; `load` is called again for each reload."""
        self.settings = settings
        self.metrics = Metrics()
        self.keys = Keys(settings.keys)
        self.rate_limit = RateLimit(settings.rate)
        self.downloads = Downloads()
        self.draining = False  # no new connections; what was accepted is finished
        self._load = load
        self._users: Counter[Router] = Counter()  # requests that use a set of models
        self.router = Router(load(), self._batcher)

    def _batcher(self, model: ServedModel) -> Batcher:
        return Batcher(
            model,
            capacity=self.settings.max_queue,
            batch_lines=self.settings.batch_lines,
            observe=self.metrics.batch,
        )

    async def reload(self) -> None:
        """Load the models again. If that fails, the old ones stay; requests that have begun keep them anyway.

        A directory that is only half written does not match its manifest, and is refused like any damaged one.
        """
        models = await asyncio.to_thread(self._load)
        old, self.router = self.router, Router(models, self._batcher)
        self.metrics.reloads += 1
        self._retire(old)

    @contextmanager
    def current_router(self) -> Iterator[Router]:
        """The models for one request; they stay until it is finished."""
        router = self.router
        self._users[router] += 1
        try:
            yield router
        finally:
            self._users[router] -= 1
            if router is not self.router:
                self._retire(router)

    def _retire(self, router: Router) -> None:
        """End the threads of models that nobody uses any more."""
        if not self._users[router]:
            del self._users[router]
            threading.Thread(target=router.close, daemon=True).start()

    def close(self) -> None:
        """Finish what is in the queues."""
        self.router.close()

    # For one request

    async def read(self, request: Request) -> Fields:
        """The fields of a request that is allowed."""
        fields = await read_fields(request, max_body=self.settings.max_body, seconds=self.settings.seconds)
        key = fields.text("api_key", "")
        self.keys.check(key)
        address = request.client.host if request.client else ""
        self.rate_limit.check(key if self.keys.required else address)
        return fields

    def accept(self, request: Request, characters: int, lines: int) -> None:
        """Count what is to be translated, unless it is too much."""
        if characters > self.settings.max_characters:
            raise invalid(f"request ({characters}) exceeds text limit ({self.settings.max_characters})")
        if lines > self.settings.max_lines:
            raise invalid(f"request ({lines} lines) exceeds line limit ({self.settings.max_lines})")
        self.metrics.characters += characters
        request.state.record |= {"characters": characters, "lines": lines}

    def direction(self, request: Request, router: Router, fields: Fields, text: str) -> Direction:
        """The languages of a request and the models between them; `text` tells its language, if need be."""
        wanted, detected = fields.text("source"), None
        if wanted.lower() == AUTO:
            detected = detections(router, text)[0]
            wanted = detected["language"]
        source, target = router.language(wanted), router.language(fields.text("target"))
        if source is None:
            raise ApiError(400, f"{wanted} is not supported")
        if target is None:
            raise ApiError(400, f"{fields.text('target')} is not supported")
        chain = router.chain(source, target)
        if chain is None:
            names = f"{language_name(target)} ({target})", f"{language_name(source)} ({source})"
            raise ApiError(400, f"{names[0]} is not available as a target language from {names[1]}")
        request.state.record["pair"] = f"{source}-{target}"
        return Direction(source, target, chain, detected)

    async def finish(self, request: Request, work: Awaitable[Result]) -> Result:
        """The result of the work, unless it takes too long or the client is gone, which ends it."""
        current = asyncio.current_task()
        assert current is not None
        gone = asyncio.ensure_future(_disconnection(request))

        def cancel(_: object) -> None:
            if not finished:
                current.cancel()

        finished = False
        gone.add_done_callback(cancel)
        seconds = self.settings.seconds
        try:
            async with asyncio.timeout(seconds):
                return await work
        except TimeoutError:
            message = f"the translation took longer than {seconds:g} seconds"
            raise ApiError(503, message, {"Retry-After": "10"}) from None
        except asyncio.CancelledError:
            if not gone.done():
                raise
            current.uncancel()
            raise ApiError(499, "the client disconnected") from None
        except Overloaded as error:
            message = "Slowdown: the server is busy"
            raise ApiError(429, message, {"Retry-After": str(error.retry_after)}) from None
        except NmtError as error:
            raise ApiError(400, f"{error.message} ({error.hint})") from error
        finally:
            finished = True
            gone.cancel()


async def _disconnection(request: Request) -> None:
    """Return when the client is gone. The body has been read, so nothing else can arrive."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def detections(router: Router, text: str) -> list[dict[str, Any]]:
    """The languages that a text may be in, best first."""
    return [
        {"confidence": round(100 * probability, 1), "language": language}
        for language, probability in router.detect(text)
    ]
