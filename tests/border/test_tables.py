"""Tables of pandas cross as data: each comes back as it was, and nothing that is read can do more than be refused."""

from __future__ import annotations

import contextlib
import datetime
import subprocess
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judge_here import ServiceHere

from grader.border import bounds, tables, wire
from grader.border.bounds import Budget, WireError
from grader.border.channel import Channel
from grader.border.failures import BadReply
from grader.border.messages import Request, Returned
from grader.border.proxies import Remote, SubmissionProxy
from grader.border.service import Service
from grader.testkit import assert_close, assert_equal
from grader.testkit.compare import Mismatch
from grader.testkit.show import show

DAYS = pd.to_datetime(["2020-01-01", None, "2021-02-03"])
FRAME = pd.DataFrame({
    "int": [1, 2, 3], "float": [1.0, np.nan, -0.0], "text": ["a", None, "a"], "bool": [True, False, True],
    "mixed": [1, "x", None], "lists": [[1], [2, "b"], []], "day": DAYS, "zone": DAYS.tz_localize("Europe/Berlin"),
    "utc": DAYS.tz_localize("UTC"), "offset": DAYS.tz_localize(datetime.timezone(datetime.timedelta(hours=2))),
    "span": pd.to_timedelta(["1D", None, "3h"]), "kind": pd.Categorical(["x", "y", None], ordered=True),
    "Int64": pd.array([1, None, 3], dtype="Int64"), "Float32": pd.array([1, None, 3], dtype="Float32"),
    "boolean": pd.array([True, None, False], dtype="boolean"), "string": pd.array(["q", None, "r"], dtype="string"),
    "object": pd.Series(["a", np.nan, "b"], dtype=object), "month": pd.period_range("2020", periods=3, freq="M"),
    "cut": pd.cut([1, 2, 3], 2), "interval": pd.arrays.IntervalArray.from_breaks([0, 1, 2, 3]),
    "date": [datetime.date(2020, 1, day) for day in (1, 2, 3)], "uint8": np.array([1, 2, 3], dtype="uint8"),
    "missing": pd.Series([pd.Timestamp("2020", tz="Asia/Tokyo"), pd.NaT, pd.NA], dtype=object),
})  # fmt: skip
TABLES = {
    "frame": FRAME,
    "no rows": FRAME.iloc[:0],
    "no columns": FRAME[[]],
    "nothing": pd.DataFrame(),
    "one name twice": FRAME[["int", "text", "int"]],
    "transposed": FRAME[["int", "float"]].T,
    "described": FRAME[["int", "float"]].describe(),
    "columns of two levels": FRAME.groupby("bool").agg({"int": ["sum", "mean"], "float": "max"}),
    "rows of two levels": FRAME.set_index(["text", "int"]),
    "pivot": FRAME.pivot_table(index="bool", columns="uint8", values="int"),
    "intervals as rows": FRAME.set_index("cut"),
    "times as rows": FRAME.set_index("zone"),
    "counts": FRAME["object"].value_counts(),
    "dtypes": FRAME.dtypes,
    "a row": FRAME.iloc[0],
    "a name of two": pd.Series([1, 2], name=("a", 1), index=pd.RangeIndex(8, 0, -4, name="n")),
    "every month": pd.date_range("2020", periods=3, tz="US/Eastern", freq="MS"),
    "every hour": pd.timedelta_range("1h", periods=3, freq="h"),
    "quarters": pd.period_range("2020", periods=3, freq="Q"),
    "tuples": pd.Index([("a", 1), ("b", 2)], tupleize_cols=False),
}
VALUES = [
    pd.Timestamp("2020-01-01 03:04:05.678", tz="Asia/Tokyo"),
    pd.Timestamp("2020-01-01").as_unit("s"),
    pd.Timedelta("3h"),
    pd.Period("2020-01"),
    pd.Interval(0, 1.5, closed="left"),
    *[FRAME[name].dtype for name in ("text", "Int64", "kind", "zone", "month", "interval", "string", "object", "day")],
    np.datetime64("2020"),
    np.timedelta64(3, "h"),
    np.str_("ab"),
    datetime.date(2020, 1, 2),
    datetime.datetime(2020, 1, 2, 3, tzinfo=datetime.timezone.utc),
]


