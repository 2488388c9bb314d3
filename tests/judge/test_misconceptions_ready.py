"""A topic's misconceptions are made ready when the first is run, once for all exercises of a submission's topic."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest
from shared import OWN_COURSE

from grader.border.messages import Exchange
from grader.border.service import WRONG_ANSWERS
from grader.course import Course
from grader.judge.check import Trace
from grader.judge.misconceptions import MisconceptionRecords, Replacements, RunChecks, files_with_misconceptions

OTHER = Trace("failed", ((Exchange(b"request", b"reply"),),))
"""What no misconception does."""


def test_two_failing_exercises_of_a_topic_need_it_once() -> None:
    course, open_now, opened = Course.load(OWN_COURSE), [], []

    @contextmanager
    def open_topic(name: str) -> Iterator[RunChecks]:
        def run_checks(exercise: str, replacements: Replacements, only: str) -> Iterator[tuple[str, Trace]]:
            assert open_now == [name]
            yield "a", Trace("failed", ((),))

        open_now.append(name)
        opened.append(name)
        yield run_checks
        open_now.remove(name)

    records = MisconceptionRecords(course, open_topic)
    first, second = course.exercises
    with records.topic("vectors"):
        assert not opened
        for exercise in (first, second):
            assert records.recognised(exercise, {"a": OTHER}) is None
        assert opened == ["vectors"] == open_now
    assert not open_now
    records = MisconceptionRecords(course, open_topic)
    for exercise in (first, second):  # nobody keeps it ready
        records.recognised(exercise, {"a": OTHER})
    assert len(opened) > 2 and not open_now


def test_a_misconception_that_differs_where_the_student_failed_first_runs_no_other_check() -> None:
    course, asked = Course.load(OWN_COURSE), []

    @contextmanager
    def open_topic(name: str) -> Iterator[RunChecks]:
        def run_checks(exercise: str, replacements: Replacements, only: str) -> Iterator[tuple[str, Trace]]:
            asked.append(only)
            yield only, Trace("failed", ((),))

        yield run_checks

    exercise = next(iter(course.exercises))
    traces = {"takes_long": Trace("passed"), "a": OTHER}
    assert MisconceptionRecords(course, open_topic).recognised(exercise, traces) is None
    assert asked and set(asked) == {"a"}


@pytest.mark.parametrize(("elsewhere", "is_named"), [("passed", False), ("same", True), ("other", False)])
def test_a_mistake_is_named_only_if_every_check_has_the_same_record(elsewhere: str, is_named: bool) -> None:
    course = Course.load(OWN_COURSE)
    record = {"passed": Trace("passed"), "same": OTHER, "other": Trace("failed", ((),))}[elsewhere]

    @contextmanager
    def open_topic(name: str) -> Iterator[RunChecks]:
        def run_checks(exercise: str, replacements: Replacements, only: str) -> Iterator[tuple[str, Trace]]:
            yield "a", OTHER
            yield "b", record

        yield run_checks

    exercise = next(iter(course.exercises))
    found = MisconceptionRecords(course, open_topic).recognised(exercise, {"a": OTHER, "b": OTHER})
    assert (found is not None) == is_named
    first_differs = {"a": Trace("failed", ((),)), "b": OTHER}
    assert MisconceptionRecords(course, open_topic).recognised(exercise, first_differs) is None


@pytest.mark.parametrize("module", ["vectors", WRONG_ANSWERS])
def test_an_import_finds_the_compiled_code_beside_the_files(tmp_path: Path, module: str) -> None:
    for name, content in files_with_misconceptions(Course.load(OWN_COURSE), "vectors").items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    file = tmp_path / f"{module}.py"
    file.write_text("what is here now is not compiled")
    code = SourceFileLoader(module, str(file)).get_code(module)
    assert code is not None and code.co_filename == str(file) and len(code.co_names) > 3
