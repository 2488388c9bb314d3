"""What `grader check` does, and what it shares with `grader grade`: settings, and how it went as an exit code.

Decides nothing about a submission: every verdict comes from a worker.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from grader.course import Course
from grader.gradebook import Row
from grader.grading.local_workers import Crew, Graded
from grader.grading.protocol import WorkerOptions
from grader.grading.worker_process import Worker
from grader.intake.find import open_submission
from grader.intake.folder import FileSource
from grader.machine import Devices, resolve_devices
from grader.results import SubmissionResult, to_json
from grader.sandbox.limits import Limits
from grader.sandbox.sandbox import full_set
from grader.text import clean

PASSED, FAILED, INTERRUPTED, FAULT, USAGE = range(5)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What the commands that grade were told; ``names`` are topics or exercises, none means all."""

    names: tuple[str, ...] = ()
    course: Path | None = None
    seed: int = 0
    fail_under: float | None = None
    limits: Limits = Limits()
    devices: Devices = "simulated"


def check_one(worker: Worker, path: Path, settings: Settings, as_json: bool) -> int:
    """Grades the submission at `path` with a worker that is starting already, prints how it went, returns the code.

    Raises:
        UserError: no such course, names or submission.
    """
    course = Course.load(settings.course)
    source = open_submission(path, exercises_of(course))
    names = settings.names
    if isinstance(source, FileSource) and not names and source.topic:
        names = (source.topic,)
    crew = Crew(course, worker_options(course, settings, names), first=worker)
    try:
        if as_json:
            graded = crew.grade(source)
            print(to_json(graded.result).decode(), flush=True)
            for note in graded.notes:
                print(f"note: {clean(note)}", file=sys.stderr)
        else:
            with _importing_meanwhile():
                graded = crew.grade(source)
            _show(graded, course)
    except BaseException:
        crew.stop()
        raise
    finally:
        crew.close()
    return exit_code([graded.result], settings.fail_under)


def exit_code(results: Iterable[SubmissionResult], fail_under: float | None) -> int:
    """0 all passed, 1 some failed (`fail_under`: only if a score is below that percentage), 3 a fault of the grader."""
    tally = Tally(fail_under)
    for result in results:
        tally.add(result)
    return tally.code


class Tally:
    """The exit code of results that pass by one after another."""

    def __init__(self, fail_under: float | None) -> None:
        self.code = PASSED
        self.missing_layers: set[str] = set()
        self._fail_under = fail_under

    def over(self, rows: Iterable[Row]) -> Iterator[Row]:
        for row in rows:
            self.add(row.result)
            yield row

    def add(self, result: SubmissionResult) -> None:
        if "error" in result.verdicts:
            self.code = FAULT
            return
        self.missing_layers.update(_missing_layers(result))
        if self.code != FAULT and self._fails(result):
            self.code = FAILED

    def _fails(self, result: SubmissionResult) -> bool:
        if self._fail_under is None:
            return not result.verdicts <= {"passed", "skipped"}
        # Nothing assessed is not known to be enough.
        return result.max <= 0 or 100 * result.score < self._fail_under * result.max - 1e-9


def exercises_of(course: Course) -> dict[str, list[str]]:
    """The names of the exercises by topic, as intake wants them."""
    return {topic.name: [exercise.name for exercise in topic.exercises] for topic in course.topics}


def worker_options(course: Course, settings: Settings, names: Sequence[str]) -> WorkerOptions:
    """What the workers are told.

    Raises:
        UnknownName: the course has no such topic or exercise.
        UserError: real devices are wanted and there are none.
    """
    exercises = course.with_needs(course.select(names)) if names else ()
    return WorkerOptions(
        course=None if settings.course is None else str(course.root),
        exercises=exercises,
        seed=settings.seed,
        limits=settings.limits,
        devices=resolve_devices(settings.devices),
    )


def _show(graded: Graded, course: Course) -> None:
    from grader.reports.terminal import make_console, show_submission

    show_submission(graded.result, course, make_console(), graded.notes, _missing_layers(graded.result))


def _missing_layers(result: SubmissionResult) -> list[str]:
    """The layers of a full sandbox that the submission was graded without."""
    full = full_set() or ("all layers",)
    return [layer for layer in full if layer not in result.sandbox]


@contextlib.contextmanager
def _importing_meanwhile() -> Iterator[None]:
    """Imports what printing needs while the worker is busy."""
    import threading

    thread = threading.Thread(target=lambda: __import__("grader.reports.terminal"), daemon=True)
    thread.start()
    yield
    thread.join()
