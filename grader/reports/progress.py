"""The progress bar of a class and the spinner of one submission: on a terminal only. Elsewhere they show nothing."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.live import Live
from rich.text import Text


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
        def render(self, task: Task) -> Text:
            return Text(left.text(time.monotonic(), int(task.completed), total), style="cyan")

    left = TimeLeft()
    columns = (TextColumn("grading"), BarColumn(), MofNCompleteColumn(), Rate(), Left())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("grading", total=total)

        def advance() -> None:
            left.done(time.monotonic())
            bar.advance(task)

        yield advance


class TimeLeft:
    """How long a class still takes: by the time since the first result, because the workers' start is no measure."""

    def __init__(self) -> None:
        self._first: float | None = None

    def done(self, now: float) -> None:
        """Notes that a submission is graded; `now` in seconds."""
        self._first = now if self._first is None else self._first

    def text(self, now: float, done: int, total: int) -> str:
        """The time in words; empty while nobody can tell."""
        if self._first is None or done < _ENOUGH or done >= total:
            return ""
        seconds = (now - self._first) / (done - 1) * (total - done)
        return f"about {duration(seconds)} left" if seconds > _SOON else "a few seconds left"


_ENOUGH = 3
_SOON = 5.0


def duration(seconds: float) -> str:
    """A time in words: ``2 min 5 s``."""
    whole = max(1, round(seconds))
    hours, minutes = whole // 3600, whole % 3600 // 60
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {whole % 60} s" if minutes else f"{whole} s"


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
