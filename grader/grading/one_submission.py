"""`grader check`: grades one submission and prints the result.

Makes no verdict: every verdict comes from a worker.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from grader.course import Course
from grader.course.home import Home, LastCheck
from grader.grading.exit_codes import exit_code, missing_layers
from grader.grading.graders import Graded
from grader.grading.settings import GradingSettings, topics_of, worker_options
from grader.grading.warm import StudentWorkers
from grader.grading.worker_process import Worker
from grader.intake.find import open_submission
from grader.intake.submission import Submission
from grader.judge.listener import Listener, Place
from grader.reports.check_report import CheckReport
from grader.reports.states import next_lines, state_of
from grader.reports.terminal import Spinner, make_console, print_note, spinning
from grader.reports.where import Places
from grader.results import ExerciseResult

_BREAKPOINT: Final = re.compile(rb"^([ \t]*)breakpoint\(\)[ \t]*(?=\r?$|#)", re.MULTILINE)

Printer = Callable[[Graded, Submission, Path], Iterable[str]]
"""Gives the lines of a result in a form that programs read; the path is that of the submission."""


def check_one(
    worker: Worker,
    course: Course,
    path: Path,
    settings: GradingSettings,
    *,
    printer: Printer | None = None,
    every_failure: bool = False,
    every_check: bool = False,
    stops_nowhere: bool = False,
) -> int:
    """Grades the submission at `path` with a worker that is starting already, prints how it went, returns the code.

    Args:
        printer: makes the lines of a form that programs read; None prints for people.
        every_failure: show every exercise that fails in full, not only the first.
        every_check: show every check.
        stops_nowhere: leave out lines that are just ``breakpoint()``.

    Raises:
        UserError: no such names or submission.
    """
    source = open_submission(path, topics_of(course))
    submission = source.read()
    if stops_nowhere:
        files = {name: _BREAKPOINT.sub(rb"\1pass", content) for name, content in submission.files.items()}
        submission = replace(submission, files=files)
    names = settings.names
    if not names and (topic := source.topic_of(submission)):
        names = (topic,)
    with StudentWorkers(course, worker_options(course, settings, names), worker) as workers:
        if printer is not None:
            graded = workers.grade(submission)
            for line in printer(graded, submission, path):
                print(line, flush=True)
            for note in graded.notes:
                print_note(note)
        else:
            graded = _grade_and_show(workers, course, path, submission, every_failure, every_check)
    # Keeps in the student's folder how far they are, if `grader init` made that folder.
    home = Home.find(path if path.is_dir() else path.parent)
    if home is not None:
        home.note({one.name: LastCheck(state_of(one), one.score, one.max) for one in graded.result.exercises})
    return exit_code([graded.result], settings.fail_under, settings.skipped_ok)


def _grade_and_show(
    workers: StudentWorkers, course: Course, path: Path, submission: Submission, every_failure: bool, every_check: bool
) -> Graded:
    """Grades a submission, and prints each exercise as it is known."""
    console = make_console()
    with spinning(console, "starting (importing torch)") as spinner:
        places = Places(path, submission.files)
        report = CheckReport(course, console, places.of, every_failure=every_failure, every_check=every_check)
        try:
            graded = workers.grade(submission, _Printer(report, spinner))
        except KeyboardInterrupt:
            report.interrupted()
            raise
        report.show_all(graded.result.exercises)
    following = next_lines(graded.result.exercises, course, places)
    report.end(graded.result, graded.notes, missing_layers(graded.result), following)
    return graded


class _Printer(Listener):
    """Prints exercises as they are known."""

    def __init__(self, report: CheckReport, spinner: Spinner) -> None:
        self._report = report
        self._spinner = spinner

    def began(self, place: Place) -> None:
        self._spinner.doing = place.exercise or place.topic

    def known(self, exercise: ExerciseResult) -> None:
        self._report.add(exercise)
