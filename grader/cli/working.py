"""The commands of a student that run their code: ``check``, ``watch``, ``show``, ``debug``. It imports nothing slow."""

from __future__ import annotations

import os
import subprocess
import tempfile
import webbrowser
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Option

from grader import new_python
from grader.cli import options
from grader.cli.command_line import app, print_lines, with_groups
from grader.course.home import Home
from grader.errors import UserError
from grader.text import counted

if TYPE_CHECKING:
    from grader.course import Course
    from grader.grading.graders import Graded
    from grader.intake.submission import Submission
    from grader.machine import Devices
    from grader.results import SubmissionResult

_NO_TESTS = 5
"""The exit code of pytest if nothing was chosen."""
_TESTS_FAILED = 1
"""The exit code of pytest if a test has failed."""
_Form = Literal["text", "concise", "json", "github"]


def _start_early(devices: Devices) -> None:
    """Begins to import torch for the first worker, which takes longer than all that comes before it."""
    from grader.grading.starting import start_early
    from grader.machine import resolve_devices

    resolve_devices(devices)  # an impossible choice is refused before anything starts
    start_early()


@app.command()
@with_groups
def check(
    names: Annotated[list[str] | None, options.named(metavar="TOPIC | EXERCISE | ASSIGNMENT | FILE | DIR")] = None,
    submission: options.WorkOption = None,
    every_failure: Annotated[
        bool, Option("--all", help="Show every failing exercise in full, not only the first.")
    ] = False,
    verbose: Annotated[bool, Option("--verbose", "-v", help="Show every check, and nothing shortened.")] = False,
    form: Annotated[
        _Form, Option("--format", help="concise: path:line: exercise: sentence; github: annotations.")
    ] = "text",
    json: Annotated[bool, Option("--json", help="The same as --format json.")] = False,
    no_record: options.NoRecordOption = False,
    course: options.CourseOption = None,
    seed: options.SeedOption = 0,
    *,
    grading: options.GradingGroup,
) -> int:
    """Check one submission (by default the current folder) and say what to look at.

    With names, only these exercises and what they need are checked; without, all that was handed out into the folder.

    Examples:
      grader check
      grader check tensor_ops autograd.sgd_step
      grader check week1
      grader check kata/tensor_ops.py
      grader check --submission work/ --fail-under 60
      grader check tensor_ops --format json
    """
    grading.limits()  # a limit out of its range is refused before anything starts
    _start_early(grading.devices)
    from grader.course import pictured_at_end
    from grader.grading.one_submission import check_one

    loaded, path, wanted = options.work_of(names or (), submission, course)
    pictures = () if wanted else pictured_at_end(loaded)[:1]  # for the end of the course
    part = options.part_to_check(loaded, Home.find(path) if path.is_dir() else None, wanted)
    if part is not loaded:
        wanted = wanted or tuple(one.name for one in part.assignments)
    settings = grading.settings(wanted, pictures, seed)
    form = "json" if json else form
    printer = None if form == "text" else partial(_lines, form)
    shown = {"every_failure": every_failure, "every_check": verbose}
    return check_one(part, path, settings, printer=printer, counts_tries=not no_record, **shown)


def _lines(form: _Form, graded: Graded, submission: Submission, path: Path) -> Iterable[str]:
    """A result in a form that programs read."""
    if form == "json":
        from grader.results import to_json

        return [to_json(graded.result).decode()]
    if form == "concise":
        from grader.reports.states import concise_lines
        from grader.reports.where import Locations

        return concise_lines(graded.result, Locations(path, submission.files))
    from grader.exports.code_hosts import commands
    from grader.gradebook import Row
    from grader.reports.entries import Entry

    row = Row(graded.result, graded.digest, graded.seconds)
    return commands([Entry(row, lambda _: submission.files)], path if path.is_dir() else path.parent)


