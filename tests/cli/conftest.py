"""Running `nmt` in this process, through the same boundary as a user."""

from collections.abc import Callable

import pytest
from typer.testing import CliRunner

from nmt_cli.cli.app import app

Run = Callable[..., "Outcome"]


class Outcome:
    """Exit code, standard output and standard error of a command."""

    def __init__(self, code: int, stdout: str, stderr: str) -> None:
        self.code, self.stdout, self.stderr = code, stdout, stderr

    @property
    def error(self) -> str:
        """The one error line."""
        lines = [line for line in self.stderr.split("\n") if line.startswith("error: ")]
        assert len(lines) == 1, self.stderr
        return lines[0]

    @property
    def hint(self) -> str:
        """The hint of the error."""
        lines = [line for line in self.stderr.split("\n") if line.startswith("hint: ")]
        assert lines, self.stderr
        return lines[-1]


@pytest.fixture
def nmt() -> Run:
    """`nmt("config", "--set", "train.seed=1")`."""

    def run(*arguments: object, stdin: str | bytes | None = None) -> Outcome:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)
        assert "Traceback" not in result.stderr
        return Outcome(result.exit_code, result.stdout, result.stderr)

    return run
