"""The commands of a student: ``check``, ``list``, ``hint``, ``init``. Importing it imports nothing slow."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
    limits_from,
)
from grader.errors import UserError
from grader.text import counted


def add_to(app: typer.Typer) -> None:
    """Adds the commands to a command line."""
    app.command(
        epilog="\b\nExamples:\n  grader check\n  grader check tensor_ops autograd.sgd_step\n"
        "  grader check --submission work/ --fail-under 60\n  grader check tensor_ops --json"
    )(check)
    app.command("list", epilog="\b\nExample:\n  grader list")(list_exercises)
    app.command(epilog="\b\nExamples:\n  grader hint gram\n  grader hint tensor_ops.gram --level 2")(hint)
    app.command(epilog="\b\nExample:\n  grader init my-work")(init)


def check(
    names: Annotated[list[str] | None, typer.Argument(metavar="[TOPIC | TOPIC.EXERCISE]...")] = None,
    submission: Annotated[
        Path, typer.Option("--submission", metavar="DIR", help="Folder with the work, or one topic's file.")
    ] = Path(),
    every_failure: Annotated[
        bool, typer.Option("--all", help="Show every failing exercise in full, not only the first.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show every check, and nothing shortened.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")] = False,
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

    resolve_devices(devices)  # an impossible choice is refused before anything starts
    worker = Worker()  # First of all: it has to import torch, which takes longer than everything below.
    try:
        from grader.grading.one_submission import check_one
        from grader.grading.settings import GradingSettings

        settings = GradingSettings(
            names=tuple(names or ()),
            course=course,
            seed=seed,
            fail_under=fail_under,
            skipped_ok=skipped_ok,
            limits=limits,
            devices=devices,
        )
        return check_one(worker, submission, settings, as_json=json, every_failure=every_failure, every_check=verbose)
    finally:
        worker.end()


def list_exercises(course: CourseOption = None) -> None:
    """List topics and exercises with their points."""
    from grader.course import Course

    loaded = Course.load(course)
    typer.echo(f"{loaded.title}: {counted(sum(exercise.points for exercise in loaded.exercises), 'point')}")
    for topic in loaded.topics:
        typer.echo(f"\n{topic.name}  {topic.title}")
        for exercise in topic.exercises:
            needs = f"   needs {', '.join(exercise.needs)}" if exercise.needs else ""
            typer.echo(f"  {exercise.full_name:<40} {exercise.points:>3g}{needs}")


def hint(
    name: Annotated[str, typer.Argument(metavar="TOPIC.EXERCISE")],
    level: Annotated[int, typer.Option("--level", min=1, help="A higher level says more.")] = 1,
    course: CourseOption = None,
) -> None:
    """Print a hint for an exercise."""
    from grader.course import Course

    loaded = Course.load(course)
    selected = loaded.select([name])
    if len(selected) != 1:
        raise UserError(f"`{name}` is a topic", fix=f"name one exercise, for example: grader hint {selected[0]}")
    exercise = loaded.exercise(selected[0])
    if level > len(exercise.hints):
        raise UserError(f"{exercise.full_name} has no level {level}", fix=f"levels go from 1 to {len(exercise.hints)}")
    typer.echo(exercise.hints[level - 1])
    if level < len(exercise.hints):
        typer.echo(f"more: grader hint {exercise.full_name} --level {level + 1}")


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder for your work.")],
    force: Annotated[bool, typer.Option("--force", help="Replace files, keeping each as NAME.bak.")] = False,
    course: CourseOption = None,
) -> None:
    """Start a folder to work in, with every topic's exercises."""
    from grader.course import Course
    from grader.course.handout import init as start

    written = start(Course.load(course), folder, force=force)
    typer.echo(
        f"{folder}: {counted(len(written), 'file')} written" if written else f"{folder}: everything is there already"
    )
    typer.echo(f"next: cd {folder} && grader check")
