"""The console: notes, the table of a class, its progress bar, and the spinner of one submission.

The output for a student is in `check_report.py`. Where there is no terminal, nothing moves. Notes go to stderr, one
line each, and a limited number of them. Prints text from submissions only through `clean` and never as markup. A bar
begins each line of such text, so that nothing that a student prints looks like a line of the grader or a command of the
CI system.
"""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from grader.gradebook import Row
from grader.reports.feedback import STYLES, notable
from grader.text import clean, counted, duration, percent, points

WIDTH: Final = 100
NARROWEST: Final = 30
"""Columns that lines are made for, whatever a terminal says of itself."""
_ENOUGH: Final = 3
"""Results after which the time that is left can be estimated."""
_SOON: Final = 5.0
_FRAMES: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_RATE: Final = 10
_NOTES_SHOWN: Final = 20


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
    for head, is_number in {"submission": False, "score": True, "%": True, "notable": False, "seconds": True}.items():
        table.add_column(head, overflow="fold", justify="right" if is_number else "left", no_wrap=is_number)
    shares = []
    for row in rows:
        result = row.result
        share = None if row.unread else percent(result.score, result.max)
        shares += [] if share is None else [share]
        name = Text(clean(result.submission).replace("\n", "�"))
        score = "unread" if row.unread else points(result.score, result.max)
        said = [*notable(row), *(["unchanged"] if row.reused else [])]
        about = Text(", ".join(said), style=STYLES["error"] if "error" in result.verdicts else "")
        table.add_row(name, score, "–" if share is None else f"{share:.1f}", about, f"{row.seconds:.2f}")
    console.print(table)
    if shares:
        of = "" if len(shares) == table.row_count else f" of the {len(shares)} that could be read"
        console.print(f"{counted(table.row_count, 'submission')}, mean {sum(shares) / len(shares):.1f}%{of}")


def wrapped(console: Console, text: str, style: str, bar: str = "") -> list[Text]:
    """Text in rows of the console's width; each begins with the bar, or with the indentation of the text."""
    indent = bar or " " * (len(text) - len(text.lstrip(" ")))
    body = text if bar else text.lstrip(" ")
    pieces = Text(body, style).wrap(console, max(console.width - len(indent), 8), overflow="fold")
    return behind_bar(pieces, indent)


def behind_bar(rows: Iterable[Text], bar: str) -> list[Text]:
    """Rows without spaces at their ends, each behind a bar."""
    found = list(rows)
    for row in found:
        row.rstrip()
    return [Text.assemble((bar, "dim"), row) for row in found]


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


@contextlib.contextmanager
def progress(total: int) -> Iterator[Callable[[], None]]:
    """Shows count, rate and remaining time while submissions are graded.

    The value of the context is a function: call it once for each graded submission.
    """
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{60 * speed:.0f} per minute", style="dim")

    class Left(ProgressColumn):
        """By the time since the first result, because the start of the workers is no measure."""

        def render(self, task: Task) -> Text:
            done = int(task.completed)
            if first is None or not _ENOUGH <= done < total:
                return Text("")
            seconds = (time.monotonic() - first) / (done - 1) * (total - done)
            left = f"about {duration(seconds)}" if seconds > _SOON else "a few seconds"
            return Text(f"{left} left", style="cyan")

    first: float | None = None
    columns = (TextColumn("grading"), BarColumn(), MofNCompleteColumn(), Rate(), Left())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("grading", total=total)

        def advance() -> None:
            nonlocal first
            first = time.monotonic() if first is None else first
            bar.advance(task)

        yield advance


class Spinner:
    """A line with a spinner, the current work, and the seconds so far. Rich redraws it several times a second.

    Attributes:
        doing: the current work.
    """

    def __init__(self, doing: str) -> None:
        self.doing = doing
        self._started = time.monotonic()

    def __rich__(self) -> Text:
        seconds = time.monotonic() - self._started
        frame = _FRAMES[int(seconds * _RATE) % len(_FRAMES)]
        return Text.assemble((frame, "cyan"), f" {self.doing}", (f"  {seconds:.0f} s", "dim"), overflow="ellipsis")


@contextlib.contextmanager
def spinning(console: Console, doing: str) -> Iterator[Spinner]:
    """Shows a spinner below what is printed meanwhile, on a terminal that can draw one."""
    spinner = Spinner(doing)
    if not console.file.isatty() or console.is_dumb_terminal:  # colours may be forced on a terminal that cannot redraw
        yield spinner
        return
    with Live(
        spinner, console=console, refresh_per_second=_RATE, transient=True, redirect_stdout=False, redirect_stderr=False
    ):
        yield spinner


def print_note(text: str) -> None:
    """Prints a note on one line of stderr."""
    print(f"note: {clean(text)}".replace("\n", " "), file=sys.stderr)


class NoteList:
    """Notes to print together: the urgent ones first, then as many others as there is room for, then their number.

    Args:
        where_all: how to read all notes; it ends the line with the number of the others.
    """

    def __init__(self, where_all: str = "") -> None:
        self._where_all = where_all
        self._kept: dict[bool, list[str]] = {True: [], False: []}
        self._count = 0

    def add(self, text: str, urgent: bool = False) -> None:
        """Keeps a note; `print` prints it, urgent ones first."""
        self._count += 1
        if len(self._kept[urgent]) < _NOTES_SHOWN:
            self._kept[urgent].append(text)

    def print(self) -> None:
        """Prints the first notes, and the number of the others."""
        shown = [*self._kept[True], *self._kept[False]][:_NOTES_SHOWN]
        for text in shown:
            print_note(text)
        if self._count > len(shown):
            print_note(f"{self._count - len(shown)} more like these{self._where_all}")
