"""How the commands of `grader` are declared, grouped in its help, and printed from: as plain text on any terminal."""

import functools
import inspect
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

import typer
import typer.core

from grader.text import clean

Command = TypeVar("Command", bound=Callable[..., Any])

GROUPS: Final = {
    "Student": "init check watch learn show finish next list courses hint solution reset debug doctor help",
    "Instructor": "grade status restore report export mark comment regrade override extend excuse import history diff"
    " similar package ci",
    "Course author": "new adopt release verify",
}


class App(typer.Typer):
    """A command line whose help shows commands and options in groups.

    Typer draws the groups of options only with rich, which takes longer to import than most commands to run.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(cls=GroupedHelp, rich_markup_mode=None, pretty_exceptions_enable=False, **settings)

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Command], Command]:
        """Adds a command. Its docstring is its help, in which the examples come last, below the options."""

        def add(function: Command) -> Command:
            text, _, examples = inspect.cleandoc(function.__doc__ or "").partition("\n\nExample")
            epilog = f"\b\nExample{examples}"
            return super(App, self).command(name, cls=GroupedOptions, help=text, epilog=epilog, **settings)(function)

        return add


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
        width = max(map(len, self.commands))
        for heading, names in GROUPS.items():
            formatter.write(f"\n{heading}:\n")
            for name in names.split():
                formatter.write(f"  {name:<{width}}  {first_sentence(self.commands[name].help or '')}\n")


def first_sentence(text: str) -> str:
    """The first line of a help text up to what follows a colon, a semicolon or a full stop."""
    line = text.strip().partition("\n")[0]
    for end in (". ", ": ", "; ", " ("):
        line = line.partition(end)[0]
    return line.rstrip(".")


def with_groups(function: Callable[..., Any]) -> Callable[..., Any]:
    """A command that takes a group of options as one value: a named tuple of them, in keyword-only parameters.

    Typer knows no groups, so it is shown the options one by one.
    """
    signature = inspect.signature(function, eval_str=True)
    groups = {one.name: one.annotation for one in signature.parameters.values() if hasattr(one.annotation, "_fields")}
    single: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        group = groups.get(parameter.name)
        single += inspect.signature(group).parameters.values() if group else [parameter]

    @functools.wraps(function)
    def command(**given: Any) -> Any:
        for name, group in groups.items():
            given[name] = group(*[given.pop(field) for field in group._fields])
        return function(**given)

    parameters = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in single]
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return command


def print_lines(lines: Iterable[str], width: int = 0) -> None:
    """Prints each on a line of its own, without control characters.

    Args:
        width: columns after which a line goes on in the next row, indented as it is, and between words; 0: never.
    """
    for line in lines:
        text = clean(line).replace("\n", " ")
        indent = " " * (len(text) - len(text.lstrip()) + 4)
        if 0 < width < len(text):
            words = textwrap.TextWrapper(
                width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
            )
            text = words.fill(text)
        print(text)


def columns() -> int:
    """The columns of the terminal; 0 if the output goes elsewhere."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 0


app: Final = App(name="grader")
"""The command line; each module of commands adds its own."""
