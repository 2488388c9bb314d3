"""The commands that make files: ``report``, ``similar``, ``export``, ``package``, ``ci``. It imports nothing slow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import typer

from grader.cli.help import app
from grader.cli.options import CourseHereOption, OnlyOption, OutOption, RunOption
from grader.cli.output import print_lines
from grader.errors import UserError

if TYPE_CHECKING:
    from grader.similar.pairs import Findings

_Requirement = Annotated[
    str | None,
    typer.Option(
        "--requirement", metavar="REQ", help="The grader to install: torchkata==VERSION, a wheel, or git+URL@COMMIT."
    ),
]
_Hashes = Annotated[
    bool, typer.Option("--hashes/--no-hashes", help="Name the hash of every package; pip asks its index for them.")
]


_Format = Literal["csv", "json", "junit", "canvas", "moodle", "gradescope", "github", "gitlab", "feedback"]
_Host = Literal["github", "gitlab"]
_MOST_PAIRS = 20
_NAME_COLUMNS = 32


@app.command(epilog="\b\nExamples:\n  grader report\n  grader report --out week1")
def report(
    out: OutOption = Path("grades"),
    run: RunOption = None,
    course: CourseHereOption = None,
    for_instructors: Annotated[
        bool, typer.Option("--for-instructors", help="Feedback pages link the class page and name the sandbox.")
    ] = False,
) -> None:
    """Make a page of the class and a feedback page for each submission: report/ beside the gradebook."""
    from grader.course import Course
    from grader.gradebook import Gradebook
    from grader.reports.entries import about, entries_of
    from grader.reports.html import write_report

    graded = Course.load(course)
    with Gradebook.open_existing(out) as book:
        entries = entries_of(book, run, graded.marks)
        lines = list(about(book, entries))
        absent = [] if run else book.no_shows()
        page = write_report(entries, graded, book.path.parent / "report", lines, for_instructors, absent)
    typer.echo(f"class page: {page}")


@app.command(
    epilog="\b\nExamples:\n  grader export csv\n  grader export canvas --into Grades.csv --column 'Week 1'\n"
    "  grader export moodle --into worksheet.csv --to upload.csv\n  grader export gradescope --submission alice"
)
def export(
    kind: Annotated[_Format, typer.Argument(metavar="FORMAT", help="|".join(get_args(_Format)))],
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="FILE", help="The file to write; -: print it.  [default: beside the gradebook]"),
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option("--into", metavar="FILE", help="Canvas, Moodle: the file you downloaded; it is not changed."),
    ] = None,
    column: Annotated[
        str | None,
        typer.Option(
            "--column", metavar="NAME", help="Canvas: the assignment's title or number; needed unless it has one."
        ),
    ] = None,
    submission: Annotated[
        str | None, typer.Option("--submission", metavar="NAME", help="Only this submission.")
    ] = None,
    unread_as: Annotated[
        Literal["blank", "0"],
        typer.Option("--unread-as", help="Canvas, Moodle: cells of work that could not be read; blank: as they are."),
    ] = "blank",
    missing_as: Annotated[
        Literal["blank", "0"],
        typer.Option("--missing-as", help="CSV, Canvas, Moodle: cells of those who handed in nothing."),
    ] = "blank",
    root: Annotated[
        Path, typer.Option("--root", metavar="DIR", help="GitHub, GitLab: the repository, to name files in it.")
    ] = Path(),
    only: OnlyOption = None,
    out: OutOption = Path("grades"),
    run: RunOption = None,
    course: CourseHereOption = None,
) -> None:
    """Hand results to another program: Canvas and Moodle files are filled, the others are made."""
    from grader.exports.write import ExportSettings
    from grader.exports.write import export as write

    settings = ExportSettings(
        grades=out,
        course=course,
        to=to,
        into=into,
        column=column,
        submission=submission,
        run=run,
        unread_as_zero=unread_as == "0",
        missing_as_zero=missing_as == "0",
        root=root,
        only=tuple(only or ()),
    )
    write(kind, settings)


@app.command(
    epilog="\b\nExamples:\n  grader package --course my-course\n  grader package --course my-course --students\n"
    "  grader package gradescope --only tensor_ops\n"
    "  grader package gradescope --course my-course"
)
def package(
    platform: Annotated[
        Literal["wheel", "gradescope"],
        typer.Argument(metavar="KIND", help="wheel: the course, for pip; gradescope: an autograder."),
    ] = "wheel",
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="FILE | DIR", help="The archive to write.  [default: autograder.zip, or dist/]"),
    ] = None,
    students: Annotated[
        bool, typer.Option("--students", help="Wheel: without solutions and whatever else holds answers.")
    ] = False,
    version: Annotated[str, typer.Option("--version", help="Wheel: its version.")] = "1.0",
    only: OnlyOption = None,
    hashes: _Hashes = True,
    course: CourseHereOption = None,
) -> None:
    """Pack a course for pip, or with the grader for an autograder platform."""
    from grader.course import Course
    from grader.exports.package import gradescope, wheel

    if platform == "wheel":
        if course is None:
            raise UserError("the shipped course comes with the grader", fix="name your own course: --course DIR")
        typer.echo(wheel(Course.load(course), to or Path("dist"), version, for_students=students))
        return
    archive = to or Path("autograder.zip")
    gradescope(Course.load(course), own=course is not None, to=archive, only=only or (), hashes=hashes)
    typer.echo(archive)


@app.command(epilog="\b\nExample:\n  grader ci github --requirement torchkata==VERSION --only tensor_ops > grade.yml")
def ci(
    host: Annotated[_Host, typer.Argument(metavar="HOST", help="|".join(get_args(_Host)))],
    requirement: _Requirement = None,
    only: OnlyOption = None,
    hashes: _Hashes = True,
    course_repository: Annotated[
        str | None,
        typer.Option("--course-repository", metavar="URL@COMMIT", help="Git repository with your own course."),
    ] = None,
) -> None:
    """Print a workflow that grades every push. It installs exactly the packages of this machine."""
    from grader.course import Course
    from grader.exports.ci import workflow

    if requirement is None:
        raise UserError(
            "say which grader the workflow installs",
            fix="name a published version, a wheel or a commit, for example: --requirement torchkata==VERSION",
        )
    if course_repository is None:
        Course.load(None).select(only or ())
    typer.echo(workflow(host, requirement, course_repository, only or (), hashes=hashes), nl=False)


def _fraction(value: float) -> float:
    if not 0 < value <= 1:
        raise typer.BadParameter("must be a fraction above 0, at most 1")
    return value


@app.command(epilog="\b\nExamples:\n  grader similar --out week1\n  grader similar --least 0.8 --to similar.html")
def similar(
    out: OutOption = Path("grades"),
    run: RunOption = None,
    course: CourseHereOption = None,
    least: Annotated[
        float,
        typer.Option(
            "--least", metavar="FRACTION", callback=_fraction, help="How much of one of the two must be alike."
        ),
    ] = 0.6,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to",
            metavar="PATH",
            help="The page (.html), or its folder.  [default: similar.html beside the gradebook]",
        ),
    ] = None,
) -> None:
    """List pairs of submissions with similar code, for you to look at; it is never a verdict."""
    from grader.course import Course
    from grader.gradebook import Gradebook
    from grader.reports.entries import about, entries_of
    from grader.similar.pairs import find_pairs, write_page

    loaded = Course.load(course)
    with Gradebook.open_existing(out) as book:
        entries = entries_of(book, run)
        findings = find_pairs(entries, loaded, least)
        page = _similar_page(to, book.path.parent)
        write_page(findings, loaded, page, list(about(book, entries)))
    print_lines(_similar_lines(findings))
    typer.echo(f"page: {page}")


def _similar_page(to: Path | None, beside: Path) -> Path:
    if to is None:
        return beside / "similar.html"
    return to if to.suffix.lower() in (".html", ".htm") and not to.is_dir() else to / "similar.html"


def _similar_lines(findings: Findings) -> Iterator[str]:
    from grader.similar.pairs import NOT_A_VERDICT, bounded_notes, summary
    from grader.text import one_line

    yield summary(findings)
    shown = findings.pairs[:_MOST_PAIRS]
    width = max((len(pair.topic) for pair in shown), default=0)
    for pair in shown:
        sides = (pair.first, pair.second)
        shares = " / ".join(f"{side.share:>4.0%} {len(side.lines):>4}" for side in sides)
        names = "  ·  ".join(one_line(side.name, _NAME_COLUMNS) for side in sides)
        yield f"  {shares}  {pair.topic:<{width}}  {names}"
    if more := len(findings.pairs) - len(shown):
        yield f"  and {more} more: see the page"
    yield from (f"note: {note}" for note in bounded_notes(findings.notes))
    yield NOT_A_VERDICT
