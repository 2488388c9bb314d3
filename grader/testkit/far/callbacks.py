"""Functions of the test that the submission calls: it waits in a thread while this process serves other calls."""

import builtins
import queue
import threading
from collections.abc import Callable
from typing import Any

import torch

from grader.testkit.far.results import describe
from grader.testkit.far.side import here, pulls


class Thread(threading.Thread):
    """A call that may ask a function of the test: it waits for the answer while this process serves other calls."""

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self.answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.news: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._work, self._has_grad = work, torch.is_grad_enabled()

    def run(self) -> None:
        try:
            with torch.set_grad_enabled(self._has_grad):
                self.news.put(("returned", self._work()))
        except BaseException as error:
            self.news.put(("raised", error))


class Abandoned(BaseException):
    """The check has ended while its function was asked."""


def ask(number: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The answer of a function of the test, as data.

    Raises:
        Exception: it has raised one.
    """
    thread = threading.current_thread()
    assert isinstance(thread, Thread)
    given, named_ones = [describe(one) for one in args], [(name, describe(one)) for name, one in kwargs.items()]
    thread.news.put(("asks", (number, given, named_ones, pulls())))
    answer = thread.answers.get()
    if answer is None:
        raise Abandoned
    kind, value = answer
    if kind == "raised":
        name, message = value
        raise getattr(builtins, name, RuntimeError)(message)
    return value


def wait(thread: Thread) -> Any:
    """The next news of a call: its reply, or its question."""
    kind, value = thread.news.get()
    if kind == "asks":
        return ("asks", *value)
    here().waiting.remove(thread)
    if kind == "raised":
        raise value
    return value


def tensors_in(value: Any) -> list[torch.Tensor]:
    """The tensors in lists, tuples and dicts."""
    if isinstance(value, torch.Tensor):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [one for part in parts for one in tensors_in(part)]
