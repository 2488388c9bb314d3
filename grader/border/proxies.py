"""Proxies, which a check holds in place of submitted code: they turn every use into one message.

Nothing here runs submitted code. The `Channel` decides the result of a use.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from grader.border.failures import BadReply, SubmissionRaised
from grader.text import with_article


class Call:
    """One use of the submission, for messages: the function, its arguments and its result."""

    __slots__ = ("answered", "args", "kwargs", "name", "result")

    def __init__(self, name: str, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        self.name = name
        self.args = args
        self.kwargs = kwargs
        self.result: object = None
        self.answered = False


class Requests(Protocol):
    """The side of a channel that proxies use."""

    def request(
        self,
        operation: str,
        args: tuple[object, ...],
        kwargs: dict[str, object],
        shown: Call | None,
        outside: bool = False,
    ) -> Any:
        """Performs one operation; see `grader.border.channel.Channel.request`."""


class RemoteFunction:
    """A function or class of the submission, by name; the submission is not asked for it before it is called."""

    def __init__(self, channel: Requests, name: str) -> None:
        self._channel = channel
        self._name = name

    def __call__(self, *args: object, **kwargs: object) -> Any:
        return self._channel.request("call", (self, *args), kwargs, Call(self._name, args, kwargs))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._channel.request("getattr", (self, name), {}, Call(f"{self._name}.{name}", (), {}))

    def __repr__(self) -> str:
        return self._name


class Remote:
    """A handle: an object that stays in the student process. Every use of it is a call in that process."""

    __slots__ = ("_channel", "_kind", "_made", "_number")

    def __init__(self, channel: Requests, number: int, kind: str) -> None:
        object.__setattr__(self, "_channel", channel)
        object.__setattr__(self, "_number", number)
        object.__setattr__(self, "_kind", kind)
        object.__setattr__(self, "_made", None)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        return self._channel.request("call", (self, *args), kwargs, Call(repr(self), args, kwargs))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._channel.request("getattr", (self, name), {}, Call(f"{self!r}.{name}", (), {}))

    def __setattr__(self, name: str, value: object) -> None:
        self._channel.request("setattr", (self, name, value), {}, None)

    def __getitem__(self, key: object) -> Any:
        return self._channel.request("getitem", (self, key), {}, Call(f"{self!r}.__getitem__", (key,), {}))

    def __len__(self) -> int:
        length = self._channel.request("len", (self,), {}, Call("len", (self,), {}))
        if type(length) is not int or not 0 <= length <= sys.maxsize:
            raise BadReply("sent a length that is not a number")
        return length

    def __iter__(self) -> Iterator[Any]:
        iterator = self._channel.request("iter", (self,), {}, Call("iter", (self,), {}))
        while True:
            try:
                yield self._channel.request("next", (iterator,), {}, Call("next", (iterator,), {}))
            except SubmissionRaised as error:
                if isinstance(error, StopIteration):
                    return
                raise

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        """Whether both are the same handle; never asks the object."""
        return isinstance(other, Remote) and other._number == self._number

    def _is_no_value(self, *others: object) -> Any:
        raise AssertionError(f"returned {with_article(self._kind)} object where a plain value was expected")

    __bool__ = __int__ = __float__ = __complex__ = __index__ = __abs__ = __neg__ = __round__ = _is_no_value
    __lt__ = __le__ = __gt__ = __ge__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _is_no_value
    __truediv__ = __rtruediv__ = __floordiv__ = __mod__ = __pow__ = __matmul__ = __rmatmul__ = _is_no_value

    def __repr__(self) -> str:
        return f"<{self._kind}>"


class SubmissionProxy:
    """The proxy that a check gets as ``submission``: its attributes are the student's functions and classes."""

    def __init__(self, channel: Requests) -> None:
        self._channel = channel

    def __getattr__(self, name: str) -> RemoteFunction:
        if name.startswith("__"):
            raise AttributeError(name)
        return RemoteFunction(self._channel, name)

    def there(self, function: Callable[..., Any], *args: object, **kwargs: object) -> Any:
        """Runs a recipe or a probe in the student process.

        Args:
            function: a function of ``recipes``, ``probes``, ``devices`` or ``ranks`` of `grader.testkit`, or of the
                course's kit.
            args: values, handles, or functions of the submission.
        """
        shown = next((Call(arg._name, (), {}) for arg in args if isinstance(arg, RemoteFunction)), None)
        if shown is not None:
            shown.args = tuple(arg for arg in args if not isinstance(arg, RemoteFunction))
            shown.kwargs = kwargs
        result = self._channel.request("call", (function, *args), kwargs, shown)
        if shown is None and isinstance(result, Remote) and not any(isinstance(arg, Remote) for arg in args):
            note_maker(result, function, args, kwargs)
        return result

    def outside(self, function: Callable[..., Any], *args: object, **kwargs: object) -> Any:
        """Runs a recipe or a probe beside the submission, in a process that never imports it.

        It has the same work folder: you can read the files of a call there without trusting the submission's process.

        Args:
            function: as for `there`.
            args: plain values only; no handle or function of the submission is known over there.
        """
        return self._channel.request("call", (function, *args), kwargs, None, outside=True)


def class_name_of(handle: Remote) -> str:
    """The name of the class of the object that a handle belongs to, as the student process sent it."""
    name: str = handle._kind
    return name


def maker_of(handle: Remote) -> Call | None:
    """The recipe that made the object of a handle, with its arguments; None if the submission made it."""
    made: Call | None = handle._made
    return made


def note_maker(
    handle: Remote, function: Callable[..., Any], args: tuple[object, ...], kwargs: dict[str, object]
) -> None:
    """Keeps the recipe that made the object of a handle, so that messages can show a line that makes it again."""
    name = f"{function.__module__.removeprefix('grader.testkit.')}.{function.__name__}"
    object.__setattr__(handle, "_made", Call(name, args, kwargs))


def call_of(function: RemoteFunction, args: tuple[object, ...], kwargs: dict[str, object]) -> Call:
    """A call of a function, for messages; `Channel.request` fills in its result."""
    return Call(function._name, args, kwargs)
