"""The one place where errors become a line, a hint and an exit code."""

import os
import signal
import sys
import traceback
from pathlib import Path
from types import FrameType
from typing import Any

import typer
from typer.core import TyperGroup

from nmt_cli.cli.display.console import complain
from nmt_cli.errors import NmtError
from nmt_cli.files.atomic import cannot_write

INTERRUPTED, TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGTERM


class Terminated(BaseException):
    """SIGTERM: unwinds like Ctrl-C, so that temporary files are removed."""


class Boundary(TyperGroup):
    """Runs a command and answers for whatever it raises."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; every error that is not typer's own ends here."""
        previous = signal.signal(signal.SIGTERM, _terminate)
        try:
            return super().invoke(ctx)
        except NmtError as error:
            complain(error.message, hint=error.hint)
            code = error.exit_code
        except KeyboardInterrupt:
            complain("interrupted")
            code = INTERRUPTED
        except Terminated:
            complain("terminated")
            code = TERMINATED
        except BrokenPipeError:
            # The reader of our output went away, as `| head` does. Python would complain again at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 0
        except OSError as error:
            problem = cannot_write(Path(error.filename or "the output"), error)
            complain(problem.message, hint=problem.hint)
            code = 1
        except MemoryError:
            complain("out of memory", hint="close other programs, or use less data at a time")
            code = 1
        except (typer.Exit, typer.Abort):
            raise
        except Exception as error:
            if type(error).__module__.startswith(("typer", "click")):
                raise  # a mistake on the command line: typer explains it
            complain(
                f"internal error: {type(error).__name__}: {error}",
                hint="this is a bug in nmt; set NMT_DEBUG=1 to see where it happened, and report it",
            )
            if os.environ.get("NMT_DEBUG"):
                traceback.print_exc()
            code = 1
        finally:
            signal.signal(signal.SIGTERM, previous)
        raise typer.Exit(code)


def _terminate(number: int, frame: FrameType | None) -> None:
    raise Terminated
