"""Says what a key of ``course.toml`` may hold, in the words of its author: read off the types of the entries."""

import json
from collections.abc import Sequence
from typing import Any, Final

from msgspec import inspect

_WORDS: Final[tuple[tuple[type, str], ...]] = (
    (inspect.BoolType, "true or false"),
    (inspect.IntType, "a whole number"),
    (inspect.FloatType, "a number"),
    (inspect.StrType, "text in quotes"),
    (inspect.StructType, "a table"),
    (inspect.DictType, "a table"),
)
_LONGEST_VALUE: Final = 60
"""Characters of a wrong value that a message shows."""


_NO_KEYS: Final = ("topic", "manual")
"""Fields that follow from the place of a table."""


def known_keys(entry: type, table: Sequence[str | int]) -> list[str]:
    """The keys that a table of the file may have.

    Args:
        entry: the struct of the whole file.
        table: where the table is in it.
    """
    kind: Any = inspect.type_info(entry)
    for part in table:
        kind = _inside(kind, part)
    return [field.encode_name for field in kind.fields if field.encode_name not in _NO_KEYS]


def wrong_value(entry: type, key: Sequence[str | int], tables: Any) -> str:
    """A sentence about a value of another type than its key has: what is allowed, and what is there.

    Args:
        entry: the struct of the whole file.
        key: where the value is in it.
        tables: the file's content.
    """
    kind: Any = inspect.type_info(entry)
    found, name = tables, ""
    for part in key:
        found = found[part]
        name = f"an entry of `{name}`" if isinstance(part, int) else part
        kind = _inside(kind, part)
    if isinstance(kind, inspect.DictType) and isinstance(found, dict):
        name, kind = f"each value of `{name}`", kind.value_type
    shown = json.dumps(found, default=str, ensure_ascii=False)
    shown = shown if len(shown) <= _LONGEST_VALUE else f"{shown[:_LONGEST_VALUE]}…"
    return f"{name if ' ' in name else f'`{name}`'} must be {_words(kind)}, not {shown}"


def _inside(kind: Any, part: str | int) -> Any:
    """The type of a field of a struct, an entry of a list, or a value of a table."""
    if isinstance(kind, inspect.StructType):
        return next(field.type for field in kind.fields if field.encode_name == part)
    return kind.item_type if isinstance(kind, inspect.VarTupleType) else kind.value_type


def _words(kind: Any) -> str:
    if isinstance(kind, inspect.UnionType):
        return " or ".join(_words(one) for one in kind.types if not isinstance(one, inspect.NoneType))
    if isinstance(kind, inspect.LiteralType):
        *first, last = (json.dumps(value) for value in kind.values)
        return f"{', '.join(first)} or {last}" if first else last
    if isinstance(kind, inspect.VarTupleType):
        one = _words(kind.item_type)
        return "one or more tables" if one == "a table" else f"a list of {one}"
    return next(words for known, words in _WORDS if isinstance(kind, known))
