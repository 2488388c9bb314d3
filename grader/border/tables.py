"""Tables of pandas as plain data, and NumPy's arrays of times, texts and objects: both sides make them of their parts.

A table crosses only if the judge's process has loaded pandas, because a test has imported it; the submission's process
imports pandas for a table that a test passes. Exact classes cross, with plain values in their cells. A table with
anything else in it, or a larger one than values may be, stays where it is. Must never call anything that comes with a
value, and must never import anything because a submission says so.
"""

import datetime
import functools
import importlib
import re
import sys
import zoneinfo
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from grader.border import arrays, wire
from grader.border.bounds import MAX_ELEMENTS, Budget, WireError
from grader.border.wire import Tree

TAG: Final = "P"
_PANDAS: Final = "pandas"
_DTYPE: Final = re.compile(r"<[Mm]8(\[\w{1,9}\])?|<U\d{1,7}|\|S\d{1,7}|\|O")
_DEEPER: Final = 2
"""Levels of nesting that a table adds: an index of intervals of times has some of them."""
_REPEATED: Final = frozenset({"str", "float", "NoneType", "NAType"})
"""Classes of cells of which an array sends each different one once, and a number for each place."""


class _Kind(NamedTuple):
    parts: Callable[[Any], tuple[Any, ...]]
    make: Callable[..., Any]


def is_loaded() -> bool:
    """Whether this process has imported pandas."""
    return _PANDAS in sys.modules


def is_value(value: object) -> bool:
    """Whether it is of a class of pandas that can cross."""
    return str(type(value).__module__).partition(".")[0] == _PANDAS and type(value) in _kinds(True)[0]


def is_table(value: object) -> bool:
    """Whether it is a frame or a column, which can be changed in place."""
    return is_value(value) and type(value).__name__ in ("DataFrame", "Series")


def difference(actual: Any, expected: Any, rtol: float, atol: float) -> str:
    """How two values of one class differ, in the words of pandas; empty if they do not."""
    pd = sys.modules[_PANDAS]
    if isinstance(expected, pd.api.extensions.ExtensionArray):
        actual, expected = pd.Series(actual), pd.Series(expected)
    if not isinstance(expected, pd.DataFrame | pd.Series | pd.Index):
        is_same = actual is expected or actual == expected
        return "" if is_same else f"{actual!r} where {expected!r} was expected"
    kind = {"DataFrame": "frame", "Series": "series"}.get(type(expected).__name__, "index")
    try:
        compare = getattr(pd.testing, f"assert_{kind}_equal")
        compare(actual, expected, check_exact=not (rtol or atol), rtol=rtol, atol=atol)
    except AssertionError as error:
        return " ".join(str(error).partition("\n\n")[2].split()) or str(error)
    return ""


@functools.cache
def methods() -> frozenset[str]:
    """The names of the methods of tables."""
    pd = sys.modules[_PANDAS]
    return frozenset(name for kind in (pd.DataFrame, pd.Series, pd.Index) for name in dir(kind) if name[0] != "_")


def put(table: Any, now: Any) -> None:
    """Gives a frame or a column of the test the content of another one.

    Raises:
        TypeError: it is of another class.
    """
    if type(now) is not type(table):
        raise TypeError("a table of another class")
    type(table).__init__(table, now, copy=True)


def tree_of(value: object, budget: Budget, *, has_pandas: bool) -> Tree | None:
    """The tree of a table, or of an array that is no plain numbers; None if it cannot cross.

    Args:
        has_pandas: whether the other side makes tables.
    """
    before = budget.items, budget.bytes, budget.elements
    try:
        kinds = _kinds(has_pandas and is_loaded())
        return _tree(value, budget, kinds, 0) if type(value) in kinds[0] else None
    except Exception:  # whatever is odd about an object, it can be used where it is
        budget.items, budget.bytes, budget.elements = before
        return None


