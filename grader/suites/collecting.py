"""While a suite is collected there is no submission: the course's solution answers its module-level code.

Some suites make a list of their tests of what students write: ``parametrize("f", MathTest.functions())``. Plain values
of the solution are taken as they are; its functions and classes become proxies of the submission's by their names, and
its objects proxies that are made anew, of the submission, in each test.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np
import pytest
import torch

from grader.suites.deferred import Deferred, asked_while_collecting, deferred
from grader.suites.honesty import note
from grader.suites.modules import own_modules, stood_down
from grader.testkit.far.operations import named, operation
from grader.testkit.rebuilt import PLAIN

_TEXT: Final = "is asked while the suite is collected: the answer is that of the course's solution"


class Solution:
    """The course's solution, in this process, as the suite asks it while it is collected.

    Args:
        folder: with the solution.
        root: of the course.
        names: of the modules and packages in it.
    """

    def __init__(self, folder: Path, root: Path, names: Sequence[str]) -> None:
        self._folder, self._root, self._names = folder, root, frozenset(names)
        self._modules: dict[str, ModuleType] = {}

    def answer(self, name: str, late: Deferred, *args: object) -> Any:
        """The result of an operation on the object behind a proxy."""
        if not self._folder.is_dir():
            raise pytest.UsageError(f"`{late!r}` is used while the suite is collected, and there is no solution to ask")
        note("own-code", self._root, text=f"`{late!r}` {_TEXT}")
        with self._imported():
            value = self._value(late)
            result = operation(name)(value, *map(self._value, args))
            if name == "iter":
                return [self._as_proxy(one, deferred("item", late, at)) for at, one in enumerate(result)]
            return self._as_proxy(result, deferred(name, late, *args) if name != "get" else late)

    def _value(self, value: Any) -> Any:
        """The solution's own value of a proxy."""
        if not isinstance(value, Deferred):
            return value
        module, names, made_by = value._place
        if made_by is not None:
            name, target, args, kwargs = made_by
            values = [self._value(one) for one in args]
            if name == "call":
                return self._value(target)(*values, **{key: self._value(one) for key, one in kwargs.items()})
            return operation(name)(self._value(target), *values)
        return named(module, names)

    def _as_proxy(self, value: Any, late: Deferred) -> Any:
        kind = type(value)
        if kind in PLAIN or isinstance(value, torch.Tensor | np.ndarray | np.generic):
            return value
        if kind in (list, tuple):
            return kind(self._as_proxy(one, deferred("item", late, at)) for at, one in enumerate(value))
        if kind is dict:
            return {key: self._as_proxy(one, deferred("getitem", late, key)) for key, one in value.items()}
        module, names = getattr(value, "__module__", None), str(getattr(value, "__qualname__", "")).split(".")
        if isinstance(module, str) and module.partition(".")[0] in self._names and all(map(str.isidentifier, names)):
            with contextlib.suppress(AttributeError, ImportError):
                if self._value(Deferred(module, tuple(names))) is value:
                    return Deferred(module, tuple(names))
        return late

    @contextlib.contextmanager
    def _imported(self) -> Iterator[None]:
        """Imports find the solution meanwhile."""

        def is_own(name: str) -> bool:
            return name.partition(".")[0] in self._names

        with stood_down(), own_modules(is_own):
            sys.modules.update(self._modules)
            sys.path.insert(0, str(self._folder))
            try:
                yield
            finally:
                sys.path.remove(str(self._folder))
                self._modules = {name: one for name, one in sys.modules.items() if is_own(name)}


@contextlib.contextmanager
def asking(solution: Solution) -> Iterator[None]:
    """The suite's proxies ask the solution meanwhile, where there is no submission."""
    asked_while_collecting.append(solution.answer)
    try:
        yield
    finally:
        asked_while_collecting.pop()
