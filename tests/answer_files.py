"""Finds the student code that lies in files, right and wrong, and makes submissions of it.

``answers/`` beside this file belongs to the shipped course; ``courses/NAME/answers/`` to a course of the tests:

- ``right/TOPIC/WAY.py``: a whole module that is right, written in another way than the solution;
- ``right/TOPIC/EXERCISE__WAY.py``: one exercise. It is put below the solution, whose exercise it replaces, so it may
  use what the solution imports;
- ``wrong/TOPIC/EXERCISE__MISTAKE.py``: the same, but wrong. Its first lines say what the exercise must get::

      # verdict: failed, timeout      all verdicts of its checks other than passed; `|` between alternatives
      # message: no file at `path`    words that the student must read; `|` between alternatives; any number of lines
      # misconception: keeps_int64    the misconception that must be named; without this line, none may be
      # tell: of int64                words of that misconception's text, which must be true of this answer too
      # others: blocked               a verdict that other exercises of the topic may get, besides passed and skipped

Adding a file adds a test case: nothing lists the files.
"""

from __future__ import annotations

import ast
import functools
import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from grader.course import Course
from grader.intake.submission import Submission

TESTS = Path(__file__).resolve().parent
COURSES = TESTS / "courses"
FLAGGED = frozenset(
    (
        "gpu/add_across__by_dlpack",
        "gpu/count__builds_a_graph",
        "gpu/count__raises_the_graders_class",
        "gpu/mean__asks_for_a_memory_snapshot",
        "gpu/mean__raises_the_graders_class_from_none",
        "gpu/place__raises_from_text",
        "team/total__forges_its_report",
        "team/total__forks_processes",
        "team/total__kills_everybody",
        "team/total__kills_its_group",
        "tensor_ops/pairwise_sq_dists__measures_nothing",
    )
)
"""Answers that do on purpose what is flagged: they tamper, or ask for what is not simulated. No other has a flag."""
LIMITS = {"check_seconds": 4.0, "topic_seconds": 240.0, "memory_bytes": 512 << 20}
"""A check has more processor time than anything takes that ends, and not long for what does not; an exercise has its
share of its topic's, which is enough for several checks of what never ends.
"""
HEADERS = ("verdict", "message", "misconception", "tell", "others")


@functools.cache
def course_at(path: Path | None) -> Course:
    """A course that no test changes."""
    return Course.load(path)


@dataclass(frozen=True)
class Answer:
    """One file of student code.

    Attributes:
        file: where it lies.
        course: root of its course; None is the shipped one.
        topic: the topic whose module it is, or is a part of.
        exercise: full name of the one exercise that it answers; empty for a whole module.
    """

    file: Path
    course: Path | None
    topic: str
    exercise: str

    def __str__(self) -> str:
        return f"{self.topic}/{self.file.stem}"

    @property
    def is_honest(self) -> bool:
        """Whether it does nothing that an instructor should look at."""
        return str(self) not in FLAGGED

    @functools.cached_property
    def text(self) -> str:
        """The file as it is."""
        return self.file.read_text(encoding="utf-8")

    def header(self, key: str) -> list[str]:
        """What the first lines say under `key`, in their order."""
        assert key in HEADERS
        return [value for name, value in self._header_lines() if name == key]

    def _header_lines(self) -> list[tuple[str, str]]:
        found = []
        for line in self.text.splitlines():
            if not line.startswith("# "):
                break
            name, _, value = line.removeprefix("# ").partition(": ")
            assert name in HEADERS, f"{self.file}: `{name}` is not one of {HEADERS}"
            found.append((name, value.strip()))
        return found

    def goes_with(self, other: Answer) -> bool:
        """Whether the two may be in one module."""
        if (self.course, self.topic) != (other.course, other.topic) or self.exercise == other.exercise:
            return False
        if not (self.exercise and other.exercise and self.is_honest and other.is_honest):
            return False
        one_needs_the_other = self.exercise in other.needs or other.exercise in self.needs
        return not (one_needs_the_other or self.names & other.names or self.header("others") or other.header("others"))

    @functools.cached_property
    def names_misconception(self) -> bool:
        """Whether a misconception must be named for it."""
        return bool(self.header("misconception"))

    @functools.cached_property
    def needs(self) -> frozenset[str]:
        """Full names of the exercises that its own needs, and of that."""
        return frozenset(course_at(self.course).with_needs([self.exercise]))

    @functools.cached_property
    def names(self) -> set[str]:
        """What it binds in its module."""
        bound: set[str] = set()
        for one in ast.parse(self.text).body:
            match one:
                case ast.FunctionDef() | ast.ClassDef():
                    bound.add(one.name)
                case ast.Import() | ast.ImportFrom():
                    bound |= {alias.asname or alias.name.partition(".")[0] for alias in one.names}
                case _:
                    bound |= {node.id for node in ast.walk(one) if isinstance(node, ast.Name)}
        return bound

    def submission(self, *others: Answer) -> Submission:
        """A submission of this topic's module: the solution with this exercise replaced, and those of `others`.

        Beside it are the solutions of the topics whose exercises this topic needs, or that an answer imports.
        """
        course = course_at(self.course)
        needed = {need.partition(".")[0] for one in course.topic(self.topic).exercises for need in one.needs}
        texts = [self.text, *(other.text for other in others)]
        needed |= {one.name for one in course.modules if any(f"from {one.name} import" in text for text in texts)}
        files = {f"{topic}.py": course.solution_file(topic).read_bytes() for topic in needed}
        files[f"{self.topic}.py"] = self.module(self.text, *(one.text for one in others))
        return Submission(self.file.stem, files)

    def module(self, *texts: str) -> bytes:
        """The topic's module, if the file read `texts`."""
        if not self.exercise:
            return "\n\n".join(texts).encode()
        return replaced(course_at(self.course).solution_file(self.topic).read_text(encoding="utf-8"), *texts).encode()