def made_of(tree: list[Tree], budget: Budget, *, may_import: bool, depth: int = 0) -> object:
    """The inverse of `tree_of`.

    Raises:
        WireError: the tree is malformed, goes over the budget, or is of a table and pandas is not loaded.
    """
    name = tree[1] if len(tree) > 1 and type(tree[1]) is str else ""
    if may_import and name not in _kinds(is_loaded())[1]:
        importlib.import_module(_PANDAS)
    kind = _kinds(is_loaded())[1].get(name)
    if tree[0] != TAG or kind is None:
        raise WireError("an unknown tag, or no such table")
    budget.take(len(tree))
    inner = functools.partial(made_of, budget=budget, may_import=may_import, depth=depth + _DEEPER)
    parts: list[Any] = [wire.decode(part, inner, budget, None, depth) for part in tree[2:]]
    try:
        made = _array(budget, *parts) if name == "array" else kind.make(*parts)
        _require_bounded(made)
    except Exception as error:
        raise WireError("parts that make no table") from error
    return made


def _tree(value: Any, budget: Budget, kinds: tuple[dict[type, str], dict[str, _Kind]], depth: int) -> Tree:
    name = kinds[0][type(value)]
    _require_bounded(value)
    parts = kinds[1][name].parts(value)
    budget.take(len(parts) + 2)
    inner = functools.partial(_tree, budget=budget, kinds=kinds, depth=depth + _DEEPER)
    if name == "array" and value.dtype.kind not in "mM":
        budget.take(0, _size(value.dtype, *parts[2:]))
    return [TAG, name, *[wire.encode(part, inner, budget, depth) for part in parts]]


def _require_bounded(value: Any) -> None:
    """A range of rows has no memory of its own, but what is made of it has."""
    if type(value).__name__ == "RangeIndex" and len(value) > MAX_ELEMENTS:
        raise WireError("an index of too many rows")


@functools.cache
def _kinds(with_pandas: bool) -> tuple[dict[type, str], dict[str, _Kind]]:
    """The name of each class that crosses, and how it does."""
    np = arrays.numpy
    times = (datetime.date, datetime.time, datetime.datetime)
    names: dict[type, str] = {one: one.__name__ for one in times}
    kinds = {one.__name__: _Kind(_iso, one.fromisoformat) for one in times}
    if np is not None:
        names |= {np.ndarray: "array", np.datetime64: "scalar", np.timedelta64: "scalar", np.str_: "scalar"}
        names |= {type(np.dtype(one)): "dtype" for one in ("M8[s]", "m8[s]", "U", "S", "O")}
        kinds["array"] = _Kind(_parts_of_array, _array)
        kinds["scalar"] = _Kind(lambda value: (np.array([value]),), lambda array: array[0])
        kinds["dtype"] = _Kind(lambda value: (np.empty(0, value),), lambda array: array.dtype)
    if with_pandas and np is not None:
        _add_pandas(sys.modules[_PANDAS], names, kinds)
    return names, kinds


def _iso(value: Any) -> tuple[str]:
    if type(getattr(value, "tzinfo", None)) not in (type(None), datetime.timezone):
        raise WireError("a time zone with rules")
    return (value.isoformat(),)


# ---------------------------------------------------------------- arrays


def _parts_of_array(array: Any) -> tuple[Any, ...]:
    """Dtype and shape; the numbers of times, or, for each place, that of its cell; and the cells."""
    name, shape = array.dtype.str.replace(">", "<"), array.shape
    if array.dtype.kind in "mM":
        return name, shape, array.astype(name, order="C").view("i8"), []
    cells = array.ravel().tolist()
    if array.dtype.kind not in "OUS" or _has_dict(cells):
        raise WireError("no array of plain values")
    if not all(type(one).__name__ in _REPEATED for one in cells):
        return name, shape, None, cells
    keys = [one if type(one) is str else (id(one),) for one in cells]
    different = dict(zip(keys, cells, strict=True))
    numbers = {key: number for number, key in enumerate(different)}
    return name, shape, arrays.numpy.array([numbers[key] for key in keys], "i4"), [*different.values()]


