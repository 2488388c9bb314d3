"""Topic and Exercise: the entries of ``course.toml``, as data."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

Credit = Literal["all", "per-check"]
"""How an exercise earns points: all of them if every check passes, or those of each check that passes."""
ALWAYS: Final = "always"
"""Until when a check is hidden that is never shown."""
Kind = Literal["automatic", "manual"]
"""Who decides an exercise's points: its checks, or a person by a rubric."""


class RubricItem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that a person looks for: one ``[[topics.exercises.rubric]]`` table.

    Attributes:
        text: the requirement, in words.
        points: for meeting it.
    """

    text: str
    points: float


class Exercise(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One function or class to write, or work that a person marks: one ``[[topics.exercises]]`` table.

    Attributes:
        points: for all of it; with a rubric, the sum of its items.
        hints_for: names of checks, each with the number (from 1) of the hint that is for it; such a hint is shown
            beside no other check.
        credit: how it earns its points; None in the table: as its topic, or the course, says.
        hidden_until: until when checks with ``hidden="all"`` are hidden from students: a date in the table, an ISO time
            with offset or `ALWAYS` here.
        topic: the topic's name; no key of the table, so that it has a name there which no key has.
        needs: exercises that must pass first; full names; the table may leave out the topic.
        kind: who decides its points.
        rubric: the items that a person looks for; only of a manual exercise.
        file: the file of the submission that a person looks at; empty means the topic's module.
        transcript: how `verify` runs the commands after ``$`` in its docstring; None: it does not.
    """

    name: str
    points: float = 0.0
    hints: tuple[str, ...] = ()
    hints_for: dict[str, int] = {}
    needs: tuple[str, ...] = ()
    credit: Credit | None = None
    hidden_until: Any = None
    topic: str = msgspec.field(default="", name="<topic>")
    kind: Kind = "automatic"
    rubric: tuple[RubricItem, ...] = ()
    file: str = ""
    transcript: Literal["torchrun"] | None = None

    def __hash__(self) -> int:
        return hash((self.topic, self.name))  # a table cannot be hashed

    @property
    def full_name(self) -> str:
        """``topic.name``, unique in the course."""
        return full_name(self.topic, self.name)

    @property
    def work_file(self) -> str:
        """The file of a submission that the exercise is in."""
        return self.file or f"{self.topic}.py"


class Topic(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One stub module and its exercises, in order of learning: one ``[[topics]]`` table.

    Attributes:
        preload: installed modules that are slow to import and that its exercises use: loaded once, before grading.
        credit: how its exercises earn their points; None: as the course says.
        weight: how much it counts beside the other topics; None: 1 if another one has a weight, else by its points.
        exercises: those that have checks. A topic without any has no module.
        manual: those that a person marks; no key of the table either.
    """

    name: str
    title: str
    summary: str = ""
    reading: tuple[str, ...] = ()
    preload: tuple[str, ...] = ()
    credit: Credit | None = None
    weight: float | None = None
    exercises: tuple[Exercise, ...] = ()
    manual: tuple[Exercise, ...] = msgspec.field(default=(), name="<manual>")


def full_name(topic: str, exercise: str) -> str:
    """``topic.exercise``; a name that is full already stays as it is."""
    return exercise if "." in exercise else f"{topic}.{exercise}"
