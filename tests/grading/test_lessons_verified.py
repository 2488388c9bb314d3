"""`grader verify` asks of lessons that they are there, can be read, are true and answer no exercise; and of steps."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from shared import REPO

from grader.course import Course
from grader.grading.verify import verify_course

pytestmark = pytest.mark.slow
TAUGHT = REPO / "tests" / "courses" / "taught"


def test_lessons_are_verified_where_a_course_says_so(tmp_path: Path, edit: Callable[[Path, str, str], None]) -> None:
    course = Path(shutil.copytree(TAUGHT, tmp_path / "taught", ignore=shutil.ignore_patterns("__pycache__")))
    assert verified(course) == []
    lines, bugs = (course / "lessons" / f"{topic}.md" for topic in ("lines", "bugs"))
    edit(lines, "4.0\n```", "5.0\n```")
    edit(lines, ">>> 1.0 / 0.0", ">>> slope((0, 0), (1, 1))")
    bugs.unlink()
    untrue, missing = verified(course)
    assert untrue.startswith(
        f"{lines}:43: `the lesson`: the example `steps_back(6.0, 4, rise / run)` gives `4.0`, but it"
    )
    assert missing == f"{bugs}: is missing: topic `bugs` has no lesson"
    edit(lines, "5.0\n```", "4.0\n```")
    (unknown,) = verified(course, "lines")
    assert "gives `NameError: name 'slope' is not defined`" in unknown  # a lesson stands by itself
    edit(lines, "For: slope", "For: slop")
    (unread,) = verified(course, "lines")
    assert unread.startswith(f"{lines}:7: topic `lines` has no exercise `slop`")
    lines.unlink()
    edit(course / "course.toml", "lessons = true\n", "")
    assert verified(course) == []


def test_a_worked_example_that_is_an_answer_by_another_name_is_found(own_course: Path) -> None:
    names = ", ".join(one.name for one in Course.load(own_course).exercises)
    (own_course / "lessons").mkdir()
    (own_course / "lessons" / "vectors.md").write_text(
        f"""# Vectors

They point.

## Length
For: {names}

A length.

```python
>>> import torch
>>> def unit(row):
...     size = torch.linalg.vector_norm(row, dim=1, keepdim=True)
...     return row / torch.where(size == 0, 1.0, size)
```

```text
──▶
```
""",
        encoding="utf-8",
    )
    (defect,) = verified(own_course, "vectors.normalize")
    assert "vectors.md:12: `unit` does the same as `vectors.normalize`" in defect


def test_where_one_exercise_has_steps_all_have(tmp_path: Path, edit: Callable[[Path, str, str], None]) -> None:
    course = Path(shutil.copytree(TAUGHT, tmp_path / "taught", ignore=shutil.ignore_patterns("__pycache__")))
    edit(course / "course.toml", 'level = "medium"\nwhy = "where it began"\n', "")
    (defect,) = verified(course, "lines")
    assert defect.endswith("`lines.intercept` has no level, why, and other exercises have")


def verified(course: Path, *only: str) -> list[str]:
    found: list[str] = []
    verify_course(Course.load(course), lambda defect: found.append(str(defect)), only=only, is_quick=True)
    return found
