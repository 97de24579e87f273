"""Between typer and the commands: errors become a message, a hint and an exit code, and help looks as people expect.

typer shows the type of every parameter (`--quiet <bool>`, `RUN_DIR <list[Path]>`) and puts required arguments in
braces. Here a flag has no type, an option shows its metavar, and an argument is its metavar.
"""

import errno
import os
import signal
import stat
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from nmt_cli.cli.display.console import complain
from nmt_cli.errors import NmtError
from nmt_cli.files.atomic import cannot_write

INTERRUPTED = 128 + signal.SIGINT


class PlainArgument(TyperArgument):
    """An argument shown by its metavar alone."""

    def display_type_rich(self, ctx: Any) -> None:
        """No type column."""
        return

    def get_usage_pieces(self, ctx: Any) -> list[str]:
        """`RUN_DIR`, or `[RUN_DIR]` if it is optional."""
        name = self.display_name_raw
        return [name if self.required else f"[{name}]"]


def without_types(parameters: Sequence[Any]) -> list[Any]:
    """The same parameters, shown without Python types."""
    for parameter in parameters:
        if isinstance(parameter, TyperArgument):
            parameter.__class__ = PlainArgument  # typer cannot be told which class to create
        elif isinstance(parameter, TyperOption) and parameter.is_flag and parameter.metavar is None:
            parameter.metavar = ""
    return list(parameters)


class PlainCommand(TyperCommand):
    """A command whose help shows no Python types, and --help in the last panel instead of one of its own."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, including --help."""
        *parameters, help_option = without_types(super().get_params(ctx))
        if parameters and isinstance(parameters[-1], TyperOption):
            help_option.rich_help_panel = parameters[-1].rich_help_panel
        return [*parameters, help_option]


class Terminated(BaseException):
    """SIGTERM or SIGHUP: unwinds the stack like Ctrl-C, so that temporary files are removed."""

    def __init__(self, number: int = signal.SIGTERM) -> None:
        super().__init__(number)
        self.exit_code = 128 + number


class Boundary(TyperGroup):
    """Runs a command and turns every exception into a message and an exit code."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, including --help."""
        return without_types(super().get_params(ctx))

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Parse the options that precede the command."""
        if not args:
            return super().make_context(info_name, args, parent, **extra)  # shows help
        try:
            return super().make_context(info_name, args, parent, **extra)
        except typer.TyperException as error:
            raise typer.Exit(_complain_about_usage(error)) from error

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        previous = {number: signal.signal(number, _terminate) for number in ending_signals()}
        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
            previous[signal.SIGINT] = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort):
            raise
        except BrokenPipeError:
            # The reader of our output is gone, as with `| head`. Python would complain again at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 0
        except BaseException as error:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # nothing is left to do but to say what happened
            code = _report(_cause(error))
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)
        raise typer.Exit(code)


def _cause(error: BaseException) -> BaseException:
    """The error that was on its way here when a signal came, if there is one: it says more than the signal.

    When a process of a distributed run dies, torchrun terminates the others, which are just reporting the loss.
    """
    if isinstance(error, (KeyboardInterrupt, Terminated)) and isinstance(error.__context__, NmtError):
        return error.__context__
    return error


def _report(error: BaseException) -> int:
    """Print the message and hint for an exception; return the exit code."""
    if isinstance(error, NmtError):
        complain(error.message, hint=error.hint)
        return error.exit_code
    if isinstance(error, typer.TyperException):
        return _complain_about_usage(error)
    if isinstance(error, KeyboardInterrupt):
        complain("interrupted")
        return INTERRUPTED
    if isinstance(error, Terminated):
        complain("terminated")
        return error.exit_code
    if isinstance(error, OSError):
        _complain_about_system(error)
    elif isinstance(error, MemoryError):
        complain("out of memory", hint="close other programs, or process less data at a time")
    elif isinstance(error, Exception):
        complain(
            f"internal error: {type(error).__name__}: {error}",
            hint="this is a bug in nmt; set NMT_DEBUG=1 to see the traceback, and please report it",
        )
        _show_traceback(error)
    else:
        raise error
    return 1


def _complain_about_system(error: OSError) -> None:
    """An error of the operating system that the library did not expect."""
    reason = error.strerror or str(error) or type(error).__name__
    no_space = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    if error.filename is not None:
        if no_space:
            problem = cannot_write(Path(error.filename), error)
            complain(problem.message, hint=problem.hint)
        else:  # on reading or on writing
            complain(f"cannot access {error.filename}: {reason}", hint="check its path, permissions and disk")
    elif no_space or error.errno == errno.EIO:
        complain(
            f"cannot write to standard output: {reason}",
            hint="the output is incomplete; free some space, or redirect it to another disk, and try again",
        )
    else:
        complain(f"the system reports an error: {reason}", hint="set NMT_DEBUG=1 to see where it occurred")
        _show_traceback(error)


def _complain_about_usage(error: typer.TyperException) -> int:
    """An error that typer found while parsing, in the format of all other errors."""
    message = error.format_message().removesuffix(".")
    context = getattr(error, "ctx", None)
    hint = None
    if context is not None:
        usage = " ".join(context.get_usage().removeprefix("Usage:").split())
        hint = f"usage: {usage}; try `{context.command_path} --help`"
    complain(message[:1].lower() + message[1:], hint=hint)
    return error.exit_code


def ending_signals() -> tuple[signal.Signals, ...]:
    """The signals that ask a process to end: SIGTERM, and SIGHUP (a lost terminal) unless nohup ignores it."""
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        return (signal.SIGTERM,)
    return signal.SIGTERM, signal.SIGHUP


def leave_terminal() -> None:
    """After SIGHUP the terminal is gone, and writing to it would fail: what is still printed is dropped."""
    for descriptor in (0, 1, 2):
        with suppress(OSError):
            if stat.S_ISCHR(os.fstat(descriptor).st_mode):  # a terminal that is gone is none for `isatty`
                os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)


def _show_traceback(error: Exception) -> None:
    if os.environ.get("NMT_DEBUG"):
        traceback.print_exception(error)


def _terminate(number: int, frame: FrameType | None) -> None:
    if number == signal.SIGHUP:
        leave_terminal()
    raise Terminated(number)
