"""The commands for a class, but those that make files. Importing it imports nothing slow."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli.help import app
from grader.cli.options import (
    DEFAULT_FILES,
    DEFAULT_LIMITS,
    DEFAULT_MEMORY,
    DEFAULT_PRINTS,
    CheckSeconds,
    ClassSeedOption,
    CourseHereOption,
    CourseOption,
    DevicesOption,
    Due,
    FailUnder,
    Files,
    Grace,
    LateBy,
    LateCap,
    LatePenalty,
    LateUntil,
    Memory,
    OnlyOption,
    OutOption,
    Prints,
    Processes,
    RosterOption,
    SkippedOk,
    TopicSeconds,
    course_here,
    limits_from,
)
from grader.cli.output import print_lines
from grader.errors import UserError
from grader.text import counted

if TYPE_CHECKING:
    from grader.gradebook import Gradebook
    from grader.marking.given import Marking, Task

_OUT = Path("grades")


@app.command(
    epilog="\b\nExamples:\n  grader grade submissions/\n  grader grade alice/ bob/ carol_autograd.py --jobs 4\n"
    "  grader grade submissions/ --out week1 --only tensor_ops --fail-under 50\n"
    "  grader grade canvas.zip --roster class.csv --due 2026-10-31 --late-penalty 0.1\n"
    "  grader grade submissions/ --dask tcp://10.0.0.1:8786"
)
def grade(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Submissions, folders of them, LMS downloads.")
    ],
    out: OutOption = _OUT,
    jobs: Annotated[int, typer.Option("--jobs", min=0, help="Submissions at a time; 0: one per core.")] = 0,
    dask: Annotated[
        str | None,
        typer.Option("--dask", metavar="ADDRESS", help="Grade on this Dask cluster (pip install 'torchkata[dask]')."),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Grade unchanged submissions again, too.")] = False,
    only: OnlyOption = None,
    trial: Annotated[bool, typer.Option("--trial", help="Only for grader diff: reports leave this run out.")] = False,
    no_sandbox: Annotated[
        bool, typer.Option("--no-sandbox", help="Grade several submissions even if there is no sandbox.")
    ] = False,
    roster: RosterOption = None,
    due: Due = None,
    late_penalty: LatePenalty = None,
    grace: Grace = None,
    late_cap: LateCap = None,
    late_until: LateUntil = None,
    late_by: LateBy = None,
    course: CourseOption = None,
    seed: ClassSeedOption = None,
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
    """Grade many submissions: a table, results.jsonl, and a gradebook that an interrupted run goes on from."""
    if dask is not None and jobs:
        raise typer.BadParameter("with --dask, the cluster's threads set how many at a time", param_hint="--jobs")
    limits = limits_from(check_seconds, topic_seconds, memory, processes, files, prints)
    from grader.course import Course, pictured
    from grader.grading.late_options import LateOptions
    from grader.grading.many_submissions import grade_class
    from grader.grading.settings import ClassSettings, GradingSettings
    from grader.machine import cores, workers_in_memory
    from grader.reports.notes import print_note

    fitting = min(jobs or cores(), workers_in_memory())
    if fitting < jobs:
        print_note(f"--jobs {jobs}: the memory is enough for {fitting} at a time (see: grader doctor)")
    here = Path().resolve()
    if course is None and course_here(None) and any(path.resolve() in (here, *here.parents) for path in paths):
        raise UserError(
            "the work to grade has a course in it, whose checks would run here", fix="name the course: --course DIR"
        )
    loaded = Course.load(course_here(course))
    loaded.require_solutions("grade")
    settings = GradingSettings(
        names=tuple(only or ()),
        pictures=pictured(loaded),
        seed=seed,
        fail_under=fail_under,
        skipped_ok=skipped_ok,
        limits=limits,
        devices=devices,
    )
    class_settings = ClassSettings(
        paths=tuple(paths),
        out=out,
        jobs=fitting,
        dask=dask,
        again=again,
        trial=trial,
        roster=roster,
        late=LateOptions(due, late_penalty, grace, late_cap, late_until, late_by),
        no_sandbox=no_sandbox,
    )
    return grade_class(loaded, class_settings, settings)


@app.command(epilog="\b\nExamples:\n  grader status\n  grader status --out week1 --notes")
def status(
    out: OutOption = _OUT,
    notes: Annotated[bool, typer.Option("--notes", help="Also list the files that were left out or unclear.")] = False,
) -> None:
    """Show how far a class is graded: done, left, failed, remaining time; late work and overrides."""
    from grader.reports.status import status_lines

    print_lines(status_lines(out, notes=notes))


@app.command(
    epilog="\b\nExamples:\n  grader diff 1 2\n"
    "  grader grade submissions/ --course new-course --trial && grader diff 1 2"
)
def diff(
    before: Annotated[int, typer.Argument(metavar="RUN", min=1, help="Number of a run; `grader status` lists them.")],
    after: Annotated[int, typer.Argument(metavar="RUN", min=1, help="Number of another one.")],
    out: OutOption = _OUT,
) -> None:
    """Show whose marks differ between two runs: as when a course was changed (see grade --trial)."""
    from grader.reports.status import diff_lines

    print_lines(diff_lines(out, before, after))


@app.command(epilog="\b\nExamples:\n  grader restore\n  grader restore 7 --out week1")
def restore(
    number: Annotated[
        int | None, typer.Argument(metavar="[NUMBER]", min=1, help="Of the backup.  [default: the newest]")
    ] = None,
    out: OutOption = _OUT,
) -> None:
    """Replace a damaged gradebook with a backup; the damaged file is kept under another name."""
    from grader.gradebook import gradebook_in, restore

    restored = restore(gradebook_in(out), number)
    typer.echo(f"restored: {restored.backup.name}, made {restored.made:%Y-%m-%d %H:%M:%S}")
    if restored.aside is not None:
        typer.echo(f"kept:     {restored.aside} (the gradebook that was there)")
    typer.echo("run the same `grader grade` again: it grades the submissions that the backup does not have")


@app.command(epilog='\b\nExamples:\n  grader regrade "Zoë Müller"\n  grader regrade 12345 --only tensor_ops.gram --yes')
def regrade(
    student: Annotated[str, typer.Argument(metavar="STUDENT", help="The submission's name, or the LMS's id.")],
    only: OnlyOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="The new result counts, without asking.")] = False,
    out: OutOption = _OUT,
    course: CourseHereOption = None,
) -> None:
    """Grade one student's kept work again: shows what changes, and asks before it counts."""
    from grader.course import Course
    from grader.grading.regrade import regrade as again

    def agreed() -> bool:
        return yes or (sys.stdin.isatty() and typer.confirm("does this count from now on?"))

    print_lines(again(Course.load(course), out, student, tuple(only or ()), agreed))
    if not yes and not sys.stdin.isatty():
        typer.echo("without a terminal nothing is recorded: --yes")


