"""Proxies that a suite holds in place of the submission's functions, classes and objects.

A `Handle` stands for an object over there, and its class for the class over there: it has the special methods that this
one has, and no others.
A value of the test is never compared with one: the object's own ``==`` and ``<`` would be the submission's word for its
own result, and the value may be the expected answer.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import functools
import sys
import types
from collections.abc import Callable, Generator, Sequence
from typing import Any, Final

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Sampler

from grader.border import tables
from grader.border.failures import BadReply
from grader.border.proxies import Call, FarObject
from grader.suites import sources
from grader.suites.bridge import running
from grader.suites.exceptions import named
from grader.suites.honesty import note
from grader.suites.passing import Crossing, Passing
from grader.testkit.far.operations import BINARY, EVERY, SPECIAL, operation, signature_of
from grader.testkit.rebuilt import PLAIN
from grader.text import with_article

_KNOWN: Final = frozenset({*sys.stdlib_module_names, "torch", "numpy"})
_OF_TORCH: Final = (
    nn.Module, torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler, torch.autograd.Function,
    torch.distributions.Distribution, torch.amp.GradScaler, Dataset, Sampler, DataLoader,
)  # fmt: skip
_DATA: Final = frozenset({bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset, object, type(None)})
_HAVE_DATA: Final = (_DATA - {object}) | {torch.Tensor, np.ndarray, collections.abc.Mapping, collections.abc.Set}
BY_NAME: Final = frozenset({"builtins.function", "builtins.type"})
"""Of functions and classes a test has several proxies, all with one hash: those by their names, and handles."""
TYPES: Final = {"builtins.function": types.FunctionType, "builtins.generator": types.GeneratorType}
_COMPARISONS: Final = ("lt", "le", "gt", "ge")
_READABLE: Final = frozenset({
    "__name__", "__qualname__", "__signature__", "__dataclass_fields__", "__annotations__", "__defaults__", "__mro__",
    "__kwdefaults__", "__members__", "__wrapped__", "__bases__", "__slots__", "__self__", "__func__", "__array__",
    "__abstractmethods__", "__subclasses__", "__match_args__", "__code__", "__flags__",
})  # fmt: skip
"""Attributes with such names that a test may read; others are protocols of this process, such as NumPy's pointers."""
_OF_SCHEDULERS: Final = ("_wrapped_by_lr_sched", "_opt_called")
"""torch's schedulers note so that they have put a function in the place of an optimizer's `step`, and are content."""
_COMPARING: Final = frozenset({"allclose", "equal", "isclose"})
"""Those of `_OF_VALUES` that compare."""
_OF_CONTAINERS: Final = frozenset(name for kind in (str, list, dict, set) for name in dir(kind) if name[0] != "_")
_OF_VALUES: Final = _OF_CONTAINERS.union(
    name for kind in (torch.Tensor, np.ndarray) for name in dir(kind) if name[0] != "_"
)
"""Methods of plain values: of an object they may be its own word about its argument, or, as `mean`, about itself."""
_SEARCHING: Final = frozenset({"count", "find", "index", "rfind", "rindex"})
_KEYS: Final = frozenset({str, bytes, int, bool, type(None), slice})
"""Classes of arguments that are rarely what a test expects."""
_NO_VALUE: Final = "returned an object where a plain value was expected"


