"""What `grader check` does: grades one submission with one worker and prints the result.

Makes no verdict: every verdict comes from a worker.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

from grader.course import Course
from grader.grading.exit_codes import exit_code, missing_layers
from grader.grading.graders import Graded
from grader.grading.local_workers import LocalWorkers
from grader.grading.settings import GradingSettings, exercises_by_topic, worker_options
from grader.grading.worker_process import Worker
from grader.intake.find import open_submission
from grader.intake.folder import FileSource
from grader.reports.notes import print_note
from grader.results import to_json


def check_one(worker: Worker, path: Path, settings: GradingSettings, as_json: bool) -> int:
    """Grades the submission at `path` with a worker that is starting already, prints how it went, returns the code.

    Raises:
        UserError: no such course, names or submission.
    """
    course = Course.load(settings.course)
    source = open_submission(path, exercises_by_topic(course))
    names = settings.names
    if isinstance(source, FileSource) and not names and source.topic:
        names = (source.topic,)
    with LocalWorkers(course, worker_options(course, settings, names), first=worker) as workers:
        if as_json:
            graded = workers.grade(source)
            print(to_json(graded.result).decode(), flush=True)
            for note in graded.notes:
                print_note(note)
        else:
            with _importing_meanwhile():
                graded = workers.grade(source)
            _show(graded, course)
    return exit_code([graded.result], settings.fail_under, settings.skipped_ok)


def _show(graded: Graded, course: Course) -> None:
    from grader.reports.terminal import make_console, show_submission

    show_submission(graded.result, course, make_console(), graded.notes, missing_layers(graded.result))


@contextlib.contextmanager
def _importing_meanwhile() -> Iterator[None]:
    """Imports what printing needs while the worker is busy."""
    thread = threading.Thread(target=_import_terminal, daemon=True)
    thread.start()
    yield
    thread.join()


def _import_terminal() -> None:
    from grader.reports import terminal  # noqa: F401
