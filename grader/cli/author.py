"""The commands of a course's author: ``release``, ``verify``. Importing it imports nothing slow."""

from __future__ import annotations

import functools
import gc
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli.help import app
from grader.cli.options import CourseHereOption, CourseOption, DevicesOption, SeedOption
from grader.cli.output import print_lines
from grader.errors import UserError
from grader.text import aligned, counted

if TYPE_CHECKING:
    from grader.course import Course
    from grader.grading.evidence import ExerciseSummary
    from grader.machine import Devices


@app.command(epilog="\b\nExamples:\n  grader new my-course\n  grader new --exercise lines.slope_of --course my-course")
def new(
    folder: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="A new folder for the course.", show_default=False)
    ] = None,
    exercise: Annotated[
        str | None,
        typer.Option("--exercise", metavar="TOPIC.NAME", help="Add an exercise to a course, and the topic if need be."),
    ] = None,
    course: CourseOption = None,
) -> None:
    """Start a course, or add an exercise to one: sound at once, for you to change."""
    from grader.course import Course
    from grader.course.starter import new_course, new_exercise

    if (folder is None) == (exercise is None):
        raise UserError(
            "name a new folder, or an exercise", fix="grader new my-course; grader new --exercise TOPIC.NAME"
        )
    if folder is not None and course is not None:
        raise UserError(
            f"a new course is made in {folder}, not in {course}",
            fix=f"leave out --course, or add an exercise: grader new --exercise TOPIC.NAME --course {course}",
        )
    if folder is not None:
        typer.echo(f"{new_course(folder)}: a course with two exercises")
        typer.echo(f"next: grader verify --course {folder}")
    if exercise is not None:
        place = course or Path()
        for file in new_exercise(Course.load(place, complete=False), exercise):
            typer.echo(f"written: {file}")
        suffix = f" --course {course}" if course else ""
        typer.echo(f"next: change these files, then: grader release{suffix} && grader verify {exercise}{suffix}")


@app.command(epilog="\b\nExamples:\n  grader release\n  grader release --check --course my-course")
def release(
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing, only list the changes; exit code 1 if there are any.")
    ] = False,
    course: CourseHereOption = None,
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


@app.command(
    epilog="\b\nExamples:\n  grader verify\n  grader verify tensor_ops.gram\n  grader verify --course my-course\n"
    "  grader verify --mutants tensor_ops\n  grader verify --watch --course my-course\n  grader verify --seed 7"
)
def verify(
    names: Annotated[list[str] | None, typer.Argument(metavar="TOPIC | EXERCISE", show_default=False)] = None,
    course: CourseHereOption = None,
    devices: DevicesOption = "auto",
    mutants: Annotated[
        bool, typer.Option("--mutants", help="Change the solutions in many small ways; list those that no check fails.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on, and verify the exercises that change whenever a file is saved.")
    ] = False,
    seed: SeedOption = 0,
) -> int:
    """Prove a course: solutions earn everything, stubs nothing, every misconception is caught and named."""
    from grader.course import Course

    loaded = Course.load(course)
    loaded.require_solutions("verify")
    if mutants:
        return _grade_mutants(loaded, names or [], devices, seed)
    if watch:
        from grader.grading.verify_watch import watch_course

        watch_course(course, functools.partial(_verify_quickly, course, devices, seed), tuple(names or ()))
        return 0
    return _verify(loaded, names or (), devices, seed)


def _verify_quickly(path: Path | None, devices: Devices, seed: int, names: Sequence[str]) -> int:
    """As `_verify`, of a course as it is now; in a process of its own."""
    from grader.course import Course

    return _verify(Course.load(path), names, devices, seed, is_quick=True)


def _verify(course: Course, names: Sequence[str], devices: Devices, seed: int, is_quick: bool = False) -> int:
    """Prints the defects of a course, and what was looked at; the exit code.

    Args:
        is_quick: as `verify_course`; progress and the table are left out, too.
    """
    gc.disable()  # the collector takes a quarter of the time of the imports, and frees nothing
    from grader.grading.promises import Defect
    from grader.grading.verify import verify_course
    from grader.machine import resolve_devices

    found = 0

    def report(defect: Defect) -> None:
        nonlocal found
        found += 1
        typer.echo(str(defect))

    summaries = verify_course(
        course,
        report,
        progress=lambda text: None if is_quick else typer.echo(text, err=True),
        devices=resolve_devices(devices),
        only=names,
        seed=seed,
        is_quick=is_quick,
    )
    if is_quick:
        typer.echo(f"{', '.join(names)}: {counted(found, 'defect') if found else 'sound'}")
        return 1 if found else 0
    print_lines(_table(summaries))
    typer.echo(counted(found, "defect") if found else "the course is sound")
    typer.echo("not run: small changes of the solutions, which show what no check asks for: grader verify --mutants")
    return 1 if found else 0


def _table(summaries: Sequence[ExerciseSummary]) -> list[str]:
    """What was looked at, a line for each exercise; below it the checks that do not notice changed replies."""
    rows = [("exercise", "checks", "misconceptions", "seconds", "thin checks")]
    for one in summaries:
        thin = str(len(one.thin)) if one.thin else "-"
        rows.append((one.exercise, str(one.checks), str(one.misconceptions), f"{one.seconds:.2f}", thin))
    lines = aligned(rows)
    notes = [f"  {one.exercise}: {name}: {', '.join(changes)}" for one in summaries for name, changes in one.thin]
    if notes:
        lines += ["thin checks pass although all values that come back are changed; others of the exercise notice:"]
    return [*lines, *notes]


def _grade_mutants(course: Course, names: list[str], devices: Devices, seed: int) -> int:
    from grader.grading.verify import grade_mutants
    from grader.machine import resolve_devices

    score = grade_mutants(
        course,
        typer.echo,
        progress=lambda text: typer.echo(text, err=True),
        devices=resolve_devices(devices),
        only=names,
        seed=seed,
    )
    for one in score.outdated:
        typer.echo(f"written down, but not a survivor: {one.definition}: {one.change}")
    equivalent = len(score.equivalent)
    same = f"; {counted(equivalent, 'mutant')} written down as equivalent" if equivalent else ""
    counts = [(name, f"{caught} of {judged}") for name, (caught, judged) in score.definitions.items()]
    print_lines(aligned([("function or class", "mutants caught"), *counts]))
    judged = score.caught + score.survived  # without equivalent ones
    share = score.caught / judged if judged else 1.0
    typer.echo(f"{score.caught} of {counted(judged, 'mutant')} caught ({share:.1%}){same}")
    return 1 if score.survived or score.outdated else 0
