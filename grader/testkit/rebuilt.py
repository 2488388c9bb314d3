"""Values of the standard library and torch that cross as their parts: both sides make them anew.

Only the kinds in the table do, and no class of anybody else.
"""

import array
import collections
import datetime
import decimal
import fractions
import types
import uuid
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import torch

PLAIN: Final = frozenset({type(None), bool, int, float, complex, str, bytes, torch.dtype, torch.device})
"""Classes whose values cross as they are."""


class _Kind(NamedTuple):
    parts: Callable[[Any], tuple[Any, ...]]
    takes: tuple[tuple[Any, ...], ...]
    """The classes that each part may have: made of others, a few bytes could become a value that fills the memory."""
    make: Callable[..., Any] | None = None
    """Makes a value of its parts, if the class does not."""


_FACTORIES: Final = {one.__name__: one for one in (int, float, str, bool, list, dict, set, tuple)}
_INT: Final = (int,)
_ZONES: Final = (type(None), datetime.timezone)
_MOST: Final = 1_000_000
"""Items of a range, and digits of a decimal number: larger ones stay over there."""
_KINDS: Final[dict[type, _Kind]] = {
    range: _Kind(lambda value: (value.start, value.stop, value.step), (_INT,) * 3),
    bytearray: _Kind(lambda value: (bytes(value),), ((bytes,),)),
    fractions.Fraction: _Kind(lambda value: (int(value.numerator), int(value.denominator)), (_INT,) * 2),
    decimal.Decimal: _Kind(lambda value: (str(value),), ((str,),)),
    datetime.timezone: _Kind(lambda value: (value.utcoffset(None),), ((datetime.timedelta,),)),
    datetime.timedelta: _Kind(lambda value: (value.days, value.seconds, value.microseconds), (_INT,) * 3),
    **{
        kind: _Kind(lambda value: (value.isoformat(),), ((str,),), kind.fromisoformat)
        for kind in (datetime.date, datetime.time, datetime.datetime)
    },
    slice: _Kind(lambda value: (value.start, value.stop, value.step), ((int, type(None)),) * 3),
    uuid.UUID: _Kind(lambda value: (str(value),), ((str,),)),
    array.array: _Kind(lambda value: (value.typecode, value.tobytes()), ((str,), (bytes,))),
    collections.ChainMap: _Kind(lambda value: (dict(value),), ((dict,),)),
    types.MappingProxyType: _Kind(lambda value: (dict(value),), ((dict,),)),
    memoryview: _Kind(lambda value: (bytes(value),), ((bytes,),)),
    torch.Size: _Kind(lambda value: (tuple(value),), ((tuple,),)),
    collections.deque: _Kind(lambda value: (list(value), value.maxlen), ((list,), (int, type(None)))),
    collections.Counter: _Kind(lambda value: (dict(value),), ((dict,),)),
    collections.OrderedDict: _Kind(lambda value: (dict(value),), ((dict,),)),
    collections.defaultdict: _Kind(
        lambda value: (_name_of(value.default_factory), dict(value)),
        ((str, type(None), Callable), (dict,)),
        lambda factory, items: collections.defaultdict(_FACTORIES.get(factory, factory), items),
    ),
}
_BY_NAME: Final = {kind.__name__: kind for kind in _KINDS}


def parts_of(value: object) -> tuple[Any, ...] | None:
    """The parts of a value; None if it is of no such kind."""
    kind = _KINDS.get(type(value))
    if kind is None or type(getattr(value, "tzinfo", None)) not in _ZONES or _is_large(value):
        return None
    parts = kind.parts(value)
    return parts if all(map(_fits, parts, kind.takes)) else None


def _name_of(factory: Any) -> Any:
    """The name of a class that both sides have; anything else makes values where it is."""
    return next((name for name, one in _FACTORIES.items() if one is factory), factory)


def _fits(part: object, takes: tuple[Any, ...]) -> bool:
    return type(part) in takes or (Callable in takes and callable(part))


def is_mutable(value: object) -> bool:
    """Whether whoever gets a value may change it."""
    return isinstance(value, dict | collections.deque)


def rebuilt(name: str, parts: list[Any]) -> Any:
    """The value of some parts.

    Raises:
        ValueError, TypeError, KeyError: they are none.
    """
    kind = _BY_NAME[name]
    if len(parts) != len(_KINDS[kind].takes) or not all(map(_fits, parts, _KINDS[kind].takes)):
        raise TypeError("no such parts")
    made = (_KINDS[kind].make or kind)(*parts)
    if _is_large(made):
        raise ValueError("too large")
    return made


def _is_large(value: Any) -> bool:
    if type(value) is range:
        return max(abs(value.stop - value.start), 0) // abs(value.step) > _MOST
    return type(value) is decimal.Decimal and value.is_finite() and abs(value.adjusted()) > _MOST
