"""Runs the lines of a topic's questions in a new Python, and asks them, once a topic.

The answers are found by running the lines: none is written down. Keeps no answer of a student, and decides no verdict.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Callable, Sequence
from typing import Final

import msgspec
from rich.console import Console

from grader import new_python
from grader.course import Course, Question
from grader.course.questions import WORDS, is_right
from grader.reports.terminal import print_wrapped
from grader.text import clean, counted, one_line

_SECONDS: Final = 300
"""How long all lines of a topic may take (s): a limit for what never ends, as torch is imported first."""
_PROGRAM: Final = "from grader.testkit.questions import main; main()"


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """What a line gave, or why there is nothing."""

    text: str
    problem: str = ""


class LineRun:
    """Lines that run in another process from now on, while the student reads."""

    def __init__(self, questions: Sequence[Question], seed: int = 0) -> None:
        self._count = len(questions)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self._process = new_python.start(_PROGRAM, hash_seed=seed, **pipes)
        text = json.dumps({"seed": seed, "questions": [(one.code, one.ask) for one in questions]})
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it has ended; `answers` says so
            self._process.stdin.write(text.encode())
            self._process.stdin.close()
        self._process.stdin = None

    def answers(self) -> list[Answer]:
        """What each line gave; waits for it."""
        try:
            written, _ = self._process.communicate(timeout=_SECONDS)
            found = msgspec.json.decode(written, type=list[Answer])
        except (subprocess.TimeoutExpired, msgspec.DecodeError):
            found = []
        finally:
            self.close()
        return found if len(found) == self._count else [Answer("", "it did not end")] * self._count

    def close(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.wait()


def ask_all(course: Course, topic: str, console: Console, run: LineRun, read: Callable[[str], str] = input) -> None:
    """Asks the questions of a topic one after the other. Enter skips one, the end of the input skips all.

    Args:
        run: of their lines.
        read: gives what is typed after a prompt.
    """
    questions = course.topic(topic).questions
    print_wrapped(console, f"{counted(len(questions), 'question')} about {topic}: predict before it runs", "bold")
    print_wrapped(console, "Enter skips one.", "dim")
    answers = run.answers()
    for number, (question, answer) in enumerate(zip(questions, answers, strict=True), start=1):
        console.print()
        for line in question.code.strip("\n").split("\n"):
            print_wrapped(console, f"    {clean(line)}", "cyan")
        try:
            typed = read(f"{number}. {WORDS[question.ask]} ")
        except EOFError:
            console.print()
            return
        if answer.problem:
            print_wrapped(console, f"it cannot be run here: {one_line(answer.problem)}", "yellow")
        elif typed.strip() and is_right(question.ask, typed, answer.text):
            print_wrapped(console, f"✓ right: {clean(answer.text)}", "green")
        else:
            print_wrapped(console, f"{'✗ no: ' if typed.strip() else ''}it gives {clean(answer.text)}", "yellow")
            if question.idea:
                print_wrapped(console, f'why: "{clean(question.idea)}" in grader learn {topic}', "dim")
