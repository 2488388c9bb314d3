"""Pictures as text of a terminal and as SVG: within the width, harmless, the same every time, and without colours."""

from __future__ import annotations

import io
import math
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest
from rich.console import Console
from shared import REPO

from grader.pictures import (
    DIAGRAM_COLUMNS,
    MOST_DIAGRAM_LINES,
    Diagram,
    Grid,
    Lines,
    Picture,
    PictureData,
    Points,
    Spot,
    bounded,
)
from grader.reports.drawing import figure_of, print_picture, ticks

HOSTILE = "$\\frac{1}{0}$ <script>alert(1)</script> \x1b[31m"
LOSS = Lines(
    series={"train": [0.7, 0.4, None, 0.1], "validation": [0.8, 0.5, 0.4, 0.45]},
    x_label="epoch", y_label="loss", marked=Spot(3, 0.4, "best epoch"),
)  # fmt: skip
SPOTS = Points(x=[-1, 0, 1], y=[0.5, 0, -0.5], classes=[0, 1, 1], names=["inside", "outside"])
REGIONS = Grid(values=[[0, 1] * 8] * 8, names=["inside", "outside"], x=(-1, 1), y=(-1, 1), points=SPOTS)
SCALE = Grid(values=[[row * column for column in range(9)] for row in range(5)], x_label="key", y_label="query")
RANKS = Grid(values=[[0, 1, None, 2], [2, 0, 1, None]], names=["rank 0", "rank 1", "rank 2"], x_label="row")
MANY = Lines(series={f"line {n}": [math.sin(i / 9 + n) for i in range(250)] for n in range(8)})
ONE = Lines(series={"a": [1e-9]}, x=[7])
SAME = Points(x=[3, 3], y=[-2, -2])
DATA = {
    "loss": LOSS, "spots": SPOTS, "regions": REGIONS, "scale": SCALE, "ranks": RANKS, "many": MANY, "one": ONE,
    "same": SAME, "gaps first": Lines(series={"a": [None, None, 2.0, 1.0]}), "flat": Grid(values=[[5.0] * 3]),
    "hostile": Lines(series={HOSTILE: [1, 2]}, x_label=HOSTILE, y_label=HOSTILE, marked=Spot(1, 1, HOSTILE)),
    "fine": Grid(values=[[(row * column) % 3 for column in range(64)] for row in range(64)], names=["a", "b", "c"]),
}  # fmt: skip


def text_of(
    data: PictureData, width: int, *, title: str = "A title", encoding: str = "utf-8", colours: bool = False
) -> str:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    forced = {"force_terminal": True, "color_system": "256"} if colours else {}
    console = Console(file=stream, width=width, highlight=False, markup=False, emoji=False, **forced)  # type: ignore[arg-type]
    print_picture(Picture("A title", bounded(data)), console)
    stream.seek(0)
    return stream.read()


@pytest.mark.parametrize("width", [80, 60, 41])
@pytest.mark.parametrize("name", DATA)
def test_no_line_is_wider_than_the_terminal_and_without_colours_there_is_no_escape(name: str, width: int) -> None:
    text = text_of(DATA[name], width)
    assert max(len(line) for line in text.splitlines()) <= width
    assert "\x1b" not in text and 8 < len(text.splitlines()) < 26


