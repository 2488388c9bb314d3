"""Points, time and comments that people give: `override`, `extend`, `comment`.

Writes to the gradebook; every change is on disk when a function returns. Decides no points: a person gave them.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from grader.course import Course
from grader.course.due import read_due
from grader.errors import UserError, did_you_mean
from grader.gradebook import Comment, Excuse, Extension, Gift, LookedAt, Override, Row
from grader.gradebook.records import Whose
from grader.marking.keeping import (
    Agreed,
    course_of,
    exercise_called,
    give_asking,
    looked_at,
    nobody_agrees,
    now,
    open_book,
    user,
)
from grader.marking.lines import WHOLE, FileLine
from grader.marking.whom import Students, name_and_id
from grader.reports.feedback import work_file
from grader.reports.status import comment_line, excuse_line, extension_line, given_line, marks, override_line
from grader.text import one_line, points, printable

MOST_COMMENT: Final = 4_000
"""Characters of a comment."""

# ---------------------------------------------------------------- points and time


def give_points(
    out: Path,
    student: str,
    exercise: str,
    text: str,
    why: str,
    who: str | None,
    agreed: Agreed = nobody_agrees,
    course: Course | None = None,
) -> Iterator[str]:
    """Records points that a person gives for an exercise, and returns lines that show them.

    Raises:
        UserError: no such student or exercise, points that it cannot have, no reason, or another person gave points.
    """
    with open_book(out, course) as book:
        book.choose_of(exercise)
        rows = list(book.results())
        row = Students(book, rows).row(student)
        most = worth_of_exercises(rows)
        name = exercise_called(list(most), exercise)
        given = override_of(row, name, read_points(text, most[name], name), most[name], _reason(why), who)
        yield from give_asking(book, [Gift(given, looked_at(book, row, name), row.people)], agreed)
        after = next(again for again in book.results() if again.result.submission == given.student)
    yield override_line(given, row)
    yield f"{given.student}: {marks(after)} (automatic: {points(row.result.score, row.result.max)})"
    checks = [(one.name, check.cause) for one in row.result.exercises for check in one.checks]
    waiting = {one for one, cause in checks if cause and cause.kind == "blocked" and name in cause.names}
    if waiting and given.points is not None and given.points >= given.max:
        yield f"{', '.join(sorted(waiting))} had to wait for it: run the same `grader grade` again to have that graded"


def override_of(row: Row, exercise: str, worth: float | None, most: float, why: str, who: str | None) -> Override:
    """Points that a person gives now; None for `worth` takes back those before."""
    return Override(
        student=row.result.submission,
        exercise=exercise,
        points=worth,
        max=most,
        why=why,
        who=who or user(),
        made=now(),
        automatic=next((one.score for one in row.result.exercises if one.name == exercise), 0.0),
    )


def worth_of_exercises(rows: Sequence[Row]) -> dict[str, float]:
    """The most points of each exercise that anybody of the class was graded on."""
    most: dict[str, float] = {}
    for one in (one for row in rows for one in row.result.exercises):
        by_rubric = one.manual.points if one.manual else 0.0
        most[one.name] = max(one.max, one.not_assessed, by_rubric, most.get(one.name, 0.0))
    return most


def give_time(
    out: Path,
    student: str,
    text: str,
    why: str,
    who: str | None,
    assignment: str | None = None,
    course: Course | None = None,
) -> Iterator[str]:
    """Records a later due date of one student in an assignment (None: the only one), and returns lines that show it.

    Raises:
        UserError: no gradebook or assignment, a date that is not valid, no reason, or a name that two students have.
    """
    try:
        due = "" if text == "none" else read_due(text).isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        raise UserError(f"{text!r} is not a date", fix="write 2026-11-07, 2026-11-07T12:00 or none") from None
    with open_book(out, course) as book:
        book.choose(assignment)
        rows = list(book.results())
        found = Students(book, rows).find(student)
        row = found if isinstance(found, Row) else None
        if found is None and book.class_list(course_of(book)):
            known = did_you_mean(student, [one.result.submission for one in rows])
            raise UserError(f"nobody is called `{one_line(student)}`{known}", fix="see: grader status")
        name, person = name_and_id(found) if found else (student, "")
        given = Extension(student=name, due=due, why=_reason(why), who=who or user(), made=now())
        people = row.people if row else (Whose(name, person),)
        before = book.standing(course_of(book), people, given).given
        book.give(course_of(book), given, LookedAt(person))
        after = next((again for again in book.results() if row and again.label == row.label), None)
    yield extension_line(given)
    yield from (f"before: {given_line(one)}" for one in before)
    if row is None:
        known = "" if found else did_you_mean(student, [one.result.submission for one in rows])
        yield f"no submission of `{name}` is graded yet{known}: this counts once there is one"
    elif after is not None:
        late = after.late_words or "not late, as far as is known"
        yield f"{name}: {late}; {marks(after)}"


def give_excuse(
    out: Path,
    student: str,
    why: str,
    who: str | None,
    assignment: str | None,
    *,
    back: bool,
    course: Course | None = None,
) -> Iterator[str]:
    """Records that an assignment (None: the only one) does not count for a student, or takes that back.

    Returns:
        lines that show it.

    Raises:
        UserError: no gradebook, assignment, student or reason.
    """
    with open_book(out, course) as book:
        book.choose(assignment)
        found = Students(book, list(book.results())).find(student)
        if found is None:
            raise UserError(f"nobody is called `{one_line(student)}` there", fix="see: grader status")
        is_row = isinstance(found, Row)
        name, person = name_and_id(found)
        given = Excuse(student=name, excused=not back, why=_reason(why), who=who or user(), made=now())
        book.give(course_of(book), given, LookedAt(person))
    yield excuse_line(given)
    if is_row and not back:
        yield "there is work, which does not count any more"


def read_points(text: str, most: float, exercise: str) -> float | None:
    """Points that are written as a number, with a point or a comma; None for ``auto``.

    Raises:
        UserError: it is no number, or the exercise cannot have so many.
    """
    if text == "auto":
        return None
    if re.fullmatch(r"\d{1,9}([.,]\d{1,9})?", text, re.ASCII) and (value := float(text.replace(",", "."))) <= most:
        return value
    raise UserError(f"{exercise} cannot have {text!r} points", fix=f"give a number from 0 to {most:g}, or `auto`")


def _reason(why: str) -> str:
    if not why.strip():
        raise UserError("no reason", fix='say why: --why "…"')
    return why.strip()


# ---------------------------------------------------------------- comments


def give_comment(
    out: Path,
    student: str,
    exercise: str,
    text: str,
    who: str | None,
    line: str | None = None,
    agreed: Agreed = nobody_agrees,
    course: Course | None = None,
) -> Iterator[str]:
    """Keeps a comment on an exercise, which changes no points, and returns lines that show it.

    Args:
        line: of the student's file, as `FileLine.read` reads it; None means the whole exercise.

    Raises:
        UserError: no such student, exercise or line, no text, or another person's comment is there.
    """
    kept = text_of_comment(text)
    place = WHOLE if line is None else FileLine.read(line)
    with open_book(out, course) as book:
        book.choose_of(exercise)
        row = Students(book, list(book.results())).row(student)
        name = exercise_called([one.name for one in row.result.exercises], exercise)
        file = next(work_file(one) for one in row.result.exercises if one.name == name)
        about = looked_at(book, row, name, file)
        code = code_at(row, name, file, book.files(about.digest).get(file), place, kept)
        made = comment_on(row, name, kept, who, place, code)
        yield from give_asking(book, [Gift(made, about, row.people)], agreed)
    yield comment_line(made)


def comment_on(row: Row, exercise: str, text: str, who: str | None, place: FileLine = WHOLE, code: str = "") -> Comment:
    """Words that a person says now; an empty text takes back those before."""
    return Comment(
        student=row.result.submission,
        exercise=exercise,
        text=text,
        line=place.line,
        cell=place.cell,
        code=code,
        who=who or user(),
        made=now(),
    )


def code_at(row: Row, exercise: str, file: str, content: bytes | None, place: FileLine, text: str) -> str:
    """The line of a student's file that a comment is about; empty if it is about the whole exercise.

    Raises:
        UserError: there is no such line, or no comment to take back.
    """
    if not place.line:
        return ""
    if text:
        return place.code(file, content)
    there = [one for one in row.comments if one.exercise == exercise and one.line]
    if not any(place == (one.line, one.cell) for one in there):
        known = ", ".join(one.place for one in there) or "no line"
        raise UserError(f"{exercise} has no comment there", fix=f"it has comments at {known}")
    return ""


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
