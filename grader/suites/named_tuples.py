"""Named tuples of a submission: they are values here, and what their class adds to a tuple is asked for over there."""

from __future__ import annotations

import collections
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from grader.testkit.far.operations import BINARY

if TYPE_CHECKING:
    from grader.suites.bridge import Bridge

_LIBRARIES: Final = frozenset({*sys.stdlib_module_names, "torch"})
_ASKED: Final = frozenset({*BINARY, *(f"r{name}" for name in BINARY), "neg", "abs", "call"})


def class_of(bridge: Bridge, name: str, fields: tuple[str, ...], special: Iterable[str]) -> Any:
    """The class here of the named tuples of one class over there.

    Args:
        name: the whole name of that class.
        special: the special methods that it has and tuples have not, without their underscores.
    """

    module, _, own_name = name.rpartition(".")
    known = vars(sys.modules.get(module, object)).get(own_name) if module.partition(".")[0] in _LIBRARIES else None
    if isinstance(known, type) and issubclass(known, tuple) and getattr(known, "_fields", ()) == fields:
        return known

    def read(value: Any, attribute: str) -> Any:
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        return bridge.run("getattr", value, attribute)

    base: Any = collections.namedtuple(own_name, fields, rename=True)  # type: ignore[misc]
    methods = {f"__{one}__": _asking(bridge, one) for one in special if one in _ASKED}
    return type(base.__name__, (base,), {"far_class": name, "__getattr__": read, **methods})


def _asking(bridge: Bridge, operation: str) -> Callable[..., Any]:
    def operate(value: Any, *args: Any) -> Any:
        are_theirs = all(hasattr(type(one), "far_class") for one in args)
        if operation != "call" and not are_theirs and not bridge.may(operation):
            raise AssertionError("returned an object where a plain value was expected")
        return bridge.run(operation, value, *args)

    return operate