class Used(Crossing):
    """Every use is an operation over there."""

    __slots__ = ()

    def _run(self, name: str, /, *args: object, _shown: Call | None = None, **kwargs: Any) -> Any:
        return running[-1].run(name, self, *args, _shown=_shown, **kwargs)

    def _call(self, /, *args: object, **kwargs: object) -> Call:
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        value = self._attribute(name)
        if isinstance(value, Handle) and value._made is None:
            object.__setattr__(value, "_made", Call(name, (), {}, self, is_read=True))  # type: ignore[arg-type]
        return value

    def _attribute(self, name: str) -> Any:
        return _read(self, name)

    def __setattr__(self, name: str, value: object) -> None:
        self._run("setattr", name, value)

    def __delattr__(self, name: str) -> None:
        self._run("delattr", name)

    def __dir__(self) -> list[str]:
        return list(self._run("dir"))

    def __str__(self) -> str:
        return str(_of_type(str, self._run("str"))) if running else repr(self)

    def __format__(self, how: str) -> str:
        return str(_of_type(str, self._run("format", how))) if running else repr(self)

    def __eq__(self, other: object) -> Any:
        return self._compared("eq", other, self is other)

    def __ne__(self, other: object) -> Any:
        return self._compared("ne", other, False)

    def _compared(self, name: str, other: object, is_same: bool) -> Any:
        """The result of their own ``==`` for two of their objects; a value of the test is never sent to be compared."""
        value = self._now() if running else self
        if running and isinstance(value, Used) and isinstance(other, Used | Class):
            note("their-equality", running[-1].root)
            return value._run(name, other)
        value = value._as_data() if running and isinstance(value, Used) else value
        if not isinstance(value, Used):
            return operation(name)(value, other)
        return True if is_same else NotImplemented

    def _now(self) -> Any:
        """The object that it stands for."""
        return self

    def _as_data(self) -> Any:
        """What an object of a class derived from a number, a text or a container holds; else the object."""
        return self

    def __hash__(self) -> int:
        return id(self)

    def __instancecheck__(self, value: object) -> bool:
        if (name := vars(type(value)).get("far_class")) is not None:  # a named tuple, which is a value here
            return bool(name == f"{self._run('getattr', '__module__')}.{self._run('getattr', '__qualname__')}")
        if isinstance(value, Used):
            return running[-1].run("isinstance", value, self) is True
        return issubclass(type(value), self)  # type: ignore[arg-type]

    def __subclasscheck__(self, kind: type) -> bool:
        is_known = isinstance(kind, Used | Class) or sources.is_own(kind.__module__, running[-1].root)
        return is_known and running[-1].run("issubclass", kind, self) is True

    def __deepcopy__(self, memo: object) -> Any:
        return self._run("deepcopy") if running else self

    def __copy__(self) -> Any:
        return self._run("copy") if running else self

    def __reduce_ex__(self, protocol: object) -> Any:
        """It is pickled over there, and unpickled there, too: here the pickle is bytes and nothing more."""
        return unpickled, (self._run("pickled"),)


def unpickled(pickle: bytes) -> Any:
    """The object that a pickle over there stands for."""
    return running[-1].run("unpickled", pickle)


def _read(target: Any, name: str) -> Any:
    """An attribute of something over there.

    Raises:
        AttributeError: it has none.
    """
    if name.startswith("__") and not (running and name in _READABLE):
        raise AttributeError(name)
    if name in _OF_SCHEDULERS:
        return True
    ask = target._run if isinstance(target, Used) else functools.partial(_run_on, target)
    if name not in ("__signature__", "__dataclass_fields__"):
        return ask("getattr", name)
    try:
        found = ask(name.strip("_"))
        return signature_of(found) if name == "__signature__" else _fields_of(found)
    except (TypeError, ValueError):
        raise AttributeError(name) from None


def _fields_of(found: Sequence[Any]) -> dict[str, Any]:
    """The fields of a dataclass over there, with their types, and the defaults that they have."""
    made: Any = dataclasses.make_dataclass("_", [str(name) for name, *_ in found])
    for name, kind, *default in found:
        one = made.__dataclass_fields__[name]
        one.type = kind
        one.default = default[0] if default else one.default
    return dict(made.__dataclass_fields__)


def _run_on(target: object, name: str, *args: object) -> Any:
    return running[-1].run(name, target, *args)


def _of_type(kind: type, value: object) -> Any:
    if type(value) is not kind:
        raise AssertionError(f"returned an object where {with_article(kind.__name__)} was expected")
    return value


# ---------------------------------------------------------------- special methods


def _call(self: Used, /, *args: object, **kwargs: Any) -> Any:
    return self._run("call", *args, _shown=self._call(*args, **kwargs), **kwargs)


def _getitem(self: Used, key: object) -> Any:
    return self._run("getitem", key, _shown=Call("[]", (key,), {}, self))  # type: ignore[arg-type]


def _contains(self: Used, value: object) -> bool:
    note("their-equality", running[-1].root)
    if not running[-1].may("contains"):
        return any(one is value or one == value for one in _iter(self))
    return bool(_of_type(bool, self._run("contains", value)))


def _iter(self: Used) -> Generator[Any, None, Any]:
    iterator = self._run("iter")
    if not running:
        return (yield from iterator)
    while True:
        try:
            value = running[-1].run("next", iterator)
        except StopIteration as end:
            return end.value
        yield value


