"""What both sides may change: objects and variables of the test, arguments that the submission has kept, and lists of
its that the test has read.

The judge uses this, too: each side compares them with copies of what both last had.
"""

import collections
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import torch

from grader.testkit.far.side import detached, here, is_same
from grader.testkit.rebuilt import PLAIN

CONTAINERS: Final = (list, dict, set, collections.deque)
MUTABLE: Final = (*CONTAINERS, torch.Tensor, np.ndarray)
_BY_ONE: Final = 2
"""References to an object that only one other has, while they are counted."""
_SEQUENCES: Final = (list, tuple, collections.deque)
_MOST_COPIED: Final = 1 << 18
"""Numbers of a tensor or array that are compared after each operation."""
_MOST_ITEMS: Final = 1 << 10
"""Items of a list, dict, set or deque."""
_MOST: Final = 256
"""Those that are compared after each operation, the last ones that have crossed."""


def is_shared(value: Any) -> bool:
    """Whether both sides keep a value the same if both have it; it is not too large to be compared so often."""
    if isinstance(value, np.ndarray):
        return type(value) is np.ndarray and value.flags.writeable and value.size <= _MOST_COPIED
    if isinstance(value, torch.Tensor):
        return type(value) is torch.Tensor and not value.requires_grad and value.numel() <= _MOST_COPIED
    return isinstance(value, CONTAINERS) and len(value) <= _MOST_ITEMS


def refill(own: Any, now: Any, is_known: Callable[[object], bool]) -> None:
    """Gives a list, dict, set, deque, tensor or array another content.

    Args:
        is_known: whether a list or dict in it is one itself that both sides have; each other one that there was before
            stays, with another content.

    Raises:
        ValueError: an array has another shape.
    """
    if own is now:
        return
    if isinstance(own, torch.Tensor):
        if (own.shape, own.dtype, own.device) == (now.shape, now.dtype, now.device):
            own.data.copy_(now)
        else:
            own.data = now
        return
    if isinstance(own, np.ndarray):
        own[...] = now
        return
    if isinstance(own, list | dict):
        for key, value in [*own.items()] if isinstance(own, dict) else enumerate(own):
            new = now.get(key) if isinstance(now, dict) else now[key] if key < len(now) else None
            if type(value) in (list, dict) and type(new) is type(value) and not is_known(new):
                refill(value, new, is_known)
                now[key] = value
    if not isinstance(own, dict) or [*own] != [*now]:  # else whoever goes through it can go on
        own.clear()
    if isinstance(own, dict):
        for key, value in now.items():
            own[key] = value
    else:
        (own.update if isinstance(own, set) else own.extend)(now)


def content_at(home: Any, name: str) -> Any:
    """The content of a variable in a namespace or class, or without a name of an object, list or tensor."""
    if name:
        return (home if isinstance(home, dict) else vars(home))[name]
    return home if isinstance(home, MUTABLE) else {**vars(home)}


def set_content(key: int, home: Any, name: str, content: Any) -> None:
    """Gives an object of the test its attributes, or a variable in a namespace or class its value, as it is there."""
    if not name and isinstance(home, MUTABLE):
        refill(home, content, lambda one: here().number_of(one) is not None)
    elif not name:
        for attribute, value in content.items():
            object.__setattr__(home, attribute, value)
    elif isinstance(home, dict):
        home[name] = content
    else:
        type.__setattr__(home, name, content)
    here().contents.pop(key, None)  # it is the last one now
    here().contents[key] = home, name, copied(content_at(home, name))


def share(number: int, value: Any) -> None:
    """Notes that from now on both sides keep a list or tensor the same."""
    set_content(number, here().know(number, value), "", value)


def released() -> list[int]:
    """Forgets the lists and tensors that the submission has no more; their numbers."""
    contents, objects = here().contents, here().objects
    alone = [key for key, count in _references(contents.items()) if count == _ALONE and key in objects]
    gone = [key for key in alone if not is_part(contents[key][0])]
    for key in gone:
        del contents[key], objects[key]
    return gone


def is_part(value: object) -> bool:
    """Whether it is an array whose memory is that of another one, which somebody has."""
    return type(value) is np.ndarray and value.base is not None and sys.getrefcount(value.base) > _BY_ONE


def forget(number: int) -> None:
    """Forgets a list or tensor that the test has no more."""
    here().contents.pop(number, None)
    here().objects.pop(number, None)


def _references(contents: Iterable[tuple[int, tuple[Any, str, Any]]]) -> Iterator[tuple[int, int]]:
    """The references to each list and tensor."""
    for key, (home, name, _) in contents:
        if not name and isinstance(home, MUTABLE):
            yield key, sys.getrefcount(home)


_ALONE: Final = next(_references([(0, ([], "", None))]))[1] + 1
"""References to a list that nobody has but `FarSide.contents` and `FarSide.objects`."""


def forget_old(contents: dict[int, Any], objects: Sequence[int]) -> None:
    """Forgets the contents of all but the last objects: to compare thousands after each operation takes long.

    Args:
        objects: the numbers of those that are no variables.
    """
    for key in objects[:-_MOST]:
        del contents[key]


def copied(value: Any) -> Any:
    """A value to compare with later: its lists and dicts are copies, and so are tensors that are small and no twins."""
    kind = type(value)  # a proxy says another class, and asks for it
    if kind in (list, tuple, collections.deque):
        return kind(map(_copied_inside, value))
    if issubclass(kind, dict):
        return {key: _copied_inside(one) for key, one in value.items()}
    if issubclass(kind, torch.Tensor):
        return value if value.requires_grad or value.numel() > _MOST_COPIED else detached(value)
    if kind is np.ndarray and value.size <= _MOST_COPIED:
        return _numbers_of(value)
    return value.copy() if kind is set else value


class _Inside(NamedTuple):
    """Which list, dict, set or deque a value holds, and what was in it."""

    place: int
    content: Any


def _copied_inside(value: Any) -> Any:
    return _Inside(id(value), copied(value)) if issubclass(type(value), CONTAINERS) else copied(value)


def _numbers_of(array: Any) -> tuple[Any, ...]:
    """The shape and numbers of an array, which are quickly compared."""
    return array.shape, array.tobytes()


def has_changed(now: Any, before: Any) -> bool:
    """Whether a value is another one than its copy, or has another content."""
    if now is before:
        return False
    kind = type(now)
    if kind is np.ndarray:
        return _numbers_of(now) != (_numbers_of(before) if type(before) is np.ndarray else before)
    if issubclass(kind, dict) and issubclass(type(before), dict):
        is_other = len(now) != len(before) or any(map(operator.is_not, now, before))  # the order of keys counts
        return is_other or any(map(_has_changed_inside, now.values(), before.values()))
    if kind is not type(before):
        return True
    if issubclass(kind, _SEQUENCES):
        return len(now) != len(before) or any(map(_has_changed_inside, now, before))
    if issubclass(kind, torch.Tensor):
        return not is_same(now, before)
    return bool(now != before) if kind in PLAIN or kind is set else True


def _has_changed_inside(now: Any, before: Any) -> bool:
    if type(before) is _Inside:
        return id(now) != before.place or has_changed(now, before.content)
    return has_changed(now, before)
