"""The command `nmt`. Only this package knows of typer and rich."""

import os


def main() -> None:
    """Run the command line. torch reads the wait policy when it is imported, so it is set before anything else."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from nmt_cli.cli.app import app

    app()
