"""The commands of a student: ``check``, ``list``, ``next``, ``hint``, ``solution``, ``reset``, ``init``, ``debug``.

Importing it imports nothing slow.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from grader import new_python
from grader.cli.arguments import complete_name, course_path, one_exercise, split_targets
from grader.cli.help import app
from grader.cli.options import (
    DEFAULT_FILES,
    DEFAULT_LIMITS,
    DEFAULT_MEMORY,
    DEFAULT_PRINTS,
    CheckSeconds,
    CourseOption,
    DevicesOption,
    FailUnder,
    Files,
    Memory,
    Prints,
    Processes,
    SeedOption,
    SkippedOk,
    TopicSeconds,
    WorkFolderOption,
    WorkOption,
    course_here,
    limits_from,
)
from grader.cli.output import print_lines
from grader.errors import UserError
from grader.text import counted

if TYPE_CHECKING:
    from grader.course import Course
    from grader.grading.graders import Graded
    from grader.grading.one_submission import Printer
    from grader.intake.submission import Submission

_HERE = Path()
_NO_TESTS = 5
"""The exit code of pytest where nothing was chosen."""
_TESTS_FAILED = 1
"""The exit code of pytest where a test has failed."""
_Exercise = Annotated[
    str | None,
    typer.Argument(
        metavar="EXERCISE",
        autocompletion=complete_name,
        show_default=False,
        help="For example gram, or tensor_ops.gram.  [default: the one at hand]",
    ),
]


_Form = Literal["text", "concise", "json", "github"]


@app.command(
    epilog="\b\nExamples:\n  grader check\n  grader check tensor_ops autograd.sgd_step\n"
    "  grader check kata/tensor_ops.py\n  grader check --submission work/ --fail-under 60\n"
    "  grader check tensor_ops --format json"
)
def check(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="TOPIC | EXERCISE | FILE | DIR", autocompletion=complete_name)
    ] = None,
    submission: WorkOption = None,
    every_failure: Annotated[
        bool, typer.Option("--all", help="Show every failing exercise in full, not only the first.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show every check, and nothing shortened.")] = False,
    form: Annotated[
        _Form, typer.Option("--format", help="concise: path:line: exercise: sentence; github: annotations.")
    ] = "text",
    json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    course: CourseOption = None,
    seed: SeedOption = 0,
    devices: DevicesOption = "auto",
    fail_under: FailUnder = None,
    skipped_ok: SkippedOk = False,
    check_seconds: CheckSeconds = DEFAULT_LIMITS.check_seconds,
    topic_seconds: TopicSeconds = DEFAULT_LIMITS.topic_seconds,
    memory: Memory = DEFAULT_MEMORY,
    processes: Processes = DEFAULT_LIMITS.processes,
    files: Files = DEFAULT_FILES,
    prints: Prints = DEFAULT_PRINTS,
) -> int:
    """Check one submission (by default the current folder) and say what to look at.

    With names, only these exercises and what they need are checked.
    """
    limits = limits_from(check_seconds, topic_seconds, memory, processes, files, prints)
    from grader.grading.worker_process import Worker
    from grader.machine import resolve_devices
    from grader.student import engine

    resolve_devices(devices)  # an impossible choice is refused before anything starts
    engine.choose()
    worker = Worker()  # First of all: it has to import torch, which takes longer than everything below.
    try:
        from grader.course import Course, pictured
        from grader.grading.one_submission import check_one
        from grader.grading.settings import GradingSettings

        course = course_path(course, [*([submission] if submission else []), *map(Path, names or ())])
        loaded = Course.load(course)
        path, wanted = split_targets(names or (), submission, [topic.name for topic in loaded.modules])
        settings = GradingSettings(
            names=wanted,
            pictures=() if wanted else pictured(loaded)[-1:],  # for the end of the course
            seed=seed,
            fail_under=fail_under,
            skipped_ok=skipped_ok,
            limits=limits,
            devices=devices,
        )
        return check_one(
            worker,
            loaded,
            path,
            settings,
            printer=_printer("json" if json else form),
            every_failure=every_failure,
            every_check=verbose,
        )
    finally:
        worker.end()


def _printer(form: _Form) -> Printer | None:
    """The function that prints a result in a form that programs read; None for people."""
    if form == "text":
        return None

    def lines(graded: Graded, submission: Submission, path: Path) -> Iterable[str]:
        if form == "json":
            from grader.results import to_json

            return [to_json(graded.result).decode()]
        if form == "concise":
            from grader.reports.states import concise_lines
            from grader.reports.where import Places

            return concise_lines(graded.result, Places(path, submission.files))
        from grader.exports.code_hosts import commands
        from grader.gradebook import Row
        from grader.reports.entries import Entry

        row = Row(graded.result, graded.digest, graded.seconds)
        return commands([Entry(row, lambda _: submission.files)], path if path.is_dir() else path.parent)

    return lines


@app.command("list", epilog="\b\nExamples:\n  grader list\n  grader list tensor_ops")
def list_exercises(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="TOPIC | EXERCISE", autocompletion=complete_name, show_default=False)
    ] = None,
    course: CourseOption = None,
) -> None:
    """List topics and exercises with their points, and your progress."""
    from grader.course import Course
    from grader.course.home import Home
    from grader.reports.where import list_lines

    home = Home.find()
    loaded = Course.load(course_path(course), complete=False)
    print_lines(list_lines(loaded, home.marks() if home else {}, loaded.select(names or ())))


@app.command(epilog="\b\nExamples:\n  grader courses\n  grader init kata --course NAME")
def courses() -> None:
    """List the courses that are installed: the shipped one, and those of packages."""
    from grader.course import Course
    from grader.course.installed import installed_courses

    typer.echo(f"{Course.load(None, complete=False).title}  (shipped; without --course)")
    for one in installed_courses():
        try:
            about = Course.load(one.name, complete=False).title
        except UserError as error:
            about = f"cannot be used: {error}"
        typer.echo(f"{one.name}  {about}  ({one.package})")


@app.command("next", epilog="\b\nExample:\n  grader next")
def next_exercise(course: CourseOption = None) -> None:
    """Say which exercise is next, and its file and line."""
    from grader.course import Course
    from grader.course.home import Home
    from grader.reports.where import Places, next_of

    home = Home.find()
    found = next_of(Course.load(course_path(course), complete=False), home.marks() if home else {})
    folder = home.folder if home else _HERE
    print_lines(["all is done" if found is None else f"{found.full_name}  {Places(folder).of(found.full_name)}"])


@app.command(epilog="\b\nExamples:\n  grader hint\n  grader hint gram\n  grader hint tensor_ops.gram --level 2")
def hint(
    name: _Exercise = None,
    level: Annotated[int, typer.Option("--level", min=1, help="A higher level says more.")] = 1,
    course: CourseOption = None,
) -> None:
    """Print a hint for an exercise."""
    from grader.course import Course

    loaded = Course.load(course_path(course))
    exercise = loaded.exercise(one_exercise(loaded, name, "hint", manual=True))
    if not exercise.hints:
        raise UserError(f"{exercise.full_name} has no hints")
    if level > len(exercise.hints):
        raise UserError(f"{exercise.full_name} has no level {level}", fix=f"levels go from 1 to {len(exercise.hints)}")
    if name is None:
        typer.echo(f"{exercise.full_name}:")
    typer.echo(exercise.hints[level - 1])
    if level < len(exercise.hints):
        typer.echo(f"more: grader hint {exercise.full_name} --level {level + 1}")


@app.command(epilog="\b\nExample:\n  grader solution tensor_ops.gram")
def solution(name: _Exercise = None, course: CourseOption = None) -> None:
    """Print the course's own solution of an exercise that you have passed."""
    from grader.course import Course
    from grader.course.home import Home
    from grader.course.stubs import solution_of

    loaded = Course.load(course_path(course), complete=False)
    exercise = one_exercise(loaded, name, "solution")
    topic, _, function = exercise.partition(".")
    if loaded.show_solutions == "never":
        raise UserError("this course does not show its solutions")
    loaded.require_solutions("solution")
    home = Home.find()
    mark = home.marks().get(exercise) if home else None
    if mark is None or mark.state != "passed":
        raise UserError(f"{exercise} has not passed yet", fix=f"its solution is shown after: grader check {exercise}")
    typer.echo(solution_of(loaded.solution_file(topic), function))


