"""``grader watch``: checks an exercise whenever it is saved. Importing it imports nothing slow."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli.arguments import complete_name, course_path, split_targets
from grader.cli.help import app
from grader.cli.options import CourseOption, DevicesOption, WorkOption
from grader.errors import UserError

if TYPE_CHECKING:
    from grader.grading.worker_process import Worker
    from grader.machine import Devices


@app.command(epilog="\b\nExamples:\n  grader watch\n  grader watch tensor_ops\n  grader watch tensor_ops.gram")
def watch(
    name: Annotated[
        str | None, typer.Argument(metavar="TOPIC | EXERCISE", autocompletion=complete_name, show_default=False)
    ] = None,
    submission: WorkOption = None,
    course: CourseOption = None,
    devices: DevicesOption = "auto",
) -> int:
    """Check the exercise at hand on every save, and go on when it passes.

    With a topic, only this one is watched; with an exercise, its topic, beginning there. Keys: h hint, n next, a all,
    r run, o open in the editor, l list, q quit. Ctrl-C ends it too.
    """
    from grader.grading.worker_process import Worker
    from grader.machine import resolve_devices
    from grader.student import engine

    resolve_devices(devices)
    engine.choose()
    worker = Worker()  # first of all, as in `check`
    try:
        return _watch(worker, name, submission, course, devices)
    finally:
        worker.end()


def _watch(worker: Worker, name: str | None, submission: Path | None, given: Path | None, devices: Devices) -> int:
    from grader.course import Course, pictured
    from grader.grading.settings import GradingSettings
    from grader.grading.warm import WarmGrader
    from grader.reports.terminal import make_console
    from grader.watch.loop import Watch

    path = course_path(given, [*([submission] if submission else []), *([Path(name)] if name else [])])
    course = Course.load(path)
    place, names = split_targets([name] if name else [], submission, [topic.name for topic in course.modules])
    topics = {one.partition(".")[0] for one in course.select(names)} if names else set()
    if topics and not any(one.topic in topics for one in course.exercises):
        raise UserError(f"`{name}` has no checks: a person marks it", fix="name a topic with checks: grader list")
    scope = [one for one in course.exercises if not topics or one.topic in topics]
    chosen = [one for one in scope if one.full_name in course.select(names)] if names else []
    start = chosen[0] if len(chosen) == 1 and len(course.select(names)) == 1 else None
    settings = GradingSettings(devices=devices, pictures=pictured(course))
    with contextlib.closing(WarmGrader(course, settings, first=worker)) as grader:
        return Watch(course, place, scope, grader, make_console()).run(start)