@app.command()
def watch(
    name: Annotated[str | None, options.named(metavar="TOPIC | EXERCISE | ASSIGNMENT")] = None,
    submission: options.WorkOption = None,
    no_record: options.NoRecordOption = False,
    course: options.CourseOption = None,
    devices: options.DevicesOption = "auto",
) -> int:
    """Check the exercise at hand on every save, and go on when it passes.

    With a topic or an assignment, only this one is watched; with an exercise, its topic, beginning there. Keys: h hint,
    n next, a all, r run, o open in the editor, l list, p predict, q quit. Ctrl-C ends it too.

    Examples:
      grader watch
      grader watch tensor_ops
      grader watch tensor_ops.gram
      grader watch week1
    """
    _start_early(devices)
    from grader.course import pictured
    from grader.grading.own_work import own_workers
    from grader.grading.settings import GradingSettings, worker_options
    from grader.reports.terminal import make_console
    from grader.reports.where import places_in_term
    from grader.watch.loop import Watch

    loaded, place, names = options.work_of([name] if name else [], submission, course)
    home = Home.find(place if place.is_dir() else place.parent)
    part = options.part_to_check(loaded, home, names)
    selected = part.select(names)
    topics = {one.partition(".")[0] for one in selected}
    is_assignment = any(one.name in names for one in loaded.assignments)
    scope = [one for one in part.path if (one.full_name in selected if is_assignment else one.topic in topics)]
    if names and not scope:
        raise UserError(f"`{name}` has no checks: a person marks it", fix="name a topic with checks: grader list")
    places = places_in_term(part, home.progress() if home else {})
    scope.sort(key=lambda one: places.get(one.full_name, len(places)))
    start = next((one for one in scope if [one.full_name] == selected), None)
    settings = GradingSettings(devices=devices, pictures=pictured(loaded))
    with own_workers(part, worker_options(part, settings, ())) as workers:
        return Watch(place, scope, workers, make_console(), counts_tries=not no_record).run(start)


def _with_pictures(
    course: Course, place: Path, devices: Devices, pictures: Sequence[str], names: Sequence[str], doing: str
) -> SubmissionResult:
    """The result of the work at a place, with these pictures; says meanwhile what it does.

    Args:
        names: full names of the exercises that are checked; empty: all.
    """
    from grader.grading.graders import result_at_end
    from grader.grading.own_work import own_news, own_workers
    from grader.grading.settings import GradingSettings, topics_of, worker_options
    from grader.intake.find import open_submission
    from grader.reports.terminal import make_console, spinning

    work = open_submission(place, topics_of(course)).read()
    worker = worker_options(course, GradingSettings(devices=devices, pictures=tuple(pictures)), names)
    with spinning(make_console(stderr=True), doing), own_workers(course, worker) as workers:
        return result_at_end(own_news(workers, work, names)).result


def _open_page(page: Path) -> None:
    if not webbrowser.open(page.resolve().as_uri()):
        raise UserError("no browser could be opened", fix=f"open this file yourself: {page.resolve()}")


@app.command()
def show(
    name: Annotated[
        str | None,
        options.named(
            metavar="TOPIC | EXERCISE",
            help="For example training, or training.experiment.  [default: the topic at hand]",
        ),
    ] = None,
    opens: Annotated[bool, Option("--open", help="Show them in the browser instead.")] = False,
    out: Annotated[Path | None, Option(metavar="FILE", help="Write a page to this file instead.")] = None,
    submission: options.WorkFolderOption = None,
    course: options.CourseOption = None,
    devices: options.DevicesOption = "auto",
) -> None:
    """Show what your code does in pictures: a loss while it trains, the rows that each rank gets.

    An exercise has its pictures when all its checks pass.

    Examples:
      grader show
      grader show spirals
      grader show training.experiment
      grader show training --open
      grader show ddp --out ranks.html
    """
    _start_early(devices)
    from grader.course import pictured
    from grader.reports.terminal import make_console

    loaded, place, _ = options.work_of((), submission, course)
    known = pictured(loaded)
    meant = name or options.one_exercise(loaded, None, "show").topic
    wanted = [one for one in loaded.select([meant]) if one in known]
    if not wanted:
        fix = f"these have some: {', '.join(known)}" if known else None
        raise UserError(f"`{meant}` has no pictures" if known else "this course has no pictures", fix=fix)
    graded = _with_pictures(loaded, place, devices, wanted, wanted, "checking, and making the pictures")
    results = [one for one in graded.exercises if one.name in wanted]
    if not any(result.pictures for result in results):
        first = results[0].name
        raise UserError(f"{first} has not passed yet, so it has no picture", fix=f"see why: grader check {first}")
    if opens and out is None:
        out = Path(tempfile.mkdtemp(prefix="grader-show-"), "pictures.html")
    if out is not None:
        from grader.reports.html import write_pictures

        write_pictures(results, loaded, out)
        typer.echo(f"{out} written")
        if opens:
            _open_page(out)
        return
    from grader.reports.check_report import PAGE_LINE
    from grader.reports.drawing import print_picture
    from grader.reports.where import has_passed_all

    for number, result in enumerate(results):
        if number:
            typer.echo()
        if not result.pictures:
            typer.echo(f"{result.name} has not passed yet: grader check {result.name}")
        for picture in result.pictures:
            print_picture(picture, make_console())
    home = Home.find(place)
    if home is not None and has_passed_all(loaded, home.progress()):
        print_lines(["", PAGE_LINE])


