"""Proxies, which a check holds in place of submitted code: they turn every use into one message.

Nothing here runs submitted code. The `Channel` decides the result of a use.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from grader.border.failures import BadReply, UnwrittenValue
from grader.text import with_article

if TYPE_CHECKING:
    from grader.border.channel import Channel

MOST_DRAWN: Final = 100_000
"""Items of an iterator: of one that a check passes, and of an object of the submission in one loop."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """The items of a generator, or another iterator, that a check passes: over there it is a generator again."""

    items: tuple[object, ...]


def is_iterator(value: object) -> bool:
    """Whether it is an iterator of the check's own that can be drawn here; a file is not."""
    return isinstance(value, Iterator) and not isinstance(value, FarObject | io.IOBase)


def drawn(value: object) -> object:
    """The items of an iterator; anything else as it is.

    Raises:
        TypeError: it has too many.
    """
    if not is_iterator(value):
        return value
    items = tuple(itertools.islice(value, MOST_DRAWN + 1))  # type: ignore[call-overload]
    if len(items) > MOST_DRAWN:
        raise TypeError(f"a check passes an iterator of more than {MOST_DRAWN} items: take some by itertools.islice")
    return Drawn(items)


@dataclass(eq=False, slots=True)
class Call:
    """One use of the submission, for messages: the function, its arguments and its result.

    Attributes:
        name: of the function, or of the attribute that is read.
        owner: the object of the submission whose attribute is read, that is called (no name), or whose item is asked
            for (``[]`` as the name); None for a function by its name.
        is_read: whether it reads an attribute or a variable, and calls nothing.
        line: the line as it was written, of an example in a docstring; else empty.
        probe: the recipe or probe that is run over there, if it is one.
    """

    name: str
    args: tuple[object, ...]
    kwargs: dict[str, object]
    owner: FarObject | RemoteFunction | None = None
    is_read: bool = False
    result: object = None
    answered: bool = False
    line: str = ""
    probe: Callable[..., Any] | None = None


class RemoteFunction:
    """A function or class of the submission, by name; the submission is not asked for it before it is called."""

    def __init__(self, channel: Channel, name: str) -> None:
        self._channel = channel
        self._name = name

    def __call__(self, /, *args: object, **kwargs: object) -> Any:
        call = call_of(self, args, kwargs)
        return _made_by(call, self._channel, "call", self, *call.args)

    def __getattr__(self, name: str) -> Any:
        return _attribute(self, name)

    def __repr__(self) -> str:
        return self._name


class FarObject:
    """An object that stays in the student process, by its number there."""

    __slots__ = ("_channel", "_kind", "_made", "_number")
    _channel: Channel
    _kind: str
    _made: Call | None
    _number: int

    def __init__(self, channel: Channel, number: int, kind: str) -> None:
        put = object.__setattr__  # a subclass has its own
        put(self, "_channel", channel)
        put(self, "_kind", kind)
        put(self, "_made", None)
        put(self, "_number", number)

    def __repr__(self) -> str:
        return f"<{self._kind}>"


