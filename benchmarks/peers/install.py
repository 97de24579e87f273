"""Virtual environments for the toolkits we compare with, made from pip and a few replacements.

Each toolkit wants a torch of its own time; here all run with ours, which a .pth file lends to their
environments. So pip installs them without their dependencies, plus what the import of their recurrent
models needs. Nothing of their code is copied here: what does not run with Python 3.11 or this torch is
replaced line by line, after installing.
"""

import re
import subprocess
import sys
import sysconfig
import tarfile
import venv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Patch:
    """A replacement in one file of site-packages; it must be found."""

    file: str
    pattern: str
    replacement: str
    why: str


@dataclass(frozen=True)
class Peer:
    """How one toolkit is installed."""

    packages: tuple[str, ...]  # with pip, without their dependencies
    empty: tuple[str, ...] = ()  # modules that the toolkit imports and the benchmark never uses
    patches: tuple[Patch, ...] = ()
    source: str = ""  # a source distribution whose package is unpacked instead of built


_DATACLASS = r"^(\s+\w+: (\w+) = )\2\(\)$"
_NO_INSTANCE = "Python 3.11 refuses an instance as the default of a dataclass field"

PEERS = {
    "opennmt_py": Peer(
        packages=(
            "OpenNMT-py==3.5.1",
            "pyahocorasick==2.3.1",
            "pyonmttok==1.38.1",
            "configargparse",
            "six",
            "rapidfuzz",
        ),
        empty=("fasttext", "spacy"),
    ),
    "eole_rnn": Peer(
        packages=(
            "eole==0.6.4",
            "aiohttp",
            "pyahocorasick==2.3.1",
            "pyonmttok==1.38.1",
            "configargparse",
            "six",
            "rapidfuzz",
        ),
    ),
    "joey": Peer(
        packages=("joeynmt==2.3.0", "importlib_metadata==8.5.0", "zipp==3.21.0", "subword-nmt==0.3.8"),
        patches=(
            Patch(
                "joeynmt/helpers.py",
                r"^from torch.utils.tensorboard import SummaryWriter$",
                "SummaryWriter = object",
                "TensorBoard is only an annotation here",
            ),
            Patch(
                "joeynmt/helpers.py",
                r"^from joeynmt.plotting import plot_heatmap$",
                "plot_heatmap = None",
                "spares matplotlib",
            ),
            Patch(
                "joeynmt/builders.py",
                r'^ +"verbose": False,$',
                "",
                "torch's scheduler has no such option now",
            ),
        ),
    ),
    "fairseq_lstm": Peer(
        packages=("hydra-core==1.0.7", "omegaconf==2.0.6", "antlr4-python3-runtime==4.8", "bitarray==3.0.0"),
        source="fairseq==0.12.2",
        patches=(
            Patch("hydra/conf/__init__.py", _DATACLASS, r"\1field(default_factory=\2)", _NO_INSTANCE),
            Patch("fairseq/dataclass/configs.py", _DATACLASS, r"\1field(default_factory=\2)", _NO_INSTANCE),
            Patch(
                "fairseq/dataclass/initialize.py",
                r"FairseqConfig\.__dataclass_fields__\[k\]\.default$",
                "getattr(FairseqConfig(), k)",
                "a field with a factory has no default",
            ),
            Patch(
                "fairseq/models/transformer/transformer_config.py",
                _DATACLASS,
                r"\1field(default_factory=\2)",
                _NO_INSTANCE,
            ),
            Patch(
                "fairseq/models/transformer/transformer_config.py",
                r"field\(default=(\w+)\(\)\)",
                r"field(default_factory=\1)",
                _NO_INSTANCE,
            ),
        ),
    ),
}


def python_of(folder: Path, peer: str) -> Path:
    """The interpreter of a toolkit's environment, whether it is there or not."""
    return folder / peer / "bin" / "python"


def install(folder: Path, names: list[str], say: Callable[[str], None]) -> None:
    """Make the environments `names` in `folder`, anew."""
    for name in names:
        say(f"installing {name} in {folder / name}")
        _install(folder, name, PEERS[name])


def _install(folder: Path, name: str, peer: Peer) -> None:
    venv.create(folder / name, clear=True, with_pip=True)
    python = python_of(folder, name)
    packages = Path(
        subprocess.run(
            [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
    )
    pip: list[str | Path] = [python, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "install", "--no-deps", *peer.packages], check=True)
    if peer.source:
        subprocess.run([*pip, "download", "--no-deps", "--dest", folder / name, peer.source], check=True)
        _unpack(folder / name, packages)
    for module in peer.empty:
        (packages / f"{module}.py").write_text('"""Empty: imported, but not used by the benchmark."""\n')
    # After all of the environment's own packages, as the name sorts last and its paths are appended.
    (packages / "zz_torch.pth").write_text(sysconfig.get_path("purelib") + "\n")
    for patch in peer.patches:
        _apply(packages / patch.file, patch)


def _unpack(folder: Path, packages: Path) -> None:
    """Put the package of the source distribution in `folder` into site-packages; nothing is compiled."""
    (archive,) = folder.glob("*.tar.gz")
    package = archive.name.split("-")[0]
    with tarfile.open(archive) as files:
        prefix = f"{archive.name.removesuffix('.tar.gz')}/{package}/"
        for member in files.getmembers():
            if member.name.startswith(prefix) and member.isfile():
                member.name = f"{package}/{member.name.removeprefix(prefix)}"
                files.extract(member, packages, filter="data")


def _apply(file: Path, patch: Patch) -> None:
    text, found = re.subn(patch.pattern, patch.replacement, file.read_text(), flags=re.MULTILINE)
    if not found:
        sys.exit(f"{file}: nothing there to replace ({patch.why})")
    file.write_text(text)
