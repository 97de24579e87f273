"""Choice of the device and of the number of threads; autocast; memory of the process."""

import ctypes
from contextlib import AbstractContextManager, nullcontext, suppress

import torch

from nmt_cli.config.defaults import MAX_THREADS
from nmt_cli.errors import UsageError


def choose_device(name: str, local_rank: int = 0) -> torch.device:
    """The device named by `--device`; `auto` is the GPU of this process (`local_rank`) if there is one."""
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    others = ["cpu", "mps"] if torch.backends.mps.is_available() else ["cpu"]
    if name == "auto" and not gpus:
        return torch.device(others[-1])
    if name in others:
        return torch.device(name)
    wanted = f"cuda:{local_rank}" if name in ("auto", "cuda") and gpus else name
    if wanted not in [f"cuda:{index}" for index in range(gpus)]:
        available = [others[0], *(f"cuda:{index}" for index in range(gpus)), *others[1:]]
        build = "" if torch.version.cuda else "; this build of torch has no CUDA"
        hint = f"available: {', '.join(available)} (or auto){build}"
        raise UsageError(f"no such device: {wanted}", hint=hint)
    torch.cuda.set_device(wanted)
    return torch.device(wanted)


def set_threads(count: int | None) -> None:
    """Let torch use `count` CPU threads; None leaves its default, all cores."""
    if count is None:
        return
    if not 1 <= count <= MAX_THREADS:  # OpenMP ends the process if it cannot start a thread
        raise UsageError(
            f"cannot use {count:,} threads", hint=f"use 1 to {MAX_THREADS:,}; one per core is usually fastest"
        )
    torch.set_num_threads(count)


def autocast_dtype(device: str) -> torch.dtype | None:
    """The precision of matrix products under autocast on this type of device; None outside of autocast."""
    if torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device):
        return torch.get_autocast_dtype(device)
    return None


def no_autocast(device: str) -> AbstractContextManager[object]:
    """A context for code that chooses the precision of each product itself."""
    return torch.autocast(device, enabled=False) if torch.amp.is_autocast_available(device) else nullcontext()


def return_free_memory() -> None:
    """Give the system back what `malloc` keeps for later use. It takes milliseconds.

    Tensors of ever different sizes leave gaps between those that stay, and glibc returns only what is at the end.
    """
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)