def there_and_back(value: object) -> Any:
    tree = tables.tree_of(value, Budget(), has_pandas=True)
    assert tree is not None
    return tables.made_of(wire.unpack(wire.pack(tree)), Budget(), may_import=False)


@pytest.mark.parametrize("name", TABLES)
def test_every_table_comes_back_as_it_was(name: str) -> None:
    table = TABLES[name]
    back = there_and_back(table)
    assert type(back) is type(table)
    if isinstance(table, pd.DataFrame):
        pd.testing.assert_frame_equal(back, table, check_freq=True)
    elif isinstance(table, pd.Series):
        pd.testing.assert_series_equal(back, table, check_freq=True)
    else:
        pd.testing.assert_index_equal(back, table, exact=True)
        assert getattr(back, "freq", None) == getattr(table, "freq", None)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_that_only_pandas_has_come_back(value: object) -> None:
    back = there_and_back(value)
    assert type(back) is type(value)
    assert back == value
    assert repr(back) == repr(value)


def test_arrays_of_texts_times_and_objects_come_back_and_what_is_missing_is_the_same() -> None:
    for array in (np.array([["a", "bb"], ["c", "d"]]), np.array([b"ab", b""]), DAYS.to_numpy(), FRAME.to_numpy()):
        back = there_and_back(array)
        assert (back.dtype, back.shape) == (array.dtype, array.shape)
        assert repr(back.tolist()) == repr(array.tolist())
    assert there_and_back(pd.NA) is pd.NA
    assert there_and_back(pd.NaT) is pd.NaT


def test_of_a_view_nothing_else_is_sent() -> None:
    both = np.array([[1.0, 4711.0]] * 3)
    views = [pd.DataFrame(both, copy=False)[0], pd.Series(both[:, 0], copy=False)]
    views.append(pd.Series(pd.arrays.FloatingArray(both[:, 0], np.zeros(3, bool))))
    for view in views:
        tree = tables.tree_of(view, Budget(), has_pandas=True)
        assert both[0, 1].tobytes() not in wire.pack(tree)


def test_long_columns_cross_with_their_index() -> None:
    assert there_and_back(pd.Series(np.zeros(bounds.MAX_ELEMENTS, "int8"))).shape == (bounds.MAX_ELEMENTS,)


class Own(pd.DataFrame):
    def equals(self, other: object) -> bool:
        return True


@pytest.mark.parametrize(
    "value",
    [
        Own({"a": [1]}),
        pd.Series([{1}]),
        pd.Series([object()]),
        pd.Series(pd.arrays.SparseArray([0, 1])),
        pd.Series(np.zeros(bounds.MAX_ELEMENTS + 1, "int8")),
        pd.Series(["x" * 1000]).repeat(100_000),
        pd.Series([{"data": (1, False), "typestr": "<i8", "shape": (1,), "version": 3}], ["__array_interface__"]),
        pd.Series([[({"a": 1},)]]),
        pd.RangeIndex(1 << 40),
    ],
    ids=["subclass", "set", "object", "sparse", "large", "repeated texts", "address", "dict in a list", "range"],
)
def test_anything_else_stays_over_there_and_costs_nothing(value: object) -> None:
    budget = Budget()
    assert tables.tree_of(value, budget, has_pandas=True) is None
    assert (budget.items, budget.elements) == (bounds.MAX_ITEMS, bounds.MAX_ELEMENTS)


def numbers(*values: int, dtype: str = "i8") -> list[Any]:
    tree: list[Any] = wire.encode(np.array(values, dtype), lambda value: None)
    return tree


ROWS = ["P", "RangeIndex", 0, 2, 1, None]
COLUMN = numbers(1, 2)
ADDRESS = ["d", "data", ["t", 1, False], "typestr", "<i8", "shape", ["t", 1], "version", 3]
SAME_HASH = ["l", *(["i", hex(n * (2**61 - 1) + 2**64)] for n in range(9, 3000))]


