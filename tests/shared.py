"""Fixtures and small functions for all tests: warm workers, runs of the command, a course that a test may break.

Beside it, each for one purpose:

- ``answer_files.py``: student code in ``answers/`` and ``courses/*/answers/``, made into submissions;
- ``promise_tables.py``: the promises of the shipped course, each with its check and its wrong answer;
- ``odd_course.py``: the course ``courses/odd`` and submissions to it;
- ``command_here.py``: the command in the test's own process, where not its start is what is tested;
- ``judge_here.py``: a judge over submissions in the test's own process, for tests of its decisions;
- ``command_here.py``: runs of the command in the test's own process;
- ``sessions.py``: plain pytest sessions, each in a process of its own;
- ``classrooms.py``: results of made-up classes, without grading anything, for reports and exports;
- ``class_of_sixty.py``: a class of 60, and the mark of each worked out by hand;
- ``class_of_a_term.py``: a class of seven over three weeks, likewise;
- ``make_class_zips.py``: the files that Canvas and Moodle hand out for it;
- ``sample_class.py``: what the students of ``examples/class`` must get;
- ``wheelhouse.py``: small wheels that pip finds without a network;
- ``wire_values.py``: strategies for values that cross the border.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

import psutil
import pytest

from grader.course import Course, pictured
from grader.grading.protocol import WorkerOptions
from grader.grading.worker_process import Worker
from grader.intake.submission import Submission
from grader.machine import Devices
from grader.results import CheckResult, ExerciseResult, SubmissionResult
from grader.sandbox.limits import Limits

REPO = Path(__file__).resolve().parent.parent
OWN_COURSE = REPO / "examples" / "own_course"
DEVICES_AND_RANKS = REPO / "examples" / "devices_and_ranks_course"
KIT_COURSE = REPO / "examples" / "kit_course"
MARKED_COURSE = REPO / "examples" / "marked_course"
ADOPTED = REPO / "examples" / "adopted"
"""A suite of tests, its solution and wrong answers; no course."""
TERM_COURSE = REPO / "examples" / "term_course"
DEFAULT_LIMITS = Limits()
ALL_POINTS = sum(one.points for one in Course.load(None, complete=False).all_exercises)
"""Of the shipped course."""
PATIENCE = 2000.0
"""How long a submission may take to grade before a test gives its worker up (seconds): a limit for what never ends."""
MOST_WORKERS = 4
"""Warm workers that live at a time in one test process; for the next one, that ends which was used longest ago."""


class Warm:
    """A worker process, warm once it has graded: what ``grader grade`` uses, with its judge, host and sandbox.

    `only` are topics or exercises, as on the command line; empty means all.
    """

    def __init__(
        self,
        course: Path | None = None,
        limits: Limits = DEFAULT_LIMITS,
        only: tuple[str, ...] = (),
        seed: int = 0,
        devices: Devices = "simulated",
        misconceptions: bool = True,
        pictures: bool = False,
    ) -> None:
        loaded = Course.load(course)
        options = WorkerOptions(
            course=str(course) if course else None,
            exercises=tuple(loaded.select(only)) if only else (),
            seed=seed,
            devices=devices,
            limits=limits,
            misconceptions=misconceptions,
            pictures=pictured(loaded) if pictures else (),
        )
        self.worker = Worker()
        self.worker.configure(options)

    def grade(self, **modules: str) -> SubmissionResult:
        """The result of a submission with these modules: ``vectors="def normalize(x): ..."``."""
        return self.of(Submission("somebody", {f"{name}.py": text.encode() for name, text in modules.items()}))

    def of(self, submission: Submission, *exercises: str) -> SubmissionResult:
        """The result of a submission; of these exercises, and of what they need, where some are named."""
        result = self.worker.grade(submission, PATIENCE, exercises=exercises)
        assert isinstance(result, SubmissionResult), result
        return result


class WarmUp(Protocol):
    """Gives a worker; a new one only for settings that no worker of this session has.

    Args:
        misconceptions: whether it names them, which takes longer than to grade.
        limits: fields of Limits.
    """

    def __call__(
        self,
        course: Path | None = None,
        *,
        only: tuple[str, ...] = (),
        seed: int = 0,
        devices: Devices = "simulated",
        misconceptions: bool = True,
        pictures: bool = False,
        **limits: float,
    ) -> Warm: ...


@pytest.fixture(scope="session")
def warm() -> Iterator[WarmUp]:
    """The one way in which tests start a worker, unless how a worker starts or ends is what they test."""
    workers: dict[Any, Warm] = {}

    def warm_up(
        course: Path | None = None,
        *,
        only: tuple[str, ...] = (),
        seed: int = 0,
        devices: Devices = "simulated",
        misconceptions: bool = True,
        pictures: bool = False,
        **limits: float,
    ) -> Warm:
        settings = (course, Limits(**limits), only, seed, devices, misconceptions, pictures)
        if settings not in workers and len(workers) == MOST_WORKERS:
            workers.pop(next(iter(workers))).worker.end()
        workers[settings] = workers.pop(settings, None) or Warm(*settings)  # the last one is used now
        return workers[settings]

    yield warm_up
    for one in workers.values():
        one.worker.end()


def workers_of(process: psutil.Process | None = None) -> set[psutil.Process]:
    """The workers that run and that a process, by default this one, has had forked."""
    below = (process or psutil.Process()).children(recursive=True)
    found = set()
    for one in below:
        with contextlib.suppress(psutil.Error):
            found |= {one} if one.name() == "grader-worker" and one.status() != psutil.STATUS_ZOMBIE else set()
    return found


def but_nightly(cases: Iterable[Any], *names: str) -> list[Any]:
    """The cases of a test, of which those of these names are left to ``make nightly``.

    Args:
        cases: each is a name, or begins with it.

    Raises:
        AssertionError: fewer than three stay in the suite, or a name is of no case.
    """
    named = {case if isinstance(case, str) else case[0]: case for case in cases}
    assert named.keys() >= set(names) and len(named) - len(names) >= 3, names
    marked = {name: case if name not in names else as_nightly(case) for name, case in named.items()}
    return list(marked.values())


def as_nightly(case: Any) -> Any:
    return pytest.param(*([case] if isinstance(case, str) else case), marks=pytest.mark.nightly)


def run_grader(*arguments: str | Path, cwd: Path = REPO) -> subprocess.CompletedProcess[str]:
    """One run of the command, as a user would start it."""
    return subprocess.run(
        [sys.executable, "-m", "grader", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(REPO)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


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
        save(file, text.replace(old, new))

    return replace


def save(file: Path, text: str) -> None:
    """Replaces a file at once: what watches it never sees it half written."""
    new = file.with_name(f".{file.name}.saved")
    new.write_text(text)
    new.replace(file)


def exercise_of(result: SubmissionResult, name: str) -> ExerciseResult:
    """The exercise of that name, without its topic."""
    return next(exercise for exercise in result.exercises if exercise.name.partition(".")[2] == name)


def check_of(result: SubmissionResult, name: str) -> CheckResult:
    """The check of that name."""
    return next(check for exercise in result.exercises for check in exercise.checks if check.name == name)


def exercises_of(result: SubmissionResult, topic: str) -> list[ExerciseResult]:
    """The exercises of a topic."""
    return [exercise for exercise in result.exercises if exercise.name.startswith(f"{topic}.")]


@pytest.fixture
def busy() -> Iterator[None]:
    """Eight processes that never rest, for as long as a test takes."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(8)]
    yield
    for process in busy:
        process.kill()
        process.wait()


def without_examples(course: Path) -> None:
    """Lets the examples in the docstrings of a course be no checks."""
    manifest = course / "course.toml"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(text.replace("[course]\n", "[course]\nexamples = false\n"), encoding="utf-8")
