"""Marks by a rubric, one submission after the other, and comments. Writes to the gradebook.

Every change is on disk when a function returns. Decides no points: they are those of the items that a person gave.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from grader.course import Course, Exercise, RubricItem
from grader.errors import UserError
from grader.gradebook import Comment, Gradebook, LookedAt, Mark, MarkedItem, Row, row_of, work_hash
from grader.marking.points_and_time import course_of, exercise_called, now, user
from grader.reports.feedback import CHANGED
from grader.reports.status import comment_line, mark_line, marks
from grader.text import one_line, printable

MOST_COMMENT: Final = 4_000
"""Characters of a comment."""


@dataclass(frozen=True)
class Task:
    """One exercise of one student that a person marks."""

    row: Row
    exercise: Exercise

    @property
    def student(self) -> str:
        """The submission's name."""
        return self.row.result.submission

    @property
    def mark(self) -> Mark | None:
        """The mark that counts."""
        return next((one for one in self.row.marks if one.exercise == self.exercise.full_name), None)

    @property
    def why_again(self) -> str:
        """Why a mark should be looked at again; empty if nothing has changed."""
        if self.mark is None:
            return ""
        reasons = [CHANGED] if self.mark.stale else []
        reasons += [] if _worth(self.mark.items) == _worth(self.exercise.rubric) else ["the rubric has changed"]
        return ", ".join(reasons)


class Share(NamedTuple):
    """One part of a class that several people mark: the same students every time, whoever comes or leaves."""

    part: int
    parts: int

    @classmethod
    def read(cls, text: str) -> Share:
        """The share of a text such as ``2/3``.

        Raises:
            UserError: it is no such text.
        """
        with contextlib.suppress(ValueError):
            part, parts = map(int, text.split("/"))
            if 1 <= part <= parts:
                return cls(part, parts)
        raise UserError(f"{text!r} is no share of a class", fix="write for example 1/3, 2/3 and 3/3")

    def has(self, row: Row) -> bool:
        """Whether the student, or the group, is in this part."""
        whose = row.group or row.arrival.student or row.result.submission
        return zlib.crc32(whose.encode("utf-8", "replace")) % self.parts == self.part - 1


WHOLE: Final = Share(1, 1)


class Marking:
    """The marks of a class, in an open gradebook.

    Args:
        who: who marks; None means the user of this machine.
    """

    def __init__(self, book: Gradebook, course: Course, who: str | None = None) -> None:
        """Looks whether there is something to mark.

        Raises:
            UserError: there is no run, it is of another course, or that course has nothing that a person marks.
        """
        graded = course_of(book)
        if graded != course.name:
            raise UserError(
                f"{book.path} is of the course `{one_line(graded)}`, not of `{course.name}`",
                fix="name its course: --course DIR",
            )
        if not course.manual:
            raise UserError(
                f"the course `{course.name}` has no exercise that a person marks",
                fix='write one in course.toml: kind = "manual", with a rubric',
            )
        self._book = book
        self._course = course
        self._who = who or user()

    def tasks(
        self, exercise: str | None = None, student: str | None = None, everything: bool = False, share: Share = WHOLE
    ) -> list[Task]:
        """The tasks that are left, or whose work has changed since: exercise by exercise, in order of the students.

        The work of a group is one task.

        Args:
            exercise: only this one, by its name or full name, or those of a topic.
            student: only this one, by name or the LMS's id.
            everything: also tasks that are marked.
            share: the part of the class.

        Raises:
            UserError: no such exercise or student.
        """
        names = self._course.select([exercise] if exercise else [])
        chosen = [one for one in self._course.manual if one.full_name in names]
        if not chosen:
            raise UserError(f"`{exercise}` has checks: no person marks it", fix="points by hand: grader override")
        rows = list(self._book.results())
        wanted = _one_of_each_group(rows) if student is None else [row_of(rows, student)]
        wanted = [row for row in wanted if share.has(row)]
        found = [
            Task(row, one)
            for one in chosen
            for row in wanted
            if any(result.name == one.full_name for result in row.result.to_mark)
        ]
        return [one for one in found if everything or one.mark is None or one.why_again]

    def again(self, task: Task) -> Task:
        """The same as it is in the gradebook now."""
        rows = (row for row in self._book.results() if row.result.submission == task.student)
        return Task(next(rows, task.row), task.exercise)

    def latest(self, task: Task) -> Mark | None:
        """The newest mark, also one that is only begun."""
        row, name = task.row, task.exercise.full_name
        return self._book.latest_mark(self._course.name, row.result.submission, row.arrival.student, name)

    def given(self, task: Task) -> frozenset[int]:
        """The numbers (from 0) of the items that are given so far; of an older rubric, those with the same text."""
        latest = self.latest(task)
        texts = {item.text for item in latest.items if item.given} if latest and latest.points is not None else set()
        return frozenset(n for n, item in enumerate(task.exercise.rubric) if item.text in texts)

    def content(self, task: Task) -> bytes | None:
        """The file that was handed in for it; None if there is none."""
        return self._book.files(task.row.digest).get(task.exercise.work_file)

    def save(self, task: Task, given: Collection[int], *, done: bool) -> Mark:
        """Keeps which items are given; until it is done it counts nothing, and an earlier mark stays."""
        rubric = task.exercise.rubric
        items = tuple(MarkedItem(item.text, item.points, n in given) for n, item in enumerate(rubric))
        return self._keep(task, items, round(sum(item.points for item in items if item.given), 9), done)

    def take_back(self, task: Task) -> Mark:
        """Makes it not marked again."""
        return self._keep(task, (), None, True)

    def comment(self, task: Task, text: str) -> None:
        """Keeps a comment; an empty text takes it back."""
        _keep_comment(self._book, task.row, task.exercise.full_name, task.exercise.work_file, text, self._who)

    def _keep(self, task: Task, items: tuple[MarkedItem, ...], earned: float | None, done: bool) -> Mark:
        mark = Mark(
            student=task.student,
            exercise=task.exercise.full_name,
            items=items,
            points=earned,
            max=task.exercise.points,
            who=self._who,
            made=now(),
            done=done,
        )
        looked_at = _looked_at(self._book, task.row, task.exercise.work_file)
        self._book.mark(self._course.name, mark, looked_at)
        return mark


