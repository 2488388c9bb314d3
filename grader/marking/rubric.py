"""Marks by the rubric of an exercise: what is left to mark, who marks it, and the items that a person gives: `mark`."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from grader.course import Course, Exercise, RubricItem
from grader.errors import UserError
from grader.gradebook import Gift, Given, GivenMeanwhile, Gradebook, Mark, MarkedItem, Row, row_of
from grader.marking.given import code_at, comment_on, text_of_comment
from grader.marking.keeping import Agreed, course_of, give_asking, looked_at, nobody_agrees, now, user
from grader.marking.lines import WHOLE, FileLine
from grader.marking.whom import Students
from grader.reports.feedback import CHANGED
from grader.reports.status import mark_line, marks
from grader.results import Manual, total_points
from grader.text import one_line


class Task(NamedTuple):
    """One exercise of one student that a person marks."""

    row: Row
    exercise: Exercise

    @property
    def student(self) -> str:
        """The submission's name."""
        return self.row.result.submission

    @property
    def manual(self) -> Manual:
        """The work, as far as it is there."""
        found = (one.manual for one in self.row.result.to_mark if one.name == self.exercise.full_name)
        return next(filter(None, found), Manual(self.exercise.points, self.exercise.work_file, "missing"))

    @property
    def file(self) -> str:
        """The file that a person looks at."""
        return self.manual.work

    @property
    def about_work(self) -> str:
        """Where the work is if it is not in its file, or why there is none; empty if there is nothing to say."""
        manual = self.manual
        if manual.instead:
            return f"{manual.file} is not there: look at {', '.join(manual.instead)}"
        if manual.state == "untouched":
            return f"{manual.file} is as it was handed out"
        notes = [note for note in self.row.notes if note.startswith(f"{manual.file}: ")]
        return (notes[0] if notes else f"{manual.file} was not handed in") if manual.state == "missing" else ""

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


def _worth(items: Sequence[RubricItem | MarkedItem]) -> list[tuple[str, float]]:
    return [(item.text, item.points) for item in items]


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


