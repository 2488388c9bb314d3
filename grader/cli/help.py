"""The help of `grader`: its commands and their options in groups, as plain text that fits any terminal."""

from collections.abc import Callable
from typing import Any, Final

import typer
import typer.core

GROUPS: Final = {
    "Student": (
        "init",
        "check",
        "watch",
        "show",
        "next",
        "list",
        "courses",
        "hint",
        "solution",
        "reset",
        "debug",
        "doctor",
        "help",
    ),
    "Instructor": (
        "grade",
        "status",
        "restore",
        "report",
        "export",
        "mark",
        "comment",
        "regrade",
        "override",
        "extend",
        "diff",
        "similar",
        "package",
        "ci",
    ),
    "Course author": ("new", "release", "verify"),
}


class App(typer.Typer):
    """A command line whose help shows commands and options in groups.

    Typer draws the groups of options only with rich, which takes longer to import than most commands to run.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(cls=GroupedHelp, rich_markup_mode=None, pretty_exceptions_enable=False, **settings)

    def command(self, *arguments: Any, **settings: Any) -> Callable[[Any], Any]:
        """Adds a command, as `typer.Typer.command` does."""
        return super().command(*arguments, cls=GroupedOptions, **settings)


class GroupedOptions(typer.core.TyperCommand):
    """A command whose help shows its options under the headings of their ``rich_help_panel``."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes a section for each group, in the order of their first options."""
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            heading = "Arguments" if parameter.param_type_name == "argument" else "Options"
            row = parameter.get_help_record(ctx)
            if row is not None:
                groups.setdefault(getattr(parameter, "rich_help_panel", None) or heading, []).append(row)
        for heading, rows in groups.items():
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)


class GroupedHelp(typer.core.TyperGroup):
    """A group whose help shows its commands under the headings of `GROUPS`."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes a section for each group; the first sentence of each command's help, uncut."""
        known = [name for names in GROUPS.values() for name in names]
        others = tuple(name for name in self.list_commands(ctx) if name not in known)
        width = max(map(len, self.list_commands(ctx)))
        for heading, names in {**GROUPS, "Other": others}.items():
            if not names:
                continue
            formatter.write(f"\n{heading}:\n")
            for name in names:
                command = self.get_command(ctx, name)
                if command is not None:
                    formatter.write(f"  {name:<{width}}  {first_sentence(command.help or '')}\n")


def first_sentence(text: str) -> str:
    """The first line of a help text up to what follows a colon, a semicolon or a full stop."""
    line = text.strip().partition("\n")[0]
    for end in (". ", ": ", "; ", " ("):
        line = line.partition(end)[0]
    return line.rstrip(".")


app: Final = App(name="grader")
"""The command line; each module of commands adds its own."""
