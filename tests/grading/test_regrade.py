"""A run that is repeated for one student has the limits and devices of that run, unless others are given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from shared import OWN_COURSE

from grader.cli.options import AgainGroup
from grader.course import Course, content_hash
from grader.errors import UserError
from grader.gradebook import Gradebook
from grader.grading import many_submissions
from grader.grading.protocol import WorkerOptions
from grader.grading.settings import GradingSettings, selection, worker_options
from grader.intake.submission import Submission, digest
from grader.machine import Devices
from grader.results import ExerciseResult, SubmissionResult
from grader.sandbox.limits import Limits

COURSE = Course.load(OWN_COURSE)
GIVEN = Limits(check_seconds=3, topic_seconds=77, memory_bytes=3 << 30, processes=9, file_bytes=5 << 20, print_bytes=99)


class Seen(Exception):
    """What would have been graded with."""

    def __init__(self, options: WorkerOptions) -> None:
        self.options = options


def options_of_regrade(folder: Path, given: Limits, *more: Any, devices: Devices = "simulated") -> WorkerOptions:
    submission = Submission("ann", {"vectors.py": b"x = 1\n"})
    with Gradebook.open(folder / "gradebook.sqlite") as book:
        options = worker_options(COURSE, GradingSettings(limits=given, devices=devices), ())
        run = book.start_run(COURSE.name, content_hash(COURSE), book.keep_seed(5), selection(options), {})
        book.record_arrival(run, submission, digest(submission))
        exercises = tuple(ExerciseResult(name=one.full_name, score=0.0, max=one.points) for one in COURSE.exercises)
        result = SubmissionResult(submission="ann", score=0, max=3, exercises=exercises)
        book.record(run, result, digest(submission), 0.1)
    with pytest.raises(Seen) as seen:
        list(many_submissions.regrade(COURSE, folder, "ann", (), lambda: False, *more))
    return seen.value.options


@pytest.fixture(autouse=True)
def _no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    def workers(course: Course, options: WorkerOptions) -> None:
        raise Seen(options)

    monkeypatch.setattr(many_submissions, "LocalWorkers", workers)


@pytest.mark.parametrize("given", [Limits(), GIVEN])
def test_a_regrade_has_the_limits_devices_and_seed_of_the_run(tmp_path: Path, given: Limits) -> None:
    options = options_of_regrade(tmp_path, given)
    assert (options.limits, options.devices, options.seed) == (given, "simulated", 5)


def test_what_is_given_to_a_regrade_counts_and_the_rest_is_as_in_the_run(tmp_path: Path) -> None:
    changed = AgainGroup(topic_seconds=120.0, memory="1GiB").limits()
    options = options_of_regrade(tmp_path, GIVEN, changed, "simulated")
    assert options.limits == Limits(3, 120.0, 1 << 30, 9, 5 << 20, 99)


def test_devices_that_this_machine_does_not_have_are_an_error_and_not_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.machine.why_no_gpu", lambda: "there is none")
    with pytest.raises(UserError, match="real"):
        options_of_regrade(tmp_path, GIVEN, {}, "real")
