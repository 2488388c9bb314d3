"""The console of students and instructors, and the table of a class; the output for a student is in `check_report.py`.

Prints text from submissions only through `clean` and never as markup. A bar begins each line of such text, so that
nothing that a student prints looks like a line of the grader or a command of the CI system.
"""

import os
from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader.gradebook import Row
from grader.reports.feedback import notable
from grader.text import clean, counted, percent, points

WIDTH = 100
NARROWEST = 30
"""Columns that lines are made for, whatever a terminal says of itself."""


def make_console(*, stderr: bool = False) -> Console:
    """A console at most `WIDTH` wide; plain text when piped or when ``NO_COLOR`` is set.

    ``COLUMNS`` counts when piped, too.
    """
    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    fit(console)
    return console


def fit(console: Console) -> None:
    """Gives a console the width of its window as it is now."""
    is_known = console.is_terminal or os.environ.get("COLUMNS", "").isdigit()
    window = Console(file=console.file).width
    console.width = max(min(WIDTH, window), NARROWEST) if is_known else WIDTH


def show_class(rows: Iterable[Row], console: Console) -> None:
    """Prints the instructor's table: one row per submission, and the mean score."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("submission", overflow="fold")
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("%", justify="right", no_wrap=True)
    table.add_column("notable", overflow="fold")
    table.add_column("seconds", justify="right", no_wrap=True)
    shares = []
    for row in rows:
        share = None if row.unread else percent(row.result.score, row.result.max)
        shares += [] if share is None else [share]
        table.add_row(
            Text(clean(row.result.submission).replace("\n", "�")),
            "unread" if row.unread else points(row.result.score, row.result.max),
            "–" if share is None else f"{share:.1f}",
            Text(
                ", ".join([*notable(row), *(["unchanged"] if row.reused else [])]),
                style="bold magenta" if "error" in row.result.verdicts else "",
            ),
            f"{row.seconds:.2f}",
        )
    console.print(table)
    if shares:
        of = "" if len(shares) == table.row_count else f" of the {len(shares)} that could be read"
        console.print(f"{counted(table.row_count, 'submission')}, mean {sum(shares) / len(shares):.1f}%{of}")


def wrapped(console: Console, text: str, style: str, bar: str = "") -> list[Text]:
    """Text in rows of the console's width; each begins with the bar, or with the indentation of the text."""
    indent = bar or " " * (len(text) - len(text.lstrip(" ")))
    body = text if bar else text.lstrip(" ")
    pieces = Text(body, style).wrap(console, max(console.width - len(indent), 8), overflow="fold")
    for piece in pieces:
        piece.rstrip()
    return [Text.assemble((indent, "dim"), piece) for piece in pieces]


def print_line(console: Console, line: Text) -> None:
    """Prints as much of a line as fits on one row."""
    line.truncate(console.width, overflow="ellipsis")
    console.print(line, soft_wrap=True)


def print_rows(console: Console, rows: Iterable[Text]) -> None:
    """Prints each on a row of its own, as it is."""
    for row in rows:
        console.print(row, soft_wrap=True)


def print_wrapped(console: Console, text: str, style: str, bar: str = "") -> None:
    """Prints text in as many rows as it takes; see `wrapped`."""
    print_rows(console, wrapped(console, text, style, bar))