@app.command(
    epilog='\b\nExamples:\n  grader override "Zoë Müller" gram 1.5 --why "right idea, a typo"\n'
    '  grader override 12345 tensor_ops.gram auto --why "was a mistake of mine"'
)
def override(
    student: Annotated[str, typer.Argument(metavar="STUDENT", help="The submission's name, or the LMS's id.")],
    exercise: Annotated[str, typer.Argument(metavar="EXERCISE")],
    points: Annotated[str, typer.Argument(metavar="POINTS", help="A number; `auto`: the automatic mark again.")],
    why: Annotated[str, typer.Option("--why", metavar="TEXT", help="Kept beside it.")],
    who: Annotated[str | None, typer.Option("--who", metavar="NAME", help="Who decides.  [your user name]")] = None,
    out: OutOption = _OUT,
) -> None:
    """Give points by hand; they are kept beside the automatic ones with who, when and why."""
    from grader.marking.given import give_points

    print_lines(give_points(out, student, exercise, points, why, who))


@app.command(
    epilog="\b\nExamples:\n  grader mark\n  grader mark report --out week1 --course my-course\n"
    "  grader mark --share 2/3 --anonymous\n"
    '  grader mark report --student "Zoë Müller" --items 1,3 --comment "a fine plot"'
)
def mark(
    exercise: Annotated[
        str | None, typer.Argument(metavar="[TOPIC | EXERCISE]", help="Only this.  [default: all that a person marks]")
    ] = None,
    student: Annotated[
        str | None, typer.Option("--student", metavar="STUDENT", help="Only this one: name, or the LMS's id.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Also work that is marked and has not changed.")] = False,
    items: Annotated[
        str | None,
        typer.Option("--items", metavar="LIST", help="Give these items without asking: 1,3; all; none; back."),
    ] = None,
    comment: Annotated[
        str | None, typer.Option("--comment", metavar="TEXT", help="With --items: a comment; none: no comment.")
    ] = None,
    who: Annotated[str | None, typer.Option("--who", metavar="NAME", help="Who marks.  [your user name]")] = None,
    share: Annotated[
        str | None,
        typer.Option("--share", metavar="2/3", help="Only this part of the class: the same students every time."),
    ] = None,
    anonymous: Annotated[bool, typer.Option("--anonymous", help="Show no names, and another order.")] = False,
    out: OutOption = _OUT,
    course: CourseHereOption = None,
) -> int:
    """Mark work by a rubric, one submission after the other; begins again where you left off."""
    from grader.course import Course
    from grader.gradebook import Gradebook
    from grader.marking.given import Marking, Share

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
        marking = Marking(book, loaded, who)
        if items is not None:
            print_lines(marking.mark_one(exercise, student, items, comment))
            return 0
        tasks = [one for one in marking.tasks(exercise, student, everything) if part is None or part.has(one.row)]
        if tasks:
            _mark_on_terminal(book, marking, tasks, anonymous)
        else:
            typer.echo("nothing is left to mark (--all: also what is marked)")
    return 0