def _size(dtype: Any, numbers: Any, cells: list[Any]) -> int:
    """The bytes of an array beyond those of its cells: a method of a column makes each text anew."""
    count = len(cells) if numbers is None else numbers.size
    if dtype.kind != "O":
        return int(count * dtype.itemsize)
    sizes = arrays.numpy.array([len(one) if type(one) is str else 0 for one in cells], "i8")
    return 0 if numbers is None or not count else int(max(sizes[numbers].sum() - sizes.sum(), 0))


def _array(budget: Budget, name: str, shape: tuple[int, ...], numbers: Any, cells: list[Any]) -> Any:
    np = arrays.numpy
    if not _DTYPE.fullmatch(name):
        raise WireError("no such dtype")
    dtype = np.dtype(name)
    if dtype.kind in "mM":
        return numbers.view(dtype).reshape(shape)
    kind = {"U": "str", "S": "bytes"}.get(dtype.kind)
    if _has_dict(cells) or (kind is not None and not all(type(one).__name__ == kind for one in cells)):
        raise WireError("cells that are no plain values")
    if wire.have_one_hash([one for one in cells if wire.is_key(one)]):
        raise WireError("cells with the same hash")
    made = np.fromiter(cells, object, len(cells))
    if numbers is not None and (not all(type(one).__name__ in _REPEATED for one in cells) or (numbers < 0).any()):
        raise WireError("cells that are not repeated")
    budget.take(0, _size(dtype, numbers, cells))
    made = made if numbers is None else made[numbers]
    return made.astype(dtype).reshape(shape)


def _has_dict(value: Any) -> bool:
    """Whether a dict is in a cell: below the label `__array_interface__`, NumPy takes one for an address in memory."""
    return type(value) is dict or (type(value) in (list, tuple) and any(map(_has_dict, value)))


# ---------------------------------------------------------------- pandas