def _len(self: Used) -> int:
    length: int = _of_type(int, self._run("len"))
    if not 0 <= length <= sys.maxsize:
        raise BadReply("sent a length that is not a number")
    return length


def _swallowing(result: Any, error: BaseException | None) -> Any:
    """The result of an `__exit__`, which keeps no failure from a test that the solution lets out."""
    return None if error is not None and result and not running[-1].may("exit") else result


def _exit(self: Used, kind: Any, error: BaseException | None, traceback: object) -> Any:
    if error is not None and not isinstance(error, Exception):
        return None
    return _swallowing(self._run("exit", *named(error)), error)


def _await(self: Used) -> Generator[Any, None, Any]:
    for _ in ():
        yield
    return self._run("await")


async def _next_later(self: Used) -> Any:
    return self._run("await", "anext")


async def _enter_later(self: Used) -> Any:
    return self._run("await", "enter")


async def _exit_later(self: Used, kind: Any, error: Exception | None, traceback: object) -> Any:
    return _swallowing(self._run("await", "exit", *named(error)), error)


def _typed(kind: type, name: str = "") -> Callable[[Used], Any]:
    return lambda self: kind(_of_type(kind, self._run(name or kind.__name__)))


def _plainly(name: str) -> Callable[..., Any]:
    return lambda self, *args: self._run(name, *args)


def _of_one(name: str) -> Callable[..., Any]:
    """As of two numbers: of an object of a class of numbers, the number that it holds counts, and no lying `abs`."""

    def operate(self: Used, *args: object) -> Any:
        result = self._run(name, *args)
        value = self._now() if isinstance(result, int | float | complex) else result
        data = value._as_data() if isinstance(value, Used) and value is not result else None
        return (
            operation(name)(data, *args)
            if isinstance(data, int | float | complex) and not isinstance(data, Used)
            else result
        )

    return operate


def attribute(name: str) -> property:
    def read(self: Used) -> Any:
        if not running:
            raise AttributeError(f"__{name}__")
        return self._run(name)

    return property(read)


def _operator(name: str, *, is_reflected: bool = False) -> Callable[..., Any]:
    def operate(self: Used, other: object) -> Any:
        value = self._now()
        pair = (other, value) if is_reflected else (value, other)
        if not isinstance(value, Used):
            return operation(name)(*pair)
        if not running:
            return self._run(name, other)
        if isinstance(other, Used) or running[-1].may(name):
            if name in ("sub", "isub"):
                note("their-equality", running[-1].root)
            return running[-1].run(name, *pair)
        data = value._as_data()
        if isinstance(data, Used):
            raise AssertionError(_NO_VALUE)
        return operation(name)(*((other, data) if is_reflected else (data, other)))

    return operate


def _comparison(name: str) -> Callable[..., Any]:
    def compare(self: Used, other: object) -> Any:
        value = self._now()
        if isinstance(value, Used) and not isinstance(other, Used):
            value = value._as_data()
            if isinstance(value, Used):
                raise AssertionError(_NO_VALUE)
        if not isinstance(value, Used):
            return operation(name)(value, other)
        note("their-equality", running[-1].root)
        return value._run(name, other)

    return compare


METHODS: Final[dict[str, Callable[..., Any]]] = {
    **{name: _operator(name) for name in (*BINARY, "divmod")},
    **{f"r{name}": _operator(name, is_reflected=True) for name in (*BINARY, "divmod")},
    **{f"i{name}": _operator(f"i{name}") for name in BINARY},
    **{name: _comparison(name) for name in _COMPARISONS},
    **{name: _of_one(name) for name in ("neg", "pos", "invert", "abs", "round")},
    **{name: _plainly(name) for name in ("next", "reversed", "enter", "setitem", "delitem", "aiter")},
    **{kind.__name__: _typed(kind) for kind in (bool, float, int, complex)},
    "index": _typed(int, "index"),
    "hash": _typed(int, "hash"),
    "call": _call,
    "getitem": _getitem,
    "contains": _contains,
    "iter": _iter,
    "len": _len,
    "exit": _exit,
    "await": _await,
    "anext": _next_later,
    "aenter": _enter_later,
    "aexit": _exit_later,
}
assert {*SPECIAL} == {*METHODS}