@app.command(epilog="\b\nExamples:\n  grader reset\n  grader reset tensor_ops.gram")
def reset(name: _Exercise = None, course: CourseOption = None) -> None:
    """Put one exercise back as it was handed out; your file is kept beside it."""
    from grader.course import Course
    from grader.course.handout import reset as put_back
    from grader.course.home import Home, LastCheck

    loaded = Course.load(course_path(course), complete=False)
    exercise = one_exercise(loaded, name, "reset")
    home = Home.find()
    backup = put_back(loaded, home.folder if home else _HERE, exercise)
    if home is not None:
        home.note({exercise: LastCheck("unwritten", 0.0, loaded.exercise(exercise).points)})
    if backup is None:
        typer.echo(f"{exercise} is still as it was handed out: nothing to put back")
    else:
        typer.echo(f"{exercise} is as it was handed out; your text is in {backup.name}")


@app.command(
    epilog="\b\nExamples:\n  grader init my-work\n  grader init my-work --course my-course\n  grader init --update"
)
def init(
    folder: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="A new folder for your work.", show_default=False)
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files, keeping each as NAME.bak.")] = False,
    update: Annotated[
        bool, typer.Option("--update", help="Bring new exercises and docstrings into a folder; answers stay.")
    ] = False,
    notebooks: Annotated[bool, typer.Option("--notebooks", help="Notebooks instead of Python files.")] = False,
    course: CourseOption = None,
) -> int:
    """Start a folder to work in, with every topic's exercises."""
    from grader.course import Course
    from grader.course.handout import init as start
    from grader.course.installed import is_name

    if update:
        return _update(folder, course)
    if folder is None:
        raise UserError("a folder is missing", fix="name a new folder, for example: grader init kata")
    course = course_here(course)
    loaded = Course.load(course)
    installed = str(course) if course is not None and is_name(course) else ""
    hand_out = course is not None and not installed
    written = start(loaded, folder, force=force, hand_out=hand_out, notebooks=notebooks, installed=installed)
    typer.echo(
        f"{folder}: {counted(len(written), 'file')} written" if written else f"{folder}: everything is there already"
    )
    there = f'cd "{folder}" && ' if " " in str(folder) else "" if folder.resolve() == Path.cwd() else f"cd {folder} && "
    has_notebook = notebooks and loaded.modules
    first = f"open {loaded.modules[0].name}.ipynb in {folder}" if has_notebook else f"{there}grader"
    typer.echo(f"next: {first}")
    return 0