@pytest.mark.parametrize(
    "tree",
    [
        ["P"],
        ["P", 1],
        ["P", "Panel", COLUMN],
        ["P", "Series", COLUMN],
        ["P", "Series", COLUMN, ["P", "RangeIndex", 0, 3, 1, None], None],
        ["P", "Series", ["s", "int64", b"\0" * 8], ["P", "RangeIndex", 0, 1 << 20, 1, None], None],
        ["P", "Series", COLUMN, ROWS, ["l"]],
        ["P", "RangeIndex", 0, 1 << 40, 1, None],
        ["P", "DataFrame", ["l", COLUMN, numbers(1)], ROWS, ROWS],
        ["P", "DataFrame", ["l", COLUMN], ROWS, ROWS],
        ["P", "array", "<M8[ns]", ["t", 2], numbers(1, 2, dtype="i4"), ["l"]],
        ["P", "array", "<f8", ["t", 2], COLUMN, ["l"]],
        ["P", "array", "i4,(1000000,1000)f8", ["t", 2], COLUMN, ["l"]],
        ["P", "array", "|O", ["t", 3], None, ["l", 1, 2]],
        ["P", "array", "|O", ["t", 2], numbers(0, 5), ["l", "a"]],
        ["P", "array", "|O", ["t", 2], numbers(0, -1), ["l", "a"]],
        ["P", "array", "|O", ["t", 2], numbers(0, 0), ["l", ["l", 1]]],
        ["P", "array", "|O", ["t", 1], None, ["l", ADDRESS]],
        ["P", "array", "|O", ["t", 1], None, ["l", ["t", ADDRESS]]],
        ["P", "array", "|O", ["t", len(SAME_HASH) - 1], None, SAME_HASH],
        ["P", "array", "<U9999999", ["t", 2], None, ["l", "a", "b"]],
        ["P", "array", "|O", ["t", 4000], numbers(*[0] * 4000), ["l", "x" * 10_000]],
        ["P", "MultiIndex", ["l", ROWS], ["l", numbers(0, 7)], ["l", None]],
        ["P", "Categorical", numbers(0, 7), ROWS, False],
        ["P", "masked", COLUMN, COLUMN],
        ["P", "texts", "object", ["l", ADDRESS]],
        ["P", "texts", "object", ["P", "array", "|O", ["t", 1], None, ["l", 1]]],
        ["P", "Series", ["l", ADDRESS, 1], ROWS, None],
        ["P", "DataFrame", ["l", ["l", ADDRESS, 1]], ROWS, ROWS],
        ["P", "Categorical", numbers(0), SAME_HASH, False],
        ["P", "MultiIndex", ["l", SAME_HASH], ["l", numbers(0)], ["l", None]],
        ["P", "intervals", ["l", 1], ["l", 2], "left"],
        ["P", "moment", ["d", 0, ADDRESS]],
        ["P", "texts", "paper", COLUMN],
        ["P", "zoned", ["P", "array", "<M8[ns]", ["t", 2], COLUMN, ["l"]], "../../etc/passwd"],
        ["P", "zoned", ["P", "array", "<M8[ns]", ["t", 2], COLUMN, ["l"]], "dateutil//etc/passwd"],
        ["P", "Index", ["P", "array", "<M8[ns]", ["t", 2], COLUMN, ["l"]], None, "MS"],
        ["P", "periods", COLUMN, "tomorrow"],
        ["P", "Index", ["P", "periods", -1, "M"], None, None],
        ["P", "Index", ["P", "periods", ["n", "int64", [], None, b"\0" * 8], "M"], None, None],
        ["P", "date", "today"],
        ["P", "Series", COLUMN, ["h", 0, "Index"], None],
    ],
    ids=lambda tree: str(tree)[:60],
)
def test_malformed_tables_are_refused(tree: Any) -> None:
    with pytest.raises(WireError):
        tables.made_of(tree, Budget(), may_import=False)


def with_part(tree: Any, at: float, part: Any) -> Any:
    """The tree with one of its nodes, the one at this share of them, replaced."""
    nodes = count(tree)
    if type(tree) is not list or at * nodes < 1:
        return part
    left = int(at * nodes) - 1
    made = []
    for one in tree:
        inner = count(one)
        made.append(with_part(one, left / inner, part) if 0 <= left < inner else one)
        left -= inner
    return made


def count(tree: Any) -> int:
    return 1 + sum(map(count, tree)) if type(tree) is list else 1