def test_no_color_counts_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[38" in text_of(LOSS, 80, colours=True)
    monkeypatch.setenv("NO_COLOR", "1")
    text = text_of(LOSS, 80, colours=True)
    assert "\x1b[3" not in text.replace("\x1b[39", "") and "+ validation" in text  # lines have signs of their own


def test_without_colours_each_class_has_a_sign_that_the_legend_names() -> None:
    text = text_of(RANKS, 60)
    assert "0 rank 0   1 rank 1   2 rank 2" in text
    rows = [re.split("[│┤]", line)[1] for line in text.splitlines() if "│" in line]
    assert {sign for row in rows for sign in row} == set("012 ")
    assert rows[0].startswith("0" * 10) and rows[-1].startswith("2" * 10)


def test_the_first_row_of_a_grid_is_at_the_top_and_has_the_number_0() -> None:
    text = text_of(SCALE, 60)
    numbers = [int(line.split("┤")[0]) for line in text.splitlines() if "┤" in line]
    assert numbers == sorted(numbers) and numbers[0] == 0
    two_rows = Grid(values=[[0, 0], [1, 1]], names=["a", "b"], y=(-1.0, 1.0))
    for grid in (two_rows, Grid(values=two_rows.values, names=two_rows.names)):
        page = str(figure_of(Picture("t", bounded(grid))))
        first, second = (float(y) for y in re.findall(r'd="M[\d.]+ ([\d.]+)H[\d.]+V[\d.]+H[\d.]+z', page)[2:4])
        assert first < second  # in an SVG y grows downwards


def test_a_grid_of_one_value_is_drawn_in_full() -> None:
    assert "████" in text_of(DATA["flat"], 60)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("loss", "train: 4 numbers, from 0.7 to 0.1; validation: 4 numbers, from 0.8 to 0.45"),
        ("spots", "3 points of 2 classes"),
        ("ranks", "a grid of 2 × 4 cells"),
    ],
)
def test_a_terminal_that_cannot_draw_gets_one_line(name: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert text_of(DATA[name], 100, encoding="latin-1") == f"A title\n{words}\n"
    monkeypatch.setenv("TERM", "dumb")
    assert words in text_of(DATA[name], 100, colours=True)


@pytest.mark.parametrize("name", DATA)
def test_an_svg_is_one_element_that_brings_nothing_and_runs_nothing(name: str) -> None:
    page = str(figure_of(Picture(HOSTILE, bounded(DATA[name]))))
    root = ET.fromstring(page)
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags <= {"figure", "figcaption", "svg", "g", "defs", "path", "use", "text", "clipPath", "rect", "tspan"}
    links = [value for element in root.iter() for key, value in element.attrib.items() if "href" in key or key == "src"]
    assert all(link.startswith("#") for link in links)
    assert len(page) < 120_000 and "\x1b" not in page


TREE = Diagram(lines=["L = s * p", "├─ s   <b>", "└─ \x1b[31mp" + "x" * 100])


@pytest.mark.parametrize("width", [80, 60, 41])
def test_a_diagram_keeps_its_lines_within_the_width(width: int) -> None:
    _title, *lines = text_of(TREE, width).splitlines()
    assert lines[:2] == ["L = s * p", "├─ s   <b>"] and len(lines) == 3
    assert max(map(len, lines)) <= min(width, DIAGRAM_COLUMNS) and lines[2].endswith("…") and "\x1b" not in lines[2]
    assert text_of(TREE, 80, encoding="latin-1") == "A title\na diagram of 3 lines\n"


def test_a_diagram_on_a_page_is_text_that_may_be_scrolled() -> None:
    page = str(figure_of(Picture("t", bounded(TREE))))
    assert {element.tag for element in ET.fromstring(page).iter()} == {"figure", "figcaption", "pre"}
    assert "├─ s   &lt;b&gt;" in page and "overflow-x:auto" in page and "\x1b" not in page


@pytest.mark.parametrize("lines", [[], ["x"] * (MOST_DIAGRAM_LINES + 1), [1], "text", [["x"]]])
def test_a_diagram_is_a_few_lines_of_text(lines: object) -> None:
    with pytest.raises(ValueError, match=r"a diagram has 1 to 24 lines|where a label is expected"):
        bounded(Diagram(lines=lines))  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_same_picture_is_the_same_text_in_every_process() -> None:
    code = (
        "import hashlib\nfrom test_pictures_drawn import DATA, bounded, figure_of, Picture\n"
        "for name in ('loss', 'regions'):\n"
        "    print(hashlib.sha256(figure_of(Picture('t', bounded(DATA[name]))).encode()).hexdigest())"
    )
    paths = os.pathsep.join([str(REPO), str(REPO / "tests"), str(REPO / "tests" / "reports")])
    found = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": paths, "PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("0", "1")
    ]  # fmt: skip
    assert found[0] == found[1] and len(found[0]) > 100


def test_a_picture_with_a_problem_is_one_plain_line() -> None:
    picture = Picture("Loss", problem="your code raised <b>ValueError</b>")
    assert str(figure_of(picture)) == "<p>Loss: no picture: your code raised &lt;b&gt;ValueError&lt;/b&gt;</p>"
    stream = io.StringIO()
    print_picture(picture, Console(file=stream, width=80))
    assert stream.getvalue() == "Loss\nno picture: your code raised <b>ValueError</b>\n"


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [(0, 5, [0, 1, 2, 3, 4, 5]), (0, 0.8, [0, 0.2, 0.4, 0.6, 0.8]), (3, 3, [3]), (-1, 1, [-1, -0.5, 0, 0.5, 1])],
)
def test_ticks_are_round_numbers(low: float, high: float, found: list[float]) -> None:
    assert ticks(low, high, 6) == pytest.approx(found)
