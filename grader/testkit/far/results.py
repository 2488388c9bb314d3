"""Results on their way to the judge, as data, and the submission's changes of its arguments."""

import collections
import copy
import itertools
import sys
import threading
from collections.abc import Iterator, Sequence, Set
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from torch import nn

from grader.border import tables
from grader.border.bounds import Budget
from grader.testkit.far.contents import content_at, copied, has_changed, is_part, is_shared, share
from grader.testkit.far.operations import EVERY, SPECIAL, guarded_of, methods_of, name_of, names_of, special_of
from grader.testkit.far.side import detached, here
from grader.testkit.rebuilt import PLAIN, parts_of

_TENSORS: Final = frozenset({torch.Tensor, nn.Parameter})
_DICTS: Final = frozenset({dict, collections.OrderedDict, collections.defaultdict, collections.Counter})
_LIBRARIES: Final = sys.stdlib_module_names | {"torch", "numpy"}
_READ: Final = _DICTS | {*_TENSORS, np.ndarray, list, set}
"""Kinds of values that both sides keep the same if the test has read an attribute, whoever changes one."""
GOT: Final = _READ - _TENSORS
"""The same for the result of a function, which may be a part of something there."""
_GETTING: Final = frozenset({"getitem", "next", "call", "enter", "await"})
_LIST_ITERATOR: Final[Any] = type(iter([]))
_ALONE: Final = 2
"""References to an object that only one other has, while they are counted."""
STORES: Final = ("_parameters", "_buffers", "_modules", "_forward_hooks", "_forward_pre_hooks", "_backward_hooks")
_MOST_READ: Final = 16
_MOST_BESIDE: Final = 1 << 9
"""Bytes of an attribute that comes along with a result."""
_numbers: Final = itertools.count(1)


class Passed(NamedTuple):
    """An argument that the submission may change, and its value before."""

    number: int
    value: Any
    before: Any


def _is_alone(results: Sequence[Any]) -> bool:
    """Whether nothing over there has the result, or the memory of its numbers."""
    return sys.getrefcount(results[0]) == _ALONE and not is_part(results[0])


def kept_of(name: str, results: Sequence[Any]) -> Set[type]:
    """The kinds of values in the result of an operation that both sides keep the same."""
    if type(results[0]) in GOT and _is_alone(results):
        return frozenset()
    return _READ if name in ("getattr", "get") else GOT if name in _GETTING else frozenset()


def describe(value: Any, passed: Sequence[Passed] = (), kept: Set[type] = frozenset()) -> tuple[Any, ...]:
    """A result as data, or as a handle with the names of its classes.

    Args:
        kept: the kinds of values that both sides keep the same.
    """
    kind = type(value)
    if kind in PLAIN:
        return "value", value
    for one in passed:
        if one.value is value:
            return "argument", one.number
    if (key := here().number_of(value)) is not None:
        return "object", key
    if passed and kind in (torch.Tensor, np.ndarray) and (found := _view_of(value, passed)) is not None:
        return "view", *found
    if kind in _TENSORS:
        return _describe_tensor(value, kept)
    if kind is np.ndarray and value.dtype.kind in "VO" and tables.tree_of(value, Budget(), has_pandas=True) is None:
        return "handle", value, *_kind(kind)  # of records, or of objects of the submission
    is_numbers = kind is np.ndarray or (isinstance(value, np.generic) and kind.__module__ == "numpy")
    data = ("value", value) if is_numbers else _describe_items(value, passed, kept)
    if kind in kept and is_shared(value):
        share(number := -next(_numbers), value)
        return "shared", number, data
    return data


def size_of(numbers: Any) -> int:
    """How many numbers a tensor or array has."""
    return int(numbers.numel() if isinstance(numbers, torch.Tensor) else numbers.size)


def is_dense(numbers: Any) -> bool:
    """Whether the numbers of a tensor or array are all that lie in its memory, in their order."""
    if isinstance(numbers, torch.Tensor):
        return numbers.layout is torch.strided and numbers.is_contiguous()
    return bool(numbers.flags.c_contiguous)


