"""The terminal of ``grader mark``: its keys, its lines and its editor. Imports Rich, so it is imported late."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from grader.errors import UserError
from grader.text import counted

if TYPE_CHECKING:
    from grader.course import Course
    from grader.marking.by_rubric import Share


class Chosen(NamedTuple):
    """What is marked: see `Marking.tasks`; ``anonymous``: without names."""

    exercise: str | None
    student: str | None
    everything: bool
    share: Share
    anonymous: bool


def mark_on_terminal(out: Path, course: Course, chosen: Chosen, who: str | None) -> int:
    """Goes through what is not marked yet, and says what is left; the exit code.

    Raises:
        UserError: there is no terminal, no such student or exercise, or nothing that a person marks.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UserError(
            "marking one after the other needs a terminal",
            fix="without one: grader mark EXERCISE --student NAME --items 1,3",
        )
    from rich.console import Console

    from grader.gradebook import Gradebook
    from grader.marking.by_rubric import Marking
    from grader.marking.screen import MarkingScreen, Terminal
    from grader.reports.given import unmarked_lines

    with Gradebook.open_existing(out) as book:
        marking = Marking(book, course, who)
        tasks = marking.tasks(chosen.exercise, chosen.student, chosen.everything, chosen.share)
        if not tasks:
            typer.echo("nothing is left to mark (--all: also what is marked)")
            return 0
        console = Console(highlight=False, markup=False, emoji=False)
        screen = MarkingScreen(marking, tasks, console, Terminal(typer.getchar, _ask, _edit, _open), chosen.anonymous)
        is_done = screen.run()
        console.clear()
        typer.echo(f"{counted(screen.marked, 'mark')} given; every key was kept at once")
        left = list(unmarked_lines(list(book.results())))
        for line in left:
            typer.echo(line)
        if not is_done and left:
            typer.echo("go on with the same command")
    return 0


def _ask(question: str) -> str:
    return input(question)


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


def _open(file: Path) -> None:
    typer.launch(str(file))
