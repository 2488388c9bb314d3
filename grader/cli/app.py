"""The command ``grader``: parse, call, print. Importing it never imports torch, pytest, hypothesis or rich."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from grader import __version__
from grader.cli import instructor, reporting
from grader.cli.options import (
    CheckSeconds,
    CourseOption,
    DevicesOption,
    FailUnder,
    Files,
    Memory,
    Prints,
    Processes,
    SeedOption,
    TopicSeconds,
    limits_from,
)
from grader.errors import UserError

app = typer.Typer(name="grader", add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
instructor.add_to(app)
reporting.add_to(app)


@app.callback(
    invoke_without_command=True,
    epilog="\b\nExamples:\n  grader init my-work\n  grader check tensor_ops\n  grader grade submissions/\n"
    "\b\n\nExit codes: 0 all passed, 1 some failed, 2 interrupted, 3 a fault of the grader, 4 usage.",
)
def grader(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False
) -> None:
    """PyTorch exercises, and a grader that never lets submitted code decide its own verdict."""
    if version:
        typer.echo(f"torchkata {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(
    epilog="\b\nExamples:\n  grader check\n  grader check tensor_ops autograd.sgd_step\n"
    "  grader check --submission work/ --fail-under 60\n  grader check tensor_ops --json"
)
def check(
    names: Annotated[list[str] | None, typer.Argument(metavar="[TOPIC | TOPIC.EXERCISE]...")] = None,
    submission: Annotated[
        Path, typer.Option("--submission", metavar="DIR", help="Folder with the work, or one topic's file.")
    ] = Path(),
    json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")] = False,
    course: CourseOption = None,
    seed: SeedOption = 0,
    devices: DevicesOption = "auto",
    fail_under: FailUnder = None,
    check_seconds: CheckSeconds = 10.0,
    topic_seconds: TopicSeconds = 60.0,
    memory: Memory = "2GiB",
    processes: Processes = 64,
    files: Files = "16MiB",
    prints: Prints = "64KiB",
) -> int:
    """Check one submission (the current folder, unless told otherwise) and say what to look at.

    With names, only these exercises and what they need are checked.
    """
    limits = limits_from(check_seconds, topic_seconds, memory, processes, files, prints)
    from grader.grading.worker_process import Worker
    from grader.machine import resolve_devices

    resolve_devices(devices)  # refused before anything is started
    worker = Worker()  # First of all: it has to import torch, which takes longer than everything below.
    try:
        from grader.grading.one_submission import Settings, check_one

        settings = Settings(
            names=tuple(names or ()), course=course, seed=seed, fail_under=fail_under, limits=limits, devices=devices
        )
        return check_one(worker, submission, settings, as_json=json)
    finally:
        worker.end()


@app.command("list", epilog="\b\nExample:\n  grader list")
def list_exercises(course: CourseOption = None) -> None:
    """List topics and exercises with their points."""
    from grader.course import Course

    loaded = Course.load(course)
    typer.echo(f"{loaded.title}: {sum(exercise.points for exercise in loaded.exercises):g} points")
    for topic in loaded.topics:
        typer.echo(f"\n{topic.name}  {topic.title}")
        for exercise in topic.exercises:
            needs = f"   needs {', '.join(exercise.needs)}" if exercise.needs else ""
            typer.echo(f"  {exercise.full_name:<40} {exercise.points:>3g}{needs}")


@app.command(epilog="\b\nExamples:\n  grader hint gram\n  grader hint tensor_ops.gram --level 2")
def hint(
    name: Annotated[str, typer.Argument(metavar="TOPIC.EXERCISE")],
    level: Annotated[int, typer.Option("--level", min=1, help="Higher levels tell more.")] = 1,
    course: CourseOption = None,
) -> None:
    """Print a hint for an exercise."""
    from grader.course import Course

    loaded = Course.load(course)
    meant = loaded.select([name])
    if len(meant) != 1:
        raise UserError(f"`{name}` is a topic", fix=f"name one exercise, for example: grader hint {meant[0]}")
    exercise = loaded.exercise(meant[0])
    if level > len(exercise.hints):
        raise UserError(f"{exercise.full_name} has no level {level}", fix=f"levels go from 1 to {len(exercise.hints)}")
    typer.echo(exercise.hints[level - 1])
    if level < len(exercise.hints):
        typer.echo(f"more: grader hint {exercise.full_name} --level {level + 1}")


@app.command(epilog="\b\nExample:\n  grader init my-work")
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder for your work.")],
    force: Annotated[bool, typer.Option("--force", help="Replace files, keeping each as NAME.bak.")] = False,
    course: CourseOption = None,
) -> None:
    """Start a folder to work in, with every topic's exercises."""
    from grader.course import Course
    from grader.course.handout import init as start

    written = start(Course.load(course), folder, force=force)
    typer.echo(f"{folder}: {len(written)} files written" if written else f"{folder}: everything is there already")
    typer.echo(f"next: cd {folder} && grader check")


@app.command(epilog="\b\nExamples:\n  grader release\n  grader release --check --course my-course")
def release(
    check: Annotated[
        bool, typer.Option("--check", help="Only say what would change; exit code 1 if anything.")
    ] = False,
    course: CourseOption = None,
) -> int:
    """Make the students' stubs from the solutions (for authors of courses)."""
    from grader.course import Course
    from grader.course.stubs import release as write

    changed = write(Course.load(course, complete=False), check=check)
    for file in changed:
        typer.echo(f"{'differs from its solution' if check else 'written'}: {file}")
    if not changed:
        typer.echo("all stubs are up to date")
    return 1 if check and changed else 0


@app.command(epilog="\b\nExamples:\n  grader verify\n  grader verify --course my-course")
def verify(course: CourseOption = None, devices: DevicesOption = "auto") -> int:
    """Prove a course: solutions earn everything, stubs nothing, every misconception is caught and named."""
    from grader.course import Course
    from grader.grading.verify import Defect, verify_course
    from grader.machine import resolve_devices
    from grader.text import counted

    found = 0

    def report(defect: Defect) -> None:
        nonlocal found
        found += 1
        typer.echo(str(defect))

    verify_course(
        Course.load(course),
        report,
        progress=lambda text: typer.echo(text, err=True),
        devices=resolve_devices(devices),
    )
    typer.echo(counted(found, "defect") if found else "the course is sound")
    return 1 if found else 0


@app.command(epilog="\b\nExample:\n  grader doctor")
def doctor() -> None:
    """Say what this machine offers: versions, cores, memory, layers of the sandbox."""
    from grader.cli.doctor import report

    for line in report():
        typer.echo(line)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Runs the command line and exits with its code."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    sys.exit(_run(sys.argv[1:] if arguments is None else arguments))


def _run(arguments: list[str]) -> int:
    command = typer.main.get_command(app)
    try:
        code = command.main(arguments, prog_name="grader", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except UserError as error:
        _tell(str(error), error.fix)
        return 4
    except (KeyboardInterrupt, typer.Abort):
        _tell("interrupted")
        return 2
    except BrokenPipeError:  # Who read our output has gone, as `head` does; nothing more can be said there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        # Errors of usage: their class is not in the public part of every version of typer.
        told = getattr(error, "format_message", None)
        if told is None:
            traceback.print_exc()
            _tell("a fault of the grader's own, see above; please report it")
            return 3
        context = getattr(error, "ctx", None)
        _tell(str(told()), f"see: {context.command_path if context else 'grader'} --help")
        return 4


def _tell(message: str, fix: str | None = None) -> None:
    from grader.text import clean

    print(f"error: {clean(message)}" + (f"\n  {clean(fix)}" if fix else ""), file=sys.stderr)
