"""The commands of an instructor: a class is graded, marked by hand, and reported. Importing it imports nothing slow."""

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import typer
from typer import Argument, Option

from grader.cli import options
from grader.cli.command_line import app, print_lines, with_groups
from grader.course import Course, pictured
from grader.errors import UserError
from grader.machine import affordable, cores, workers_in_memory
from grader.text import counted

if TYPE_CHECKING:
    from grader.similar.pairs import Findings, Side

_OUT = Path("grades")
_Student = Annotated[str, Argument(metavar="STUDENT", help="Any name that they ever had, or the LMS's id.")]
_Why = Annotated[str, Option(metavar="TEXT", help="Kept beside it.")]
_Yes = Annotated[bool, Option("--yes", help="Replace what another person gave, without asking.")]


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
    out: options.OutOption = _OUT,
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
        raise UserError(
            "the work to grade has a course in it, whose checks would run here", fix="name the course: --course DIR"
        )
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
    out: options.OutOption = _OUT,
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
    out: options.OutOption = _OUT,
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
    out: options.OutOption = _OUT,
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
@with_groups
def regrade(
    student: _Student,
    only: options.OnlyOption = None,
    yes: Annotated[bool, Option("--yes", help="The new result counts, without asking.")] = False,
    assignment: options.AssignmentOption = None,
    out: options.OutOption = _OUT,
    course: options.CourseHereOption = None,
    *,
    settings: options.AgainGroup,
) -> None:
    """Grade one student's kept work again, with the limits of its run: shows what changes, and asks before it counts.

    Examples:
      grader regrade "Zoë Müller"
      grader regrade 12345 --only tensor_ops.gram --yes
      grader regrade 12345 --topic-seconds 120
    """
    from grader.grading.many_submissions import regrade as again

    def agreed() -> bool:
        return yes or (sys.stdin.isatty() and typer.confirm("does this count from now on?"))

    changed = settings.limits()
    loaded = Course.load(course)
    print_lines(again(loaded, out, student, tuple(only or ()), agreed, changed, settings.devices, assignment))
    if not yes and not sys.stdin.isatty():
        typer.echo("without a terminal nothing is recorded: --yes")


@app.command()
def override(
    student: _Student,
    exercise: Annotated[str, Argument(metavar="EXERCISE")],
    points: Annotated[str, Argument(metavar="POINTS", help="A number; `auto`: the automatic mark again.")],
    why: _Why,
    who: Annotated[str | None, Option(metavar="NAME", help="Who decides.  [your user name]")] = None,
    yes: _Yes = False,
    out: options.OutOption = _OUT,
) -> None:
    """Give points by hand; they are kept beside the automatic ones with who, when and why.

    Examples:
      grader override "Zoë Müller" gram 1.5 --why "right idea, a typo"
      grader override 12345 tensor_ops.gram auto --why "was a mistake of mine"
    """
    from grader.marking.given import give_points

    print_lines(give_points(out, student, exercise, points, why, who, _replaces(yes)))


def _replaces(yes: bool, question: str = "replace it?") -> Callable[[], bool]:
    """Asks whoever is at the terminal, unless they have said yes; without a terminal nobody agrees."""
    return lambda: yes or (sys.stdin.isatty() and typer.confirm(question))


@app.command("import")
def import_(
    file: Annotated[Path, Argument(metavar="FILE", help="CSV: columns student, exercise, points, comment, why.")],
    who: Annotated[str | None, Option(metavar="NAME", help="Who gives them.  [your user name]")] = None,
    yes: Annotated[bool, Option("--yes", help="Keep all of it, without asking.")] = False,
    assignment: options.AssignmentOption = None,
    out: options.OutOption = _OUT,
) -> None:
    """Give points and comments from a spreadsheet: shows what changes, and asks; a line that is wrong refuses all.

    Examples:
      grader import points.csv
      grader import points.csv --who "Ann Lee" --yes --out week1
    """
    from grader.marking.points_file import import_points

    print_lines(import_points(out, file, who, _replaces(yes, "keep this?"), assignment))


@app.command()
def history(
    student: _Student,
    exercise: Annotated[str | None, Argument(metavar="[EXERCISE]", help="Only this one.  [default: all]")] = None,
    assignment: Annotated[str | None, Option(metavar="NAME", help="Only this one.  [default: all of them]")] = None,
    out: options.OutOption = _OUT,
) -> None:
    """Show how a student's mark came about: every result, override, mark, comment and extension, the oldest first.

    Examples:
      grader history "Zoë Müller"
      grader history 12345 tensor_ops.gram --out week1
    """
    from grader.marking.history import history_lines

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    print_lines(history_lines(out, student, exercise, width, assignment))