@settings(max_examples=300)
@given(
    name=st.sampled_from([*TABLES]),
    at=st.floats(0, 1, exclude_max=True),
    part=st.sampled_from([None, -1, 1 << 40, 2.5, "", "M", b"\0", "|O", ["l"], ["l", ADDRESS], ADDRESS, COLUMN, ROWS]),
)
def test_a_changed_tree_gives_data_or_a_wire_error(name: str, at: float, part: Any) -> None:
    tree = tables.tree_of(TABLES[name], Budget(), has_pandas=True)
    with contextlib.suppress(WireError):
        made = wire.decode(with_part(tree, at, part), lambda one: tables.made_of(one, Budget(), may_import=False))
        assert "typestr" not in str(made) or type(made) is not type(TABLES[name])


def test_deep_nonsense_is_refused() -> None:
    tree: Any = ROWS
    for _ in range(500):
        tree = ["P", "Index", tree, None, None]
    with pytest.raises(WireError):
        tables.made_of(tree, Budget(), may_import=False)


@pytest.fixture
def submission() -> SubmissionProxy:
    module = ModuleType("work")
    exec("def echo(x):\n    return x\n\n\ndef head(df):\n    return [df.head(1), set]", vars(module))
    return SubmissionProxy(Channel(ServiceHere(Service(module, frozenset()))))


def test_checks_pass_tables_and_get_them(submission: SubmissionProxy) -> None:
    back, kind = submission.head(FRAME)
    pd.testing.assert_frame_equal(back, FRAME.head(1))
    assert type(kind) is Remote
    assert submission.echo({"at": [DAYS]})["at"][0].equals(DAYS)
    assert type(submission.echo(FRAME)) is pd.DataFrame
    with pytest.raises(TypeError, match="cannot pass a Series"):
        submission.echo(pd.Series([{1}]))


def test_table_that_lies_ends_the_process(submission: SubmissionProxy) -> None:
    class Liar:
        def call(self, request: bytes) -> bytes:
            return wire.pack(Returned(["P", "Series", COLUMN, ["P", "RangeIndex", 0, 3, 1, None], None]))

    with pytest.raises(BadReply, match="parts that make no table"):
        SubmissionProxy(Channel(Liar())).echo(1)  # type: ignore[arg-type]


def test_without_pandas_in_the_judge_a_table_is_a_handle() -> None:
    module = ModuleType("work")
    vars(module)["df"] = FRAME
    reply = Service(module, frozenset()).answer(wire.pack(Request("value", [["f", "df"]], [])))
    assert wire.unpack(reply, Returned).value == ["h", 0, "DataFrame"]


@pytest.mark.slow
def test_pandas_is_imported_for_a_table_that_a_test_passes_and_for_no_other() -> None:
    tree = tables.tree_of(FRAME[["int"]], Budget(), has_pandas=True)
    code = f"""
import sys
from grader.border import tables
from grader.border.bounds import Budget, WireError
try:
    tables.made_of({tree!r}, Budget(), may_import=False)
except WireError:
    assert "pandas" not in sys.modules
    assert tables.made_of({tree!r}, Budget(), may_import=True).shape == (3, 1)
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("value", "other", "reason"),
    [
        (FRAME, FRAME.assign(int=[1, 2, 4]), 'column name="int"'),
        (FRAME["int"], FRAME["int"].astype(float), 'Attribute "dtype" are different'),
        (FRAME.columns, FRAME.columns[::-1], "Index values are different"),
        (FRAME["kind"].array, FRAME["kind"].array[::-1], "values are different"),
        (pd.NA, pd.NaT, "a NAType where a NaTType was expected"),
        (pd.Timestamp(2020, 1, 1), pd.Timestamp(2021, 1, 1), "where Timestamp('2021-01-01 00:00:00') was expected"),
        (np.array(["a", "b"]), np.array(["a", "ccc"]), "at [1]: 'b' where 'ccc' was expected"),
    ],
)
def test_comparisons_know_tables(value: Any, other: Any, reason: str) -> None:
    assert_equal([value], [value.copy() if hasattr(value, "copy") else value])
    for compare in (assert_equal, assert_close):
        with pytest.raises(Mismatch) as error:
            compare(value, other)
        assert reason in str(error.value)


def test_tables_are_shown_as_code() -> None:
    assert show(pd.DataFrame({"a": [1, 2]})) == "pd.DataFrame({'a': [1, 2]})"
    assert show(pd.Series([1.5], ["x"], name="n")) == "pd.Series([1.5], index=['x'], name='n')"
    assert show(pd.concat([FRAME] * 9)) == "<DataFrame of shape (27, 23)>"
