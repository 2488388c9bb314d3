"""Points, time, marks by a rubric and comments that people give: `override`, `extend`, `mark`, `comment`.

Writes to the gradebook; every change is on disk when a function returns. Decides no points: a person gave them, or the
items of a rubric.
"""

from __future__ import annotations

import contextlib
import datetime
import getpass
import zlib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from grader.course import Course, Exercise, RubricItem
from grader.course.due import read_due
from grader.errors import UserError, did_you_mean
from grader.gradebook import (
    Comment,
    Excuse,
    Extension,
    Gradebook,
    LookedAt,
    Mark,
    MarkedItem,
    Override,
    Row,
    row_of,
    work_hash,
)
from grader.intake.roster import Roster
from grader.reports.feedback import CHANGED
from grader.reports.status import comment_line, excuse_line, extension_line, mark_line, marks, override_line
from grader.results import Manual, total_points
from grader.text import one_line, points, printable

MOST_COMMENT: Final = 4_000
"""Characters of a comment."""


# ---------------------------------------------------------------- points and time


def give_points(out: Path, student: str, exercise: str, text: str, why: str, who: str | None) -> Iterator[str]:
    """Records points that a person gives for an exercise, and returns lines that show them.

    Raises:
        UserError: no such student or exercise, points that it cannot have, or no reason.
    """
    with Gradebook.open_existing(out) as book:
        rows = list(book.results())
        row = row_of(rows, student)
        most: dict[str, float] = {}
        for one in (one for other in (row, *rows) for one in other.result.exercises):
            by_rubric = one.manual.points if one.manual else 0.0
            most[one.name] = max(one.max, one.not_assessed, by_rubric, most.get(one.name, 0.0))
        name = _exercise_called(list(most), exercise)
        given = Override(
            student=row.result.submission,
            exercise=name,
            points=_points(text, most[name], name),
            max=most[name],
            why=_reason(why),
            who=who or _user(),
            made=_now(),
            automatic=next((one.score for one in row.result.exercises if one.name == name), 0.0),
        )
        book.give(_course_of(book), given, LookedAt(row.arrival.student, row.digest))
        after = next(again for again in book.results() if again.result.submission == given.student)
    yield override_line(given, row)
    yield f"{given.student}: {marks(after)} (automatic: {points(row.result.score, row.result.max)})"
    checks = [(one.name, check.cause) for one in row.result.exercises for check in one.checks]
    waiting = {one for one, cause in checks if cause and cause.kind == "blocked" and name in cause.names}
    if waiting and given.points is not None and given.points >= given.max:
        yield f"{', '.join(sorted(waiting))} had to wait for it: run the same `grader grade` again to have that graded"


def give_time(
    out: Path, student: str, text: str, why: str, who: str | None, assignment: str | None = None
) -> Iterator[str]:
    """Records a later due date of one student in an assignment (None: the only one), and returns lines that show it.

    Raises:
        UserError: no gradebook or assignment, a date that is not valid, or no reason.
    """
    try:
        due = "" if text == "none" else read_due(text).isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        raise UserError(f"{text!r} is not a date", fix="write 2026-11-07, 2026-11-07T12:00 or none") from None
    with Gradebook.open_existing(out) as book:
        book.choose(assignment)
        rows = list(book.results())
        is_known = any(student in (row.result.submission, row.arrival.student) for row in rows)
        row = row_of(rows, student) if is_known else None
        name = student if row is None else row.result.submission
        given = Extension(student=name, due=due, why=_reason(why), who=who or _user(), made=_now())
        before = {one.student: one for one in book.extensions(_course_of(book))}.get(name)
        book.give(_course_of(book), given, LookedAt("" if row is None else row.arrival.student))
        after = next((again for again in book.results() if row and again.digest == row.digest), None)
    yield extension_line(given)
    if before is not None:
        yield f"before: {extension_line(before)}"
    if row is None:
        known = did_you_mean(student, [one.result.submission for one in rows])
        yield f"no submission of `{student}` is graded yet{known}: this counts once there is one"
    elif after is not None:
        late = str(after.late) if after.late else "not late, as far as is known"
        yield f"{name}: {late}; {marks(after)}"


