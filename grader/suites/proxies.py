"""Proxies: a suite's tests hold them in place of the submission's functions, classes and objects.

A `Deferred` stands for something in a module of the submission: which submission is decided when it is used. A `Handle`
stands for an object over there. A value of the test is never compared with one: the object's own ``==`` and ``<`` would
be the submission's word for its own result, and the value may be the expected answer.
"""

from __future__ import annotations

import contextlib
import operator
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Sampler

from grader.border.failures import BadReply
from grader.border.proxies import Call, Remote
from grader.suites.bridge import running
from grader.suites.honesty import note
from grader.suites.passing import Crossing, Passing
from grader.text import with_article

_KNOWN: Final = frozenset({*sys.stdlib_module_names, "torch"})
_OF_TORCH: Final = (nn.Module, torch.optim.Optimizer, Dataset, Sampler, DataLoader)
_OPERATORS: Final = tuple(
    ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor", "lshift", "rshift"]
)
_COMPARISONS: Final = ["lt", "le", "gt", "ge"]


asked_while_collecting: Final[list[Callable[..., Any]]] = []
"""Answers operations where there is no submission yet: `grader.suites.collecting`."""
_COMPARING: Final = frozenset({"allclose", "equal", "equals", "isclose", "array_equal"})
"""Methods by which tensors and arrays are compared: of an object they would be its own word."""
_NO_NUMBERS: Final = frozenset({"eq", "ne", *_COMPARISONS, "contains", "str", "repr"})
_NO_VALUE: Final = "returned an object where a plain value was expected"


