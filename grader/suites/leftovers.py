"""A suite's modules, libraries and settings as they are when the suite has been collected.

A test may leave something behind: a result that it keeps, or a setting if the submission raises before it is set back.
Whoever is asked next gets none of it.
"""

from __future__ import annotations

import builtins
import collections
import contextlib
import decimal
import functools
import logging
import os
import random
import sys
import types
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from grader.border import tables
from grader.suites import passing, sources
from grader.suites.room import Room
from grader.testkit.far.side import detached, is_same
from grader.testkit.rebuilt import PLAIN

_DICTS: Final = (dict, collections.Counter, collections.OrderedDict, collections.defaultdict)
_CONTAINERS: Final = (*_DICTS, list, set, collections.deque)
_OF_LIBRARIES: Final = (types.SimpleNamespace, torch.nn.Module, torch.optim.Optimizer)
"""Classes whose objects consist of their attributes."""
_LIBRARIES: Final = (builtins, torch, torch.nn, torch.nn.functional, torch.Tensor, torch.nn.Module, np, np.random)
"""Of these, and of all modules that the suite has imported, functions and classes are put back."""


def _set_filters(filters: list[Any]) -> None:
    warnings.resetwarnings()
    warnings.filters[:] = filters  # type: ignore[index]


_SETTINGS: Final[tuple[tuple[Callable[[], Any], Callable[[Any], object]], ...]] = (
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.get_default_device, lambda it: torch.set_default_device(None if it.type == "cpu" else it)),
    (torch.get_num_threads, torch.set_num_threads),
    (torch.is_grad_enabled, torch.set_grad_enabled),
    (torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
    (torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms),
    (np.geterr, lambda how: np.seterr(**how)),
    (sys.getrecursionlimit, sys.setrecursionlimit),
    (lambda: logging.root.manager.disable, logging.disable),
    (lambda: logging.root.level, logging.root.setLevel),
    (lambda: sys.path[:], lambda places: _refill(sys.path, places)),
    (lambda: dict(os.environ), lambda entries: _refill(os.environ, entries)),
    (lambda: [*warnings.filters], _set_filters),
    (lambda: decimal.getcontext().prec, lambda digits: setattr(decimal.getcontext(), "prec", digits)),
)
"""How each setting is read and set."""
_GENERATORS: Final[tuple[tuple[Callable[[], Any], Callable[[Any], object]], ...]] = (
    (torch.get_rng_state, torch.set_rng_state),
    (np.random.get_state, np.random.set_state),
    (random.getstate, random.setstate),
)


_others: Final[dict[Path, set[str]]] = {}
"""By a suite's folder, the modules that are none of its: there are a thousand, and it is asked for each test."""


def _modules_of(folder: Path) -> list[types.ModuleType]:
    """A suite's own modules."""
    others = _others.setdefault(folder, set())
    names = [name for name in [*sys.modules] if name not in others]
    own = {name: sys.modules[name] for name in names if sources.is_own(name, folder)}
    others.update(name for name in names if name not in own)
    return [*own.values()]


