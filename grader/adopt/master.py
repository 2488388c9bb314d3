"""A notebook as its instructor wrote it, whatever tool it is for: pieces, questions, and the tests of these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from grader.adopt.notebook_tests import WrittenTest

PieceKind = Literal["text", "code", "answer", "prompt"]


class NotebookPiece(NamedTuple):
    """One cell of the notebook that students get.

    Attributes:
        cell: its number in the master notebook, from 1.
        kind: ``answer`` is a text that students write; ``prompt`` is code in place of a solution.
        text: of code, with our markers round the students' parts.
        question: the number of its question; -1 for none.
        is_written: whether students write some of it.
        skeleton: the students' cell, if a part of a loop or another statement is handed out.
    """

    cell: int
    kind: PieceKind
    text: str
    question: int = -1
    is_written: bool = False
    skeleton: str = ""


@dataclass
class NotebookQuestion:
    """One question, and the tests of it; ``points`` as the notebook has them."""

    name: str
    cell: int
    text: str = ""
    points: Any = None
    by_hand: bool = False
    all_or_nothing: bool = False
    hint: str = ""
    tests: list[WrittenTest] = field(default_factory=list)

    def shares(self) -> list[float]:
        """The points of each test. Those without points share the rest of the question's."""
        own = [test.points for test in self.tests]
        points = self.points
        if isinstance(points, Mapping):
            points = points.get("each", 1) * len(own)
        if isinstance(points, list) and len(points) == len(own):
            return [float(one or 0) for one in points]
        total = points if isinstance(points, int | float) else None
        known = sum(one for one in own if one is not None)
        free = own.count(None)
        if total is None:
            total = known if known or (own and not free) else 1
        return [max(total - known, 0) / free if one is None else float(one) for one in own]


@dataclass
class Master:
    """A notebook as its instructor wrote it, whatever tool it is for.

    Attributes:
        files, secret_files: those that it reads; folders, too. Of the secret ones only tests know.
    """

    name: str
    pieces: list[NotebookPiece] = field(default_factory=list)
    questions: list[NotebookQuestion] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    secret_files: list[str] = field(default_factory=list)
    look: list[str] = field(default_factory=list)
    title: str = ""
    is_notebook: bool = True

    def codes_of_tests(self) -> list[str]:
        """The code of each step of each test."""
        return [step.code for question in self.questions for test in question.tests for step in test.steps]
