"""Who may send requests, and how many: API keys and a rate limit."""

from __future__ import annotations

import hmac
import math
import time
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from nmt_cli.errors import UsageError
from nmt_cli.server.requests import ApiError

_MIN_KEY = 8  # characters
_MAX_CLIENTS = 10_000  # remembered at a time


def read_keys(path: Path) -> frozenset[str]:
    """The keys in a file, one per line; blank lines and lines that begin with # are skipped."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as error:
        raise UsageError(
            f"cannot read the keys in {path}: {error.strerror}", hint="check its path and permissions"
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8", hint="write one key per line as plain text") from error
    keys = [line.strip() for line in lines]
    keys = [key for key in keys if key and not key.startswith("#")]
    if not keys:
        raise UsageError(f"{path} has no keys", hint="write one key per line, or omit --keys")
    if short := next((number for number, key in enumerate(keys, 1) if len(key) < _MIN_KEY), None):
        raise UsageError(
            f"key {short} in {path} is shorter than {_MIN_KEY} characters",
            hint="generate keys with `openssl rand -hex 16`",
        )
    return frozenset(keys)


class Keys:
    """API keys, kept as hashes and compared in constant time."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._hashes = [_hash(key) for key in sorted(keys)]

    @property
    def required(self) -> bool:
        """Whether requests need a key."""
        return bool(self._hashes)

    def check(self, key: str) -> None:
        """Refuse a request without a valid key, with LibreTranslate's status codes."""
        if not self.required:
            return
        if not key:
            raise ApiError(400, "Please contact the server operator to get an API key")
        given, found = _hash(key), False
        for own in self._hashes:  # all of them, whichever matches
            found |= hmac.compare_digest(own, given)
        if not found:
            raise ApiError(403, "Invalid API key")


def _hash(key: str) -> bytes:
    return sha256(key.encode("utf-8", "surrogatepass")).digest()


class RateLimit:
    """At most `rate` requests per minute and client: a bucket that starts full and is refilled steadily."""

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._buckets: dict[str, tuple[float, float]] = {}  # client → tokens at a time

    def check(self, client: str, now: float | None = None) -> None:
        """Count a request, or refuse it."""
        if not self._rate:
            return
        now = time.monotonic() if now is None else now
        tokens, before = self._buckets.pop(client, (float(self._rate), now))
        tokens = min(float(self._rate), tokens + (now - before) * self._rate / 60)
        if len(self._buckets) >= _MAX_CLIENTS:
            del self._buckets[next(iter(self._buckets))]  # the one that has been silent for longest
        if tokens < 1:
            self._buckets[client] = tokens, now
            wait = math.ceil((1 - tokens) * 60 / self._rate)
            raise ApiError(
                429, f"Slowdown: {self._rate} requests per minute are allowed", {"Retry-After": str(wait)}
            )
        self._buckets[client] = tokens - 1, now