def mark_one(
    out: Path,
    course: Course,
    exercise: str | None,
    student: str | None,
    items: str,
    comment: str | None = None,
    who: str | None = None,
) -> Iterator[str]:
    """Marks one exercise of one student without asking, and returns lines that show it.

    Args:
        items: numbers of items as ``1,3``; ``all``, ``none``; ``back`` takes the mark back.

    Raises:
        UserError: no such student, exercise or item, or not exactly one of them.
    """
    with Gradebook.open_existing(out) as book:
        marking = Marking(book, course, who)
        if student is None:
            raise UserError("--items marks one student", fix="name one: --student NAME")
        tasks = marking.tasks(exercise, student, everything=True)
        if len(tasks) != 1:
            names = ", ".join(task.exercise.full_name for task in tasks) or "none"
            raise UserError(f"--items marks one exercise, not several: {names}", fix="name one: grader mark EXERCISE")
        task = tasks[0]
        given = None if items == "back" else _numbers(items, task.exercise)
        if comment is not None:
            marking.comment(task, "" if comment == "none" else text_of_comment(comment))
        made = marking.take_back(task) if given is None else marking.save(task, given, done=True)
        after = marking.again(task).row
    yield mark_line(made)
    yield f"{task.student}: {marks(after)}"


def give_comment(out: Path, student: str, exercise: str, text: str, who: str | None) -> Iterator[str]:
    """Keeps a comment on an exercise, which changes no points, and returns lines that show it.

    Raises:
        UserError: no such student or exercise, or no text.
    """
    kept = "" if text == "none" else text_of_comment(text)
    with Gradebook.open_existing(out) as book:
        row = row_of(list(book.results()), student)
        name = exercise_called([one.name for one in row.result.exercises], exercise)
        result = next(one for one in row.result.exercises if one.name == name)
        file = result.manual.file if result.manual else f"{name.partition('.')[0]}.py"
        made = _keep_comment(book, row, name, file, kept, who or user())
    yield comment_line(made)


def text_of_comment(text: str) -> str:
    """The text as it is kept: without escapes and control characters.

    Raises:
        UserError: it is empty or too long.
    """
    text = printable(text.replace("\r\n", "\n").expandtabs(4)).strip()
    if not text:
        raise UserError("the comment has no text", fix="say something, or take it back: none")
    if len(text) > MOST_COMMENT:
        raise UserError(f"a comment has at most {MOST_COMMENT:,} characters, not {len(text):,}")
    return text


def _one_of_each_group(rows: Sequence[Row]) -> list[Row]:
    groups: set[str] = set()
    kept = []
    for row in rows:
        if row.group not in groups:
            kept.append(row)
        groups |= {row.group} - {""}
    return kept


def _numbers(text: str, exercise: Exercise) -> set[int]:
    """The numbers (from 0) of the items that are meant."""
    count = len(exercise.rubric)
    if text in ("all", "none"):
        return set(range(count)) if text == "all" else set()
    with contextlib.suppress(ValueError):
        found = {int(part) - 1 for part in text.split(",")}
        if found <= set(range(count)):
            return found
    raise UserError(
        f"{exercise.full_name} has no items {text!r}",
        fix=f"its items are 1 to {count}: write for example {','.join('13'[: max(1, count - 1)])}, all, none or back",
    )


def _worth(items: Sequence[RubricItem | MarkedItem]) -> list[tuple[str, float]]:
    return [(item.text, item.points) for item in items]


def _looked_at(book: Gradebook, row: Row, file: str) -> LookedAt:
    work = work_hash(book.files(row.digest), file)
    return LookedAt(person=row.arrival.student, digest=row.digest, file=file, work=work)


def _keep_comment(book: Gradebook, row: Row, exercise: str, file: str, text: str, who: str) -> Comment:
    made = Comment(student=row.result.submission, exercise=exercise, text=text, who=who, made=now())
    book.comment(course_of(book), made, _looked_at(book, row, file))
    return made
