"""The progress bar of a class and the spinner of one submission: on a terminal only. Elsewhere they show nothing."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.live import Live
from rich.text import Text

from grader.text import duration

_ENOUGH = 3
_SOON = 5.0


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


_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_PER_SECOND = 10


class Spinner:
    """A line with a spinner, the current work, and the seconds so far. Rich draws it anew several times a second.

    Attributes:
        doing: the current work.
    """

    def __init__(self, doing: str) -> None:
        self.doing = doing
        self._started = time.monotonic()

    def __rich__(self) -> Text:
        seconds = time.monotonic() - self._started
        frame = _FRAMES[int(seconds * _PER_SECOND) % len(_FRAMES)]
        return Text.assemble((frame, "cyan"), f" {self.doing}", (f"  {seconds:.0f} s", "dim"), overflow="ellipsis")


@contextlib.contextmanager
def spinning(console: Console, doing: str) -> Iterator[Spinner]:
    """Shows a spinner below what is printed meanwhile, on a terminal that can draw one."""
    spinner = Spinner(doing)
    if not console.file.isatty() or console.is_dumb_terminal:  # colours may be forced on a terminal that cannot redraw
        yield spinner
        return
    with Live(
        spinner,
        console=console,
        refresh_per_second=_PER_SECOND,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    ):
        yield spinner
