"""Whatever numbers and labels a picture has, it is drawn or is a line of text: no report ends for it."""

from __future__ import annotations

import io
import math
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from grader.pictures import Grid, Lines, Picture, PictureData, Points, Spot, bounded
from grader.reports import drawing
from grader.reports.drawing import figure_of, print_picture, problem_of

SMALL = (5e-324, -5e-324, 1e-310, 1e-40, 1e-30, 1e-12)
LARGE = (1e12, 1.00001e12, -1e12, 1e308, -1e308, 10**400, -(10**400))
NUMBERS = st.sampled_from([0, -0.0, 1, 0.5, 1.00001, 3, *SMALL, *LARGE, math.nan, math.inf, -math.inf, None, True])
COMMON = st.one_of(NUMBERS, st.just(2.0))
ODD_LABELS = (
    "", "_a", "$x^{$", r"$\frac{1}{0}$", "😀" * 30, "x" * 300, "a\nb\r\n", "\x1b[31m", "\ud800", "\ufffe\uffff", "]]>",
    ' id="' + "a" * 50, "M 1 1 L 2 1 L", "<svg>", "مرحبا", "e\u0301" * 40, "{}{0}%s", "&amp;", "\0",
)  # fmt: skip
LABELS = st.one_of(st.sampled_from(ODD_LABELS), st.text(max_size=8))


def numbers(low: int, high: int) -> st.SearchStrategy[list[Any]]:
    return st.one_of(
        st.lists(COMMON, min_size=low, max_size=high),
        st.builds(lambda one, count: [one] * count, NUMBERS, st.integers(low, high)),
    )


CLASSES = st.lists(st.integers(-1, 8), max_size=6)
POINTS = st.builds(
    Points,
    x=numbers(1, 6), y=numbers(1, 6), classes=st.one_of(st.just([]), CLASSES), names=st.lists(LABELS, max_size=8),
    x_label=LABELS, y_label=LABELS,
)  # fmt: skip
LINES = st.builds(
    Lines,
    series=st.dictionaries(LABELS, numbers(0, 6), max_size=8),
    x=st.one_of(st.just([]), numbers(6, 6)), x_label=LABELS, y_label=LABELS,
    marked=st.one_of(st.none(), st.builds(Spot, COMMON, COMMON, LABELS)),
)  # fmt: skip
ENDS = st.one_of(st.none(), st.tuples(COMMON, COMMON), st.tuples(NUMBERS).map(lambda one: one * 2))
GRIDS = st.integers(1, 5).flatmap(
    lambda count: st.builds(
        Grid,
        values=st.lists(st.lists(st.one_of(st.integers(0, 1), NUMBERS), min_size=count, max_size=count), max_size=5),
        names=st.one_of(st.just([]), st.lists(LABELS, max_size=8)), x=ENDS, y=ENDS,
        points=st.one_of(st.none(), POINTS), x_label=LABELS, y_label=LABELS,
    )
)  # fmt: skip


def is_drawn(data: PictureData) -> None:
    picture = Picture("t", bounded(data))
    assert problem_of(picture, on_a_page=True) == ""
    for width, encoding in ((80, "utf-8"), (41, "utf-8"), (80, "ascii")):
        stream = io.TextIOWrapper(
            io.BytesIO(), encoding=encoding, errors="strict" if encoding != "ascii" else "replace"
        )
        print_picture(picture, Console(file=stream, width=width, highlight=False, markup=False, emoji=False), 6)
        stream.seek(0)
        assert "no picture" not in stream.read()
    page = str(figure_of(picture))
    assert "<svg" in page and ET.fromstring(page) is not None


@given(st.one_of(LINES, POINTS, GRIDS))
@settings(max_examples=60, deadline=None, derandomize=True, database=None)
def test_whatever_is_within_the_bounds_is_drawn_everywhere(data: PictureData) -> None:
    try:
        bounded(data)
    except ValueError as refused:
        assert str(refused)
    else:
        is_drawn(data)


@pytest.mark.parametrize(
    "data",
    [
        Lines(series={"a": [0.0, 5e-324]}),
        Lines(series={"a": [1.0, 2.0]}, x=[0.0, 5e-324]),
        Points(x=[1e-310, -1e-310], y=[5e-324, 0.0]),
        Grid(values=[[0.0, 5e-324], [1e12, -1e12]]),
        Grid(values=[[1.0, 2.0], [3.0, 4.0]], x=(3.0, 3.0), y=(1e12, 1e12)),
        Grid(values=[[0, 1]], names=["a", "b"], points=Points(x=[0.5], y=[0.0], classes=[1], names=["c"])),
        Lines(series={' id="' + "a" * 50: [1.0, 2.0], "b": [2.0, 1.0]}),
    ],
)
def test_numbers_that_have_no_steps_are_drawn(data: PictureData) -> None:
    is_drawn(data)


def test_points_on_a_grid_have_classes_of_the_grid() -> None:
    with pytest.raises(ValueError, match="5 is not a class: they are 0 to 1"):
        bounded(Grid(values=[[0, 1]], names=["a", "b"], points=Points(x=[0.5], y=[0.0], classes=[5])))


def test_a_picture_that_a_library_cannot_draw_is_a_line_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*ends: float) -> Sequence[float]:
        raise ZeroDivisionError(f"of {ends}\nwith \x1b[31mcolour")

    monkeypatch.setattr(drawing, "ticks", fails)
    picture = Picture("Loss <1>", bounded(Lines(series={"a": [0.25, 0.125]})))
    stream = io.StringIO()
    print_picture(picture, Console(file=stream, width=200))
    page = str(figure_of(picture))
    for text in (stream.getvalue(), page):
        assert "no picture: its numbers cannot be drawn (ZeroDivisionError: of " in text and "\x1b" not in text
    assert page.startswith("<p>Loss &lt;1&gt;: no picture") and page.count("\n") == 0
    assert problem_of(picture, on_a_page=False)
