"""The tables of ``course.toml``, each a struct, with the names that a course's author writes. Reads nothing."""

from collections.abc import Container
from typing import Any, Final, Literal

import msgspec
from msgspec.structs import replace

from grader.course.marks import Resubmissions
from grader.course.questions import Ask
from grader.course.suite import Group, Suite
from grader.text import counted

Credit = Literal["all", "per-check"]
"""How an exercise earns points: all of them if every check passes, or those of each check that passes."""
ALWAYS: Final = "always"
"""Until when a check is hidden that is never shown."""
Level = Literal["easy", "medium", "hard"]
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
        minutes: how long it takes about; None: not said.
        level: how hard it is.
        why: its purpose, in one line.
        after: the exercise (full name) after which it is proposed; empty: in its own topic.
        tests: the tests of the suite that it consists of, by node ids; then no function of its name is needed.
        hidden_tests: those of them that students do not see.
        seconds: for each of these tests; 0: as long as any check may take.
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
    minutes: int | None = None
    level: Level | None = None
    why: str = ""
    after: str = ""
    tests: tuple[str, ...] = ()
    hidden_tests: tuple[str, ...] = ()
    seconds: float = 0.0

    def __hash__(self) -> int:
        return hash((self.topic, self.name))  # a table cannot be hashed

    @property
    def full_name(self) -> str:
        """``topic.name``, unique in the course."""
        return full_name(self.topic, self.name)

    @property
    def group(self) -> Group | None:
        """The tests of a suite that it consists of; None for one function or class to write."""
        if not self.tests and not self.hidden_tests:
            return None
        return Group(self.full_name, self.tests, self.hidden_tests, self.seconds)

    @property
    def effort(self) -> str:
        """How hard it is and how long it takes: ``easy, about 5 minutes``; empty if the course does not say."""
        time = f"about {counted(self.minutes, 'minute')}" if self.minutes else ""
        return ", ".join(filter(None, [self.level, time]))

    @property
    def work_file(self) -> str:
        """The file of a submission that the exercise is in."""
        return self.file or f"{self.topic}.py"


class Question(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something to predict before it runs: one ``[[topics.questions]]`` table. Its answer is found by running it.

    Attributes:
        code: lines of Python, of which the last one is an expression; they know ``torch``, ``nn`` and ``F``.
        ask: what of its value is asked for.
        idea: the title of the part of the lesson that explains it.
    """

    code: str
    ask: Ask
    idea: str = ""


class Topic(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One stub module and its exercises, in order of learning: one ``[[topics]]`` table.

    Attributes:
        preload: installed modules that are slow to import and that its exercises use: loaded once, before grading.
        credit: how its exercises earn their points; None: as the course says.
        weight: how much it counts beside the other topics; None: 1 if another one has a weight, else by its points.
        exercises: those that have checks. A topic without any has no module.
        questions: asked once, by `grader learn` and `grader watch`.
        manual: those that a person marks; no key of the table either.
        is_package: whether its module is a folder, with `__init__.py` in it; no key either.
    """

    name: str
    title: str
    summary: str = ""
    reading: tuple[str, ...] = ()
    preload: tuple[str, ...] = ()
    credit: Credit | None = None
    weight: float | None = None
    exercises: tuple[Exercise, ...] = ()
    questions: tuple[Question, ...] = ()
    manual: tuple[Exercise, ...] = msgspec.field(default=(), name="<manual>")
    is_package: bool = msgspec.field(default=False, name="<package>")

    def among(self, names: Container[str]) -> "Topic":
        """The same with those of its exercises alone that have these full names."""
        exercises = tuple(one for one in self.exercises if one.full_name in names)
        manual = tuple(one for one in self.manual if one.full_name in names)
        return replace(self, exercises=exercises, manual=manual)

    @property
    def file(self) -> str:
        """The file of its module in a submission."""
        return f"{self.name}/__init__.py" if self.is_package else f"{self.name}.py"


def full_name(topic: str, exercise: str) -> str:
    """``topic.exercise``; a name that is full already stays as it is."""
    return exercise if "." in exercise else f"{topic}.{exercise}"


class CourseSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of the ``[course]`` table that a `Course` has as they are written.

    Attributes:
        examples: whether the examples in docstrings are checks of their exercises.
        lessons: whether every topic must have a lesson; without it, a topic may have one.
        colab: the address under which its notebooks are in Colab, without their names; empty: they are not.
        install: what a notebook installs where the grader is missing.
        finish: where to go on, for who has passed everything.
        finish_pictures: the exercises (full names) whose pictures the page of `grader finish` shows; see
            `pictured_at_end`.
    """

    name: str
    title: str
    show_solutions: Literal["never", "after_passing"] = "never"
    strict_import: bool = False
    examples: bool = True
    lessons: bool = False
    colab: str = ""
    install: str = "torchkata"
    finish: tuple[str, ...] = ()
    finish_pictures: tuple[str, ...] = ()


class CourseEntry(CourseSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The ``[course]`` table."""

    kit: str | None = None
    credit: Credit = "all"
    hidden_until: Any = None
    due: Any = None
    late_penalty_per_day: Any = None
    late_grace_minutes: Any = None
    late_cap: Any = None
    late_until: Any = None
    resubmissions: Resubmissions = "latest"
    letters: Any = None


class AssignmentEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An ``[[assignments]]`` table; keys that it lacks are those of ``[course]``.

    Attributes:
        exercises: names of topics and exercises.
        hidden_until: until when checks of its exercises with ``hidden="all"`` are hidden, unless an exercise says.
    """

    name: str
    exercises: tuple[str, ...]
    title: str = ""
    due: Any = None
    late_penalty_per_day: Any = None
    late_grace_minutes: Any = None
    late_cap: Any = None
    late_until: Any = None
    hidden_until: Any = None
    resubmissions: Resubmissions | None = None
    weight: float | None = None


class TermEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The ``[term]`` table."""

    drop_lowest: int = 0
    late_days: int = 0
    letters: Any = None


class ManifestEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole of ``course.toml``."""

    course: CourseEntry
    topics: tuple[Topic, ...] = ()
    assignments: tuple[AssignmentEntry, ...] = ()
    term: TermEntry = TermEntry()
    suite: Suite = Suite()