class Remote(FarObject):
    """A handle: an object that stays in the student process. Every use of it is a call in that process."""

    __slots__ = ()

    def __call__(self, /, *args: object, **kwargs: object) -> Any:
        call = call_of(self, args, kwargs)
        return _made_by(call, self._channel, "call", self, *call.args)

    def __getattr__(self, name: str) -> Any:
        return _attribute(self, name)

    def __setattr__(self, name: str, value: object) -> None:
        self._channel.request("setattr", (self, name, value), {}, None)

    def __getitem__(self, key: object) -> Any:
        return _made_by(Call("[]", (key,), {}, self), self._channel, "getitem", self, key)

    def __len__(self) -> int:
        length = self._channel.request("len", (self,), {}, Call("len", (self,), {}))
        if type(length) is not int or not 0 <= length <= sys.maxsize:
            raise BadReply("sent a length that is not a number")
        return length

    def __iter__(self) -> Iterator[Any]:
        iterator = self._channel.request("iter", (self,), {}, Call("iter", (self,), {}))
        with contextlib.suppress(StopIteration):  # as the submission raised it
            for _ in range(MOST_DRAWN):
                yield self._channel.request("next", (iterator,), {}, Call("list", (self,), {}))
            raise BadReply(f"gave more than {MOST_DRAWN} items, and no end")

    def __next__(self) -> Any:
        return self._channel.request("next", (self,), {}, Call("next", (self,), {}))

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        """Whether both are the same handle; never asks the object.

        Raises:
            AssertionError: the other is a value, which only a value can be equal to.
        """
        if isinstance(other, FarObject):
            return bool(other._number == self._number)
        return False if other is None else bool(self._is_no_value())

    def _is_no_value(self, *others: object) -> Any:
        raise AssertionError(f"returned {with_article(self._kind)} object where a plain value was expected")

    __bool__ = __int__ = __float__ = __complex__ = __index__ = __abs__ = __neg__ = __round__ = _is_no_value
    __lt__ = __le__ = __gt__ = __ge__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _is_no_value
    __truediv__ = __rtruediv__ = __floordiv__ = __mod__ = __pow__ = __matmul__ = __rmatmul__ = _is_no_value
    __rfloordiv__ = __rmod__ = __rpow__ = __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _is_no_value
    __pos__ = __invert__ = _is_no_value


class SubmissionProxy:
    """The proxy that a check gets as ``submission``: its attributes are the student's functions and classes.

    A name that the stub gives a value is read over there, each time: it is a value here, or a handle.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        named = RemoteFunction(self._channel, name)
        if name not in self._channel.variables:
            return named
        value = _made_by(Call(name, (), {}, is_read=True), self._channel, "value", named)
        if value is ... or (isinstance(value, Remote) and value._kind == "ellipsis"):
            raise UnwrittenValue(name)
        return value

    def __repr__(self) -> str:
        return "submission"

    def there(self, function: Callable[..., Any], *args: object, **kwargs: object) -> Any:
        """Runs a recipe or a probe in the student process.

        Args:
            function: a function of ``recipes``, ``probes``, ``devices`` or ``ranks`` of `grader.testkit`, or of the
                course's kit.
            args: values, handles, or functions of the submission.
        """
        made = Call(f"{function.__module__.removeprefix('grader.testkit.')}.{function.__name__}", args, kwargs)
        made.probe = function
        is_shown = any(isinstance(arg, RemoteFunction) for arg in args)
        self._channel.cases.make(function, args, kwargs)
        return _made_by(made, self._channel, "call", function, *args, is_shown=is_shown)

    def outside(self, function: Callable[..., Any], *args: object, **kwargs: object) -> Any:
        """Runs a recipe or a probe beside the submission, in a process that never imports it.

        It has the same work folder: you can read the files of a call there without trusting the submission's process.

        Args:
            function: as for `there`.
            args: plain values only; no handle or function of the submission is known over there.
        """
        return self._channel.request("call", (function, *args), kwargs, None, outside=True)


def _attribute(owner: RemoteFunction | Remote, name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return _made_by(Call(name, (), {}, owner, is_read=True), owner._channel, "getattr", owner, name)


def class_name_of(handle: FarObject) -> str:
    """The name of the class of the object that a handle belongs to, as the student process sent it."""
    name: str = handle._kind
    return name


def maker_of(handle: FarObject) -> Call | None:
    """The call that made the object of a handle; None if it came in another way, such as out of a loader."""
    made: Call | None = handle._made
    return made


def _made_by(made: Call, channel: Channel, operation: str, *args: object, is_shown: bool = True) -> Any:
    """The result of a request; an object keeps what made it, so that messages can show a line that makes it again."""
    result = channel.request(operation, args, made.kwargs, made if is_shown else None)
    if isinstance(result, FarObject) and result._made is None:
        object.__setattr__(result, "_made", made)
    return result


def call_of(function: RemoteFunction | Remote, args: tuple[object, ...], kwargs: dict[str, object]) -> Call:
    """A call of a function or of an object, for messages; `Channel.request` fills in its result."""
    args, kwargs = tuple(map(drawn, args)), {name: drawn(value) for name, value in kwargs.items()}
    return Call("", args, kwargs, function) if isinstance(function, Remote) else Call(function._name, args, kwargs)