def give_excuse(
    out: Path, student: str, why: str, who: str | None, assignment: str | None, *, back: bool
) -> Iterator[str]:
    """Records that an assignment (None: the only one) does not count for a student, or takes that back.

    Returns:
        lines that show it.

    Raises:
        UserError: no gradebook, assignment, student or reason.
    """
    with Gradebook.open_existing(out) as book:
        book.choose(assignment)
        rows = list(book.results())
        listed = Roster(book.newest_class_list(_course_of(book)), book.path).meant([student], student)
        row = row_of(rows, student) if not listed or any(one.result.submission == student for one in rows) else None
        if row is None and len(listed) != 1:
            raise UserError(f"several students are called `{one_line(student)}`", fix="name the id")
        name = listed[0].name if row is None else row.result.submission
        person = listed[0].ids[0] if row is None else row.arrival.student
        given = Excuse(student=name, excused=not back, why=_reason(why), who=who or _user(), made=_now())
        book.give(_course_of(book), given, LookedAt(person))
    yield excuse_line(given)


def _points(text: str, most: float, exercise: str) -> float | None:
    if text == "auto":
        return None
    with contextlib.suppress(ValueError):
        value = float(text)
        if 0 <= value <= most:
            return value
    raise UserError(f"{exercise} cannot have {text!r} points", fix=f"give a number from 0 to {most:g}, or `auto`")


def _reason(why: str) -> str:
    if not why.strip():
        raise UserError("no reason", fix='say why: --why "…"')
    return why.strip()


