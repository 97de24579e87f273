"""Dynamic batching: the lines of all waiting requests share batches; one thread runs the model.

A request is a `Job` of one or several lines. Jobs wait in a queue. Whenever the model is idle, the next batch is made:

- It starts with the longest line of the first job, and is filled with lines of similar length of all jobs, so that a
  short line never waits for a long one to be finished.
- Every job gets an equal share of the batch before any job gets more, and a job that is not finished goes to the end
  of the queue: a large request delays a small one by one batch, not by all of its lines.
- Nothing waits on purpose for a single client. Clients that have just been answered will probably send another
  request, so if others are waiting, the next batch waits for them, a few milliseconds or a fraction of a batch's time.

The translation of a line does not depend on the other lines of its batch: that is a law of the translators.
"""

from __future__ import annotations

import asyncio
import threading
import time
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from nmt_cli.documents.segment_translation import Translated
from nmt_cli.server.models import ServedModel

SHORT = 240  # characters; lines up to this length, sentences, share batches whatever their lengths
_CHARACTERS_PER_TOKEN = 4
_LINGER = 0.003, 0.025  # seconds, at least and at most
_LINGER_SHARE = 1 / 8  # of the time that a batch takes
_MAX_RETRY = 60  # seconds


class Overloaded(Exception):  # noqa: N818 - a state, not a mistake
    """The queue is full; `retry_after` seconds from now it will probably have room."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(retry_after)
        self.retry_after = retry_after


class Batch(NamedTuple):
    """Lines of several jobs of one kind, as (job, index of the line)."""

    rows: list[tuple[Job, int]]
    kind: Kind


class Kind(NamedTuple):
    """What is wanted of each line: lines can share a batch if it is the same."""

    n_best: int = 1
    attention: bool | None = None  # None: only text; else translations as documents need them


class Job:
    """The lines of one request for one model, or a call; `future` belongs to the event loop that submitted it."""

    def __init__(
        self,
        texts: Sequence[str] = (),
        prefixes: Sequence[str] | None = None,
        kind: Kind = Kind(),  # noqa: B008 - a constant
        *,
        call: Callable[[], Any] | None = None,
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()
        self.texts, self.prefixes, self.kind, self.call = texts, prefixes, kind, call
        self.waiting = sorted((len(text), row) for row, text in enumerate(texts))  # by length
        self.results: list[Any] = [None] * len(texts)
        self.missing = len(texts)
        self.cancelled = False

    @property
    def size(self) -> int:
        """The number of lines that wait."""
        return 1 if self.call is not None else len(self.waiting)

    def take(self, shortest: int, longest: int, most: int) -> list[int]:
        """Remove at most `most` waiting lines of such lengths, long ones first."""
        start = bisect_left(self.waiting, (shortest, -1))
        end = bisect_right(self.waiting, (longest, len(self.texts)))
        start = max(start, end - most)
        taken = [row for _, row in reversed(self.waiting[start:end])]
        del self.waiting[start:end]
        return taken

    def finish(self, result: Any = None, error: BaseException | None = None) -> None:
        """Hand over the result, from any thread."""
        self.loop.call_soon_threadsafe(self._settle, result, error)

    def _settle(self, result: Any, error: BaseException | None) -> None:
        if self.future.done():
            return
        if error is not None:
            self.future.set_exception(error)
        else:
            self.future.set_result(result)


class Batcher:
    """The queue and the thread of one model."""

    def __init__(
        self,
        model: ServedModel,
        *,
        capacity: int,
        batch_lines: int,
        observe: Callable[[int, float], None] = lambda lines, seconds: None,
    ) -> None:
        """Start the thread.

        capacity      lines that may wait
        batch_lines   lines of a batch
        observe       called after each batch with its number of lines and the seconds it took
        """
        self.model = model
        self._capacity, self._batch_lines, self._observe = capacity, batch_lines, observe
        self._jobs: deque[Job] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._waiting = 0  # lines in the queue
        self._speed = 0.0  # lines per second
        self._expected = 1  # jobs that will probably be waiting soon
        self._patience = _LINGER[0]  # seconds to wait for them
        self._thread = threading.Thread(
            target=self._run, name=f"model {model.source}-{model.target}", daemon=True
        )
        self._thread.start()

    @property
    def waiting(self) -> int:
        """The number of lines in the queue."""
        return self._waiting

    async def translate(
        self, texts: Sequence[str], prefixes: Sequence[str] | None = None, n_best: int = 1
    ) -> list[tuple[str, ...]]:
        """At most `n_best` translations of each text, best first. Cancelling it takes the texts out of the queue."""
        if not texts:
            return []
        found: list[tuple[str, ...]] = await self._wait_for(Job(texts, prefixes, Kind(n_best)))
        return found

    async def translations(self, texts: Sequence[str], *, attention: bool) -> list[Translated]:
        """The best translation of each text, as documents need it."""
        if not texts:
            return []
        found: list[Translated] = await self._wait_for(Job(texts, kind=Kind(attention=attention)))
        return found

    async def run(self, call: Callable[[], Any]) -> Any:
        """The result of a call in the thread of the model, when it is its turn."""
        return await self._wait_for(Job(call=call))

    async def _wait_for(self, job: Job) -> Any:
        with self._changed:
            if self._waiting and self._waiting + job.size > self._capacity:
                raise Overloaded(self._retry_after())
            assert not self._closing
            self._jobs.append(job)
            self._waiting += job.size
            self._changed.notify()
        try:
            return await job.future
        finally:
            if not job.future.done() or job.future.cancelled():
                self._cancel(job)

    def _cancel(self, job: Job) -> None:
        with self._changed:
            job.cancelled = True
            if job in self._jobs:
                self._jobs.remove(job)
                self._waiting -= job.size

    def _retry_after(self) -> int:
        return max(1, min(_MAX_RETRY, round(self._waiting / self._speed))) if self._speed else 1

    def close(self) -> None:
        """Finish what is in the queue, then end the thread."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()

    # In the thread of the model

    def _run(self) -> None:
        while (work := self._next()) is not None:
            start = time.perf_counter()
            if isinstance(work, Job):
                _answer(work)
                lines = 1
            else:
                self._translate(work)
                lines = len(work.rows)
            seconds = time.perf_counter() - start
            speed = lines / max(seconds, 1e-6)
            self._speed = 0.8 * self._speed + 0.2 * speed if self._speed else speed
            answered = 1 if isinstance(work, Job) else len({id(job) for job, _ in work.rows})
            with self._changed:
                self._expected = answered + len(self._jobs)
                self._patience = min(max(_LINGER[0], _LINGER_SHARE * seconds), _LINGER[1])
            self._observe(lines, seconds)

    def _next(self) -> Batch | Job | None:
        """The next batch or call; None at the end."""
        with self._changed:
            while True:
                while not self._jobs:
                    if self._closing:
                        return None
                    self._changed.wait()
                self._linger()
                if self._jobs:  # they may have been cancelled meanwhile
                    return self._take()

    def _linger(self) -> None:
        """Wait for those who were answered with the last batch, if they were not alone."""
        end = time.monotonic() + self._patience
        while not self._closing and len(self._jobs) < self._expected:
            left = end - time.monotonic()
            if left <= 0:
                return
            self._changed.wait(left)

    def _take(self) -> Batch | Job:
        first = self._jobs[0]
        if first.call is not None:
            self._jobs.popleft()
            self._waiting -= 1
            return first
        leading = first.waiting[-1][0]
        longest = max(leading, SHORT)
        shortest = leading // 2 if leading > SHORT else 0
        room = self._batch_lines
        if leading > SHORT:
            room = min(room, max(1, _CHARACTERS_PER_TOKEN * self.model.batch_tokens // leading))
        jobs = [job for job in self._jobs if job.call is None and job.kind == first.kind]
        rows: list[tuple[Job, int]] = []
        for share in (-(-room // len(jobs)), room):
            for job in jobs:
                taken = job.take(shortest, longest, min(share, room - len(rows)))
                rows += [(job, row) for row in taken]
        self._waiting -= len(rows)
        for job in jobs:
            if not job.waiting:
                self._jobs.remove(job)
        if first.waiting:
            self._jobs.rotate(-1)
        return Batch(rows, first.kind)

    def _translate(self, batch: Batch) -> None:
        try:
            found = self._found(batch)
        except Exception as error:
            jobs = list(dict.fromkeys(job for job, _ in batch.rows))
            if len(jobs) == 1:
                self._cancel(jobs[0])
                jobs[0].finish(error=error)
                return
            for job in jobs:  # one by one: the fault of one request is not the fault of the others
                self._translate(Batch([row for row in batch.rows if row[0] is job], batch.kind))
            return
        for (job, row), result in zip(batch.rows, found, strict=True):
            job.results[row] = result
            job.missing -= 1
            if not job.missing:
                job.finish(job.results)

    def _found(self, batch: Batch) -> Sequence[Any]:
        texts = [job.texts[row] for job, row in batch.rows]
        if batch.kind.attention is not None:
            return self.model.translations(texts, attention=batch.kind.attention)
        prefixes = [job.prefixes[row] if job.prefixes is not None else "" for job, row in batch.rows]
        return self.model.translate(texts, prefixes if any(prefixes) else None, batch.kind.n_best)


def _answer(job: Job) -> None:
    assert job.call is not None
    try:
        job.finish(job.call())
    except Exception as error:
        job.finish(error=error)
