"""What tests share: warm workers, which live as long as the session, submissions made of text, courses to break."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from grader.course import Course
from grader.grading.protocol import WorkerOptions
from grader.grading.worker_process import Worker
from grader.intake.submission import Submission
from grader.results import CheckResult, ExerciseResult, SubmissionResult
from grader.sandbox.limits import Limits

REPO = Path(__file__).resolve().parent.parent
OWN_COURSE = REPO / "examples" / "own_course"
DEVICES_AND_RANKS = REPO / "examples" / "devices_and_ranks_course"
DEFAULT_LIMITS = Limits()


class Warm:
    """A worker process, warm once it has graded: what ``grader grade`` uses, with its judge, host and sandbox."""

    def __init__(self, course: Path | None, limits: Limits = DEFAULT_LIMITS, only: tuple[str, ...] = ()) -> None:
        self.worker = Worker()
        self.worker.configure(
            WorkerOptions(
                course=str(course) if course else None,
                exercises=tuple(Course.load(course).select(only)) if only else (),
                limits=limits,
            )
        )

    def grade(self, **modules: str) -> SubmissionResult:
        """The result of a submission with these modules: ``vectors="def normalize(x): ..."``."""
        return self.of(Submission("somebody", {f"{name}.py": text.encode() for name, text in modules.items()}))

    def of(self, submission: Submission) -> SubmissionResult:
        """The result of a submission."""
        result = self.worker.grade(submission, patience=120)
        assert isinstance(result, SubmissionResult), result
        return result


class WarmUp(Protocol):
    """Gives the worker of a course; a new one only for another course or other limits."""

    def __call__(self, course: Path | None = None, **limits: float) -> Warm: ...


@pytest.fixture(scope="session")
def warm() -> Iterator[WarmUp]:
    made: dict[Any, Warm] = {}

    def warm_up(course: Path | None = None, **limits: float) -> Warm:
        key = (course, *sorted(limits.items()))
        if key not in made:
            made[key] = Warm(course, Limits(**limits))
        return made[key]

    yield warm_up
    for judge in made.values():
        judge.worker.end()


@pytest.fixture
def own_course(tmp_path: Path) -> Path:
    """A copy of the course under ``examples/`` that a test may break."""
    return Path(shutil.copytree(OWN_COURSE, tmp_path / "course", ignore=shutil.ignore_patterns("__pycache__")))


@pytest.fixture
def edit() -> Callable[[Path, str, str], None]:
    """Replaces a piece of a file that must be there."""

    def replace(file: Path, old: str, new: str) -> None:
        text = file.read_text()
        assert old in text, f"{old!r} is not in {file}"
        file.write_text(text.replace(old, new))

    return replace


def exercise_of(result: SubmissionResult, name: str) -> ExerciseResult:
    """The exercise of that name, without its topic."""
    return next(exercise for exercise in result.exercises if exercise.name.partition(".")[2] == name)


def check_of(result: SubmissionResult, name: str) -> CheckResult:
    """The check of that name."""
    return next(check for exercise in result.exercises for check in exercise.checks if check.name == name)
