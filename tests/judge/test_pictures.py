"""Pictures: made only of what has passed, of plain data only, and without any part in a verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from judge_here import grade_here
from shared import OWN_COURSE, Warm, WarmUp, exercise_of

from grader.course import Course, CourseError
from grader.pictures import Grid, Lines, Points, Spot, bounded
from grader.results import from_json, to_json

SOLUTION = (OWN_COURSE / "solutions" / "vectors.py").read_text()
STUB = (OWN_COURSE / "exercises" / "vectors.py").read_text()
WHAT_THE_PICTURE_ASKS = """
import os, signal
right = normalize
def normalize(x):
    if x.shape[0] == 40:
        return picture(x)
    return right(x)
def picture(x):
    """


def answering(body: str) -> str:
    """The solution, but the call that only the picture makes is answered by this code."""
    return SOLUTION + WHAT_THE_PICTURE_ASKS + body


# ---------------------------------------------------------------- plain data


def test_numbers_are_rounded_and_those_that_cannot_be_drawn_are_gaps() -> None:
    found = bounded(Lines(series={"loss": torch.tensor([1 / 3, math.nan, math.inf, 1e13, 2.0])}))  # type: ignore[dict-item]
    assert isinstance(found, Lines)
    assert found.series["loss"] == [0.33333, None, None, None, 2]


def test_labels_are_harmless_text_of_one_line() -> None:
    label = "\x1b[31m<b>red</b>\x1b[0m\n\u202e" + "x" * 200
    found = bounded(Lines(series={label: [1.0]}, x_label=label, marked=Spot(1, 1, label)))
    assert isinstance(found, Lines) and found.marked is not None
    for text in (*found.series, found.x_label, found.marked.label):
        assert len(text) <= 60 and text.startswith("<b>red</b>")
        assert not set(text) & set("\x1b\n\u202e")


class ListOfItsOwn(list):  # type: ignore[type-arg]
    def __iter__(self) -> Iterator[float]:
        while True:
            yield 1.0


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (Lines(series={"a": [0.0] * 2_001}), "2,001 numbers are too many"),
        (Lines(series={"a": torch.zeros(1).expand(10**12)}), "too many"),  # type: ignore[dict-item]
        (Lines(series={"a": ListOfItsOwn([1.0])}), "type ListOfItsOwn"),
        (Lines(series={"a": ["1"]}), "type str where a number is expected"),  # type: ignore[list-item]
        (Lines(series={"a": "12"}), "type str where numbers are expected"),  # type: ignore[dict-item]
        (Lines(series={"a": [math.nan, math.inf]}), "no finite number"),
        (Lines(series={}), "1 to 8 lines"),
        (Lines(series={str(n): [1.0] for n in range(9)}), "1 to 8 lines"),
        (Lines(series={"a": [1.0, 2.0]}, x=[1.0]), "says where 1 of them are"),
        (Lines(series={3: [1.0]}), "type int where a label is expected"),  # type: ignore[dict-item]
        (Points(x=[1.0], y=[1.0, 2.0]), "do not fit together"),
        (Points(x=[1.0], y=[1.0], classes=[2], names=["a", "b"]), "2 is not a class: they are 0 to 1"),
        (Points(x=[1.0], y=[1.0], classes=[0.5]), "0.5 is not a class"),
        (Points(x=[math.nan], y=[1.0]), "no finite point"),
        (Points(x=[1.0] * 601, y=[1.0] * 601), "601 numbers are too many"),
        (Grid(values=[[1.0], [1.0, 2.0]]), "numbers are too many"),
        (Grid(values=[[1.0, 2.0], [1.0]]), "different lengths"),
        (Grid(values=torch.zeros(65, 64)), "too many"),  # type: ignore[arg-type]
        (Grid(values=[]), "1 to 4,096 cells"),
        (Grid(values=[[1.0]], x=(1.0, 0.0)), "the lower one first"),
        (Grid(values=[[7.0]], names=["a"]), "7 is not a class"),
        ([1.0, 2.0], "a picture is Lines, Points, a Grid or a Diagram, not a value of type list"),
    ],
)
def test_anything_else_is_refused_in_words(data: Any, words: str) -> None:
    with pytest.raises(ValueError) as caught:
        bounded(data)
    assert words in str(caught.value)


def test_a_grid_has_positions_of_its_own_unless_it_says_others() -> None:
    found = bounded(Grid(values=torch.tensor([[0, 1, 0], [1, 1, 1]]), names=["a", "b"], y=(-1.0, 1.0)))  # type: ignore[arg-type]
    assert isinstance(found, Grid)
    assert (found.values, found.x, found.y) == ([[0, 1, 0], [1, 1, 1]], (0, 2), (-1, 1))
    counted = bounded(Grid(values=[[0, 1], [1, 1], [0, 0]]))
    assert isinstance(counted, Grid) and counted.y == (2, 0)  # row 0 at the top


# ---------------------------------------------------------------- in the judge


def test_a_picture_comes_with_the_exercise_that_has_passed() -> None:
    (result,) = grade_here(OWN_COURSE, {"vectors": SOLUTION}, pictures=True)
    (picture,) = exercise_of(result, "normalize").pictures
    assert picture.title == "Forty vectors, before and after" and not picture.problem
    assert isinstance(picture.data, Points) and len(picture.data.x) == 80
    assert exercise_of(result, "cosine").pictures == ()
    assert from_json(to_json(result)) == result


def test_a_picture_may_warn_which_adds_a_name_to_its_module(own_course: Path) -> None:
    file = own_course / "checks" / "test_vectors.py"
    warns = "\nimport warnings\n\n" + '@picture("vectors.normalize", title="t")\ndef {0}(submission):\n    {1}\n'
    file.write_text(file.read_text() + warns.format("warned", "warnings.warn('first')\n    globals()['added'] = 1"))
    (result,) = grade_here(own_course, {"vectors": SOLUTION}, pictures=True)
    assert [picture.title for picture in exercise_of(result, "normalize").pictures][1:] == ["t"]


def test_nothing_is_made_of_a_stub_or_without_being_asked_for() -> None:
    stub, _ = grade_here(OWN_COURSE, {"vectors": STUB}, {"vectors": SOLUTION}, pictures=True)
    assert exercise_of(stub, "normalize").pictures == ()
    (result,) = grade_here(OWN_COURSE, {"vectors": SOLUTION})
    assert exercise_of(result, "normalize").pictures == ()


@pytest.mark.parametrize(
    ("decorator", "words"),
    [
        ('@picture("vectors.nothing", title="t")', "topic `vectors` has no exercise `vectors.nothing`"),
        ('@picture("vectors.normalize")', '@picture takes an exercise and title="..."'),
        ('@picture("vectors.normalize", title=str(1))', "must be literals"),
    ],
)
def test_the_course_is_refused_with_the_line_of_a_wrong_decorator(own_course: Path, decorator: str, words: str) -> None:
    file = own_course / "checks" / "test_vectors.py"
    file.write_text(file.read_text() + f"\n\n{decorator}\ndef extra(submission):\n    pass\n")
    with pytest.raises(CourseError) as caught:
        Course.load(own_course)
    assert words in str(caught.value) and f":{len(file.read_text().splitlines()) - 2}:" in str(caught.value)


# ---------------------------------------------------------------- hostile, with a worker and a sandbox


@pytest.fixture
def worker(warm: WarmUp) -> Warm:
    return warm(OWN_COURSE, pictures=True, check_seconds=1.0)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("while True: pass", "your code gave no answer in time"),
        ("os._exit(0)", "the process of your code ended"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "the process of your code"),
        ("return torch.zeros(1).expand(2 * 10**9, 2)", "too big to look at"),
        ("return torch.full_like(x, math.nan)", ""),
        ("raise ValueError('\\x1b[2J<script>alert(1)</script>')", "raised ValueError: <script>"),
        ("return type('Tensor', (), {'T': [1, 2]})()", ""),
        ("return [0.0] * 3", "TypeError"),
        ("return x[:7]", "47 in y and 80 classes"),
        ("raise NotImplementedError", "your code raised NotImplementedError"),
    ],
)
def test_whatever_the_answer_is_it_costs_one_line_and_no_point(worker: Warm, body: str, words: str) -> None:
    result = worker.grade(vectors="import math\n" + answering(body))
    exercise = exercise_of(result, "normalize")
    assert exercise.is_right and exercise_of(result, "cosine").is_right
    (picture,) = exercise.pictures
    assert words in picture.problem and "\x1b" not in picture.problem and "\n" not in picture.problem
    assert (picture.data is None) == bool(picture.problem)


def test_a_picture_asks_a_fresh_process_whatever_was_asked_before(worker: Warm) -> None:
    counting = "global calls\n    calls = globals().get('calls', 0) + 1\n    return x * 0 + calls"
    before = SOLUTION.replace("def normalize(", "calls = 0\ndef normalize(")
    result = worker.grade(vectors=before + WHAT_THE_PICTURE_ASKS + counting)
    (picture,) = exercise_of(result, "normalize").pictures
    assert isinstance(picture.data, Points) and set(picture.data.x[40:]) == {1}
