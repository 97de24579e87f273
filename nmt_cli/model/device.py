"""Choice of the device."""

import torch

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
