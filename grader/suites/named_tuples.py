"""Named tuples of a submission: they are values here, and what their class adds to a tuple is asked for over there."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from grader.testkit.far.operations import BINARY

if TYPE_CHECKING:
    from grader.suites.bridge import Bridge

_ASKED: Final = frozenset({*BINARY, *(f"r{name}" for name in BINARY), "neg", "abs", "call"})


def class_of(bridge: Bridge, name: str, fields: Sequence[str], special: Iterable[str]) -> Any:
    """The class here of the named tuples of one class over there.

    Args:
        name: the whole name of that class.
        special: the special methods that it has and tuples have not, without their underscores.
    """

    def read(value: Any, attribute: str) -> Any:
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        return bridge.run("getattr", value, attribute)

    base: Any = collections.namedtuple(name.rpartition(".")[2], fields, rename=True)  # type: ignore[misc]
    methods = {f"__{one}__": _asking(bridge, one) for one in special if one in _ASKED}
    return type(base.__name__, (base,), {"far_class": name, "__getattr__": read, **methods})


def _asking(bridge: Bridge, operation: str) -> Callable[..., Any]:
    def operate(value: Any, *args: Any) -> Any:
        are_theirs = all(hasattr(type(one), "far_class") for one in args)
        if operation != "call" and not are_theirs and not bridge.may(operation):
            raise AssertionError("returned an object where a plain value was expected")
        return bridge.run(operation, value, *args)

    return operate
