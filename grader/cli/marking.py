"""The commands by which an instructor marks: points, comments and time by hand. Importing it imports nothing slow."""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from grader.cli import options
from grader.cli.command_line import app, columns, print_lines, with_groups
from grader.course import Course
from grader.errors import UserError
from grader.text import counted

_Student = Annotated[str, Argument(metavar="STUDENT", help="Any name that they ever had, or the LMS's id.")]
_Why = Annotated[str, Option(metavar="TEXT", help="Kept beside it.")]
_Yes = Annotated[bool, Option("--yes", help="Replace what another person gave, without asking.")]


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
    out: options.OutOption = options.GRADES,
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
        fix = "without one: grader mark EXERCISE --student NAME --items 1,3"
        raise UserError("marking one after the other needs a terminal", fix=fix)
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
def override(
    student: _Student,
    exercise: Annotated[str, Argument(metavar="EXERCISE")],
    points: Annotated[str, Argument(metavar="POINTS", help="A number; `auto`: the automatic mark again.")],
    why: _Why,
    who: Annotated[str | None, Option(metavar="NAME", help="Who decides.  [your user name]")] = None,
    yes: _Yes = False,
    out: options.OutOption = options.GRADES,
    course: options.CourseOfGradesOption = None,
) -> None:
    """Give points by hand; they are kept beside the automatic ones with who, when and why.

    Examples:
      grader override "Zoë Müller" gram 1.5 --why "right idea, a typo"
      grader override 12345 tensor_ops.gram auto --why "was a mistake of mine"
    """
    from grader.marking.given import give_points

    print_lines(give_points(out, student, exercise, points, why, who, _replaces(yes), course=_named(course)))


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
    out: options.OutOption = options.GRADES,
    course: options.CourseOfGradesOption = None,
) -> None:
    """Say something about an exercise, or a line of the student's code; no points change.

    Examples:
      grader comment "Zoë Müller" gram "see einsum for a shorter way"
      grader comment "Zoë Müller" gram --line 12 "this copies the tensor"
      grader comment 12345 tensor_ops.gram none
    """
    from grader.marking.given import give_comment

    print_lines(give_comment(out, student, exercise, text, who, line, _replaces(yes), course=_named(course)))


def _named(course: Path | None) -> Course | None:
    """The course that is named, if one is."""
    return None if course is None else Course.load(course)


def _replaces(yes: bool, question: str = "replace it?") -> Callable[[], bool]:
    """Asks whoever is at the terminal, unless they have said yes; without a terminal nobody agrees."""
    return lambda: yes or (sys.stdin.isatty() and typer.confirm(question))


@app.command()
def extend(
    student: _Student,
    due: Annotated[str, Argument(metavar="DATE", help="2026-11-07, or 2026-11-07T12:00; `none`: as all others.")],
    why: _Why,
    who: Annotated[str | None, Option(metavar="NAME", help="Who decides.  [your user name]")] = None,
    assignment: options.AssignmentOption = None,
    out: options.OutOption = options.GRADES,
    course: options.CourseOfGradesOption = None,
) -> None:
    """Give one student more time; it counts at once, for graded work too.

    Examples:
      grader extend "Zoë Müller" 2026-11-07 --why "was ill"
      grader extend 12345 2026-11-14 --assignment week2 --why "moved house"
      grader extend 12345 none --why "was meant for another one"
    """
    from grader.marking.given import give_time

    print_lines(give_time(out, student, due, why, who, assignment, course=_named(course)))


@app.command()
def excuse(
    student: _Student,
    why: _Why,
    back: Annotated[bool, Option("--back", help="Take it back: the assignment counts.")] = False,
    who: Annotated[str | None, Option(metavar="NAME", help="Who decides.  [your user name]")] = None,
    assignment: options.AssignmentOption = None,
    out: options.OutOption = options.GRADES,
    course: options.CourseOfGradesOption = None,
) -> None:
    """Excuse one student from an assignment: it counts nowhere, with work or without.

    Examples:
      grader excuse "Zoë Müller" --assignment week2 --why "was ill"
      grader excuse 12345 --assignment week2 --back --why "handed in after all"
    """
    from grader.marking.given import give_excuse

    print_lines(give_excuse(out, student, why, who, assignment, back=back, course=_named(course)))


@app.command("import")
def import_(
    file: Annotated[Path, Argument(metavar="FILE", help="CSV: columns student, exercise, points, comment, why.")],
    who: Annotated[str | None, Option(metavar="NAME", help="Who gives them.  [your user name]")] = None,
    yes: Annotated[bool, Option("--yes", help="Keep all of it, without asking.")] = False,
    assignment: options.AssignmentOption = None,
    out: options.OutOption = options.GRADES,
    course: options.CourseOfGradesOption = None,
) -> None:
    """Give points and comments from a spreadsheet: shows what changes, and asks; a line that is wrong refuses all.

    Examples:
      grader import points.csv
      grader import points.csv --who "Ann Lee" --yes --out week1
    """
    from grader.marking.points_file import import_points

    print_lines(import_points(out, file, who, _replaces(yes, "keep this?"), assignment, course=_named(course)))


@app.command()
def history(
    student: _Student,
    exercise: Annotated[str | None, Argument(metavar="[EXERCISE]", help="Only this one.  [default: all]")] = None,
    assignment: Annotated[str | None, Option(metavar="NAME", help="Only this one.  [default: all of them]")] = None,
    out: options.OutOption = options.GRADES,
    course: options.CourseOfGradesOption = None,
) -> None:
    """Show how a student's mark came about: every result, override, mark, comment and extension, the oldest first.

    Examples:
      grader history "Zoë Müller"
      grader history 12345 tensor_ops.gram --out week1
    """
    from grader.marking.history import history_lines

    print_lines(history_lines(out, student, exercise, columns() or None, assignment, _named(course)))


@app.command()
@with_groups
def regrade(
    student: _Student,
    only: options.OnlyOption = None,
    yes: Annotated[bool, Option("--yes", help="The new result counts, without asking.")] = False,
    assignment: options.AssignmentOption = None,
    out: options.OutOption = options.GRADES,
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

    agreed, changed = _replaces(yes, "does this count from now on?"), settings.limits()
    loaded = Course.load(course)
    print_lines(again(loaded, out, student, tuple(only or ()), agreed, changed, settings.devices, assignment))
    if not yes and not sys.stdin.isatty():
        typer.echo("without a terminal nothing is recorded: --yes")
