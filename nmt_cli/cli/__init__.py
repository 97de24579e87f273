"""The command `nmt`. Only this package knows of typer and rich."""

import os
import sys
from pathlib import Path


def main() -> None:
    """Run the command line. torch reads how threads wait when it is imported, so it is set before anything else.

    Threads that wait sleep, but not at once: until the next product of a step pass microseconds, and to wake up takes
    longer. If they sleep at once, translation takes 1.4 times as long on quiet cores, one line twice as long. If they
    never sleep, as is torch's default, everything takes ten times as long on busy ones.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
        os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    if sys.stderr is None:  # so says Python of a closed one; what nobody hears does not stop the work
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - until the end
    from nmt_cli.cli.app import app

    app()
