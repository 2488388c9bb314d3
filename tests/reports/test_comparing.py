"""What came back and what is right, beside each other: what differs is marked, with colours and without."""

from __future__ import annotations

import io
import math
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from classrooms import OWN, check, entry, exercise, result
from rich.console import Console

from grader.course import Course
from grader.grading.graders import Graded
from grader.judge import cause as causes
from grader.judge import explain
from grader.notebook.commands import Card
from grader.pictures import Compared
from grader.reports.check_report import MOST_ROWS, show_failure
from grader.reports.comparing import compared_rows, compared_tables
from grader.reports.html import page_name, write_report
from grader.results import Cause
from grader.testkit import assert_close, assert_equal
from grader.testkit.compare import Mismatch

T = torch.tensor
COURSE = Course.load(OWN)
MASKS = torch.ones(8, 8).tril(1) / 3, torch.ones(8, 8).tril() / 3


class AnyCheck:
    """The attributes of a check that causes are made from."""

    exercise = "vectors.normalize"
    sentence = "Each row has length 1."

    def __init__(self, hidden: bool = False) -> None:
        self.hidden = hidden


def mismatch(found: object, expected: object) -> Mismatch:
    with pytest.raises(Mismatch) as caught:
        assert_close(found, expected)
    return caught.value


def compared(found: object, expected: object) -> Compared:
    data = mismatch(found, expected).compared()
    assert data is not None
    return data


def cause_of(found: object, expected: object, hidden: bool = False) -> Cause:
    made: Any = AnyCheck(hidden)
    return causes.failed(made, None, mismatch(found, expected), "")


def drawn(data: Compared, width: int = 80, *, colours: bool = False, encoding: str = "utf-8") -> str:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    forced = {"force_terminal": True, "color_system": "256"} if colours else {"color_system": None}
    console = Console(file=stream, width=width, highlight=False, **forced)  # type: ignore[arg-type]
    for row in compared_rows(data, console, "| "):
        console.print(row, soft_wrap=True)
    stream.seek(0)
    return stream.read()


def test_what_differs_is_marked_beside_its_number() -> None:
    text = drawn(compared(T([[1, 20], [3, 4]]), T([[1, 2], [3, 5]])))
    assert [line.split() for line in text.splitlines()] == [
        ["|", "found", "expected"],
        ["|", "1", "20!", "1", "2"],
        ["|", "3", "4!", "3", "5"],
        ["|", "!", "differs"],
    ]


def test_what_is_close_enough_has_no_mark() -> None:
    data = compared(T([[1.0, 2.0], [3.0, 4.0]]), T([[1.000001, 2.0], [3.0, 4.5]]))
    assert data.differs == ((False, False), (False, True))


@pytest.mark.parametrize("width", [80, 60, 57])
@pytest.mark.parametrize("colours", [False, True])
def test_a_pattern_stays_visible_where_numbers_have_no_room(width: int, colours: bool, monkeypatch: Any) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    text = drawn(compared(*MASKS), width, colours=colours)
    plain = drawn(compared(*MASKS), width)
    assert max(map(len, plain.splitlines())) <= width and plain.count("!") == 7 + 1
    assert "██ ██!·· ··" in plain and "· is 0, █ is 0.3333" in plain
    assert ("\x1b[" in text) == colours and text.count("!") == 7 + 1  # a mark, with colours as well


def test_no_color_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    data = compared(*MASKS)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "38;5" in drawn(data, colours=True) or "48;5" in drawn(data, colours=True)
    monkeypatch.setenv("NO_COLOR", "1")
    text = drawn(data, colours=True)
    assert "48;5" not in text and "31m" not in text and "!" in text


def test_where_nothing_fits_nothing_is_drawn() -> None:
    assert drawn(compared(*MASKS), 40) == "" == drawn(compared(*MASKS), 60, encoding="latin-1")


def test_of_a_large_matrix_the_part_round_the_first_difference_is_kept() -> None:
    found = torch.zeros(30, 20)
    found[12, 19] = 1
    data = compared(found, torch.zeros(30, 20))
    assert data.corner == (9, 12) and data.sizes == ((30, 20), (30, 20))
    assert [len(data.found), len(data.found[0])] == [8, 8] == [len(data.expected), len(data.expected[0])]
    assert data.differs[3][7] and "rows 9 to 16 and columns 12 to 19 of 30 × 20" in drawn(data)


def test_of_a_batch_the_matrix_that_differs_first() -> None:
    found = torch.zeros(2, 3, 2, 2)
    found[1, 2, 0, 1] = 5
    data = compared((1.0, {"a": found}), (1.0, {"a": torch.zeros(2, 3, 2, 2)}))
    assert data.found == (("0", "5"), ("0", "0"))


