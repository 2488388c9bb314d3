"""A hang in a suite: its line is named in whichever file it is, and it costs the points of its own tests alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from shared import WarmUp, exercise_of

from grader.intake.submission import Submission

MANIFEST = """
[course]
name = "shapes"
title = "Shapes"
credit = "{credit}"

[suite]
packages = ["shapes"]

[[topics]]
name = "shapes"
title = "Shapes"

[[topics.exercises]]
name = "Row"
points = 3
tests = ["test_shapes.py"]
"""
TESTS = """
from shapes import Row


def test_cut():
    assert len(Row(3).cut(1)) == 2


def test_length():
    assert len(Row(3)) == 3


def test_missing():
    assert Row(3).missing() == 0
"""
PACKAGE = {
    "shapes/__init__.py": "from shapes.deep.rows import Row\n",
    "shapes/deep/__init__.py": "",
    "shapes/deep/rows.py": """
class Row:
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def cut(self, by):
        return Row(self.n - by)

    def missing(self):
        return 0
""",
}
HANGS = ("        return Row(self.n - by)", "        while self.n:\n            by += 1\n        return self")


@pytest.mark.slow
@pytest.mark.parametrize(("credit", "score"), [("per-check", 2.0), ("all", 0.0)])
def test_hang_costs_its_own_test(warm: WarmUp, tmp_path: Path, credit: str, score: float) -> None:
    files = {"course.toml": MANIFEST.format(credit=credit), "tests/test_shapes.py": TESTS}
    files |= {f"{folder}/{name}": text for folder in ("solutions", "exercises") for name, text in PACKAGE.items()}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    answer = {name: text.replace(*HANGS).encode() for name, text in PACKAGE.items()}
    result = warm(tmp_path, check_seconds=1.0).of(Submission("hangs", answer))
    assert result.score == score
    first, *others = exercise_of(result, "Row").checks
    assert "in line 10 of shapes/deep/rows.py, in cut: while self.n:" in first.message
    assert {one.verdict for one in others} == {"passed" if score else "timeout"}
