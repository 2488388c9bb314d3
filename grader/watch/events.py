"""What happens while `grader watch` runs: saves, keys, results; and the queue in which they wait for their turn."""

import contextlib
import queue
import signal
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from grader.grading.graders import Graded
from grader.judge.marks import Place
from grader.results import ExerciseResult
from grader.watch.keys import QUIT

_WAIT: Final = 0.5
"""Seconds after which a wait begins anew: a Ctrl-C that comes just before it, or on Windows, does not end it."""


class Saved(msgspec.Struct, frozen=True):
    """Some file in the folder has changed."""


class Pressed(msgspec.Struct, frozen=True):
    key: str


class Began(msgspec.Struct, frozen=True):
    name: str


class Known(msgspec.Struct, frozen=True):
    exercise: ExerciseResult


class Finished(msgspec.Struct, frozen=True):
    """The result of what was asked; None where it was stopped, a text where the grader itself failed."""

    graded: Graded | None
    problem: str = ""


class Resumed(msgspec.Struct, frozen=True):
    """The process was stopped by Ctrl-Z, and goes on."""


class Resized(msgspec.Struct, frozen=True):
    """The terminal's window has another size."""


Event = Saved | Pressed | Began | Known | Finished | Resumed | Resized


class Events:
    """The queue of events; also the watcher of a submission while it is graded."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Event] = queue.SimpleQueue()

    def put(self, event: Event) -> None:
        self._queue.put(event)

    def began(self, place: Place) -> None:
        self.put(Began(place.exercise or place.topic))

    def known(self, exercise: ExerciseResult) -> None:
        self.put(Known(exercise))

    def next(self) -> Event:
        while True:
            with contextlib.suppress(queue.Empty):
                return self._queue.get(timeout=_WAIT)


@contextlib.contextmanager
def signals(events: Events) -> Iterator[None]:
    """Makes the end that the system asks for like the key to quit; says when Ctrl-Z is over, and of a window's size."""
    handlers: dict[str, Callable[..., None]] = {
        "SIGTERM": lambda *_: events.put(Pressed(QUIT)),
        "SIGHUP": lambda *_: events.put(Pressed(QUIT)),
        "SIGCONT": lambda *_: events.put(Resumed()),
        "SIGWINCH": lambda *_: events.put(Resized()),
    }
    before: dict[signal.Signals, Any] = {}
    for name, handler in handlers.items():
        number = getattr(signal, name, None)
        if number is not None:
            before[number] = signal.signal(number, handler)
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
