"""`Service`: what all endpoints share. Models can be loaded again while requests are being answered."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from nmt_cli.server.access import Keys, RateLimit
from nmt_cli.server.batcher import Batcher
from nmt_cli.server.downloads import Downloads
from nmt_cli.server.metrics import Metrics
from nmt_cli.server.models import ServedModel
from nmt_cli.server.routing import Router
from nmt_cli.server.settings import ServerSettings

LoadModels = Callable[[], Sequence[ServedModel]]


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
