"""The machine and the installation, as a bug report needs them."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from nmt_cli import __version__

_PACKAGES = (
    "torch",
    "numpy",
    "sentencepiece",
    "safetensors",
    "sacrebleu",
    "datasets",
    "pyarrow",
    "pydantic",
    "typer",
)
_FEATURES = ("avx2", "fma", "f16c", "avx512f", "avx512_vnni", "avx_vnni", "avx512_bf16", "amx_int8", "asimd")
_VARIABLES = ("OMP_", "MKL_", "CUDA_", "HF_", "TORCH", "NMT_", "XDG_")


@dataclass(frozen=True)
class MachineInfo:
    """Everything that can affect results or speed, apart from a run."""

    nmt: str
    python: str
    system: str
    packages: dict[str, str]
    processor: str
    features: list[str]  # instruction sets that matter for matrix products
    cores: int  # that this process may use
    threads: int | None  # of torch
    devices: list[str]  # GPUs
    caches: dict[str, Cache]
    environment: dict[str, str]


@dataclass(frozen=True)
class Cache:
    """A directory or file outside of the project that nmt or its libraries write."""

    path: str
    bytes: int


def machine_info() -> MachineInfo:
    """Information about this process and its machine."""
    processor, features = _processor()
    threads, devices = _torch()
    return MachineInfo(
        nmt=__version__,
        python=platform.python_version(),
        system=platform.platform(),
        packages={name: found for name in _PACKAGES if (found := _version(name))},
        processor=processor,
        features=features,
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        threads=threads,
        devices=devices,
        caches={name: Cache(str(path), disk_use(path)) for name, path in _caches().items()},
        environment={
            name: value
            for name, value in sorted(os.environ.items())
            if name.startswith(_VARIABLES) and not _is_secret(name)
        },
    )


def disk_use(path: Path) -> int:
    """Bytes in a file or directory; 0 if there is none."""
    if path.is_file():
        return path.stat().st_size
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            file = Path(folder, name)
            if not file.is_symlink() and file.is_file():
                total += file.stat().st_size
    return total


def history_file() -> Path:
    """The history of the prompt, in the user's state directory (XDG)."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "nmt" / "history"


def _caches() -> dict[str, Path]:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    hub = os.environ.get("HF_HOME") or Path(home) / "huggingface"
    return {"Hugging Face": Path(hub), "prompt history": history_file()}


def _is_secret(name: str) -> bool:
    return any(word in name for word in ("TOKEN", "KEY", "SECRET", "PASSWORD"))


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> tuple[str, list[str]]:
    """Model name and features from Linux; elsewhere what Python knows."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").split("\n\n")[0].split("\n")
    except OSError:
        return platform.processor() or platform.machine(), []
    facts = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    flags = (facts.get("flags") or facts.get("Features") or "").split()
    return facts.get("model name") or platform.machine(), [name for name in _FEATURES if name in flags]


def _torch() -> tuple[int | None, list[str]]:
    try:
        import torch
    except (ImportError, OSError):  # a damaged installation is a reason to run this command
        return None, []
    devices = [
        f"cuda:{index} {torch.cuda.get_device_name(index)}, "
        f"{torch.cuda.get_device_properties(index).total_memory / 1e9:.0f} GB"
        for index in range(torch.cuda.device_count())
    ]
    if torch.backends.mps.is_available():
        devices.append("mps")
    return torch.get_num_threads(), devices
