"""Choice of the device and of the number of threads; autocast; memory of the process."""

import ctypes
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path

import torch

from nmt_cli.config.defaults import MAX_THREADS
from nmt_cli.errors import UsageError


def prepare_device(
    name: str, threads: int | None = None, *, local_rank: int = 0, fast_products: bool = True
) -> torch.device:
    """The device named by `--device` as all commands use it; changes settings of torch for the whole process."""
    set_threads(threads)
    device = choose_device(name, local_rank)
    if device.type == "cpu":
        use_fast_products(fast_products)
    return device


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


def use_fast_products(wanted: bool = True) -> None:
    """Switch float32 matrix products by oneDNN on, on AMD CPUs with AVX-512, or off.

    There MKL, torch's default, uses AVX2 only and is half as fast (docs/benchmarks.md). What torch calls permission to
    use bf16 is what selects oneDNN, which computes in bf16 only on CPUs with AMX. It prepares each size of a product
    anew, in 0.1 to 0.3 ms, so products of small models become slower.
    """
    before = _precision()
    if before is None or (before == "medium") is wanted:
        return
    if not wanted:
        torch.set_float32_matmul_precision("highest")
    elif onednn_is_faster(_processor()):
        torch.set_float32_matmul_precision("medium")
        if not _products_are_exact():
            torch.set_float32_matmul_precision(before)


def has_fast_products() -> bool:
    """Whether oneDNN computes float32 matrix products. torch.compile cannot trace the query and assumes so."""
    return torch.compiler.is_compiling() or _precision() == "medium"


@contextmanager
def products_restored() -> Iterator[None]:
    """Give the program its own setting back at the end."""
    before = _precision()
    try:
        yield
    finally:
        if before is not None and _precision() is not None:
            torch.set_float32_matmul_precision(before)


def _precision() -> str | None:
    """torch's setting; None if the program uses the newer API (`fp32_precision`), which torch does not let mix."""
    try:
        return torch.get_float32_matmul_precision()
    except RuntimeError:
        return None


def onednn_is_faster(processor: str) -> bool:
    """Whether oneDNN is faster than MKL on this CPU, and as exact; `processor` is an entry of /proc/cpuinfo."""
    words = set(processor.split())
    return {"AuthenticAMD", "avx512f"} <= words and not any(word.startswith("amx") for word in words)


def _products_are_exact() -> bool:
    # More bits than bf16 has, in sums that float32 holds exactly.
    x = 512 + (torch.arange(1024) % 64).view(32, 32)
    return torch.equal((x.float() @ x.float()).double(), x.double() @ x.double())


@cache
def _processor() -> str:
    try:
        return Path("/proc/cpuinfo").read_text("utf-8").partition("\n\n")[0]
    except (OSError, UnicodeDecodeError):  # not Linux
        return ""


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
