"""Large files are hashed once: the result is remembered until the file changes in any way.

The memory is `nmt/verified.json` in the user's cache directory. Without it, or if it cannot be written, everything
works, and large files are hashed each time.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from nmt_cli.errors import OutputError
from nmt_cli.files.atomic import new_file
from nmt_cli.files.guarded import parse_json

_CHUNK = 1 << 20
_REMEMBERED = 2000  # files
_RECENT = 2e9  # nanoseconds: a file this new may change again without a new time stamp


def is_verified(path: Path, descriptor: int, sha256: str, *, purpose: str, check: Callable[[], None]) -> bool:
    """Whether an open file has this hash; if so, it has also passed `check`, whose parameters `purpose` names."""
    status = os.fstat(descriptor)
    times = (status.st_mtime_ns, status.st_ctime_ns)
    key = f"{path.resolve()}:{status.st_size}:{times[0]}:{times[1]}:{status.st_dev}:{status.st_ino}:{purpose}"
    known = _read()
    if known.get(key) == sha256:
        return True
    if _hash(descriptor) != sha256:
        return False
    check()
    if time.time_ns() - max(times) > _RECENT:
        known = {**_read(), key: sha256}
        _write(dict(list(known.items())[-_REMEMBERED:]))
    return True


def _hash(descriptor: int) -> str:
    digest, offset = hashlib.sha256(), 0
    while chunk := os.pread(descriptor, _CHUNK, offset):
        digest.update(chunk)
        offset += len(chunk)
    return digest.hexdigest()


def _file() -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "nmt" / "verified.json"


def _read() -> dict[str, str]:
    try:
        content = parse_json(_file().read_bytes())
    except (OSError, ValueError, RuntimeError):  # no home directory is a RuntimeError
        return {}
    return (
        {key: value for key, value in content.items() if isinstance(value, str)}
        if isinstance(content, dict)
        else {}
    )


def _write(known: dict[str, str]) -> None:
    with suppress(OSError, RuntimeError, ValueError, OutputError):
        path = _file()
        path.parent.mkdir(parents=True, exist_ok=True)
        with new_file(path) as temporary:
            temporary.write_text(json.dumps(known, indent=0), "utf-8")
