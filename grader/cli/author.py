"""The commands of a course's author: ``release``, ``verify``. Importing it imports nothing slow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli.options import CourseOption, DevicesOption, SeedOption
from grader.text import counted

if TYPE_CHECKING:
    from grader.course import Course


def add_to(app: typer.Typer) -> None:
    """Adds the commands to a command line."""
    app.command(epilog="\b\nExamples:\n  grader release\n  grader release --check --course my-course")(release)
    app.command(
        epilog="\b\nExamples:\n  grader verify\n  grader verify tensor_ops.gram\n  grader verify --course my-course\n"
        "  grader verify --mutants tensor_ops\n  grader verify --seed 7"
    )(verify)


def release(
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing, only list the changes; exit code 1 if there are any.")
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


def verify(
    names: Annotated[list[str] | None, typer.Argument(metavar="TOPIC | EXERCISE", show_default=False)] = None,
    course: CourseOption = None,
    devices: DevicesOption = "auto",
    mutants: Annotated[
        bool,
        typer.Option("--mutants", help="Change the solutions in many small ways; list those that no check fails."),
    ] = False,
    seed: SeedOption = 0,
) -> int:
    """Prove a course: solutions earn everything, stubs nothing, every misconception is caught and named."""
    from grader.course import Course
    from grader.grading.promises import Defect
    from grader.grading.verify import verify_course
    from grader.machine import resolve_devices

    loaded = Course.load(course)
    loaded.require_solutions("verify")
    if mutants:
        return _grade_mutants(loaded, names or [], devices, seed)
    found = 0

    def report(defect: Defect) -> None:
        nonlocal found
        found += 1
        typer.echo(str(defect))

    verify_course(
        loaded,
        report,
        progress=lambda text: typer.echo(text, err=True),
        devices=resolve_devices(devices),
        only=names or (),
        seed=seed,
    )
    typer.echo(counted(found, "defect") if found else "the course is sound")
    return 1 if found else 0


def _grade_mutants(course: Course, names: list[str], devices: DevicesOption, seed: int) -> int:
    from grader.grading.mutation import Survivor, grade_mutants
    from grader.machine import resolve_devices

    def report(survivor: Survivor) -> None:
        typer.echo(str(survivor))

    score = grade_mutants(
        course,
        report,
        progress=lambda text: typer.echo(text, err=True),
        devices=resolve_devices(devices),
        only=names,
        seed=seed,
    )
    for one in score.outdated:
        typer.echo(f"written down, but not a survivor: {one.definition}: {one.change}")
    same = f"; {counted(score.equivalent, 'mutant')} written down as equivalent" if score.equivalent else ""
    judged = counted(score.caught + score.survived, "mutant")
    typer.echo(f"{score.caught} of {judged} caught ({score.share:.1%}){same}")
    return 1 if score.survived or score.outdated else 0
