"""Values of the standard library and torch that cross as their parts: both sides make them anew.

Only the kinds in the table do, and no class of anybody else.
"""

import collections
import datetime
import decimal
import fractions
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import torch

PLAIN: Final = frozenset({type(None), bool, int, float, complex, str, bytes, torch.dtype, torch.device})
"""Classes whose values cross as they are."""


class _Kind(NamedTuple):
    parts: Callable[[Any], tuple[Any, ...]]
    is_mutable: bool = False


_FACTORIES: Final = {one.__name__: one for one in (int, float, str, bool, list, dict, set, tuple)}
_OF_CLOCK: Final = ("hour", "minute", "second", "microsecond")
_OF_DAY: Final = ("year", "month", "day")
_KINDS: Final[dict[type, _Kind]] = {
    range: _Kind(lambda value: (value.start, value.stop, value.step)),
    bytearray: _Kind(lambda value: (bytes(value),)),
    fractions.Fraction: _Kind(lambda value: (value.numerator, value.denominator)),
    decimal.Decimal: _Kind(lambda value: (str(value),)),
    datetime.timedelta: _Kind(lambda value: (value.days, value.seconds, value.microseconds)),
    datetime.date: _Kind(lambda value: tuple(getattr(value, name) for name in _OF_DAY)),
    datetime.time: _Kind(lambda value: tuple(getattr(value, name) for name in _OF_CLOCK)),
    datetime.datetime: _Kind(lambda value: tuple(getattr(value, name) for name in (*_OF_DAY, *_OF_CLOCK))),
    torch.Size: _Kind(lambda value: (tuple(value),)),
    collections.deque: _Kind(lambda value: (list(value), value.maxlen), is_mutable=True),
    collections.Counter: _Kind(lambda value: (dict(value),), is_mutable=True),
    collections.OrderedDict: _Kind(lambda value: (dict(value),), is_mutable=True),
    collections.defaultdict: _Kind(
        lambda value: (getattr(value.default_factory, "__name__", None), dict(value)), is_mutable=True
    ),
}
_BY_NAME: Final = {kind.__name__: kind for kind in _KINDS}


def parts_of(value: object) -> tuple[Any, ...] | None:
    """What a value is made of; None if it is of no such kind."""
    kind = _KINDS.get(type(value))
    if kind is None or getattr(value, "tzinfo", None) is not None:
        return None
    return kind.parts(value)


def is_mutable(value: object) -> bool:
    """Whether whoever gets a value may change it."""
    return _KINDS[type(value)].is_mutable


def rebuilt(name: str, parts: list[Any]) -> Any:
    """The value of some parts.

    Raises:
        ValueError, TypeError, KeyError: they are none.
    """
    if name == "defaultdict":
        return collections.defaultdict(_FACTORIES.get(parts[0]), parts[1])
    return _BY_NAME[name](*parts)