class Marking:
    """The marks of a class, in an open gradebook.

    An entry of another person, also one made in the meantime, is replaced only by who agrees to it.

    Args:
        who: who marks; None means the user of this machine.
    """

    def __init__(self, book: Gradebook, course: Course, who: str | None = None) -> None:
        """Looks whether there is something to mark.

        Raises:
            UserError: there is no run, it is of another course, or that course has nothing that a person marks.
        """
        course_of(book)
        book.require_course(course.name)
        if not course.manual:
            raise UserError(
                f"the course `{course.name}` has no exercise that a person marks",
                fix='write one in course.toml: kind = "manual", with a rubric',
            )
        self._book = book
        self._course = course
        self._who = who or user()
        self._began = book.newest_given()
        self._known: dict[tuple[str, object], int] = {}

    def tasks(self, exercise: str | None = None, student: str | None = None, everything: bool = False) -> list[Task]:
        """The tasks that are left, or whose work has changed since: exercise by exercise, in order of the students.

        The work of a group is one task.

        Args:
            exercise: only this one, by its name or full name, or those of a topic.
            student: only this one, by name or the LMS's id.
            everything: also tasks that are marked.

        Raises:
            UserError: no such exercise or student.
        """
        names = self._course.select([exercise] if exercise else [])
        chosen = [one for one in self._course.manual if one.full_name in names]
        if not chosen:
            raise UserError(f"`{exercise}` has checks: no person marks it", fix="points by hand: grader override")
        rows = list(self._book.results())
        one_of_each_group: dict[str | int, Row] = {}
        for number, row in enumerate(rows):
            one_of_each_group.setdefault(row.group or number, row)
        wanted = one_of_each_group.values() if student is None else [Students(self._book, rows).row(student)]
        found = [
            Task(row, one)
            for one in chosen
            for row in wanted
            if any(work.name == one.full_name for work in row.result.to_mark)
        ]
        return [one for one in found if everything or one.mark is None or one.why_again]

    def latest(self, task: Task) -> Mark | None:
        """The newest mark, also one that is only begun."""
        standing = self._book.standing(self._course.name, task.row.people, self._mark(task, None, done=True))
        return next((one for one in standing.given if isinstance(one, Mark)), None)

    def given(self, task: Task) -> frozenset[int]:
        """The numbers (from 0) of the items that are given so far; of an older rubric, those with the same text."""
        latest = self.latest(task)
        texts = {item.text for item in latest.items if item.given} if latest else set()
        return frozenset(n for n, item in enumerate(task.exercise.rubric) if item.text in texts)

    def content(self, task: Task) -> bytes | None:
        """The file that was handed in for it; None if there is none."""
        return self.files(task).get(task.file)

    def files(self, task: Task) -> dict[str, bytes]:
        """The files that were handed in for it, by path: its own, or those instead of it."""
        files = self._book.files(task.row.digest_of(task.exercise.full_name))
        return {path: files[path] for path in task.manual.instead or (task.file,) if path in files}

    def save(self, task: Task, given: Collection[int] | None, *, done: bool) -> Mark:
        """Keeps which items are given; until it is done it counts nothing, and an earlier mark stays.

        Args:
            given: the numbers (from 0) of the items; None makes the task not marked again.

        Raises:
            GivenMeanwhile: another person gave points, or somebody did in the meantime; see `agree`.
        """
        mark = self._mark(task, given, done=done)
        self._keep(task, mark)
        return mark

    def agree(self, task: Task, given: Sequence[Given]) -> None:
        """Whoever marks has seen these, and replaces them."""
        for one in given:
            standing = self._book.standing(self._course.name, task.row.people, one)
            if all(other in given for other in standing.given):  # else there is a newer one that nobody has seen
                self._known[task.student, one.subject] = standing.number

    def _mark(self, task: Task, given: Collection[int] | None, *, done: bool) -> Mark:
        rubric = task.exercise.rubric if given is not None else ()
        items = tuple(MarkedItem(item.text, item.points, n in (given or ())) for n, item in enumerate(rubric))
        return Mark(
            student=task.student,
            exercise=task.exercise.full_name,
            items=items,
            points=None if given is None else total_points(item.points for item in items if item.given),
            max=task.exercise.points,
            who=self._who,
            made=now(),
            done=done,
        )

    def _keep(self, task: Task, made: Given) -> None:
        key = (task.student, made.subject)
        standing = self._book.standing(self._course.name, task.row.people, made)
        if standing.number != self._known.get(key, 0):
            is_newer = standing.number > self._began
            if others := tuple(one for one in standing.given if is_newer or one.who != self._who):
                raise GivenMeanwhile(others)
        about = looked_at(self._book, task.row, task.exercise.full_name, task.file)
        gift = Gift(made, about, task.row.people, standing.number)
        self._known[key] = self._book.give_all(self._course.name, [gift])

    def mark_one(
        self, exercise: str | None, student: str | None, items: str, comment: str | None, agreed: Agreed = nobody_agrees
    ) -> Iterator[str]:
        """Marks one exercise of one student without the screen, and returns lines that show it.

        Args:
            items: numbers of items as ``1,3``; ``all``, ``none``; ``back`` takes the mark back.

        Raises:
            UserError: no such student, exercise or item, or not exactly one of them; or another person marked it.
        """
        if student is None:
            raise UserError("--items marks one student", fix="name one: --student NAME")
        tasks = self.tasks(exercise, student, everything=True)
        if len(tasks) != 1:
            names = ", ".join(task.exercise.full_name for task in tasks) or "none"
            raise UserError(f"--items marks one exercise, not several: {names}", fix="name one: grader mark EXERCISE")
        task = tasks[0]
        given = None if items == "back" else _numbers(items, task.exercise)
        text = None if comment is None else text_of_comment(comment)
        about = looked_at(self._book, task.row, task.exercise.full_name, task.file)
        mark = self._mark(task, given, done=True)
        gifts = [Gift(mark, about, task.row.people)]
        if text is not None:
            said = comment_on(task.row, task.exercise.full_name, text, self._who)
            gifts.append(Gift(said, about, task.row.people))
        yield from give_asking(self._book, gifts, agreed)
        yield mark_line(mark)
        if task.about_work:
            yield f"{task.student}: {task.exercise.full_name}: {one_line(task.about_work, 300)}"
        yield f"{task.student}: {marks(row_of(list(self._book.results()), task.student))}"

    def comment(self, task: Task, text: str, place: FileLine = WHOLE) -> None:
        """Keeps a comment on the work, or on a line of it; an empty text takes it back.

        Raises:
            UserError: the file has no such line; there is no comment to take back.
            GivenMeanwhile: as `save`.
        """
        name, file = task.exercise.full_name, task.file
        code = code_at(task.row, name, file, self.content(task), place, text)
        self._keep(task, comment_on(task.row, name, text, self._who, place, code))


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
        fix=f"its items are 1 to {count}: write for example {'1,3' if count > 2 else '1'}, all, none or back",
    )
