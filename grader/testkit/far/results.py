"""Results on their way to the judge, as data, and the submission's changes of its arguments."""

import collections
import itertools
from collections.abc import Sequence
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from torch import nn

from grader.testkit.far.operations import name_of, names_of, special_of
from grader.testkit.far.side import detached, here, is_same
from grader.testkit.rebuilt import PLAIN, parts_of

_TENSORS: Final = frozenset({torch.Tensor, nn.Parameter})
_MOST_HELD: Final = 64
_numbers: Final = itertools.count(1)


class Passed(NamedTuple):
    """An argument that the submission may change, and its value before."""

    number: int
    value: Any
    before: Any


def describe(value: Any, passed: Sequence[Passed] = (), *, is_read: bool = False) -> tuple[Any, ...]:
    """A result as data, or as a handle with the names of its classes."""
    kind = type(value)
    if kind in PLAIN:
        return "value", value
    for one in passed:
        if one.value is value:
            return "argument", one.number
    for key, one in here().objects.items():
        if one is value:
            return "object", key
    if kind in _TENSORS:
        return _describe_tensor(value, is_read)
    if kind is np.ndarray or (isinstance(value, np.generic) and kind.__module__ == "numpy"):
        return "value", value
    if (parts := parts_of(value)) is not None:
        return "rebuilt", kind.__name__, [describe(one, passed) for one in parts]
    if is_read and kind in (list, dict, set) and len(value) <= _MOST_HELD:
        number = next((key for key, one in here().held.items() if one is value), None)
        if number is None:
            number = next(_numbers)
            while len(here().held) >= _MOST_HELD:
                del here().held[next(iter(here().held))]
            here().held[number] = value
        return "held", number, _describe_plain(value, passed, is_read)
    return _describe_plain(value, passed, is_read)


def _describe_plain(value: Any, passed: Sequence[Passed], is_read: bool) -> tuple[Any, ...]:
    kind = type(value)
    if kind is list:
        return "list", [describe(one, passed, is_read=is_read) for one in value]
    if issubclass(kind, tuple):
        items = [describe(one, passed, is_read=is_read) for one in value]
        names = getattr(kind, "_fields", None) or getattr(kind, "__match_args__", None)
        return ("named", name_of(kind), list(names), items) if names else ("tuple", items)
    if kind in (set, frozenset):
        return "set", [describe(one, passed) for one in value]
    if kind is dict:
        if all(type(key) in PLAIN and type(one) in PLAIN for key, one in value.items()):
            return "value", dict(value)
        keys = [describe(one, passed) for one in value]
        return "dict", keys, [describe(one, passed, is_read=is_read) for one in value.values()]
    if isinstance(value, Path) and kind.__module__.partition(".")[0] == "pathlib":
        return "path", str(value)
    return "handle", value, names_of(kind), special_of(kind), name_of(value) if isinstance(value, type) else ""


def _describe_tensor(value: torch.Tensor, is_read: bool) -> tuple[Any, ...]:
    for key, twin in here().twins.items():
        if twin is value:
            return "twin", key
    if value.requires_grad and value.grad_fn is not None:
        key = next(_numbers)
        here().graphs[key] = value
        return "graph", key, detached(value)
    if is_read or value.requires_grad:
        key = -next(_numbers)
        here().twins[key] = value
        here().last[key] = detached(value), detached(value.grad), value.requires_grad
        return "new", key, *here().last[key], isinstance(value, nn.Parameter)
    return "value", value


def changed(passed: Sequence[Passed]) -> list[tuple[int, Any]]:
    """The arguments that were changed in place, and their values now."""
    found: list[tuple[int, Any]] = []
    for number, value, before in passed:
        if isinstance(value, torch.Tensor):
            if not is_same(value.detach(), before):
                found.append((number, ("value", detached(value))))
        elif isinstance(value, np.ndarray):
            if value.shape != before.shape or value.tobytes() != before.tobytes():
                found.append((number, ("value", value.copy())))
        elif isinstance(value, StringIO | BytesIO):
            if not value.closed and (now := (value.getvalue(), value.tell())) != before:
                found.append((number, ("tuple", [("value", now[0]), ("value", now[1])])))
        elif isinstance(value, collections.deque):
            if _has_changed([*value], [*before]):
                found.append((number, describe([*value])))
        elif not isinstance(value, list | dict | set):  # an object of the test's own class
            if _has_changed(vars(value), before):
                found.append((number, describe(vars(value))))
        elif _has_changed(value, before):
            found.append((number, describe(dict(value) if isinstance(value, dict) else value)))
    return found


def _has_changed(value: Any, before: Any) -> bool:
    if len(value) != len(before):
        return True
    if isinstance(value, list):
        return any(a is not b and not (type(a) in PLAIN and a == b) for a, b in zip(value, before, strict=True))
    if isinstance(value, dict):
        missing = object()
        return any(before.get(key, missing) is not one for key, one in value.items()) and bool(value != before)
    return bool(value != before)