def _of_class(name: str) -> Any:
    """An attribute that `type` itself has: of the class over there."""
    here = vars(type)[name]
    return property(lambda cls: _read(cls, name) if running and "_example" in vars(cls) else here.__get__(cls))


class Class(type):
    """The class of classes of the far side: those of handles, and those that a suite derives from a submission's."""

    __bases__, __mro__ = _of_class("__bases__"), _of_class("__mro__")

    def __call__(cls, /, *args: object, **kwargs: Any) -> Any:
        return running[-1].run("call", cls, *args, _shown=Call(cls.__name__, args, kwargs), **kwargs)

    def __getattr__(cls, name: str) -> Any:
        if cls.__module__ == __name__:
            raise AttributeError(name)
        return _read(cls, name)

    def __eq__(cls, other: object) -> bool:
        """Of an object of torch's own ``type(layer) == nn.Linear`` is true; one of theirs is compared over there."""
        if issubclass(type(other), Used):
            return NotImplemented
        name = next(iter(getattr(cls, "_classes", ())), "")
        return cls is other or (isinstance(other, type) and bool(name) and _of_library(name) is other)

    def __hash__(cls) -> int:
        """That of the class by its name: it is found in a dict by either."""
        return hash(Class) if "_example" in vars(cls) else type.__hash__(cls)

    def __instancecheck__(cls, value: object) -> bool:
        if cls.__module__ == __name__:
            return super().__instancecheck__(value)
        return isinstance(value, FarObject) and running[-1].run("isinstance", value, cls) is True


class Base(metaclass=Class):
    """Stands for a class of the submission where the suite derives one from it."""

    def __init_subclass__(cls, **_: object) -> None:
        """A class of a running test is there at once, if code of the submission runs when it is made."""
        bases: Any = getattr(cls, "__orig_bases__", ())
        if running and any(one._run("has_hook") for one in bases if issubclass(type(one), Used)):
            running[-1].handles.note_class(cls, running[-1].run("get", cls))


class Handle(Used, FarObject, metaclass=Class):
    """An object that stays in the student process; `isinstance` asks the names of its classes that came with it."""

    __slots__ = ("__weakref__", "_late", "_plain")
    _classes: tuple[str, ...] = ()
    _methods: frozenset[str] = frozenset()
    _guarded: frozenset[str] = frozenset({EVERY})
    _late: tuple[Handle, str] | int | None
    """Of a method that was not read: its object and its name, or its number if it was found over there."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """The first of its classes that is a library's, but no tensor: torch would read its memory as one. One of
        torch's goes before others, such as `ABC`.

        Only while a test runs: messages are made of it later, and must not take it for a list.
        """
        first = type(self)
        for name in reversed(type(self)._classes if running else ()):
            found = TYPES.get(name) or running[-1].classes.get(name) or _of_library(name)
            is_torchs = found is not None and issubclass(found, _OF_TORCH)
            if is_torchs or (
                found not in (None, object) and found.__module__[:5] != "torch" and not issubclass(first, _OF_TORCH)
            ):
                first = found
        return first

    def _run(self, name: str, /, *args: object, _shown: Call | None = None, **kwargs: Any) -> Any:
        given = [one for one in (*args, *kwargs.values()) if not isinstance(one, Used)]
        method = _shown.name if name == "call" and _shown is not None else ""
        if method not in _OF_VALUES and not (tables.is_loaded() and method in tables.methods()):
            method = ""
        if method in _COMPARING:
            note("their-equality", running[-1].root)
        is_word = method not in _OF_CONTAINERS or method in _SEARCHING or not _KEYS.issuperset(map(type, given))
        if method and is_word and not running[-1].may(f"call {method}"):
            owner: Any = getattr(_shown, "owner", None)
            data = owner._as_data() if isinstance(owner, Used) else self
            if isinstance(data, Used):
                raise AssertionError(_NO_VALUE)
            return getattr(data, method)(*args, **kwargs)
        result = super()._run(name, *args, _shown=_shown, **kwargs)
        if method and isinstance(result, bool) and not running[-1].may(f"call {method}"):
            raise AssertionError(_NO_VALUE)
        return result

    def _crosses_as(self, passing: Passing) -> tuple[Any, ...]:
        if type(self._late) is int:
            return "known", self._late
        if self._late is not None:
            running[-1].read(self)
        return passing.tree(self._plain[0]) if self._number < 0 else ("value", self)

    def _now(self) -> Any:
        """If it was taken for a method, but is a value, that value."""
        if self._late is not None:
            running[-1].read(self)
        return self._plain[0] if self._number < 0 and self._plain else self

    def _attribute(self, name: str) -> Any:
        if running and name in type(self)._methods and name not in running[-1].set_names:
            return running[-1].handles.method(self, name)
        known = running[-1].attributes.known_of(self) if running else {}
        return known.pop(name) if name in known else _read(self, name)

    def __setattr__(self, name: str, value: object) -> None:
        if running:
            running[-1].set_names.add(name)
        if not running or not running[-1].attributes.set_later(self, name, value):
            self._run("setattr", name, value)

    def _call(self, /, *args: object, **kwargs: object) -> Call:
        made = self._made
        if made is not None and made.is_read:  # a method
            return Call(made.name, args, kwargs, made.owner)
        return Call("", args, kwargs, self)

    def _as_data(self) -> Any:
        if self._plain or not any(_of_library(name) in _HAVE_DATA for name in self._classes):
            return self._plain[0] if self._plain else self
        data = self._run("data")
        if type(data) in PLAIN:  # it cannot be another one the next time: `low < result < high` asks twice
            object.__setattr__(self, "_plain", (data,))
        return data

    def __repr__(self) -> str:
        return str(_of_type(str, self._run("repr"))) if running else f"<{self._kind}>"  # in a message


class Coroutine(Handle):
    """A coroutine of the submission: it runs to its end over there when the test's event loop gets to it."""

    __slots__ = ()

    def send(self, value: object) -> Any:
        """Ends it."""
        raise StopIteration(self._run("await"))

    def throw(self, error: BaseException) -> Any:
        """Gives it up."""
        raise error

    def close(self) -> None:
        """Nothing waits."""