def _view_of(value: Any, passed: Sequence[Passed]) -> tuple[int, list[int], list[int], int] | None:
    """Of which argument a result is a view, by its number, with the sizes, the steps and the first place; None if it is
    none. The numbers of both are the same, whoever changes them."""
    is_tensor = isinstance(value, torch.Tensor)
    if is_tensor and (value.requires_grad or value.layout is not torch.strided or value.is_conj() or value.is_neg()):
        return None
    for number, whole, _ in passed:
        if type(whole) is type(value) and whole.dtype == value.dtype and is_dense(whole):
            bytes_each = value.itemsize
            places = (one.data_ptr() if is_tensor else one.__array_interface__["data"][0] for one in (value, whole))
            start, rest = divmod(next(places) - next(places), bytes_each)
            if not rest and 0 <= start < size_of(whole) >= size_of(value) > 0:
                steps = value.stride() if is_tensor else [step // bytes_each for step in value.strides]
                return number, [*value.shape], [*steps], start
    return None


def _describe_items(value: Any, passed: Sequence[Passed], kept: Set[type]) -> tuple[Any, ...]:
    if (parts := parts_of(value)) is None:
        return _describe_plain(value, passed, kept)
    inner = (_describe_plain(one, passed, kept) if type(one) is dict else describe(one, passed) for one in parts)
    return "rebuilt", type(value).__name__, list(inner)


def _describe_plain(value: Any, passed: Sequence[Passed], kept: Set[type]) -> tuple[Any, ...]:
    kind = type(value)
    if kind is list:
        return "list", [describe(one, passed, kept) for one in value]
    if issubclass(kind, tuple):
        items = [describe(one, passed, kept) for one in value]
        names = getattr(kind, "_fields", None) or getattr(kind, "__match_args__", None)
        if not names:
            return "tuple", items
        here().named_tuples[name_of(kind)] = kind
        own = [one for one in SPECIAL if getattr(kind, f"__{one}__", 0) is not getattr(tuple, f"__{one}__", 0)]
        return "named", name_of(kind), list(names), own, items
    if kind in (set, frozenset):
        return kind.__name__, [describe(one, passed) for one in value]
    if kind is dict:
        if all(type(key) in PLAIN and type(one) in PLAIN for key, one in value.items()):
            return "value", dict(value)
        keys = [describe(one, passed) for one in value]
        return "dict", keys, [describe(one, passed, kept) for one in value.values()]
    if isinstance(value, Path) and kind.__module__.partition(".")[0] == "pathlib":
        return "path", str(value)
    own_name = [name_of(value)] if isinstance(value, type) else []
    return "handle", value, *_kind(kind), *own_name


def _kind(kind: type) -> tuple[int, tuple[list[str], str, str, str] | None]:
    """The number of a class; also the names of its classes, special methods, methods and guarded attributes if both
    sides do not have them, or the class has got others since."""
    sizes = [len(vars(one)) for one in type.mro(kind)]
    if (known := here().kinds.get(kind)) is not None and known[1] == sizes:
        return known[0], None
    here().kinds[kind] = number, _ = next(_numbers), sizes
    return number, (names_of(kind), special_of(kind), methods_of(kind), guarded_of(kind))


def note_read(owner: Any, name: str) -> None:
    """Notes that the test reads this attribute of such objects: of the next ones it comes along."""
    names = here().read.setdefault(type(owner), {})
    if name not in names and len(names) < _MOST_READ:
        names[name] = name in getattr(owner, "__dict__", ()) and not {EVERY, name} & {*guarded_of(type(owner)).split()}


def beside(owner: Any, but: str = "") -> list[tuple[str, Any]] | None:
    """The attributes of an object that the test reads of such objects, as data: those that are small plain values or
    arrays. None while another thread runs, which could change or read them at any time."""
    if threading.active_count() > 1:
        return None
    names = [name for name, is_plain in here().read.get(type(owner), {}).items() if is_plain and name != but]
    if not names:
        return []
    own = {name: one for name, one in vars(owner).items() if name in names}
    return [(name, describe(one, (), _READ)) for name, one in own.items() if _is_small(one)]


def _is_small(value: object) -> bool:
    """Whether a value costs nearly nothing, should the test not read it."""
    if type(value) is np.ndarray:
        return value.nbytes <= _MOST_BESIDE
    return type(value) in PLAIN and sys.getsizeof(value) <= _MOST_BESIDE


def _describe_tensor(value: torch.Tensor, kept: Set[type]) -> tuple[Any, ...]:
    for key, twin in here().twins.items():
        if twin is value:
            return "twin", key
    if value.requires_grad and value.grad_fn is not None:
        key = next(_numbers)
        here().graphs[key] = value
        return "graph", key, detached(value)
    if torch.Tensor in kept or value.requires_grad:
        key = -next(_numbers)
        here().twins[key] = value
        here().last[key] = detached(value), detached(value.grad), value.requires_grad
        return "new", key, *here().last[key], isinstance(value, nn.Parameter)
    return "value", value


def content_of(value: Any) -> Any:
    """The content of an argument, as it is compared with that before an operation; numbers are not copied."""
    if isinstance(value, torch.Tensor):
        return value.detach()
    if isinstance(value, np.ndarray):
        return value
    if tables.is_table(value):
        return tables.tree_of(value, Budget(), has_pandas=True)
    if isinstance(value, StringIO | BytesIO):
        return None if value.closed else (value.getvalue(), value.tell())
    if isinstance(value, _LIST_ITERATOR):
        return value.__length_hint__()
    if isinstance(value, list | collections.deque):
        return list(value)
    if isinstance(value, set):
        return set(value)
    return dict(value if isinstance(value, dict) else vars(value))  # else an object of the test's own class


def parts_of_module(module: nn.Module) -> dict[str, dict[Any, Any]]:
    """The stores of a module, and by an empty name its attributes."""
    own = {name: one for name, one in vars(module).items() if name[0] != "_" or name == "_is_full_backward_hook"}
    return {"": own, **{store: dict(vars(module)[store]) for store in STORES}}


def _changed_modules() -> Iterator[tuple[int, Any]]:
    """The modules of the test in which something was set or replaced, by their numbers."""
    for key, before in here().modules.items():
        now = parts_of_module(here().objects[key])
        stores = [store for store in now if _has_changed(now[store], before[store])]
        if stores:
            here().modules[key] = now
            own = [(name, one) for name, one in now[""].items() if _is_other(one, before[""].get(name))]
            parts = [describe(dict(own) if not store else now[store]) for store in stores]
            yield key, ("dict", [("value", store) for store in stores], parts)


def changed_contents() -> Iterator[tuple[int, Any]]:
    """What both sides have and was changed here, by the numbers."""
    yield from _changed_modules()
    for key, (home, name, before) in [*here().contents.items()]:
        now = content_at(home, name)
        if has_changed(now, before):
            here().contents[key] = home, name, copied(now)
            if not name and now is not home:  # of an object, only the changes
                now = {one: own for one, own in now.items() if one not in before or has_changed(own, before[one])}
            is_deque = isinstance(now, collections.deque)
            yield key, describe(list(now) if is_deque else copy.copy(now) if now is home else now)


def changed(passed: Sequence[Passed]) -> list[tuple[int, Any]]:
    """The arguments that were changed in place, and their content now; of an iterator how many items it has given."""
    found: list[tuple[int, Any]] = []
    for number, value, before in passed:
        if number in here().objects:
            continue  # both sides have it
        now = content_of(value)
        if tables.is_table(value):
            found += [(number, ("value", value))] if now != before else []
        elif isinstance(value, _LIST_ITERATOR):
            found += [(number, ("value", before - now))] if now != before else []
        elif isinstance(value, torch.Tensor) and value.requires_grad:  # it was a plain one
            found.append((number, describe(value)))
        elif now is not None and _has_changed(now, before):
            found.append((number, describe(now)))
    return found


def _has_changed(now: Any, before: Any) -> bool:
    if isinstance(now, list | tuple):
        return len(now) != len(before) or any(map(_is_other, now, before))
    if isinstance(now, dict):
        return now.keys() != before.keys() or any(_is_other(one, before[key]) for key, one in now.items())
    return has_changed(now, before)


def _is_other(one: Any, before: Any) -> bool:
    """Whether an item is another one; of plain data a copy was kept, so that the content of its lists counts."""
    if one is before or type(one) is not type(before):
        return one is not before
    return _has_changed(one, before) if type(one) in (list, tuple, dict) else type(one) not in PLAIN or one != before
