"""What torch's and Python's namespaces hold, and which of it a submission has replaced.

To compare what a dictionary holds writes to the reference count of each object, which a forked process has to copy
first: 3 MB for all of these. So the host remembers them once, and a process compares the dictionaries' versions, which
is to read a number of each; only one that has changed is compared. Python before 3.14 has such a number, for its own
use: whether it is where it was is tried, and without it everything is compared.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

NAMESPACES: Final = (
    "torch",
    "torch.Tensor",
    "torch._C.TensorBase",
    "torch.nn.Module",
    "torch.nn.Parameter",
    "torch.nn.functional",
    "torch.autograd",
    "torch.autograd.Function",
    "torch.optim.Optimizer",
    "torch.cuda",
    "torch.distributed",
    "torch.testing",
    "torch.utils.data.DataLoader",
    "builtins",
    "math",
    "time",
    "random",
    "os",
)
"""Modules and classes; what is not loaded when they are remembered is left out."""
_VERSION_AT: Final = 3 * 8
"""Bytes into a dictionary: behind reference count, type and length."""


class Namespace:
    """A module or class as it was.

    Attributes:
        name: one of `NAMESPACES`.
    """

    def __init__(self, name: str, value: Any) -> None:
        self.name = name
        self._value = value
        self._bases = _bases(value)
        self._versions = _versions(self._bases) if _are_counted() else None
        self._were = _numbers(self._versions)
        self._held = _held(self._bases)

    def is_as_it_was(self) -> bool:
        """Whether nothing can have changed; False where that would take a comparison."""
        value = _now(self.name)
        if self._versions is None or value is not self._value or _numbers(self._versions) != self._were:
            return False
        bases = _bases(value)
        # One by one and by identity: whether a class is equal to another may be for the submission's code to say.
        return len(bases) == len(self._bases) and all(map(operator.is_, bases, self._bases))

    def replaced(self) -> list[str]:
        """The names that stand for something else now, or for nothing."""
        if self.is_as_it_was():
            return []
        value = _now(self.name)
        new = {} if value is None else _held(_bases(value))
        return [key for key, old in self._held.items() if new.get(key) is not old and type(old) is not type(sys)]


_remembered: list[Namespace] = []


def remember() -> None:
    """Remembers all namespaces, for the processes that are forked from now on."""
    _remembered[:] = _all()


def now() -> list[Namespace]:
    """All namespaces as they are now; those that are as they were remembered are not looked at."""
    return _all({one.name: one for one in _remembered if one.is_as_it_was()})


def _all(known: Mapping[str, Namespace] = MappingProxyType({})) -> list[Namespace]:
    found = ((name, _now(name)) for name in NAMESPACES)
    return [known.get(name) or Namespace(name, value) for name, value in found if value is not None]


def _now(name: str) -> Any:
    """The module or class of that name, as far as it is loaded."""
    value: Any = sys.modules.get(name)
    if value is None:
        module, _, attribute = name.rpartition(".")
        value = vars(sys.modules[module]).get(attribute) if module in sys.modules else None
    return value


def _bases(value: Any) -> tuple[Any, ...]:
    """What a name is looked up in, the last first: what a class inherits counts, as its own would take its place."""
    return tuple(reversed(value.__mro__)) if isinstance(value, type) else (value,)


def _held(bases: tuple[Any, ...]) -> dict[str, object]:
    return {key: held for base in bases for key, held in vars(base).items()}


def _versions(bases: tuple[Any, ...]) -> Sequence[ctypes.c_uint64] | None:
    """Where the version of each one's dictionary is; None if one has none."""
    found = []
    for base in bases:
        namespace: Any = vars(base)
        if type(namespace) is not dict:  # a class shows its own through a proxy
            held = gc.get_referents(namespace)
            namespace = held[0] if len(held) == 1 else None
        if type(namespace) is not dict:
            return None
        found.append(ctypes.c_uint64.from_address(id(namespace) + _VERSION_AT))
    return found


def _numbers(versions: Sequence[ctypes.c_uint64] | None) -> list[int]:
    return [one.value for one in versions or ()]


@functools.cache
def _are_counted() -> bool:
    """Whether every change of a module or class changes such a number here, and nothing else does."""
    if sys.implementation.name != "cpython" or sys.version_info >= (3, 14) or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    module = type(sys)("tried")
    tried: Any = type("Tried", (), {"here": 1})
    vars(module)["here"] = 1
    changes: list[Callable[[Any], None]] = [
        lambda one: setattr(one, "here", 2),
        lambda one: setattr(one, "here", 3),
        lambda one: setattr(one, "further", 1),
        lambda one: delattr(one, "further"),
    ]
    for one in (module, tried):
        versions = _versions((one,))
        before = _numbers(versions)
        if len(before) != 1 or getattr(one, "here", 0) != 1 or _numbers(versions) != before:
            return False
        for change in changes:
            change(one)
            if _numbers(versions) == before:
                return False
            before = _numbers(versions)
    return True