def _update(folder: Path | None, course: Path | None) -> int:
    from grader.course import Course
    from grader.course.handout import update
    from grader.course.home import Home
    from grader.course.installed import is_name

    home = Home.find(folder)
    place = home.folder if home else folder or _HERE
    own = course or (home.course if home else None)
    installed = (home.course_name if home else "") if course is None else str(course) if is_name(course) else ""
    changes = update(Course.load(own), place, hand_out=own is not None and not installed, installed=installed)
    print_lines([f"note: {one.text}" if one.is_problem else one.text for one in changes] or ["all is up to date"])
    return 0


@app.command(
    epilog="\b\nExamples:\n  grader debug\n  grader debug tensor_ops.gram\n  grader debug gram --check rows_dotted"
)
def debug(
    name: _Exercise = None,
    check: Annotated[
        str | None, typer.Option("--check", metavar="WORDS", help="Only checks with these words in their name.")
    ] = None,
    submission: WorkFolderOption = None,
    course: CourseOption = None,
) -> int:
    """Run an exercise's checks so that `breakpoint()` and prints work: no sandbox, no time limit."""
    from grader.course import Course, checks_of

    path = course_path(course, [submission] if submission else [])
    loaded = Course.load(path)
    folder, _ = split_targets((), submission, [topic.name for topic in loaded.modules])
    exercise = one_exercise(loaded, name, "debug")
    topic = exercise.partition(".")[0]
    file = loaded.check_file(topic)
    functions = [one.function for one in checks_of(loaded, topic) if one.exercise == exercise]
    wanted = [f"{file}::{function}" for function in functions]
    options = ["-c", os.devnull, "--rootdir", str(folder.resolve()), "-p", "no:cacheprovider", "-s", "-x", "-q"]
    options += ["--tb=short", "--submission", str(folder), *(["-k", check] if check else [])]
    options += [] if path is None else ["--course", str(loaded.root)]
    environment = {**os.environ, "PYTEST_ADDOPTS": "", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        new_python.command("import pytest; sys.exit(pytest.main(sys.argv[1:]))", *options, *wanted),
        env=environment,
        check=False,
    )
    if done.returncode == _NO_TESTS:
        names = ", ".join(function.removeprefix("test_") for function in dict.fromkeys(functions))
        raise UserError(f"no check of {exercise} has `{check}` in its name", fix=f"its checks: {names}")
    if done.returncode == _TESTS_FAILED:
        _say_what_happened(loaded, folder, exercise)
    return min(done.returncode, 1)


def _say_what_happened(course: Course, folder: Path, exercise: str) -> None:
    """Prints the sentence that `grader check` begins with; what the judge runs has no `breakpoint()` in it."""
    from grader.grading.one_submission import check_one
    from grader.grading.settings import GradingSettings
    from grader.grading.worker_process import Worker

    print(f"\nin short, as `grader check {exercise}` says it:", flush=True)
    worker = Worker()
    try:
        settings = GradingSettings(names=(exercise,))
        check_one(worker, course, folder, settings, printer=_printer("concise"), stops_nowhere=True)
    finally:
        worker.end()
