"""Choice of the device and of the number of threads."""

import torch

from nmt_cli.config.defaults import MAX_THREADS
from nmt_cli.errors import UsageError


def choose_device(name: str, local_rank: int = 0) -> torch.device:
    """The device named by `--device`; `auto` is the GPU of this process (`local_rank`) if there is one."""
    if name in ("auto", "cuda") and torch.cuda.is_available():
        return _cuda(local_rank)
    if name == "auto":
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    if name == "cpu" or (name == "mps" and torch.backends.mps.is_available()):
        return torch.device(name)
    kind, colon, index = name.partition(":")
    if kind == "cuda" and torch.cuda.is_available() and colon and index.isdecimal():
        return _cuda(int(index))
    raise _missing(name)


def _cuda(index: int) -> torch.device:
    if index >= torch.cuda.device_count():
        raise _missing(f"cuda:{index}")
    device = torch.device("cuda", index)
    torch.cuda.set_device(device)
    return device


def _missing(name: str) -> UsageError:
    available = ["cpu", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))]
    if torch.backends.mps.is_available():
        available.append("mps")
    build = "" if torch.version.cuda else "; this build of torch has no CUDA"
    return UsageError(f"no such device: {name}", hint=f"available: {', '.join(available)} (or auto){build}")


def set_threads(count: int | None) -> None:
    """Let torch use `count` CPU threads; None leaves its default, all cores."""
    if count is None:
        return
    if not 1 <= count <= MAX_THREADS:  # OpenMP ends the process if it cannot start a thread
        raise UsageError(
            f"cannot use {count:,} threads", hint=f"use 1 to {MAX_THREADS:,}; one per core is usually fastest"
        )
    torch.set_num_threads(count)