@app.command()
def finish(
    out: Annotated[Path, Option(metavar="FILE", help="The page.")] = Path("finish.html"),
    opens: Annotated[bool, Option("--open", help="Show it in the browser, too.")] = False,
    submission: options.WorkFolderOption = None,
    course: options.CourseOption = None,
    devices: options.DevicesOption = "auto",
) -> None:
    """Check everything, and make a page of it to keep and to share: what you have built, in pictures.

    It has no name of yours and no path, and stays on your machine until you give it away.

    Examples:
      grader finish
      grader finish --open
      grader finish --out spirals.html
    """
    _start_early(devices)
    from grader.course import pictured_at_end
    from grader.course.record import Record
    from grader.reports.html_finish import finish_page, write_finish_page

    loaded, place, _ = options.work_of((), submission, course)
    home = Home.find(place)
    part = options.part_of(loaded, home)
    wanted = pictured_at_end(part)
    graded = _with_pictures(part, place, devices, wanted, (), "checking everything, and making the pictures")
    record = Record(home) if home else None
    page = finish_page(part, graded, wanted, record.tries if record else {})
    if not page.passed:
        raise UserError("nothing has passed yet, so there is nothing to show", fix="see why: grader check")
    write_finish_page(page, out)
    print_lines([f"{out} written: {page.passed} of {counted(page.count, 'exercise')}", *page.lacks])
    if record and record.note:
        print_lines([f"note: {record.note}"])
    if opens:
        _open_page(out)


@app.command()
def debug(
    name: options.ExerciseArgument = None,
    check: Annotated[str | None, Option(metavar="WORDS", help="Only checks with these words in their name.")] = None,
    submission: options.WorkFolderOption = None,
    course: options.CourseOption = None,
) -> int:
    """Run an exercise's checks so that `breakpoint()` and prints work: no sandbox, no time limit.

    Examples:
      grader debug
      grader debug tensor_ops.gram
      grader debug gram --check rows_dotted
    """
    from grader.course import checks_of

    loaded, folder, _ = options.work_of((), submission, course)
    exercise = options.one_exercise(loaded, name, "debug")
    full_name, file = exercise.full_name, loaded.check_file(exercise.topic)
    functions = [one.function for one in checks_of(loaded, exercise.topic) if one.exercise == full_name]
    arguments = ["-c", os.devnull, "--rootdir", str(folder.resolve()), "-p", "no:cacheprovider", "-s", "-x", "-q"]
    arguments += ["--tb=short", "--submission", str(folder), *(["-k", check] if check else [])]
    # Plugins by name, and no others, as in the judge: of those that it finds, pytest rewrites all modules each time.
    arguments += ["-p", "grader.judge.plugin", "-p", "_hypothesis_pytestplugin"]
    if loaded.suite is not None:
        arguments += [str(loaded.checks_dir / test) for test in (*exercise.tests, *exercise.hidden_tests)]
    else:
        arguments += [f"{file}::{function}" for function in functions]
    # pytest has the collector look at everything at its end: these modules stay, and are left out.
    program = "import gc; gc.disable(); import pytest, torch; gc.freeze(); gc.enable(); "
    command = new_python.command(f"{program}sys.exit(pytest.main(sys.argv[1:]))", *arguments)
    without = {"PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    environment = {**os.environ, **without}
    code = subprocess.run(command, env=environment, check=False).returncode
    if code == _NO_TESTS:
        names = ", ".join(function.removeprefix("test_") for function in functions)
        raise UserError(f"no check of {full_name} has `{check}` in its name", fix=f"its checks: {names}")
    if code == _TESTS_FAILED:  # say so as `grader check` does; what the judge runs has no `breakpoint()` in it
        print(f"\nin short, as `grader check {full_name}` says it:", flush=True)
        _start_early("simulated")
        from grader.grading.one_submission import check_one
        from grader.grading.settings import GradingSettings

        settings, printer = GradingSettings(names=(full_name,)), partial(_lines, "concise")
        check_one(loaded, folder, settings, printer=printer, stops_nowhere=True, counts_tries=False)
    return min(code, 1)
