"""The commands of a course's author: ``release``, ``verify``. Importing it imports nothing slow."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer
from typer import Argument, Option

from grader.adopt.adopted import Adopted, require_free
from grader.cli import options
from grader.cli.command_line import app, print_lines
from grader.course import Course, stubs
from grader.course.starter import new_course, new_exercise
from grader.errors import UserError
from grader.machine import Devices, resolve_devices
from grader.text import aligned, by_kind, counted, listed

_VerboseOption = Annotated[bool, Option("--verbose", "-v", help="Show every place, not only the first of a kind.")]
_MOST_MADE: Final = 20
"""Exercises that `adopt` lists."""


@app.command()
def new(
    folder: Annotated[
        Path | None, Argument(metavar="DIR", help="A new folder for the course.", show_default=False)
    ] = None,
    exercise: Annotated[
        str | None, Option(metavar="TOPIC.NAME", help="Add an exercise to a course, and the topic if need be.")
    ] = None,
    course: options.CourseOption = None,
) -> None:
    """Start a course, or add an exercise to one: sound at once, for you to change.

    Examples:
      grader new my-course
      grader new --exercise lines.slope_of --course my-course
    """
    if (folder is None) == (exercise is None):
        fix = "grader new my-course; grader new --exercise TOPIC.NAME"
        raise UserError("name a new folder, or an exercise", fix=fix)
    if folder is not None and course is not None:
        fix = f"leave out --course, or add an exercise: grader new --exercise TOPIC.NAME --course {course}"
        raise UserError(f"a new course is made in {folder}, not in {course}", fix=fix)
    if folder is not None:
        typer.echo(f"{new_course(folder)}: a course with two exercises")
        typer.echo(f"next: grader verify --course {folder}")
    if exercise is not None:
        place = course or Path()
        for file in new_exercise(Course.load(place, complete=False), exercise):
            typer.echo(f"written: {file}")
        suffix = f" --course {course}" if course else ""
        typer.echo(f"next: change these files, then: grader release{suffix} && grader verify {exercise}{suffix}")


@app.command()
def adopt(
    path: Annotated[
        Path,
        Argument(
            metavar="TESTS",
            help="The folder with the tests, or notebooks of otter's or nbgrader's.",
            show_default=False,
        ),
    ],
    more: Annotated[list[str] | None, Argument(hidden=True)] = None,
    modules: Annotated[
        list[str] | None, Option(metavar="NAME…", help="The modules and packages that students write.")
    ] = None,
    solution: Annotated[
        Path | None,
        Option(metavar="DIR", help="The folder with these modules, solved. Default: the one that TESTS is in."),
    ] = None,
    to: Annotated[Path | None, Option(metavar="COURSE", help="A new folder. Default: beside you, NAME-course.")] = None,
    verbose: _VerboseOption = False,
) -> None:
    """Make a course of tests that you have: pytest files, a notebook, texts with code. They stay as they are.

    Examples:
      grader adopt homework.ipynb
      grader adopt tests --modules adapters
      grader adopt tests --modules my_package utils --solution solved --to my-course
    """
    if not path.exists():
        raise UserError(f"there is no {path}", fix="name the folder with the tests, or a notebook")
    notebooks = [one for one in (path, *map(Path, more or ())) if one.suffix in (".ipynb", ".Rmd", ".qmd")]
    if more and not modules and len(notebooks) <= len(more):
        fix = "name modules after --modules; notebooks may be several"
        raise UserError(f"there is more than one folder: {listed(more, 3)}", fix=fix)
    names = [one for name in (*(modules or ()), *(more or ())) for one in name.split(",")]
    name = path.stem if path.is_file() and not more else path.resolve().parent.name
    course = to or Path(f"{name or 'new'}-course")
    require_free(course)
    adopted = _adopted(path, notebooks, course, names, solution)
    typer.echo(f"{adopted.course}: {adopted.made[0]}")
    _, *made = adopted.made
    shown = made if verbose or len(made) <= _MOST_MADE else made[:_MOST_MADE]
    print_lines(shown + [f"  and {len(made) - len(shown)} more: {adopted.course / 'course.toml'}"] * (shown != made))
    if adopted.look:
        typer.echo("look at:")
        _print_by_kind([one.partition(": ")[::2] for one in adopted.look], verbose)
    typer.echo(f"next: grader verify --course {adopted.course}")
    typer.echo(f"then: grader grade SUBMISSIONS --course {adopted.course} --out week1")


def _adopted(path: Path, notebooks: Sequence[Path], to: Path, modules: Sequence[str], solution: Path | None) -> Adopted:
    """The course that is made of tests, or of notebooks."""
    from grader.adopt.code_strings import is_code_strings
    from grader.adopt.notebook_course import adopt_code_strings, adopt_notebooks
    from grader.adopt.suite import adopt_suite

    if notebooks:
        return adopt_notebooks(notebooks, to)
    if not modules and is_code_strings(path):
        return adopt_code_strings(path, to, solution)
    return adopt_suite(path, modules, to, solution)


@app.command()
def release(
    check: Annotated[
        bool, Option("--check", help="Write nothing, only list the changes; exit code 1 if there are any.")
    ] = False,
    course: options.CourseHereOption = None,
) -> int:
    """Make the students' stubs from the solutions (for authors of courses).

    Examples:
      grader release
      grader release --check --course my-course
    """
    changed = stubs.release(Course.load(course, complete=False), check=check)
    for file in changed:
        typer.echo(f"{'differs from its solution' if check else 'written'}: {file}")
    if not changed:
        typer.echo("all stubs are up to date")
    return 1 if check and changed else 0


@app.command()
def verify(
    names: Annotated[list[str] | None, Argument(metavar="TOPIC | EXERCISE", show_default=False)] = None,
    course: options.CourseHereOption = None,
    devices: options.DevicesOption = "auto",
    mutants: Annotated[
        bool, Option("--mutants", help="Change the solutions in many small ways; list those that no check fails.")
    ] = False,
    watch: Annotated[
        bool, Option("--watch", help="Go on, and verify the exercises that change whenever a file is saved.")
    ] = False,
    seed: options.SeedOption = 0,
    verbose: _VerboseOption = False,
) -> int:
    """Prove a course: solutions earn everything, stubs nothing, every misconception is caught and named.

    Examples:
      grader verify
      grader verify tensor_ops.gram
      grader verify --course my-course
      grader verify --mutants tensor_ops
      grader verify --watch --course my-course
      grader verify --seed 7
    """
    loaded = Course.load(course)
    loaded.require_solutions("verify")
    only, resolved = tuple(names or ()), resolve_devices(devices)
    if mutants:
        return _grade_mutants(loaded, only, resolved, seed)
    if watch:
        from grader.grading.verify_watch import watch_course

        watch_course(course, partial(_verify_quickly, course, resolved, seed), only)
        return 0
    return _verify(loaded, only, resolved, seed, verbose=verbose)


def _verify_quickly(path: Path | None, devices: Devices, seed: int, names: Sequence[str]) -> int:
    """As `_verify`, of a course as it is now; in a process of its own."""
    return _verify(Course.load(path), names, devices, seed, is_quick=True)


def _verify(
    course: Course, names: Sequence[str], devices: Devices, seed: int, *, is_quick: bool = False, verbose: bool = False
) -> int:
    """Prints the defects of a course, and how much was looked at; the exit code.

    Args:
        is_quick: as `verify_course`; progress and the table are left out, too.
        verbose: whether each note has a line, not each kind of note.
    """
    gc.disable()  # the collector takes a quarter of the time of the imports, and frees nothing
    from grader.grading.promises import Defect
    from grader.grading.verify import verify_course

    found: list[Defect] = []
    notes: list[Defect] = []

    def report(defect: Defect) -> None:
        if defect.is_note:
            notes.append(defect)
            return
        found.append(defect)
        typer.echo(defect)

    def progress(text: str) -> None:
        if not is_quick:
            typer.echo(text, err=True)

    summaries = verify_course(
        course, report, progress=progress, devices=devices, only=names, seed=seed, is_quick=is_quick
    )
    missing = [text for one in summaries for text in one.not_assessed]
    defects = counted(len(found), "defect") if found else "no defect"
    outcome = defects + (f", but {counted(len(missing), 'check')} not assessed here" if missing else "")
    if missing:
        typer.echo("not assessed here, so nothing is known of:")
        print_lines([f"  {text}" for text in missing])
    if is_quick:
        typer.echo(f"{', '.join(names)}: {outcome if found or missing else 'sound'}")
        return 1 if found else 0
    rows = [("exercise", "checks", "misconceptions", "seconds", "thin checks")]
    for one in summaries:
        numbers = str(one.checks), str(one.misconceptions), f"{one.seconds:.2f}", str(len(one.thin) or "-")
        rows.append((one.exercise, *numbers))
    print_lines(aligned(rows))
    if thin := [f"  {one.exercise}: {name}: {', '.join(changes)}" for one in summaries for name, changes in one.thin]:
        typer.echo("thin checks pass although all values that come back are changed; others of the exercise notice:")
        print_lines(thin)
    if notes:
        typer.echo("notes, no defects:")
        _print_by_kind([(one.place, one.message) for one in notes], verbose)
    print_lines([outcome if found or missing else "the course is sound"])
    suffix = "" if course.is_shipped or course.root == Path.cwd() else f" --course {course.root}"
    text = "not run: small changes of the solutions, which show what no check asks for: grader verify --mutants"
    typer.echo(text + suffix)
    return 1 if found else 0


def _print_by_kind(remarks: Sequence[tuple[str, ...]], verbose: bool) -> None:
    """Places with remarks: one line for each, or for each kind."""
    pairs = [(place, text) for place, text in remarks]
    lines = [f"{place}: {text}" for place, text in pairs] if verbose else by_kind(pairs)
    print_lines([f"  {line}" for line in lines])
    if len(lines) < len(pairs):
        typer.echo("  (--verbose shows all)")


def _grade_mutants(course: Course, names: Sequence[str], devices: Devices, seed: int) -> int:
    from grader.grading.verify import grade_mutants

    progress = partial(typer.echo, err=True)
    score = grade_mutants(course, typer.echo, progress=progress, devices=devices, only=names, seed=seed)
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
