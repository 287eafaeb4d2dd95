"""Layout of `--help`: plain paragraphs, no Python types, one example per line.

Tested with typer 0.29. Other versions may show the type of an argument.
"""

from __future__ import annotations

from typing import Any

import typer
from rich.console import Console
from typer.core import TyperArgument, TyperCommand


class HelpLayout:
    """Mixin for a command whose epilog holds its examples, one per line."""

    def __init__(
        self,
        *arguments: Any,
        help: str | None,
        epilog: str | None,
        **settings: Any,
    ) -> None:
        super().__init__(*arguments, help=_join_lines(help or ""), **settings)
        self.examples = (epilog or "").splitlines()

    def get_params(self, context: typer.Context) -> list[Any]:
        """Return the parameters, without the types of flags and of arguments."""
        parameters = super().get_params(context)
        for parameter in parameters:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
            elif isinstance(parameter, TyperArgument):
                parameter.display_type_rich = _no_type
        return parameters

    def format_help(self, context: typer.Context, formatter: Any) -> None:
        """Print the help, and below it the examples. A long example stays one line to copy."""
        super().format_help(context, formatter)
        if not self.examples:
            return
        console = Console()
        console.print()
        console.print(" Examples:", style="bold")
        for example in self.examples:
            console.print(f"   {example}", markup=False, highlight=False, soft_wrap=True)
        console.print()


class Command(HelpLayout, TyperCommand):
    """Command of the program, such as `train`."""


def _join_lines(text: str) -> str:
    """Join the lines of each paragraph; the terminal breaks them at its own width."""
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]
    return "\n\n".join(paragraphs)


def _no_type(ctx: typer.Context) -> None:
    return None