def _add_pandas(pd: Any, names: dict[type, str], kinds: dict[str, _Kind]) -> None:
    np, of, whole = arrays.numpy, pd.arrays, arrays.numpy.ascontiguousarray  # of a view, only its own numbers
    masked = {"i": of.IntegerArray, "u": of.IntegerArray, "f": of.FloatingArray, "b": of.BooleanArray}

    def add(name: str, classes: tuple[type, ...], parts: Callable[[Any], Any], make: Callable[..., Any]) -> None:
        names.update(dict.fromkeys(classes, name))
        kinds[name] = _Kind(parts, make)

    def data(value: Any) -> Any:
        return whole(value.to_numpy()) if isinstance(value.dtype, np.dtype) else value.array

    def values(one: Any) -> Any:
        """The values of a column: no list, as only `_array` looks into cells; pandas' C code trusts the dimensions."""
        if not isinstance(one, np.ndarray | pd.api.extensions.ExtensionArray) or one.ndim != 1:
            raise WireError("no values of a column")
        return one

    def labels(one: Any) -> Any:
        if not isinstance(one, pd.Index):
            raise WireError("no index")
        return one

    def frequency(index: Any) -> str | None:
        if type(index) not in (pd.DatetimeIndex, pd.TimedeltaIndex) or index.freq is None:
            return None
        if pd.tseries.frequencies.to_offset(index.freqstr) != index.freq:
            raise WireError("days of a calendar of one's own")
        return str(index.freqstr)

    def index(column: Any, name: Any, freq: Any) -> Any:
        made = pd.Index(values(column), dtype=column.dtype, name=name, tupleize_cols=False)
        if freq is not None:
            made.freq = freq
        return made

    def series(column: Any, rows: Any, name: Any = None) -> Any:
        if len(values(column)) != len(labels(rows)):
            raise WireError("a column of another length than its index")
        return pd.Series(column, rows, name=name, dtype=column.dtype)

    def frame(columns: list[Any], rows: Any, names: Any) -> Any:
        made = pd.DataFrame({at: series(one, rows) for at, one in enumerate(columns)}, index=labels(rows))
        made.columns = labels(names)
        return made

    indexes = pd.Index, pd.DatetimeIndex, pd.TimedeltaIndex, pd.CategoricalIndex, pd.IntervalIndex, pd.PeriodIndex
    dtypes = [one for name, one in vars(pd).items() if name.endswith("Dtype")]
    add("DataFrame", (pd.DataFrame,), lambda it: ([data(one) for _, one in it.items()], it.index, it.columns), frame)
    add("Series", (pd.Series,), lambda it: (data(it), it.index, it.name), series)
    add("Index", indexes, lambda it: (data(it), it.name, frequency(it)), index)
    add("RangeIndex", (pd.RangeIndex,), lambda it: (it.start, it.stop, it.step, it.name),
        lambda *parts: pd.RangeIndex(*parts[:3], name=parts[3]))  # fmt: skip
    add("MultiIndex", (pd.MultiIndex,), lambda it: ([*it.levels], [np.array(one) for one in it.codes], [*it.names]),
        lambda levels, at, names: pd.MultiIndex([*map(labels, levels)], [*map(values, at)], names=names))  # fmt: skip
    add("Categorical", (pd.Categorical,), lambda it: (it.codes, it.categories, it.ordered),
        lambda at, kinds, ordered: pd.Categorical.from_codes(values(at), labels(kinds), ordered))  # fmt: skip
    add("masked", (*masked.values(),), lambda it: (whole(it._data), whole(it._mask)),
        lambda column, mask: masked[column.dtype.kind](values(column), values(mask)))  # fmt: skip
    add("texts", (of.StringArray, of.ArrowStringArray, type(pd.Series(["a"]).array)),
        lambda it: (str(it.dtype), np.asarray(it, object)),
        lambda name, cells: pd.array(values(cells), pd.StringDtype.construct_from_string(name)))  # fmt: skip
    add("zoned", (of.DatetimeArray,), lambda it: (it.tz_convert("UTC").tz_localize(None).to_numpy(), _zone(it.tz)),
        lambda at, zone: pd.DatetimeIndex(values(at)).tz_localize("UTC").tz_convert(_named(zone)).array)  # fmt: skip
    add("periods", (of.PeriodArray,), lambda it: (whole(it.asi8), it.freqstr),
        lambda at, freq: pd.PeriodIndex.from_ordinals(values(at), freq=freq).array)  # fmt: skip
    add("intervals", (of.IntervalArray,), lambda it: (it.left, it.right, it.closed),
        lambda left, right, closed: of.IntervalArray.from_arrays(labels(left), labels(right), closed))  # fmt: skip
    add("moment", (pd.Timestamp, pd.Timedelta, pd.Period), lambda it: (data(pd.Series([it])),),
        lambda one: pd.Series(values(one))[0])  # fmt: skip
    add("Interval", (pd.Interval,), lambda it: (it.left, it.right, it.closed), pd.Interval)
    add("NaT", (type(pd.NaT),), lambda it: (), lambda: pd.NaT)
    add("NA", (type(pd.NA),), lambda it: (), lambda: pd.NA)
    add("kind", (*dtypes,), lambda it: (pd.array([], dtype=it),), lambda array: array.dtype)


def _zone(zone: Any) -> str | float:
    """A time zone by its name, or by its seconds."""
    if type(zone) is datetime.timezone:
        return zone.utcoffset(None).total_seconds()
    return str(getattr(zone, "key", None) or zone.zone)


def _named(zone: Any) -> Any:
    if type(zone) is not str:
        return datetime.timezone(datetime.timedelta(seconds=zone))
    zoneinfo.ZoneInfo(zone)  # pandas knows further names, and reads any file for some
    return zone
