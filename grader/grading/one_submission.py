"""`grader check`: grades one submission and prints the result.

Makes no verdict: every verdict comes from a worker.
"""

import contextlib
import re
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from grader.course import Course
from grader.course.home import Home
from grader.grading.exit_codes import exit_code, missing_layers
from grader.grading.graders import Graded, News, result_at_end
from grader.grading.own_work import own_news, own_workers
from grader.grading.protocol import Began, ExerciseDone
from grader.grading.settings import GradingSettings, topics_of, worker_options
from grader.intake.find import open_submission
from grader.intake.submission import Submission
from grader.reports.check_report import CheckReport
from grader.reports.progress import keep_progress
from grader.reports.states import beside_lines, due_lines, next_lines
from grader.reports.terminal import make_console, print_note, spinning
from grader.reports.where import Locations

_BREAKPOINT: Final = re.compile(rb"^([ \t]*)breakpoint\(\)[ \t]*(?=\r?$|#)", re.MULTILINE)

Printer = Callable[[Graded, Submission, Path], Iterable[str]]
"""Gives the lines of a result in a form that programs read; the path is that of the submission."""


def check_one(
    course: Course,
    path: Path,
    settings: GradingSettings,
    *,
    printer: Printer | None = None,
    every_failure: bool = False,
    every_check: bool = False,
    stops_nowhere: bool = False,
    counts_tries: bool = True,
) -> int:
    """Grades the submission at `path`, prints how it went, and returns the exit code.

    Args:
        printer: makes the lines of a form that programs read; None prints for people.
        every_failure: show every exercise that fails in full, not only the first.
        every_check: show every check.
        stops_nowhere: leave out lines that are just ``breakpoint()``.
        counts_tries: whether the record of tries in the student's folder is kept.

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
    home = Home.find(path if path.is_dir() else path.parent)
    with own_workers(course, worker_options(course, settings, names)) as workers:
        news = own_news(workers, submission)
        if printer is not None:
            graded = result_at_end(news)
            for line in printer(graded, submission, path):
                print(line, flush=True)
            for note in graded.notes:
                print_note(note)
        else:
            places, asked = Locations(path, submission.files), course.select(names)
            before = home.progress() if home else {}
            more = {"every_failure": every_failure, "every_check": every_check, "is_alone": len(asked) == 1}
            report = CheckReport(course, make_console(), places.of, before=before, **more)
            graded = _print_as_it_comes(news, report)
            exercises = graded.result.exercises
            passed = [name for name, last in before.items() if last.state == "passed"]
            following = beside_lines(exercises, course, asked) if home else []
            following += [*due_lines(exercises, course, asked), *next_lines(exercises, course, places, passed)]
            report.end(graded.result, graded.notes, missing_layers(graded.result), following)
    if note := keep_progress(home, graded.result.exercises, counts_tries=counts_tries):
        print_note(note)
    return exit_code([graded.result], settings.fail_under, settings.skipped_ok)


def _print_as_it_comes(news: Generator[News, None, None], report: CheckReport) -> Graded:
    """Prints each exercise of a submission as soon as it is known; the result."""
    with spinning(report.console, "starting (importing torch)") as spinner, contextlib.closing(news):
        try:
            for event in news:
                match event:
                    case Began(place):
                        spinner.doing = place.exercise or place.topic
                    case ExerciseDone(exercise):
                        report.add(exercise)
                    case Graded():
                        graded = event
        except KeyboardInterrupt:
            report.interrupted()
            raise
        report.show_all(graded.result.exercises)
    return graded
