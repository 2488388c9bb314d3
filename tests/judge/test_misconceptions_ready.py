"""A topic's misconceptions are made ready when the first is run, once for all exercises of a submission's topic."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from shared import OWN_COURSE

from grader.border.messages import Exchange
from grader.border.service import WRONG_ANSWERS
from grader.course import Course, Exercise, Misconception
from grader.judge.check import Trace
from grader.judge.misconceptions import MisconceptionRecords, files_with_misconceptions

CALL = Exchange(b"request", b"reply")
OTHER = Trace("failed", ((CALL,),))
"""What no misconception does."""


class Topics:
    """Opens desks on which nothing lies, and runs checks of which every one has a given trace.

    Attributes:
        opened: the topics that were opened, in order; `open_now`: those that are not closed.
        ran: the checks that were run.
    """

    def __init__(self, **traces: Trace) -> None:
        self.traces = traces
        self.opened: list[str] = []
        self.open_now: list[str] = []
        self.ran: list[str] = []

    @contextmanager
    def desk(self, topic: str) -> Iterator[Any]:
        self.opened.append(topic)
        self.open_now.append(topic)
        yield SimpleNamespace(replace_functions=lambda replacements: None, use_fresh_process=lambda: None)
        self.open_now.remove(topic)

    def of(self, exercise: str) -> list[Any]:
        return [SimpleNamespace(name=name) for name in self.traces]

    def example_of(self, exercise: str) -> None:
        return None

    def run(self, check: Any, desk: object) -> tuple[None, Trace]:
        assert self.open_now
        self.ran.append(check.name)
        return None, self.traces[check.name]

    def records(self, course: Course) -> MisconceptionRecords:
        checks: Any = self
        return MisconceptionRecords(course, checks, self.desk)

    def name(self, course: Course, exercise: Exercise, traces: dict[str, Trace]) -> Misconception | None:
        ((_, found),) = self.records(course).recognised(exercise.topic, [(exercise, traces)])
        return found


def test_two_failing_exercises_of_a_topic_need_it_once() -> None:
    course, topics = Course.load(OWN_COURSE), Topics(a=Trace("failed", ((),)))
    first, second = course.exercises
    recognised = topics.records(course).recognised("vectors", [(first, {"a": OTHER}), (second, {"a": OTHER})])
    assert not topics.opened
    assert next(recognised) == (first, None)
    assert topics.opened == ["vectors"] == topics.open_now
    assert list(recognised) == [(second, None)]
    assert topics.opened == ["vectors"] and not topics.open_now


def test_a_misconception_that_differs_where_the_student_failed_first_runs_no_other_check() -> None:
    course, topics = Course.load(OWN_COURSE), Topics(takes_long=Trace("passed"), a=Trace("failed", ((),)))
    exercise = next(iter(course.exercises))
    traces = {"takes_long": Trace("passed"), "a": OTHER}
    assert topics.name(course, exercise, traces) is None
    assert topics.ran and set(topics.ran) == {"a"}


def test_it_is_tried_first_where_the_student_failed_with_the_fewest_calls() -> None:
    many, few = Trace("failed", ((CALL, CALL),)), OTHER
    course, topics = Course.load(OWN_COURSE), Topics(other=Trace("passed"), many=many, few=Trace("failed", ((),)))
    exercise = next(iter(course.exercises))
    assert topics.name(course, exercise, {"other": Trace("passed"), "many": many, "few": few}) is None
    assert topics.ran and set(topics.ran) == {"few"}


@pytest.mark.parametrize(("elsewhere", "is_named"), [("passed", False), ("same", True), ("other", False)])
def test_a_mistake_is_named_only_if_every_check_has_the_same_record(elsewhere: str, is_named: bool) -> None:
    course = Course.load(OWN_COURSE)
    record = {"passed": Trace("passed"), "same": OTHER, "other": Trace("failed", ((),))}[elsewhere]
    topics = Topics(a=OTHER, b=record)
    exercise = next(iter(course.exercises))
    assert (topics.name(course, exercise, {"a": OTHER, "b": OTHER}) is not None) == is_named
    first_differs = {"a": Trace("failed", ((),)), "b": OTHER}
    assert topics.name(course, exercise, first_differs) is None


@pytest.mark.parametrize("module", ["vectors", WRONG_ANSWERS])
def test_an_import_finds_the_compiled_code_beside_the_files(tmp_path: Path, module: str) -> None:
    for name, content in files_with_misconceptions(Course.load(OWN_COURSE), "vectors").items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    file = tmp_path / f"{module}.py"
    file.write_text("what is here now is not compiled")
    code = SourceFileLoader(module, str(file)).get_code(module)
    assert code is not None and code.co_filename == str(file) and len(code.co_names) > 3
