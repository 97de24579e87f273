"""How `--help` and the usage line look: `--quiet`, `RUN_DIR...` and `[FILE]`, without Python types.

typer shows the type of every parameter (`--quiet <bool>`, `RUN_DIR <list[Path]>`) and puts required arguments in
braces. Here a flag has no type, an option shows its metavar, and an argument is its metavar.
"""

from collections.abc import Sequence
from typing import Any

from typer.core import TyperArgument, TyperCommand, TyperOption


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