class Leftovers:
    """Puts everything back for each student process.

    Args:
        folder: with the suite.
        more: values that the tests are given.
        room: the folders that tests may write to.
    """

    def __init__(self, folder: Path, more: Iterable[Any], room: Room | None = None) -> None:
        more = [*more]
        self._of = folder, more
        self._room = room
        self._process: Callable[[], object] = lambda: None
        self._put_back: list[Callable[[], object]] = []
        self._seen: dict[int, object] = {}
        self._own = _modules_of(folder)
        self._names = {one.__name__ for one in self._own}
        imported = [value for one in self._own for value in vars(one).values() if type(value) is types.ModuleType]
        self._visit([*self._own, *more])
        for library in {id(one): one for one in (*_LIBRARIES, *imported) if one not in self._own}.values():
            functions = {name: value for name, value in vars(library).items() if callable(value)}
            self._put_back.append(functools.partial(_restore, library, functions))
        self._settings = [(read, put, read()) for read, put in _SETTINGS]
        self._generators = [(put, read()) for read, put in _GENERATORS]

    def begin(self, process: object) -> None:
        """Puts everything back if this is another student process than before."""
        if self._process() is process:
            return
        self._process = weakref.ref(process)
        self._put_all_back()
        if self._room is not None:
            self._room.put_back()

    @contextlib.contextmanager
    def beside(self, process: object) -> Iterator[None]:
        """For a test on the solution between two of a submission, which finds afterwards all as it has left it."""
        now, before = Leftovers(*self._of), self._process
        left = self._room.put_back() if self._room is not None else {}
        self.begin(process)
        try:
            yield
        finally:
            now._put_all_back()
            if self._room is not None:
                self._room.put_back()
                self._room.put(left)
            self._process = before

    def _put_all_back(self) -> None:
        for put_back in self._put_back:
            put_back()
        for read, put, before in self._settings:
            if read() != before:
                put(before)
        for put, before in self._generators:
            put(before)

    def _visit(self, values: Any) -> None:
        """Remembers the content of the suite's own objects, at any depth."""
        left = [*values]
        while left:
            value = left.pop()
            if type(value) not in PLAIN and id(value) not in self._seen:
                self._seen[id(value)] = value
                left += self._held_by(value)

    def _held_by(self, value: Any) -> Iterator[Any]:
        kind = type(value)
        yield getattr(value, "__dict__", {}).get("__wrapped__")  # of fixtures, too
        if kind in _CONTAINERS:
            content = value.copy()
            self._put_back.append(lambda: _refill(value, content))
            yield from (*content.values(), *content) if kind in _DICTS else content
        elif kind in (torch.Tensor, torch.nn.Parameter) and value.is_leaf:
            data, grad, has_grad = detached(value), detached(value.grad), value.requires_grad
            self._put_back.append(lambda: _rewrite(value, data, grad, has_grad))
        elif kind is np.ndarray:
            numbers = value.copy()
            self._put_back.append(lambda: np.copyto(value, numbers) if value.flags.writeable else None)
        elif tables.is_table(value):
            table = value.copy()
            self._put_back.append(lambda: None if value.equals(table) else tables.put(value, table))
        elif kind is tuple:
            yield from value
        elif kind in (staticmethod, classmethod):
            yield value.__func__
        elif callable(clear := vars(kind).get("cache_clear")):
            self._put_back.append(lambda: clear(value))
        elif kind is types.CellType:
            with contextlib.suppress(ValueError):  # it is empty
                content = value.cell_contents
                self._put_back.append(lambda: setattr(value, "cell_contents", content))
                yield content
        elif self._is_own(value):
            before = {name: one for name, one in vars(value).items() if not name.startswith("__")}
            self._put_back.append(lambda: _restore(value, before, is_whole=True))
            yield from before.values()
            if kind is types.FunctionType:
                yield from (value.__defaults__, value.__kwdefaults__, value.__closure__)

    def _is_own(self, value: Any) -> bool:
        """Whether it is a module, class or function of the suite, or an object of such a class."""
        kind = type(value)
        if issubclass(kind, type | types.FunctionType):
            return value.__module__ in self._names
        has_names = issubclass(kind, _OF_LIBRARIES) or kind.__module__ in self._names
        return any(value is one for one in self._own) or (has_names and hasattr(value, "__dict__"))


def _refill(container: Any, content: Any) -> None:
    """Gives a container its content back."""
    if _parts(container) != _parts(content):
        container.clear()
        (container.extend if hasattr(container, "extend") else container.update)(content)


def _rewrite(tensor: Any, data: Any, grad: Any, has_grad: bool) -> None:
    """Gives a tensor its numbers and its gradient back."""
    if not tensor.is_leaf:
        tensor.detach_()
    if not is_same(tensor.detach(), data):
        passing.put(tensor, detached(data))  # type: ignore[arg-type]
    tensor.requires_grad_(has_grad)
    if not is_same(tensor.grad, grad):
        tensor.grad = detached(grad)


def _restore(owner: Any, before: dict[str, Any], *, is_whole: bool = False) -> None:
    """Gives attributes their values back.

    Args:
        is_whole: whether those are all: then others are taken away.
    """
    now = vars(owner)
    for name in [one for one in now if one not in before and not one.startswith("__")] if is_whole else ():
        type.__delattr__(owner, name) if isinstance(owner, type) else now.pop(name)
    for name, value in before.items():
        if now.get(name, before) is not value:
            type.__setattr__(owner, name, value) if isinstance(owner, type) else now.update({name: value})


def _parts(value: Any) -> object:
    """A key that tells whether a container holds the same objects as before."""
    if type(value) in _DICTS:
        return [(id(key), id(one)) for key, one in value.items()]
    return {*map(id, value)} if type(value) is set else [*map(id, value)]