@app.command()
def mark(
    exercise: Annotated[
        str | None, Argument(metavar="[TOPIC | EXERCISE]", help="Only this.  [default: all that a person marks]")
    ] = None,
    student: Annotated[
        str | None, Option(metavar="STUDENT", help="Only this one: any name that they had, or the LMS's id.")
    ] = None,
    everything: Annotated[bool, Option("--all", help="Also work that is marked and has not changed.")] = False,
    items: Annotated[
        str | None, Option(metavar="LIST", help="Give these items without asking: 1,3; all; none; back.")
    ] = None,
    comment: Annotated[str | None, Option(metavar="TEXT", help="With --items: a comment; none: no comment.")] = None,
    who: Annotated[str | None, Option(metavar="NAME", help="Who marks.  [your user name]")] = None,
    share: Annotated[
        str | None, Option(metavar="2/3", help="Only this part of the class: the same students every time.")
    ] = None,
    anonymous: Annotated[bool, Option("--anonymous", help="Show no names, and another order.")] = False,
    yes: Annotated[
        bool, Option("--yes", help="With --items: replace what another person gave, without asking.")
    ] = False,
    assignment: options.AssignmentOption = None,
    out: options.OutOption = _OUT,
    course: options.CourseHereOption = None,
) -> None:
    """Mark work by a rubric, one submission after the other; begins again where you left off.

    Examples:
      grader mark
      grader mark report --out week1 --course my-course
      grader mark --share 2/3 --anonymous
      grader mark report --student "Zoë Müller" --items 1,3 --comment "a fine plot"
    """
    from rich.console import Console

    from grader.gradebook import Gradebook
    from grader.marking.rubric import Marking, Share
    from grader.marking.screen import MarkingScreen
    from grader.reports.status import Unmarked

    if items is None and yes:
        raise UserError("--yes goes with --items", fix="without them a key decides")
    if items is None and comment is not None:
        raise UserError("--comment goes with --items", fix="or say it alone: grader comment STUDENT EXERCISE TEXT")
    if items is None and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UserError(
            "marking one after the other needs a terminal",
            fix="without one: grader mark EXERCISE --student NAME --items 1,3",
        )
    part = None if share is None else Share.read(share)
    loaded = Course.load(course)
    with Gradebook.open_existing(out) as book:
        book.use_plan(loaded.plan)
        if assignment is None and exercise is not None:
            book.choose_of(exercise)
        else:
            book.choose(assignment)
        marking = Marking(book, loaded, who)
        if items is not None:
            print_lines(marking.mark_one(exercise, student, items, comment, _replaces(yes)))
            return
        tasks = [one for one in marking.tasks(exercise, student, everything) if part is None or part.has(one.row)]
        if not tasks:
            typer.echo("nothing is left to mark (--all: also what is marked)")
            return
        console = Console(highlight=False, markup=False, emoji=False)
        screen = MarkingScreen(marking, tasks, console, _edit, anonymous)
        is_done = screen.run()
        console.clear()
        typer.echo(f"{counted(screen.marked, 'mark')} given; every key was kept at once")
        left = list(Unmarked(book.results()).lines())
        for line in left:
            typer.echo(line)
        if left and not is_done:
            typer.echo("go on with the same command")


def _edit(text: str) -> str | None:
    from grader.watch.editor import find_editor, open_in

    with tempfile.TemporaryDirectory(prefix="grader-comment-") as folder:
        file = Path(folder, "comment.txt")
        file.write_text(text, encoding="utf-8")
        editor = find_editor(file, 0)
        if editor is None or editor.has_window:  # nothing waits for a window
            raise UserError("no editor that runs in a terminal is known: set EDITOR, for example to nano")
        if problem := open_in(editor):
            raise UserError(problem)
        after = file.read_text(encoding="utf-8", errors="replace")
    return None if after == text else after


@app.command()
def comment(
    student: _Student,
    exercise: Annotated[str, Argument(metavar="EXERCISE")],
    text: Annotated[str, Argument(metavar="TEXT", help="The text for the student; `none` removes the comment.")],
    line: Annotated[
        str | None, Option(metavar="N", help="At this line of the student's file; in a notebook CELL:LINE.")
    ] = None,
    who: Annotated[str | None, Option(metavar="NAME", help="Who says it.  [your user name]")] = None,
    yes: _Yes = False,
    out: options.OutOption = _OUT,
) -> None:
    """Say something about an exercise, or a line of the student's code; no points change.

    Examples:
      grader comment "Zoë Müller" gram "see einsum for a shorter way"
      grader comment "Zoë Müller" gram --line 12 "this copies the tensor"
      grader comment 12345 tensor_ops.gram none
    """
    from grader.marking.given import give_comment

    print_lines(give_comment(out, student, exercise, text, who, line, _replaces(yes)))


@app.command()
def extend(
    student: _Student,
    due: Annotated[str, Argument(metavar="DATE", help="2026-11-07, or 2026-11-07T12:00; `none`: as all others.")],
    why: _Why,
    who: Annotated[str | None, Option(metavar="NAME", help="Who decides.  [your user name]")] = None,
    assignment: options.AssignmentOption = None,
    out: options.OutOption = _OUT,
) -> None:
    """Give one student more time; it counts at once, for graded work too.

    Examples:
      grader extend "Zoë Müller" 2026-11-07 --why "was ill"
      grader extend 12345 2026-11-14 --assignment week2 --why "moved house"
      grader extend 12345 none --why "was meant for another one"
    """
    from grader.marking.given import give_time

    print_lines(give_time(out, student, due, why, who, assignment))


@app.command()
def excuse(
    student: _Student,
    why: _Why,
    back: Annotated[bool, Option("--back", help="Take it back: the assignment counts.")] = False,
    who: Annotated[str | None, Option(metavar="NAME", help="Who decides.  [your user name]")] = None,
    assignment: options.AssignmentOption = None,
    out: options.OutOption = _OUT,
) -> None:
    """Excuse one student from an assignment: it counts nowhere, with work or without.

    Examples:
      grader excuse "Zoë Müller" --assignment week2 --why "was ill"
      grader excuse 12345 --assignment week2 --back --why "handed in after all"
    """
    from grader.marking.given import give_excuse

    print_lines(give_excuse(out, student, why, who, assignment, back=back))


@app.command()
def report(
    out: options.OutOption = _OUT,
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
    out: options.OutOption = _OUT,
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


@app.command()
def similar(
    out: options.OutOption = _OUT,
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
