"""Notebooks of otter's and nbgrader's become courses: sound, with nothing given away, and with the points they had."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from command_here import run_here
from shared import REPO

import grader
from grader.grading.api import Results

ADOPTED = REPO / "examples" / "adopted"
CLASS = {
    "temperatures": {
        "right": {
            "warmest = ...": "warmest = float(np.max(days))",
            "def to_fahrenheit": "def to_fahrenheit(celsius):\n    return 32 + celsius * 1.8",
            "def smooth": "def smooth(x):\n    return x.unfold(0, 3, 1).mean(1)\nsmoothed = smooth(torch.tensor(days))",
            "noise = ...": "rng = np.random.default_rng(7)\nnoise = rng.standard_normal(3)",
            "def report": "def report(x):\n    print('mean:', round(float(x.mean()), 1))",
        },
        "wrong": {
            "warmest = ...": "warmest = days.min().item()",
            "def to_fahrenheit": "def to_fahrenheit(celsius):\n    return int(celsius * 9 / 5) + 32.0",
            "def smooth": "def smooth(x):\n    return x[1:-1]\n\nsmoothed = ...",
            "noise = ...": "noise = np.zeros(3)",
            "def report": "def report(x):\n    return f'mean: {x.mean():.1f}'",
        },
    },
    "vectors": {
        "right": {
            "def squares": "def squares(n):\n    return [k * k for k in range(1, n + 1)] if n > 0 else int('x')",
            "def sum_of": "def sum_of_squares(n):\n    return sum(squares(n))",
            "total = ...": "total = 2870\nroot = total**0.5",
            "class Scaler": (
                "class Scaler:\n    def fit(self, x):\n        self.m = x.sum() / len(x)\n        return self\n\n"
                "    def transform(self, x):\n        return x - self.m"
            ),
            "_Type your": "$\\sum_k k^2$",
        },
        "wrong": {
            "def squares": "def squares(n):\n    return [k**2 for k in range(1, min(n, 5) + 1)]",
            "def sum_of": "def sum_of_squares(n):\n    return n * (n + 1) * (2 * n + 1) // 6",
            "total = ...": "total = 2870",
            "class Scaler": "class Scaler:\n    def fit(self, x): ...\n    def transform(self, x):\n        return x",
        },
    },
}


@pytest.fixture(scope="module", params=[("otter", "temperatures"), ("nbgrader", "vectors")], ids=["otter", "nbgrader"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, str]:
    """The topic, its course, and what the command printed."""
    tool, topic = request.param
    course = tmp_path_factory.mktemp(tool) / "course"
    folder = shutil.copytree(ADOPTED / tool, course.parent / "source")
    text = (folder / f"{topic}.ipynb").read_text()
    (folder / f"{topic}.ipynb").write_text(
        text.replace("as a list.", r"as a list.\n\n    >>> squares(2)\n    [1, 4] here")
    )
    done = run_here("adopt", folder / f"{topic}.ipynb", "--to", course)
    assert done.returncode == 0, done.stderr
    return topic, course, done.stdout


def test_what_a_person_must_look_at_is_listed_with_its_cell(made: tuple[str, Path, str]) -> None:
    topic, _, printed = made
    look = [line.strip() for line in printed.splitlines() if line.startswith("  cell")]
    if topic == "temperatures":
        assert "5 exercises with 11 tests" in printed and "1 exercise for a person to mark: q6" in printed
        (only,) = look
        assert only.startswith("cell 53: the test looks at the code of an answer, by `callable`")
    else:
        assert "4 exercises with 7 tests" in printed and "2 exercises for a person to mark" in printed
        changes, compares, scheme = look
        assert scheme.startswith("cell 21: its mark scheme is not taken over, as students see rubrics")
        assert changes.startswith("cell 11: the solution does not pass it here (")
        assert "sum_of_squares does not use squares" in changes and "it is left out" in changes
        assert compares.startswith("cell 15: the test compares with the student's own code")


def test_the_made_course_is_sound(made: tuple[str, Path, str]) -> None:
    done = run_here("verify", "--course", made[1])
    assert done.returncode == 0 and "the course is sound" in done.stdout, done.stdout
    assert ("notes, no defects:" in done.stdout and "`squares(2)` gives `[1, 4]`" in done.stdout) == (
        made[0] == "vectors"
    )


def test_students_get_the_notebook_without_answers_tests_and_marks(made: tuple[str, Path, str], tmp_path: Path) -> None:
    topic, course, _ = made
    done = run_here("init", "work", "--course", course, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    source = json.loads(
        (ADOPTED / ("otter" if topic == "temperatures" else "nbgrader") / f"{topic}.ipynb").read_bytes()
    )
    work = {file: file.read_text() for file in (tmp_path / "work").rglob("*") if file.is_file()}
    notebook = work[tmp_path / "work" / f"{topic}.ipynb"]
    texts = ["".join(cell["source"]) for cell in json.loads(notebook)["cells"]]
    prose = ["".join(cell["source"]) for cell in source["cells"] if cell["cell_type"] == "markdown"]
    assert {*prose[:3]} <= set(texts)
    secret = ("days.max()", "factor", "x[:-2]", "have only one neighbour", "24.3", "[-10.0", "21.77")
    secret += ("k**2", "x.mean()\n", "k=1", "says what the result", "== 100")
    for file, text in work.items():
        shown = [one for one in secret if one in text and file.suffix != ".csv"]
        assert not shown, f"{file}: {shown}"
    assert not any(word in notebook for word in ("BEGIN", "SOLUTION", "HIDDEN", "grader.check"))
    assert (tmp_path / "work" / ("data/temperatures.csv" if topic == "temperatures" else "squares.svg")).is_file()


@pytest.fixture(scope="module")
def graded(made: tuple[str, Path, str], tmp_path_factory: pytest.TempPathFactory) -> Results:
    """A class that hands in notebooks: a right one, a wrong one, and one as it was handed out."""
    topic, course, _ = made
    folder = tmp_path_factory.mktemp("class")
    handed_out = json.loads((course / "exercises" / f"{topic}.ipynb").read_bytes())
    for name, answers in {**CLASS[topic], "untouched": {}}.items():
        cells = [{**cell, "source": _answer(cell, answers)} for cell in handed_out["cells"]]
        (folder / name / "data").mkdir(parents=True)
        (folder / name / "data/temperatures.csv").write_text("1\n2\n3\n")  # the course's own count
        (folder / name / f"{topic}.ipynb").write_text(json.dumps({**handed_out, "cells": cells}))
    return grader.grade([folder], course, seed=1, jobs=1)


def _answer(cell: Mapping[str, object], answers: Mapping[str, str]) -> str:
    lines = cell["source"]
    assert isinstance(lines, list)
    source = "".join(lines)
    return next((answer for start, answer in answers.items() if start in source), source)


def test_right_and_wrong_notebooks_get_the_points_of_the_original(made: tuple[str, Path, str], graded: Results) -> None:
    scores = {
        one.submission: {each.name.partition(".")[2]: each.score for each in one.exercises if not each.manual}
        for one in graded.submissions
    }
    if made[0] == "temperatures":
        assert scores["right"] == {"warmest": 2, "to_fahrenheit": 3, "smooth": 2, "noise": 1, "report": 1}
        # The type is right, and what is printed; it cannot take a tensor.
        wrong = {"warmest": 1, "to_fahrenheit": 1.5, "smooth": 0, "noise": 0, "report": 0}
    else:
        assert scores["right"] == {"squares": 2, "sum_of_squares": 0.5, "total": 2, "Scaler": 2}
        # The list is right as far as the student sees; the sum is right; of the numbers one is missing.
        wrong = {"squares": 0, "sum_of_squares": 0.5, "total": 1, "Scaler": 0}
    assert scores["wrong"] == wrong
    assert not any(scores["untouched"].values())


def test_written_answers_are_kept_for_the_person_who_marks_them(made: tuple[str, Path, str], graded: Results) -> None:
    by_hand = [one.manual for one in graded.submissions[0].exercises if one.manual]
    assert [one.points for one in by_hand] == ([3] if made[0] == "temperatures" else [1, 4])
    if made[0] == "vectors":
        (right,) = [one for one in graded.submissions if one.submission == "right"]
        text = next(one.manual for one in right.exercises if one.name == "vectors.formula")
        assert text is not None and text.work == "vectors.ipynb.md"