# ---------------------------------------------------------------- marks by a rubric


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

    Args:
        who: who marks; None means the user of this machine.
    """

    def __init__(self, book: Gradebook, course: Course, who: str | None = None) -> None:
        """Looks whether there is something to mark.

        Raises:
            UserError: there is no run, it is of another course, or that course has nothing that a person marks.
        """
        graded = _course_of(book)
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
        self._who = who or _user()

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
        wanted = one_of_each_group.values() if student is None else [row_of(rows, student)]
        found = [
            Task(row, one)
            for one in chosen
            for row in wanted
            if any(work.name == one.full_name for work in row.result.to_mark)
        ]
        return [one for one in found if everything or one.mark is None or one.why_again]

    def latest(self, task: Task) -> Mark | None:
        """The newest mark, also one that is only begun."""
        row, name = task.row, task.exercise.full_name
        return self._book.latest_mark(self._course.name, task.student, row.arrival.student, name)

    def given(self, task: Task) -> frozenset[int]:
        """The numbers (from 0) of the items that are given so far; of an older rubric, those with the same text."""
        latest = self.latest(task)
        texts = {item.text for item in latest.items if item.given} if latest and latest.points is not None else set()
        return frozenset(n for n, item in enumerate(task.exercise.rubric) if item.text in texts)

    def content(self, task: Task) -> bytes | None:
        """The file that was handed in for it; None if there is none."""
        return self.files(task).get(task.file)

    def files(self, task: Task) -> dict[str, bytes]:
        """The files that were handed in for it, by path: its own, or those instead of it."""
        files = self._book.files(task.row.digest)
        return {path: files[path] for path in task.manual.instead or (task.file,) if path in files}

    def save(self, task: Task, given: Collection[int] | None, *, done: bool) -> Mark:
        """Keeps which items are given; until it is done it counts nothing, and an earlier mark stays.

        Args:
            given: the numbers (from 0) of the items; None makes the task not marked again.
        """
        exercise = task.exercise
        rubric = exercise.rubric if given is not None else ()
        items = tuple(MarkedItem(item.text, item.points, n in (given or ())) for n, item in enumerate(rubric))
        mark = Mark(
            student=task.student,
            exercise=exercise.full_name,
            items=items,
            points=None if given is None else total_points(item.points for item in items if item.given),
            max=exercise.points,
            who=self._who,
            made=_now(),
            done=done,
        )
        self._book.give(self._course.name, mark, _looked_at(self._book, task.row, task.file))
        return mark

    def mark_one(self, exercise: str | None, student: str | None, items: str, comment: str | None) -> Iterator[str]:
        """Marks one exercise of one student without asking, and returns lines that show it.

        Args:
            items: numbers of items as ``1,3``; ``all``, ``none``; ``back`` takes the mark back.

        Raises:
            UserError: no such student, exercise or item, or not exactly one of them.
        """
        if student is None:
            raise UserError("--items marks one student", fix="name one: --student NAME")
        tasks = self.tasks(exercise, student, everything=True)
        if len(tasks) != 1:
            names = ", ".join(task.exercise.full_name for task in tasks) or "none"
            raise UserError(f"--items marks one exercise, not several: {names}", fix="name one: grader mark EXERCISE")
        task = tasks[0]
        given = None if items == "back" else _numbers(items, task.exercise)
        if comment is not None:
            self.comment(task, text_of_comment(comment))
        yield mark_line(self.save(task, given, done=True))
        if task.about_work:
            yield f"{task.student}: {task.exercise.full_name}: {one_line(task.about_work, 300)}"
        yield f"{task.student}: {marks(row_of(list(self._book.results()), task.student))}"

    def comment(self, task: Task, text: str) -> None:
        """Keeps a comment; an empty text takes it back."""
        _keep_comment(self._book, task.row, task.exercise.full_name, task.file, text, self._who)


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


# ---------------------------------------------------------------- comments


def give_comment(out: Path, student: str, exercise: str, text: str, who: str | None) -> Iterator[str]:
    """Keeps a comment on an exercise, which changes no points, and returns lines that show it.

    Raises:
        UserError: no such student or exercise, or no text.
    """
    kept = text_of_comment(text)
    with Gradebook.open_existing(out) as book:
        row = row_of(list(book.results()), student)
        name = _exercise_called([one.name for one in row.result.exercises], exercise)
        result = next(one for one in row.result.exercises if one.name == name)
        file = result.manual.work if result.manual else f"{name.partition('.')[0]}.py"
        made = _keep_comment(book, row, name, file, kept, who or _user())
    yield comment_line(made)


def text_of_comment(text: str) -> str:
    """The text as it is kept: without escapes and control characters; empty, which takes it back, for ``none``.

    Raises:
        UserError: it is empty or too long.
    """
    text = printable(text.replace("\r\n", "\n").expandtabs(4)).strip()
    if text == "none":
        return ""
    if not text:
        raise UserError("the comment has no text", fix="say something, or take it back: none")
    if len(text) > MOST_COMMENT:
        raise UserError(f"a comment has at most {MOST_COMMENT:,} characters, not {len(text):,}")
    return text


def _keep_comment(book: Gradebook, row: Row, exercise: str, file: str, text: str, who: str) -> Comment:
    made = Comment(student=row.result.submission, exercise=exercise, text=text, who=who, made=_now())
    book.give(_course_of(book), made, _looked_at(book, row, file))
    return made


# ---------------------------------------------------------------- all of them


def _looked_at(book: Gradebook, row: Row, file: str) -> LookedAt:
    return LookedAt(row.arrival.student, row.digest, file, work_hash(book.files(row.digest), file))


def _course_of(book: Gradebook) -> str:
    """The course of the last run.

    Raises:
        UserError: there is no run.
    """
    if not book.course:
        raise UserError(f"no run in {book.path} yet", fix="grade something: grader grade PATH")
    return book.course


def _exercise_called(known: list[str], name: str) -> str:
    """The full name of the exercise that is meant.

    Raises:
        UserError: there is none, or several.
    """
    found = [full for full in known if name in (full, full.partition(".")[2])]
    if len(found) == 1:
        return found[0]
    if found:
        raise UserError(f"`{name}` could be {' or '.join(found)}", fix=f"name it in full: {found[0]}")
    raise UserError(f"no exercise `{name}` in the gradebook" + did_you_mean(name, known))


def _user() -> str:
    """Who is at the keyboard, as the system says."""
    with contextlib.suppress(KeyError, OSError, ImportError):
        return getpass.getuser()
    return "unknown"


def _now() -> str:
    """The time, in ISO form with its offset."""
    return datetime.datetime.now().astimezone().isoformat(timespec="seconds")
