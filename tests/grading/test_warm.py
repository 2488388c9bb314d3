"""The grader that stays warm: one exercise at a time, one worker for the topics so far, another after a stop."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from shared import OWN_COURSE, PATIENCE

from grader.course import Course
from grader.grading.graders import GradingStopped
from grader.grading.settings import GradingSettings
from grader.grading.warm import WarmGrader
from grader.intake.submission import Submission
from grader.judge.listener import Place
from grader.results import ExerciseResult

pytestmark = pytest.mark.slow
SOLUTION = (OWN_COURSE / "solutions" / "vectors.py").read_bytes()
RIGHT = Submission("right", {"vectors.py": SOLUTION})


@pytest.fixture(scope="module")
def grader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmGrader]:
    """Of a course with a check of which nothing is shown. It stays warm from test to test."""
    course = tmp_path_factory.mktemp("warm") / "course"
    shutil.copytree(OWN_COURSE, course, ignore=shutil.ignore_patterns("__pycache__"))
    checks = course / "checks" / "test_vectors.py"
    text = checks.read_text()
    assert "hidden=True" in text
    checks.write_text(text.replace("hidden=True", 'hidden="all"'))
    grader = WarmGrader(Course.load(course), GradingSettings())
    yield grader
    grader.close()


class Stopper:
    """Stops a grader as soon as it has begun to grade an exercise."""

    def __init__(self, grader: WarmGrader, exercise: str) -> None:
        self._grader = grader
        self._exercise = exercise

    def began(self, place: Place) -> None:
        if place.exercise == self._exercise:
            self._grader.stop()

    def known(self, exercise: ExerciseResult) -> None:
        pass


def test_only_what_is_asked_for_is_graded_with_what_it_needs(grader: WarmGrader) -> None:
    one = grader.submit(RIGHT, ["vectors.normalize"]).result(PATIENCE).result
    assert [(each.name, each.score) for each in one.exercises] == [("vectors.normalize", 1)] and one.max == 1
    both = grader.submit(RIGHT, ["vectors.cosine"]).result(PATIENCE).result
    assert [each.name for each in both.exercises] == ["vectors.normalize", "vectors.cosine"] and both.score == 3
    assert grader.submit(RIGHT).result(PATIENCE).result == both


def test_after_a_stop_another_worker_grades(grader: WarmGrader) -> None:
    endless = SOLUTION + b"\n\ndef cosine(a, b):\n    while True:\n        pass\n"
    stopped = grader.submit(Submission("endless", {"vectors.py": endless}), (), Stopper(grader, "vectors.cosine"))
    with pytest.raises(GradingStopped):
        stopped.result(PATIENCE)
    assert grader.submit(RIGHT).result(PATIENCE).result.score == 3


def test_a_new_topic_brings_a_worker_that_knows_it() -> None:
    course = Course.load(None)
    work = Submission("empty", {"tensor_ops.py": b"", "datasets.py": b""})
    grader = WarmGrader(course, GradingSettings())
    try:
        for name in ("tensor_ops.gram", "datasets.ToyDataset", "tensor_ops.gram"):
            graded = grader.submit(work, [name]).result(PATIENCE)
            assert [one.name for one in graded.result.exercises] == [name] and graded.fault == ""
    finally:
        grader.close()


class Seen:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.exercises: list[ExerciseResult] = []

    def began(self, place: Place) -> None:
        pass

    def known(self, exercise: ExerciseResult) -> None:
        self.exercises.append(exercise)


def test_a_student_sees_nothing_of_a_hidden_check(grader: WarmGrader) -> None:
    seen = Seen()
    wrong = Submission("wrong", {"vectors.py": SOLUTION + b"\n\ndef cosine(a, b):\n    return a\n"})
    graded = grader.submit(wrong, (), seen).result(PATIENCE)
    assert tuple(seen.exercises) == graded.result.exercises
    shown = [check.name for exercise in graded.result.exercises for check in exercise.checks]
    assert any(name.startswith("hidden_check") for name in shown)
