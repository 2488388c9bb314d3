"""Something in a module of the submission, by its name there: it is looked up when it is used."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Set
from typing import Any, Final

import pytest
import torch

from grader.border.failures import UnwrittenValue
from grader.border.proxies import Call
from grader.course.source import names_of_code
from grader.suites.bridge import running
from grader.suites.passing import Passing
from grader.suites.proxies import BY_NAME, METHODS, TYPES, Base, Class, Handle, Used, attribute

_STAY: Final = BY_NAME | {"builtins.ellipsis"}
asked_while_collecting: Final[list[Callable[..., Any]]] = []
"""Answers operations where there is no submission yet: `grader.suites.collecting`."""


class Deferred(Used):
    """Something in a module of the submission, by its name there, or made of that while the suite was collected.

    Args:
        module: the module's name on the far side.
        names: of attributes, from the module on.
        made_by: how it is made: an operation, something of the submission, and the arguments.
    """

    __slots__ = ("__weakref__", "_made_by", "_module", "_names")
    __doc__, __dict__ = attribute("doc"), attribute("dict")

    def __init__(self, module: str, names: tuple[str, ...], made_by: tuple[Any, ...] | None = None) -> None:
        for name, value in {"_module": module, "_names": names, "_made_by": made_by}.items():
            object.__setattr__(self, name, value)

    @property
    def _place(self) -> tuple[str, tuple[str, ...], tuple[Any, ...] | None]:
        """The module, the names in it, and how it is made."""
        return self._module, self._names, self._made_by

    def _crosses_as(self, passing: Passing) -> tuple[Any, ...]:
        if self._made_by is None:
            return "name", self._module, list(self._names)
        made = passing.bridge.made
        if id(self) not in made:
            name, target, args, kwargs = self._made_by
            made[id(self)] = passing.bridge.run(name, target, *args, **kwargs)
        return passing.tree(made[id(self)])

    def _run(self, name: str, /, *args: object, _shown: Call | None = None, **kwargs: Any) -> Any:
        if not running:
            if not asked_while_collecting:
                raise pytest.UsageError(f"`{self!r}` is used where there is no submission")
            return asked_while_collecting[-1](name, self, *args)
        return super()._run(name, *args, _shown=_shown, **kwargs)

    def _call(self, /, *args: object, **kwargs: object) -> Call:
        return Call(self.__name__, args, kwargs)

    def _now(self) -> Any:
        return self._run("get")

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """A class is one for `inspect`, and a function a function; a value is of its own, but no tensor."""
        name = running[-1].kind_of(self) if running and self._made_by is None else ""
        if name == "builtins.type" or name in TYPES:
            return TYPES.get(name, type)
        value = _value_now(self) if running else self
        return Deferred if value is self or isinstance(value, torch.Tensor) else value.__class__

    def _in_a_test(self) -> Any:
        """The value that it stands for while a test runs, if it is one that cannot be changed in place; else itself."""
        if not running or (self._place in running[-1].functions and self.__name__ not in running[-1].set_names):
            return self
        value = self._now()
        if isinstance(value, Handle) and not BY_NAME.isdisjoint(value._classes):
            running[-1].functions.add(self._place)
        return self if isinstance(value, Used | list | dict | set) else value

    def __call__(self, /, *args: object, **kwargs: Any) -> Any:
        return (
            METHODS["call"](self, *args, **kwargs)
            if running
            else Deferred(self._module, (), ("call", self, args, kwargs))
        )

    def __getattr__(self, name: str) -> Any:
        if name == "__name__":
            return self._names[-1] if self._names else self._module
        if running or name.startswith("__"):
            return super().__getattr__(name)
        if self._made_by is not None:
            return deferred("getattr", self, name)
        return Deferred(self._module, (*self._names, name))

    def __bool__(self) -> bool:
        return bool(self._run("get")) if running or asked_while_collecting else True

    def __hash__(self) -> int:
        value = _value_now(self) if running else self
        return hash(Class) if value is self else hash(value)

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        return (Base,)

    def __repr__(self) -> str:
        if self._made_by is not None:
            name, target, args, _ = self._made_by
            return f"{target!r}{'' if name == 'call' else f'.{name}'}({', '.join(map(repr, args))})"
        return ".".join((*self._names,)) or self._module


def deferred(name: str, target: Deferred, *args: object) -> Deferred:
    """The result of an operation on something of the submission."""
    return Deferred(target._module, (), (name, target, args, {}))


for _name in {*METHODS} - {"call", "bool", "hash", "await", "aiter", "anext", "aenter", "aexit"}:
    setattr(Deferred, f"__{_name}__", METHODS[_name])


def _value_now(late: Deferred) -> Any:
    """The value that a proxy stands for; itself if there is none: the test learns why where it uses it."""
    with contextlib.suppress(Exception):
        return late._now()
    return late


def variables_in(
    functions: Iterable[Any], variables: Set[str], parameters: dict[str, Any]
) -> list[tuple[dict[str, Any], str]]:
    """Where a test reads variables of the submission by their own names: the namespaces, with the names.

    Args:
        functions: the test, and others of it.
        variables: the names of the solution's variables.
        parameters: of the test, of which some may be objects that were made while it was collected.
    """
    made = (name for name, one in parameters.items() if type(one) is Deferred and one._made_by is not None)
    found = {(id(parameters), name): (parameters, name) for name in made}
    for function in functions:
        known = function.__globals__
        names = names_of_code(function.__code__) & variables
        found.update({(id(known), name): (known, name) for name in names if type(known.get(name)) is Deferred})
    return [*found.values()]


@contextlib.contextmanager
def as_values(places: Iterable[tuple[dict[str, Any], str]]) -> Iterator[None]:
    """Variables of the submission have their values meanwhile, as after an import of them, and none is a proxy."""
    before = []
    try:
        for known, name in places:
            value = _value_now(known[name])
            if not isinstance(value, Used) or _STAY.isdisjoint(getattr(value, "_classes", _STAY)):
                before.append((known, name, known[name]))
                known[name] = value
        yield
    finally:
        for known, name, late in before:
            known[name] = late


def value_of(variable: Deferred) -> Any:
    """The value of a variable of the submission, as the running check sees it.

    Raises:
        UnwrittenValue: it is the ``...`` that was handed out.
    """
    name = variable.__name__
    value = running[-1].run("get", variable, _shown=Call(name, (), {}, is_read=True))
    if isinstance(value, Handle) and value._kind == "ellipsis":
        raise UnwrittenValue(name)
    return value