def test_other_sizes_are_named_and_nothing_is_marked() -> None:
    text = drawn(compared(torch.arange(6.0).reshape(2, 3), torch.arange(6.0).reshape(3, 2)))
    assert "found, 2 × 3" in text and "expected, 3 × 2" in text and "!" not in text
    assert len(text.splitlines()) == 4


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (1.0, 2.0),
        (T([1.0, 2.0]), T([1.0, 3.0])),
        (T([[1.0, 2.0]]), T([[1.0, 3.0]])),
        (T([[1, 2], [3, 4]]), T([[1.0, 2.0], [3.0, 4.0]])),
        (torch.zeros(2, 2, dtype=torch.complex64), torch.ones(2, 2, dtype=torch.complex64)),
        (torch.zeros(2, 0), torch.zeros(2, 2)),
        (torch.zeros(2, 2, 2), torch.zeros(2, 2, 3)),
        ([1.0, torch.zeros(2, 2)], [2.0, torch.ones(2, 2)]),
    ],
)
def test_what_is_no_two_matrices_is_not_drawn(found: object, expected: object) -> None:
    assert mismatch(found, expected).compared() is None


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, 3e38, -3e38, 1e-45])
def test_any_number_can_be_drawn(number: float) -> None:
    data = compared(T([[number, 1.0], [-3e38, 0.0]]), T([[5.0, 1.0], [3e38, 0.0]]))
    assert f"{T(number).item():.4g}" in drawn(data) and drawn(data, 60)
    assert len(compared_tables(data)) < 4_000
    assert drawn(compared(torch.full((8, 8), number), torch.ones(8, 8)), 60)


def test_booleans_are_drawn_as_such() -> None:
    assert "False!" in drawn(compared(torch.eye(2).bool(), torch.ones(2, 2).bool()))


def test_a_hidden_check_keeps_nothing() -> None:
    assert cause_of(*MASKS).compared is not None and cause_of(*MASKS, hidden=True).compared is None


def test_it_is_plain_data_of_bounded_size() -> None:
    cause = cause_of(torch.randn(500, 500), torch.randn(500, 500))
    encoded = msgspec.json.encode(cause)
    assert msgspec.json.decode(encoded, type=Cause) == cause and len(msgspec.json.encode(cause.compared)) < 3_000
    hash(cause)  # reports group by it


@pytest.mark.parametrize("width", [80, 60])
def test_the_first_failure_shows_it_below_the_message_within_its_rows(width: int) -> None:
    stream = io.StringIO()
    one = exercise("vectors.normalize", explain.result("rows", cause_of(*MASKS)))
    show_failure(one, COURSE, Console(file=stream, width=width, highlight=False), "vectors.py:8")
    lines = stream.getvalue().splitlines()
    assert len(lines) <= MOST_ROWS + 1 and max(map(len, lines)) <= width
    head = next(number for number, line in enumerate(lines) if "found  " in line and "expected" in line)
    assert any("expected  tensor" in line for line in lines[:head]) and "██ ██!" in lines[head + 1]


def test_a_page_has_it_as_two_tables_that_bring_their_style(tmp_path: Path) -> None:
    one = exercise("vectors.normalize", explain.result("rows", cause_of(*MASKS)), check())
    write_report([entry(result("me", one), {"vectors.py": "def normalize(x):\n    return x\n"})], COURSE, tmp_path)
    text = (tmp_path / "students" / page_name("me")).read_text()
    tables = str(compared_tables(compared(*MASKS)))
    assert tables in text and tables.count("<table") == 2 and tables.count("!</td>") == 7
    tags = {element.tag for element in ET.fromstring(tables).iter()}
    assert tags == {"figure", "div", "table", "caption", "tr", "td", "figcaption"}
    assert len(tables) < 30_000 and ";color:" not in tables  # the page's own, light or dark


def test_the_card_of_a_notebook_has_it_too() -> None:
    one = exercise("vectors.normalize", explain.result("rows", cause_of(*MASKS)), check())
    card = Card(Graded(result("me", one), "digest", 0.5), COURSE, "vectors.normalize")
    assert str(compared_tables(compared(*MASKS))) in card.html() and "0.33!" in card.text()


def test_matrices_of_other_dtypes_inside_a_dict_are_not_drawn() -> None:
    with pytest.raises(Mismatch) as caught:
        assert_equal({"w": torch.zeros(2, 3)}, {"w": torch.ones(2, 3, dtype=torch.float64)}, what="the state")
    assert caught.value.compared() is None and "torch.float64 was expected" in str(caught.value)
