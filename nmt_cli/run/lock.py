"""A lock that allows one training process per run directory."""

import fcntl
import os
from pathlib import Path
from typing import Self

from nmt_cli.errors import UsageError
from nmt_cli.files.atomic import cannot_write

NAME = "lock"


class Lock:
    """Held until `release`, or until the process ends in any way."""

    def __init__(self, folder: Path) -> None:
        """Acquire the lock of `folder`, or raise an error."""
        path = folder / NAME
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise cannot_write(path, error) from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            owner = os.read(self._descriptor, 40).decode(errors="replace").strip()
            os.close(self._descriptor)
            raise UsageError(
                f"{folder} is in use by another process" + (f" ({owner})" if owner else ""),
                hint="wait until it is finished, or choose another --out",
            ) from error
        os.ftruncate(self._descriptor, 0)
        os.write(self._descriptor, f"process {os.getpid()}\n".encode())

    def release(self) -> None:
        """Release the lock."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