class _Used(Crossing):
    """Every use is an operation over there."""

    def _run(self, operation: str, *args: object, shown: Call | None = None, **kwargs: object) -> Any:
        return running[-1].run(operation, self, *args, shown=shown, **kwargs)

    def _call(self, *args: object, **kwargs: object) -> Call:
        raise NotImplementedError

    def __call__(self, *args: object, **kwargs: object) -> Any:
        return self._run("call", *args, shown=self._call(*args, **kwargs), **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__name__":
            raise AttributeError(name)
        return _made(self._run("getattr", name), Call(name, (), {}, self, is_read=True))  # type: ignore[arg-type]

    def __getitem__(self, key: object) -> Any:
        return self._run("getitem", key, shown=Call("[]", (key,), {}, self))  # type: ignore[arg-type]

    def __setitem__(self, key: object, value: object) -> None:
        self._run("setitem", key, value)

    def __delitem__(self, key: object) -> None:
        self._run("delitem", key)

    def __contains__(self, value: object) -> bool:
        note("their-equality", running[-1].root)
        return bool(self._value(bool, self._run("contains", value)))

    def __iter__(self) -> Iterator[Any]:
        iterator = self._run("iter")
        if not running:
            yield from iterator
            return
        with contextlib.suppress(StopIteration):
            while True:
                yield running[-1].run("next", iterator)

    def __next__(self) -> Any:
        return self._run("next")

    def __enter__(self) -> Any:
        return self._run("method", "__enter__")

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        """Whether they keep the exception back: never one that is the test's own word."""
        may_see = isinstance(error, Exception) and not isinstance(error, AssertionError)
        return self._run("leave", error if may_see else None) is True and may_see

    def __len__(self) -> int:
        length: int = self._value(int, self._run("len"))
        if not 0 <= length <= sys.maxsize:
            raise BadReply("sent a length that is not a number")
        return length

    def _value(self, kind: type, value: object) -> Any:
        if type(value) is not kind:
            raise AssertionError(f"returned an object where {with_article(kind.__name__)} was expected")
        return value

    def __float__(self) -> float:
        return float(self._value(float, self._run("float")))

    def __int__(self) -> int:
        return int(self._value(int, self._run("int")))

    def __index__(self) -> int:
        return int(self._value(int, self._run("index")))

    def __str__(self) -> str:
        return str(self._value(str, self._run("str"))) if running else repr(self)

    def __eq__(self, other: object) -> Any:
        return self._compared("eq", other, self is other)

    def __ne__(self, other: object) -> Any:
        return self._compared("ne", other, False)

    def _compared(self, operation: str, other: object, is_same: bool) -> Any:
        """The result of their own ``==`` for two of their objects; a value of the test is never sent to be compared."""
        value = self._now() if running else self
        if not isinstance(value, _Used):
            return getattr(operator, operation)(value, other)
        if running and isinstance(other, _Used):
            note("their-equality", running[-1].root)
            return value._run(operation, other)
        return True if is_same else NotImplemented

    def _now(self) -> Any:
        """The object that it stands for."""
        return self

    def __hash__(self) -> int:
        return id(self)

    def __deepcopy__(self, memo: object) -> Any:
        return self._run("deepcopy") if running else self

    def __copy__(self) -> Any:
        return self._run("copy") if running else self


def _operator(name: str, *, is_reflected: bool = False) -> Callable[..., Any]:
    def operate(self: _Used, other: object) -> Any:
        value = self._now()
        pair = (other, value) if is_reflected else (value, other)
        if not isinstance(value, _Used):
            return getattr(operator, name)(*pair)
        result = running[-1].run(name, *pair) if running else self._run(name, other)
        # Else a lying difference would be the word about an expected value.
        if not isinstance(other, _Used):
            if not isinstance(result, _Used):
                raise AssertionError(_NO_VALUE)
            if isinstance(result, Handle) and name == "sub":
                object.__setattr__(
                    result, "_differs", "by a number" if isinstance(other, int | float) else "by a value"
                )
        return result

    return operate


def _comparison(name: str) -> Callable[..., Any]:
    def compare(self: _Used, other: object) -> Any:
        value = self._now()
        if not isinstance(value, _Used):
            return getattr(operator, name)(value, other)
        if not isinstance(other, _Used):
            raise AssertionError(_NO_VALUE)
        note("their-equality", running[-1].root)
        return value._run(name, other)

    return compare


def _unary(name: str) -> Callable[..., Any]:
    return lambda self: self._run(name)


for _name in _OPERATORS:
    setattr(_Used, f"__{_name.strip('_')}__", _operator(_name))
    setattr(_Used, f"__r{_name.strip('_')}__", _operator(_name, is_reflected=True))
for _name in _COMPARISONS:
    setattr(_Used, f"__{_name}__", _comparison(_name))
for _name in ("neg", "pos", "invert", "abs", "round"):
    setattr(_Used, f"__{_name}__", _unary(_name))


class Handle(_Used, Remote):  # type: ignore[misc]
    """An object that stays in the student process; `isinstance` asks the names of its classes that came with it.

    What was subtracted from a value of the test, or the other way round, is a *difference*, and so is every object that
    comes of it. It is never a number by a call, `abs` or `float`: that would be the student's word for how near the
    result is. A test of a class of numbers reads the attribute that holds the number; that place is listed.
    """

    __slots__ = ("_classes", "_differs")

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """The first of its classes that is a library's, but no tensor: torch would read its memory as one."""
        for name in object.__getattribute__(self, "_classes"):
            module, _, kind = name.rpartition(".")
            if name == "builtins.generator":
                return types.GeneratorType
            if module.partition(".")[0] in _KNOWN:
                found = vars(sys.modules.get(module, object)).get(kind)  # nothing is imported because they say so
                if isinstance(found, type) and (module.partition(".")[0] != "torch" or issubclass(found, _OF_TORCH)):
                    return found
        return Handle

    def _run(self, operation: str, *args: object, shown: Call | None = None, **kwargs: object) -> Any:
        if operation == "call" and shown is not None and shown.name in _COMPARING:
            if any(isinstance(one, torch.Tensor | np.ndarray) for one in args):
                raise AssertionError(_NO_VALUE)
            note("their-equality", running[-1].root)
        result = super()._run(operation, *args, shown=shown, **kwargs)
        if self._differs and operation not in _NO_NUMBERS:
            if operation in ("len", "iter") and self._differs == "by a value":
                raise AssertionError(_NO_VALUE)
            if isinstance(result, Handle):
                object.__setattr__(result, "_differs", self._differs)
            elif operation in ("getattr", "len"):
                note("their-equality", running[-1].root)
            elif result is not None:
                raise AssertionError(_NO_VALUE)
        return result

    def crosses_as(self, passing: Passing) -> tuple[Any, ...]:
        return "value", Remote(self._channel, self._number, self._kind)

    def _call(self, *args: object, **kwargs: object) -> Call:
        made = self._made
        if made is not None and made.is_read:  # a method
            return Call(made.name, args, kwargs, made.owner)
        return Call("", args, kwargs, self)

    def __setattr__(self, name: str, value: object) -> None:
        self._run("setattr", name, value)

    def __delattr__(self, name: str) -> None:
        self._run("delattr", name)

    def __bool__(self) -> bool:  # type: ignore[override]
        note("their-equality", running[-1].root)
        return bool(self._value(bool, self._run("bool")))

    def __repr__(self) -> str:
        if not running:  # in a message
            return f"<{self._kind}>"
        return str(self._value(str, self._run("repr")))

    def __format__(self, how: str) -> str:
        return repr(self)  # of a number's class, too, it is not one

    __hash__ = _Used.__hash__  # type: ignore[assignment]


def make_handle(remote: Remote, classes: Sequence[str]) -> Handle:
    """The proxy of an object of the submission."""
    made = Handle(remote._channel, remote._number, remote._kind)
    object.__setattr__(made, "_classes", tuple(classes))
    object.__setattr__(made, "_differs", "")
    return made


def _made(value: Any, by: Call) -> Any:
    if isinstance(value, Handle) and value._made is None:
        object.__setattr__(value, "_made", by)
    return value


class Deferred(_Used):
    """Something in a module of the submission, by its name there, or made of that while the suite was collected.

    Args:
        module: the module's name on the far side.
        names: of attributes, from the module on.
        made_by: how it is made: an operation, something of the submission, and the arguments.
    """

    def __init__(self, module: str, names: tuple[str, ...], made_by: tuple[Any, ...] | None = None) -> None:
        vars(self).update(_module=module, _names=names, _made_by=made_by)

    @classmethod
    def of(cls, operation: str, target: Deferred, *args: object) -> Deferred:
        """The result of an operation on something of the submission."""
        return cls(target._module, (), (operation, target, args, {}))

    @property
    def place(self) -> tuple[str, tuple[str, ...], tuple[Any, ...] | None]:
        """The module, the names in it, and how it is made."""
        return self._module, self._names, self._made_by

    def crosses_as(self, passing: Passing) -> tuple[Any, ...]:
        if self._made_by is None:
            return "name", self._module, list(self._names)
        made = passing.bridge.made
        if id(self) not in made:
            operation, target, args, kwargs = self._made_by
            made[id(self)] = passing.bridge.run(operation, target, *args, **kwargs)
        return passing.tree(made[id(self)])

    def _run(self, operation: str, *args: object, shown: Call | None = None, **kwargs: object) -> Any:
        if not running:
            if not asked_while_collecting:
                raise pytest.UsageError(f"`{self!r}` is used where there is no submission")
            return asked_while_collecting[-1](operation, self, *args)
        return super()._run(operation, *args, shown=shown, **kwargs)

    def _call(self, *args: object, **kwargs: object) -> Call:
        return Call(self.__name__, args, kwargs)

    def _now(self) -> Any:
        return self._run("get")

    def __call__(self, *args: object, **kwargs: object) -> Any:
        return (
            super().__call__(*args, **kwargs) if running else Deferred(self._module, (), ("call", self, args, kwargs))
        )

    def __getattr__(self, name: str) -> Any:
        if name == "__name__":
            return self._names[-1] if self._names else self._module
        if running or name.startswith("__"):
            return super().__getattr__(name)
        return Deferred(self._module, (*self._names, name))

    def __setattr__(self, name: str, value: object) -> None:
        self._run("setattr", name, value)

    def __delattr__(self, name: str) -> None:
        self._run("delattr", name)

    def __bool__(self) -> bool:
        return bool(self._run("get")) if running else True

    def __instancecheck__(self, value: object) -> bool:
        return isinstance(value, _Used) and running[-1].run("isinstance", value, self) is True

    def __subclasscheck__(self, kind: object) -> bool:
        return isinstance(kind, _Used | Derived) and running[-1].run("issubclass", kind, self) is True

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        return (Base,)

    def __repr__(self) -> str:
        if self._made_by is not None:
            operation, target, args, _ = self._made_by
            return f"{target!r}{'' if operation == 'call' else f'.{operation}'}({', '.join(map(repr, args))})"
        return ".".join((*self._names,)) or self._module


class Derived(type):
    """The class of classes that a suite derives from one of the submission's: they exist on the far side alone."""

    def __call__(cls, *args: object, **kwargs: object) -> Any:
        return running[-1].run("call", cls, *args, shown=Call(cls.__name__, args, kwargs), **kwargs)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return running[-1].run("getattr", cls, name)

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Handle) and running[-1].run("isinstance", value, cls) is True


class Base(metaclass=Derived):
    """Stands for a class of the submission where the suite derives one from it."""