def with_neighbour(*module: Answer) -> list[str]:
    """Full names of their exercises and of the nearest that needs no other, after them if possible; none for a module.

    What comes after meets what an answer leaves behind: names in the module and, if it is right, its process.
    """
    if not module[0].exercise:
        return []
    exercises = course_at(module[0].course).topic(module[0].topic).exercises
    names = [one.full_name for one in exercises]
    answered = [one.exercise for one in module]
    at = names.index(answered[-1])
    near = (one.full_name for one in (*exercises[at + 1 :], *reversed(exercises[:at])) if not one.needs)
    return [*answered, *itertools.islice((name for name in near if name not in answered), 1)]


def together(found: Iterable[Answer]) -> list[tuple[Answer, ...]]:
    """These answers in as few modules as possible: each meets what others leave behind, and costs less than alone.

    In a module are honest answers to different exercises, of which none needs another and none binds another's names.
    """
    modules: list[list[Answer]] = []
    for answer in found:
        place = next((module for module in modules if all(map(answer.goes_with, module))), None)
        if place is None:
            modules.append([answer])
        else:
            place.append(answer)
    return [tuple(module) for module in modules]


def name_of(case: object) -> str:
    """The id of a case: of a module, its first answer and how many more; of anything else, its text."""
    if not isinstance(case, tuple):
        return str(case)
    return f"{case[0]}+{len(case) - 1}" if len(case) > 1 else str(case[0])


def replaced(solution: str, *texts: str) -> str:
    """A solution with what `texts` define in place of its own; what it does as a script stays at the end."""
    definitions, script, rest = solution.partition('\nif __name__ == "__main__":')
    return "\n\n".join([definitions, *texts, script + rest])


def answers(kind: str, course: Path | None = None, topic: str = "*") -> list[Answer]:
    """The answers of that kind, ``right`` or ``wrong``, by topic and name.

    Raises:
        AssertionError: there are none, so that no test can pass for want of files.
    """
    files = sorted(((course or TESTS) / "answers" / kind).glob(f"{topic}/*.py"))
    assert files, f"no {kind} answers of {course or 'the shipped course'}"
    return [_answer(file, course) for file in files]


def _answer(file: Path, course: Path | None) -> Answer:
    topic = file.parent.name
    exercise, replaces_one, _ = file.stem.partition("__")
    return Answer(file, course, topic, f"{topic}.{exercise}" if replaces_one else "")


def every(kind: str) -> list[Answer]:
    """The answers of that kind to the shipped course and to all courses of the tests."""
    courses = [course for course in sorted(COURSES.iterdir()) if (course / "answers" / kind).is_dir()]
    return [answer for course in (None, *courses) for answer in answers(kind, course)]
