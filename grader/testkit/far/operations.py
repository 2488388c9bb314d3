"""The operations of a test on something of the submission, by their names, and the names of classes."""

import asyncio
import builtins
import collections.abc
import copy
import dataclasses
import dis
import functools
import importlib.util
import inspect
import operator
import pickle
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from types import CodeType, FunctionType
from typing import Any, Final

import numpy as np
import torch

from grader.testkit.far.side import here

_import, _instructions, _STORE = importlib.import_module, dis.get_instructions, dis.opmap["STORE_ATTR"]
_LIBRARIES: Final = sys.stdlib_module_names | {"torch"}


BINARY: Final = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift"
)  # fmt: skip
SPECIAL: Final = (
    *(f"{start}{name}" for start in ("", "r", "i") for name in BINARY),
    "divmod", "rdivmod", "lt", "le", "gt", "ge", "neg", "pos", "invert", "abs", "round", "bool", "float", "int",
    "complex", "index", "hash", "call", "getitem", "setitem", "delitem", "contains", "iter", "next", "len", "reversed",
    "enter", "exit", "await", "aiter", "anext", "aenter", "aexit",
)  # fmt: skip
"""Special methods of an object that a test may use, without their underscores."""


def name_of(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def names_of(kind: type) -> list[str]:
    return [name_of(one) for one in type.mro(kind)]


def special_of(kind: type) -> str:
    """The special methods that a class has, and, with a dash, those that it refuses, as `__hash__` by None."""
    own: dict[str, Any] = {}
    for one in reversed(type.mro(kind)[:-1]):  # not by `getattr`, which finds those of a metaclass, too
        own.update(vars(one))
    return " ".join(f"{'-' * (own[whole] is None)}{name}" for name in SPECIAL if (whole := f"__{name}__") in own)


def methods_of(kind: type) -> str:
    """The methods of a class: of an attribute of these names it is known, unread, that it is the method.

    A name is left out if code of the class sets it, of whatever object.
    """
    kinds = type.mro(kind)[-2::-1]
    own = {name: one for kind in kinds for name, one in vars(kind).items()}
    known = {name for name, one in own.items() if type(one) is FunctionType and not name.startswith("__")}
    for kind in kinds:
        if kind.__module__.partition(".")[0] not in _LIBRARIES:
            codes = [one.__code__ for one in vars(kind).values() if type(one) is FunctionType]
            known.difference_update(*map(_names_set_by, codes))
    return " ".join(sorted(known) if "__getattribute__" not in own else ())


EVERY: Final = "*"
"""Stands for the names of all attributes."""


def guarded_of(kind: type) -> str:
    """The attributes of a class's objects that code sets or reads, a property's or that of the class: it may refuse."""
    own = {name: one for kind in type.mro(kind)[::-1] for name, one in vars(kind).items()}
    has_code = any(own[name] is not getattr(object, name) for name in ("__setattr__", "__getattribute__"))
    if has_code or not kind.__dictoffset__:
        return EVERY
    return " ".join(sorted(name for name, one in own.items() if hasattr(type(one), "__set__")))


@functools.lru_cache(maxsize=1 << 10)  # each check asks for the same classes
def _names_set_by(code: CodeType) -> set[str]:
    is_setting = _STORE in code.co_code[::2]
    names = {one.argval for one in _instructions(code) if one.opcode == _STORE} if is_setting else set[str]()
    return names.union(*(_names_set_by(one) for one in code.co_consts if isinstance(one, CodeType)))


def named(module: str, names: Iterable[str]) -> Any:
    """A module of the submission, or something in it."""
    found: Any = _import(module)
    for name in names:
        try:
            found = getattr(found, name)
        except AttributeError:
            whole = f"{getattr(found, '__name__', '')}.{name}"
            if not hasattr(found, "__path__") or importlib.util.find_spec(whole) is None:
                raise
            found = _import(whole)
    return found


def _data(value: Any) -> Any:
    """The content of an object whose class is derived from one of Python's own, by this one's methods."""
    for kind, read in _CONTENT.items():
        if isinstance(value, kind):
            return read(value)
    return value


_CONTENT: Final[dict[type, Callable[[Any], Any]]] = {
    int: int.__int__,
    float: float.__float__,
    complex: lambda value: complex(value.real, value.imag),
    str: str.__str__,
    bytes: lambda value: b"".join([value]),
    list: lambda value: list(list.__iter__(value)),
    tuple: lambda value: tuple(tuple.__iter__(value)),
    dict: lambda value: dict(dict.items(value)),
    set: lambda value: set(set.__iter__(value)),
    frozenset: lambda value: set(frozenset.__iter__(value)),
    collections.abc.Mapping: lambda value: {key: value[key] for key in value},
    collections.abc.Set: set,
    torch.Tensor: lambda value: (value.to_dense() if value.is_sparse else value).as_subclass(torch.Tensor),
    np.ndarray: np.asarray,
}


def parameters_of(function: Any) -> list[tuple[Any, ...]]:
    """The parameters of a function, and at the end its result: name, kind, default and annotation."""
    signature, empty = inspect.signature(function), inspect.Parameter.empty
    result = inspect.Parameter("result", inspect.Parameter.KEYWORD_ONLY, annotation=signature.return_annotation)
    return [
        (one.name, int(one.kind), one.default is not empty, one.default, one.annotation is not empty, one.annotation)
        for one in [*signature.parameters.values(), result]
    ]


def raised_by_test(name: str, message: str, args: Sequence[Any], default: type[BaseException]) -> BaseException:
    """An exception that a function of the test has raised: a built-in one, or one of the submission by a whole name."""
    home, _, own = name.rpartition(".")
    kind: Any = named(home, [own]) if home else getattr(builtins, name, default)
    args = args or ([message] if message else [])
    try:
        made: BaseException = kind(*args)
    except TypeError:
        made = kind.__new__(kind, *args)
    return made


def signature_of(parameters: Iterable[Any]) -> inspect.Signature:
    """The signature of which `parameters_of` has made data."""
    kinds, empty, made = inspect._ParameterKind, inspect.Parameter.empty, list[inspect.Parameter]()
    for name, kind, has_default, default, has_annotation, annotation in parameters:
        default, annotation = default if has_default else empty, annotation if has_annotation else empty
        made.append(inspect.Parameter(name, kinds(kind), default=default, annotation=annotation))
    *own, result = made
    return inspect.Signature(own, return_annotation=result.annotation)


def _leave(owner: Any, kind: str, message: str, args: Sequence[Any], *, name: str = "__exit__") -> Any:
    """Ends a ``with`` of the test, which has raised an exception of this class (none if it is empty)."""
    if not kind:
        return getattr(owner, name)(None, None, None)
    known: Any = here().raised
    error = known if type(known).__name__ == kind.rpartition(".")[2] else raised_by_test(kind, message, args, Exception)
    return getattr(owner, name)(type(error), error, error.__traceback__)


async def _awaited(value: Any) -> Any:
    return await value


def _await(owner: Any, name: str = "", *args: Any) -> Any:
    """The result of a coroutine, or of a special method that makes one: it runs to its end."""
    value = _leave(owner, *args, name="__aexit__") if name == "exit" else owner
    value = anext(owner) if name == "anext" else owner.__aenter__() if name == "enter" else value
    loop = here().loop()
    try:
        asyncio.get_running_loop()
    except RuntimeError:  # none runs in this thread
        return loop.run_until_complete(_awaited(value))
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(copy_context().run, loop.run_until_complete, _awaited(value)).result()


_OPERATIONS: Final[dict[str, Callable[..., Any]]] = {
    "call": lambda function, /, *args, **kwargs: function(*args, **kwargs),
    "get": lambda value: value,
    "found": lambda number: here().objects.pop(number),
    "item": lambda owner, at: list(owner)[at],
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "is": operator.is_,
    "pickled": pickle.dumps,
    "unpickled": pickle.loads,
    "class": lambda owner: "builtins.type" if isinstance(owner, type) else name_of(type(owner)),
    "doc": lambda owner: owner.__doc__,
    "dict": lambda owner: dict(vars(owner)),
    "signature": parameters_of,
    "dataclass_fields": lambda owner: [
        (one.name, one.type, *([] if one.default is dataclasses.MISSING else [one.default]))
        for one in dataclasses.fields(owner)
    ],
    "data": _data,
    "has_hook": lambda kind: (
        type(kind) is not type or any("__init_subclass__" in vars(one) for one in kind.__mro__[:-1])
    ),
    "enter": lambda owner: owner.__enter__(),
    "exit": _leave,
    "await": _await,
}


@functools.cache
def operation(name: str) -> Callable[..., Any]:
    """The function of an operation, by its name: one of these, or a function of Python's own, or an operator."""
    return _OPERATIONS.get(name) or getattr(builtins, name, None) or getattr(operator, f"__{name}__")
