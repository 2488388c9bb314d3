"""The commands of an instructor: a class is graded, reported and handed on. Importing it imports nothing slow."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import typer
from typer import Argument, Option

from grader.cli import options
from grader.cli.command_line import app, print_lines, with_groups
from grader.course import Course, pictured
from grader.errors import UserError
from grader.machine import affordable, cores, workers_in_memory

if TYPE_CHECKING:
    from grader.similar.pairs import Findings, Side


_Hashes = Annotated[
    bool, Option("--hashes/--no-hashes", help="Name the hash of every package; pip asks its index for them.")
]


_Lms = Literal["canvas", "moodle", "brightspace", "blackboard"]
_Format = Literal["csv", "json", "junit", _Lms, "gradescope", "github", "gitlab", "feedback"]
_Host = Literal["github", "gitlab", "classroom50"]
_MOST_PAIRS = 20
_NAME_COLUMNS = 32


@app.command()
@with_groups
def grade(
    paths: Annotated[list[Path], Argument(metavar="PATH...", help="Submissions, folders of them, LMS downloads.")],
    out: options.OutOption = options.GRADES,
    jobs: Annotated[int, Option(min=0, help="Submissions at a time; 0: one per core.")] = 0,
    dask: Annotated[
        str | None, Option(metavar="ADDRESS", help="Grade on this Dask cluster (pip install 'torchkata[dask]').")
    ] = None,
    again: Annotated[bool, Option("--again", help="Grade unchanged submissions again, too.")] = False,
    assignment: options.AssignmentOption = None,
    only: options.OnlyOption = None,
    trial: Annotated[bool, Option("--trial", help="Only for grader diff: reports leave this run out.")] = False,
    no_sandbox: Annotated[
        bool, Option("--no-sandbox", help="Grade several submissions even if there is no sandbox.")
    ] = False,
    roster: Annotated[
        Path | None,
        Option(metavar="CSV", help="Names for ids: columns id and name (submitted, extension); or an LMS export."),
    ] = None,
    *,
    late: options.LateGroup,
    course: options.CourseOption = None,
    seed: options.ClassSeedOption = None,
    grading: options.GradingGroup,
) -> int:
    """Grade many submissions: a table, results.jsonl, and a gradebook that an interrupted run goes on from.

    Examples:
      grader grade submissions/
      grader grade alice/ bob/ carol_autograd.py --jobs 4
      grader grade submissions/ --out week1 --only tensor_ops --fail-under 50
      grader grade week2.zip --assignment week2 --course my-course
      grader grade canvas.zip --roster class.csv --due 2026-10-31 --late-penalty 0.1
      grader grade submissions/ --dask tcp://10.0.0.1:8786
    """
    if dask is not None and jobs:
        raise typer.BadParameter("with --dask, the cluster's threads set how many at a time", param_hint="--jobs")
    from grader.grading.many_submissions import grade_class
    from grader.grading.settings import ClassSettings, LateOptions
    from grader.reports.terminal import print_note

    if (usable := affordable(asked := grading.limits().memory_bytes)) < asked and dask is None:
        print_note(f"--memory: a submission may use {usable / 2**30:.1f} GiB here, no more (see: grader doctor)")
    fitting = min(jobs or cores(), workers_in_memory())
    if fitting < jobs:
        print_note(f"--jobs {jobs}: the memory is enough for {fitting} at a time (see: grader doctor)")
    here = Path().resolve()
    if course is None and options.course_here() and any(path.resolve() in (here, *here.parents) for path in paths):
        fix = "name the course: --course DIR"
        raise UserError("the work to grade has a course in it, whose checks would run here", fix=fix)
    loaded = Course.load(course or options.course_here())
    loaded.require_solutions("grade")
    settings = grading.settings(only or (), pictured(loaded), seed)
    class_settings = ClassSettings(
        paths=tuple(paths),
        out=out,
        jobs=fitting,
        dask=dask,
        again=again,
        trial=trial,
        roster=roster,
        late=LateOptions(*late),
        no_sandbox=no_sandbox,
        assignment=assignment,
    )
    return grade_class(loaded, class_settings, settings)


@app.command()
def status(
    out: options.OutOption = options.GRADES,
    notes: Annotated[bool, Option("--notes", help="Also list the files that were left out or unclear.")] = False,
    assignment: Annotated[str | None, Option(metavar="NAME", help="Only this one.  [default: all of them]")] = None,
    course: options.CourseHereOption = None,
) -> None:
    """Show how far a class is graded: done, left, failed, remaining time; late work and overrides.

    Examples:
      grader status
      grader status --out week1 --notes
      grader status --assignment week2
    """
    from grader.reports.status import status_lines

    print_lines(status_lines(out, notes=notes, course=Course.load(course), assignment=assignment))


@app.command()
def diff(
    before: Annotated[int, Argument(metavar="RUN", min=1, help="Number of a run; `grader status` lists them.")],
    after: Annotated[int, Argument(metavar="RUN", min=1, help="Number of another one.")],
    out: options.OutOption = options.GRADES,
) -> None:
    """Show whose marks differ between two runs: as when a course was changed (see grade --trial).

    Examples:
      grader diff 1 2
      grader grade submissions/ --course new-course --trial && grader diff 1 2
    """
    from grader.reports.status import diff_lines

    print_lines(diff_lines(out, before, after))


@app.command()
def restore(
    number: Annotated[
        int | None, Argument(metavar="[NUMBER]", min=1, help="Of the backup.  [default: the newest]")
    ] = None,
    out: options.OutOption = options.GRADES,
) -> None:
    """Replace a damaged gradebook with a backup; the damaged file is kept under another name.

    Examples:
      grader restore
      grader restore 7 --out week1
    """
    from grader.gradebook import gradebook_in, restore

    restored = restore(gradebook_in(out), number)
    typer.echo(f"restored: {restored.backup.name}, made {restored.made:%Y-%m-%d %H:%M:%S}")
    if restored.aside is not None:
        typer.echo(f"kept:     {restored.aside} (the gradebook that was there)")
    typer.echo("run the same `grader grade` again: it grades the submissions that the backup does not have")


@app.command()
def report(
    out: options.OutOption = options.GRADES,
    run: options.RunOption = None,
    assignment: options.AssignmentOption = None,
    course: options.CourseHereOption = None,
    for_instructors: Annotated[
        bool, Option("--for-instructors", help="Feedback pages link the class page and name the sandbox.")
    ] = False,
) -> None:
    """Make a page of the class and a feedback page for each student: report/ beside the gradebook.

    Of a course with assignments it shows the term, and each assignment on a page of its own; --assignment makes the
    pages of one alone, in report-NAME/.

    Examples:
      grader report
      grader report --out week1
      grader report --assignment week2
    """
    from grader.gradebook import Gradebook
    from grader.reports.html_term import report_of

    graded = Course.load(course)
    with Gradebook.open_existing(out) as book:
        page = report_of(book, graded, run, assignment, for_instructors)
    typer.echo(f"class page: {page}")


@app.command()
def export(
    kind: Annotated[_Format, Argument(metavar="FORMAT", help="|".join(get_args(_Format)))],
    to: Annotated[
        Path | None, Option(metavar="FILE", help="The file to write; -: print it.  [default: beside the gradebook]")
    ] = None,
    into: Annotated[
        Path | None, Option(metavar="FILE", help="LMS: the file you downloaded; a copy of it is filled.")
    ] = None,
    column: Annotated[
        list[str] | None,
        Option(
            metavar="NAME",
            help="LMS: the assignment's title or number; needed unless there is one. Several: NAME=TITLE for each.",
        ),
    ] = None,
    assignment: options.AssignmentOption = None,
    submission: Annotated[str | None, Option(metavar="NAME", help="Only this submission.")] = None,
    unread_as: Annotated[
        Literal["blank", "0"], Option(help="LMS: cells of work that could not be read; blank: as they are.")
    ] = "blank",
    missing_as: Annotated[
        Literal["blank", "0"], Option(help="CSV, LMS: cells of those who handed in nothing.")
    ] = "blank",
    only_empty: Annotated[bool, Option("--only-empty", help="LMS: fill empty cells only; marks there stay.")] = False,
    all_changes: Annotated[
        bool,
        Option("--all-changes", help="LMS: list each cell that is filled or changes, not the first 20 that change."),
    ] = False,
    root: Annotated[Path, Option(metavar="DIR", help="GitHub, GitLab: the repository, to name files in it.")] = Path(),
    only: options.OnlyOption = None,
    out: options.OutOption = options.GRADES,
    run: options.RunOption = None,
    course: options.CourseHereOption = None,
) -> None:
    """Hand results to another program: the files of Canvas, Moodle, Brightspace and Blackboard are filled, others made.

    Examples:
      grader export csv
      grader export canvas --into Grades.csv --column 'Week 1'
      grader export moodle --into worksheet.csv --to upload.csv
      grader export blackboard --into gradebook.csv --column 'Week 1' --only-empty
      grader export canvas --into Grades.csv --column week1='Week 1' --column week2='Week 2'
      grader export gradescope --submission alice
    """
    from grader.exports.write import ExportSettings
    from grader.exports.write import export as write

    settings = ExportSettings(
        grades=out,
        course=course,
        to=to,
        into=into,
        column=tuple(column or ()),
        assignment=assignment,
        submission=submission,
        run=run,
        unread_as_zero=unread_as == "0",
        missing_as_zero=missing_as == "0",
        only_empty=only_empty,
        all_changes=all_changes,
        root=root,
        only=tuple(only or ()),
    )
    write(kind, settings)


@app.command()
def package(
    platform: Annotated[
        Literal["wheel", "gradescope"],
        Argument(metavar="KIND", help="wheel: the course, for pip; gradescope: an autograder."),
    ] = "wheel",
    to: Annotated[
        Path | None, Option(metavar="FILE | DIR", help="The archive to write.  [default: autograder.zip, or dist/]")
    ] = None,
    students: Annotated[
        bool, Option("--students", help="Wheel: without solutions and whatever else holds answers.")
    ] = False,
    version: Annotated[str, Option(help="Wheel: its version.")] = "1.0",
    only: options.OnlyOption = None,
    hashes: _Hashes = True,
    course: options.CourseHereOption = None,
) -> None:
    """Pack a course for pip, or with the grader for an autograder platform.

    Examples:
      grader package --course my-course
      grader package --course my-course --students
      grader package gradescope --only tensor_ops
      grader package gradescope --course my-course
    """
    from grader.exports.package import gradescope, wheel

    if platform == "wheel":
        if course is None:
            raise UserError("the shipped course comes with the grader", fix="name your own course: --course DIR")
        typer.echo(wheel(Course.load(course), to or Path("dist"), version, for_students=students))
        return
    archive = to or Path("autograder.zip")
    gradescope(Course.load(course), own=course is not None, to=archive, only=only or (), hashes=hashes)
    typer.echo(archive)


@app.command()
def ci(
    host: Annotated[_Host, Argument(metavar="HOST", help="|".join(get_args(_Host)))],
    requirement: Annotated[
        str | None,
        Option(
            metavar="REQ", help="GitHub, GitLab: the grader to install: torchkata==VERSION, a wheel, git+URL@COMMIT."
        ),
    ] = None,
    only: options.OnlyOption = None,
    hashes: _Hashes = True,
    course_repository: Annotated[
        str | None, Option(metavar="URL@COMMIT", help="Git repository with your own course.")
    ] = None,
    course: options.CourseOption = None,
    to: Annotated[
        Path | None, Option(metavar="DIR", help="Classroom 50: the folder of the bundle.  [default: classroom50]")
    ] = None,
) -> None:
    """Make a workflow that grades every push, or Classroom 50's bundle: with exactly this machine's packages.

    Examples:
      grader ci github --requirement torchkata==VERSION --only tensor_ops > grade.yml
      grader ci classroom50 --course my-course --to classroom50/cs1/autograders/week1
    """
    from grader.exports.package import classroom50, workflow

    if host == "classroom50":
        if requirement is not None:
            raise UserError("the bundle holds the grader itself", fix="leave out --requirement")
        if course is not None and course_repository is not None:
            raise UserError("the course comes from one place", fix="leave out --course or --course-repository")
        own = None if course_repository else course or options.course_here()
        loaded = None if course_repository else Course.load(own)
        folder = to or Path("classroom50")
        pin = course_repository
        classroom50(loaded, own=own is not None, to=folder, course_repository=pin, only=only or (), hashes=hashes)
        typer.echo(folder)
        if own is not None:
            typer.echo("note: Classroom 50 publishes the bundle, with the checks and solutions in it", err=True)
        return
    if course is not None or to is not None:
        fix = "leave out --course and --to: a course comes from --course-repository, and the workflow is printed"
        raise UserError("--course and --to are for classroom50", fix)
    if requirement is None:
        fix = "name a published version, a wheel or a commit, for example: --requirement torchkata==VERSION"
        raise UserError("say which grader the workflow installs", fix=fix)
    if course_repository is None:
        Course.load(None).select(only or ())
    typer.echo(workflow(host, requirement, course_repository, only or (), hashes=hashes), nl=False)


def _fraction(value: float) -> float:
    if not 0 < value <= 1:
        raise typer.BadParameter("must be a fraction above 0, at most 1")
    return value


@app.command()
def similar(
    out: options.OutOption = options.GRADES,
    run: options.RunOption = None,
    course: options.CourseHereOption = None,
    least: Annotated[
        float, Option(metavar="FRACTION", callback=_fraction, help="How much of one of the two must be alike.")
    ] = 0.6,
    to: Annotated[
        Path | None,
        Option(metavar="PATH", help="The page (.html), or its folder.  [default: similar.html beside the gradebook]"),
    ] = None,
    against: Annotated[
        list[str] | None,
        Option(
            metavar="PATH | solutions",
            help="Compare with others, too: grades of an earlier term, code, the course's solutions; may be repeated.",
        ),
    ] = None,
    assignment: options.AssignmentOption = None,
) -> None:
    """List pairs of submissions with similar code, for you to look at; it is never a verdict.

    Examples:
      grader similar --out week1
      grader similar --assignment week2
      grader similar --least 0.8 --to similar.html
      grader similar --out week1 --against ../2025/week1 --against ../2024/week1
      grader similar --out week1 --against solutions --against found-online/
    """
    from grader.gradebook import Gradebook
    from grader.reports.entries import about, entries_of
    from grader.similar.others import open_others
    from grader.similar.page import write_page
    from grader.similar.pairs import find_pairs

    loaded = Course.load(course)
    with Gradebook.open_existing(out) as book, open_others(against or (), loaded, book) as others:
        book.use_plan(loaded.plan)
        if run is None:
            book.choose(assignment)
        entries = entries_of(book, run)
        findings = find_pairs(entries, loaded, least, others)
        page = to or book.path.parent / "similar.html"
        if page.is_dir() or page.suffix.lower() not in (".html", ".htm"):
            page /= "similar.html"
        compared_with = (f"with {line}" for one in others for line in one.about)
        write_page(findings, loaded, page, [*about(book, entries), *compared_with])
    print_lines(_similar_lines(findings))
    typer.echo(f"page: {page}")


def _similar_lines(findings: "Findings") -> Iterator[str]:
    from grader.similar.page import bounded_notes
    from grader.similar.pairs import NOT_A_VERDICT, summary

    yield summary(findings)
    sections = [("", findings.pairs)]
    if findings.with_others is not None:
        sections = [("with others:", findings.with_others), ("in the class:", findings.pairs)]
    for heading, pairs in sections:
        shown = pairs[:_MOST_PAIRS]
        if heading and shown:
            yield heading
        width = max((len(pair.topic) for pair in shown), default=0)
        for pair in shown:
            sides = (pair.first, pair.second)
            shares = " / ".join(f"{side.share:>4.0%} {len(side.lines):>4}" for side in sides)
            yield f"  {shares}  {pair.topic:<{width}}  {'  ·  '.join(map(_whose, sides))}"
        if more := len(pairs) - len(shown):
            yield f"  and {more} more: see the page"
    yield from (f"note: {note}" for note in bounded_notes(findings.notes))
    yield NOT_A_VERDICT


def _whose(side: "Side") -> str:
    from grader.text import one_line

    name = one_line(side.name, _NAME_COLUMNS)
    return f"{name} from {one_line(side.origin)}" if side.origin else name