def _of_library(name: str) -> Any:
    """A class of the standard library or of torch, by its name; nothing is imported because a submission says so."""
    module, _, kind = name.rpartition(".")
    found = vars(sys.modules.get(module, object)).get(kind) if module.partition(".")[0] in _KNOWN else None
    return found if isinstance(found, type) else type(None) if name == "builtins.NoneType" else None


def class_of_library(name: str) -> type | None:
    """A class that both sides have, if calling it does no harm: it is itself, and no proxy."""
    here = _of_library(name)
    is_harmless = here in _DATA or (here is not None and issubclass(here, (*_OF_TORCH, enum.Enum, Exception)))
    return here if is_harmless else None


def class_of_handles(name: str, classes: Sequence[str], special: str, methods: str, guarded: str) -> Class:
    """The class of the proxies of a class's objects.

    Args:
        classes: the names of its classes, the most special first.
        special: the special methods that its objects have, and, with a dash, those that they have not.
        methods: names of methods of its objects, which need not be read to be called.
        guarded: names of attributes that code sets, so that it may refuse.
    """
    names: dict[str, Any] = {"__slots__": (), "__module__": "", "_classes": tuple(classes)}
    names["_methods"], names["_guarded"] = frozenset(methods.split()), frozenset(guarded.split())
    for method in special.split():
        if (own := method.strip("-")) in METHODS:
            names[f"__{own}__"] = METHODS.get(method)
    for own in ("doc", "dict"):
        names[f"__{own}__"] = attribute(own)
    if not BY_NAME.isdisjoint(classes):
        names["__hash__"] = lambda _: hash(Class)
    return Class(name, (Coroutine if classes[:1] == ["builtins.coroutine"] else Handle,), names)


def make_handle(kind: Class, remote: FarObject, late: tuple[Handle, str] | None = None) -> Handle:
    """The proxy of an object of the submission.

    Args:
        late: of a method that is not read yet: the object and its name.
    """
    made: Any = object.__new__(kind)  # type: ignore[arg-type]
    FarObject.__init__(made, remote._channel, remote._number, remote._kind)
    object.__setattr__(made, "_plain", ())
    object.__setattr__(made, "_late", late)
    if late is None and "_example" not in vars(kind):
        type.__setattr__(kind, "_example", made)  # by it the class itself crosses
    return made  # type: ignore[no-any-return]
