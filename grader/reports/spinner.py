"""Shows on a terminal that `grader check` is at work, with what and for how long. Elsewhere it shows nothing."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from rich.console import Console
from rich.live import Live
from rich.text import Text

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_PER_SECOND = 10


class Spinner:
    """A line with a spinner, what is going on, and the seconds so far. Rich draws it anew several times a second.

    Attributes:
        doing: what is going on.
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
    if not console.file.isatty() or console.is_dumb_terminal:  # colours may be forced where nothing can be redrawn
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