def _mark_on_terminal(book: Gradebook, marking: Marking, tasks: Sequence[Task], anonymous: bool) -> None:
    """Goes through the tasks, and says what is left."""
    from rich.console import Console

    from grader.marking.screen import MarkingScreen
    from grader.reports.given import unmarked_lines

    console = Console(highlight=False, markup=False, emoji=False)
    screen = MarkingScreen(marking, tasks, console, _edit, anonymous)
    is_done = screen.run()
    console.clear()
    typer.echo(f"{counted(screen.marked, 'mark')} given; every key was kept at once")
    left = list(unmarked_lines(list(book.results())))
    for line in left:
        typer.echo(line)
    if not is_done and left:
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


@app.command(
    epilog='\b\nExamples:\n  grader comment "Zoë Müller" gram "see einsum for a shorter way"\n'
    "  grader comment 12345 tensor_ops.gram none"
)
def comment(
    student: Annotated[str, typer.Argument(metavar="STUDENT", help="The submission's name, or the LMS's id.")],
    exercise: Annotated[str, typer.Argument(metavar="EXERCISE")],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The text for the student; `none` removes the comment.")],
    who: Annotated[str | None, typer.Option("--who", metavar="NAME", help="Who says it.  [your user name]")] = None,
    out: OutOption = _OUT,
) -> None:
    """Say something about an exercise, with checks or without; no points change."""
    from grader.marking.given import give_comment

    print_lines(give_comment(out, student, exercise, text, who))


@app.command(
    epilog='\b\nExamples:\n  grader extend "Zoë Müller" 2026-11-07 --why "was ill"\n'
    '  grader extend 12345 none --why "was meant for another one"'
)
def extend(
    student: Annotated[str, typer.Argument(metavar="STUDENT", help="The submission's name, or the LMS's id.")],
    due: Annotated[str, typer.Argument(metavar="DATE", help="2026-11-07, or 2026-11-07T12:00; `none`: as all others.")],
    why: Annotated[str, typer.Option("--why", metavar="TEXT", help="Kept beside it.")],
    who: Annotated[str | None, typer.Option("--who", metavar="NAME", help="Who decides.  [your user name]")] = None,
    out: OutOption = _OUT,
) -> None:
    """Give one student more time; it counts at once, for graded work too."""
    from grader.marking.given import give_time

    print_lines(give_time(out, student, due, why, who))
