"""``grader show``: the pictures of what a student has written, in the terminal or on a page. Imports nothing slow."""

from __future__ import annotations

import tempfile
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli.arguments import complete_name, course_path, one_exercise, split_targets
from grader.cli.help import app
from grader.cli.options import CourseOption, DevicesOption, WorkFolderOption
from grader.errors import UserError

if TYPE_CHECKING:
    from grader.course import Course
    from grader.grading.worker_process import Worker
    from grader.machine import Devices
    from grader.results import ExerciseResult


@app.command(
    epilog="\b\nExamples:\n  grader show\n  grader show spirals\n  grader show training.experiment\n"
    "  grader show training --open\n  grader show ddp --out ranks.html"
)
def show(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="TOPIC | EXERCISE",
            autocompletion=complete_name,
            show_default=False,
            help="For example training, or training.experiment.  [default: the topic at hand]",
        ),
    ] = None,
    opens: Annotated[bool, typer.Option("--open", help="Show them in the browser instead.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write a page to this file instead.")
    ] = None,
    submission: WorkFolderOption = None,
    course: CourseOption = None,
    devices: DevicesOption = "auto",
) -> int:
    """Show what your code does in pictures: a loss while it trains, the rows that each rank gets.

    An exercise has its pictures when all its checks pass.
    """
    from grader.course import Course
    from grader.grading.worker_process import Worker
    from grader.machine import resolve_devices
    from grader.student import engine

    resolve_devices(devices)
    engine.choose()
    worker = Worker()  # first of all, as in `check`
    try:
        loaded = Course.load(course_path(course, [submission] if submission else []))
        wanted = _with_pictures(loaded, name)
        place, _ = split_targets((), submission, [topic.name for topic in loaded.modules])
        results = _graded(worker, loaded, place, wanted, devices)
    finally:
        worker.end()
    if not any(result.pictures for result in results):
        first = results[0].name
        raise UserError(f"{first} has not passed yet, so it has no picture", fix=f"see why: grader check {first}")
    _print(loaded, results, _page_for(opens, out), opens)
    return 0


def _with_pictures(course: Course, name: str | None) -> list[str]:
    """The exercises (full names) that are meant and have pictures."""
    from grader.course import pictured

    known = pictured(course)
    meant = name or one_exercise(course, None, "show").partition(".")[0]
    wanted = [one for one in course.select([meant]) if one in known]
    if wanted:
        return wanted
    fix = f"these have some: {', '.join(known)}" if known else None
    raise UserError(f"`{meant}` has no pictures" if known else "this course has no pictures", fix=fix)


def _graded(worker: Worker, course: Course, place: Path, wanted: list[str], devices: Devices) -> list[ExerciseResult]:
    from grader.grading.for_students import graded_for_students
    from grader.grading.local_workers import LocalWorkers
    from grader.grading.settings import GradingSettings, topics_of, worker_options
    from grader.intake.find import open_submission
    from grader.reports.terminal import make_console, spinning

    submission = open_submission(place, topics_of(course)).read()
    settings = GradingSettings(devices=devices, pictures=tuple(wanted))
    options = worker_options(course, settings, wanted)
    with (
        spinning(make_console(stderr=True), "checking, and making the pictures"),
        LocalWorkers(course, options, first=worker) as workers,
    ):
        graded = graded_for_students(workers.grade(submission, exercises=wanted))
    return [one for one in graded.result.exercises if one.name in wanted]


def _page_for(opens: bool, out: Path | None) -> Path | None:
    """The file of the page, if there is to be one."""
    if out is not None:
        return out
    return Path(tempfile.mkdtemp(prefix="grader-show-"), "pictures.html") if opens else None


def _print(course: Course, results: list[ExerciseResult], page: Path | None, opens: bool) -> None:
    from grader.reports.drawing import print_picture
    from grader.reports.terminal import make_console

    console = make_console()
    if page is not None:
        from grader.reports.html import write_pictures

        write_pictures(results, course, page)
        typer.echo(f"{page} written")
        if opens and not webbrowser.open(page.resolve().as_uri()):
            raise UserError("no browser could be opened", fix=f"open this file yourself: {page.resolve()}")
        return
    for number, result in enumerate(results):
        if number:
            typer.echo()
        if not result.pictures:
            typer.echo(f"{result.name} has not passed yet: grader check {result.name}")
        for picture in result.pictures:
            print_picture(picture, console)
