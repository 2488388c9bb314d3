"""Functions of the test that the submission calls: it waits in a thread while this process serves other calls."""

import contextvars
import queue
import threading
from collections.abc import Callable
from typing import Any, Final

import torch

from grader.testkit.far.contents import released
from grader.testkit.far.operations import raised_by_test
from grader.testkit.far.results import GOT, changed_contents, describe
from grader.testkit.far.side import here, pulls


class Thread(threading.Thread):
    """A call that may ask a function of the test: it waits for the answer while this process serves other calls.

    Args:
        share: shares its arguments with the test, whose function may look at them; their numbers.
    """

    def __init__(self, work: Callable[[], Any], share: Callable[[], list[int]]) -> None:
        super().__init__(daemon=True)
        self.share = share
        self.answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.news: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self.turn = threading.Lock()
        self.inner: contextvars.Context = here().context()
        self._work, self._has_grad, self._context = work, torch.is_grad_enabled(), self.inner

    def run(self) -> None:
        try:
            with torch.set_grad_enabled(self._has_grad):
                self.news.put(("returned", self._context.run(self._work)))
        except BaseException as error:
            self.news.put(("raised", error))


class Abandoned(BaseException):
    """The check has ended while its function was asked."""


def ask(number: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The answer of a function of the test, as data.

    Raises:
        Exception: it has raised one.
    """
    current = threading.current_thread()
    thread = current if isinstance(current, Thread) else here().waiting[-1]  # the submission's own thread
    with thread.turn:
        gone, shared = released(), thread.share()
        effects = pulls(), gone, shared, [*changed_contents()], torch.is_grad_enabled()  # these are read first
        given = [describe(one, kept=GOT) for one in args]
        named_ones = [(name, describe(one, kept=GOT)) for name, one in kwargs.items()]
        thread.inner = contextvars.copy_context()
        thread.news.put(("asks", (number, given, named_ones, *effects)))
        answer = thread.answers.get()
        for variable, value in thread.inner.items():
            if variable.get(None) is not value:
                variable.set(value)
    if answer is None:
        raise Abandoned
    kind, value = answer
    if kind == "raised":
        name, message, given, key = value
        raise here().know(key, raised_by_test(name, message, given, RuntimeError))
    return value


class Mocked:
    """Stands for a mock of the test: each use of it is a use of the mock.

    Args:
        use: does so, by the name of an operation.
        is_later: whether a call is a coroutine.
    """

    def __init__(self, use: Callable[..., Any], is_later: bool) -> None:
        vars(self).update(_use=use, _is_later=is_later)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._use("getattr", name)

    def __setattr__(self, name: str, value: object) -> None:
        self._use("setattr", name, value)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._call_later(*args, **kwargs) if self._is_later else self._use("call", *args, **kwargs)

    async def _call_later(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._use("call", *args, **kwargs)


class MagicMocked(Mocked):
    """Stands for one that has special methods, too."""

    async def __aenter__(self) -> Any:
        return self._use("aenter")

    async def __aexit__(self, *args: Any) -> Any:
        return self._use("aexit", *args)


def _used(name: str) -> Callable[..., Any]:
    return lambda self, *args: self._use(name, *args)


SPECIAL_OF_MOCKS: Final = frozenset({
    "enter", "exit", "aenter", "aexit", "iter", "len", "contains", "getitem", "setitem", "delitem", "bool", "int",
    "float",
})  # fmt: skip
"""Special methods of mocks, without their underscores."""
for _name in sorted(SPECIAL_OF_MOCKS - {"aenter", "aexit"}):
    setattr(MagicMocked, f"__{_name}__", _used(_name))


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
