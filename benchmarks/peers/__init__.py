"""The systems that `training_step.py` and `translation.py` compare, each in a process of its own."""

import argparse
import os
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]


def parser(description: str | None) -> argparse.ArgumentParser:
    """A parser with the options of both benchmarks: where the corpora and the toolkits are."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument(
        "--data", type=Path, default=os.environ.get("NMT_TEST_DATA", _ROOT.parent / "shared" / "data")
    )
    made.add_argument(
        "--peers", type=Path, default=os.environ.get("NMT_PEERS", Path.home() / ".cache" / "nmt-peers")
    )
    return made
