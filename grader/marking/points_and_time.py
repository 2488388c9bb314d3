"""Points and time that a person gives: `grader override` and `grader extend`. Writes to the gradebook."""

import contextlib
import datetime
import getpass
from collections.abc import Iterator
from pathlib import Path

from grader.course.due import read_due
from grader.errors import UserError, did_you_mean
from grader.gradebook import Extension, Gradebook, Override, Row, row_of
from grader.reports.status import extension_line, marks, override_line
from grader.text import points


def give_points(out: Path, student: str, exercise: str, text: str, why: str, who: str | None) -> Iterator[str]:
    """Records points that a person gives for an exercise, and returns lines that show them.

    Raises:
        UserError: no such student or exercise, points that it cannot have, or no reason.
    """
    with Gradebook.open_existing(out) as book:
        rows = list(book.results())
        row = row_of(rows, student)
        most: dict[str, float] = {}
        for other in (row, *rows):
            for one in other.result.exercises:
                by_rubric = one.manual.points if one.manual else 0.0
                most[one.name] = max(one.max, one.not_assessed, by_rubric, most.get(one.name, 0.0))
        name = exercise_called(list(most), exercise)
        given = Override(
            student=row.result.submission,
            exercise=name,
            points=_points(text, most[name], name),
            max=most[name],
            why=_reason(why),
            who=who or user(),
            made=now(),
            automatic=next((one.score for one in row.result.exercises if one.name == name), 0.0),
        )
        book.override(course_of(book), given, row.digest, row.arrival.student)
        after = next(again for again in book.results() if again.result.submission == row.result.submission)
    yield override_line(given, row)
    yield f"{row.result.submission}: {marks(after)} (automatic: {points(row.result.score, row.result.max)})"
    if given.points is not None and given.points >= given.max and (waiting := _waiting_for(name, row)):
        yield f"{', '.join(waiting)} had to wait for it: run the same `grader grade` again to have that graded"


def _waiting_for(name: str, row: Row) -> list[str]:
    """The exercises that were not graded because that one had not passed."""
    waits = {
        exercise.name
        for exercise in row.result.exercises
        for check in exercise.checks
        if check.cause and check.cause.kind == "blocked" and name in check.cause.names
    }
    return sorted(waits)


def give_time(out: Path, student: str, text: str, why: str, who: str | None) -> Iterator[str]:
    """Records a later due date of one student, and returns lines that show it.

    Raises:
        UserError: no gradebook, a date that is not valid, or no reason.
    """
    due = _until(text)
    with Gradebook.open_existing(out) as book:
        rows = list(book.results())
        found = [row for row in rows if student in (row.result.submission, row.arrival.student)]
        row = row_of(rows, student) if found else None
        given = Extension(
            student=student if row is None else row.result.submission,
            due=due,
            why=_reason(why),
            who=who or user(),
            made=now(),
        )
        before = {one.student: one for one in book.extensions(course_of(book))}.get(given.student)
        book.extend(course_of(book), given, "" if row is None else row.arrival.student)
        after = next((again for again in book.results() if row and again.digest == row.digest), None)
    yield extension_line(given)
    if before is not None:
        yield f"before: {extension_line(before)}"
    if row is None:
        known = did_you_mean(student, [one.result.submission for one in rows])
        yield f"no submission of `{student}` is graded yet{known}: this counts once there is one"
    elif after is not None:
        late = str(after.late) if after.late else "not late, as far as is known"
        yield f"{given.student}: {late}; {marks(after)}"


def _until(text: str) -> str:
    if text == "none":
        return ""
    try:
        return read_due(text).isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        raise UserError(f"{text!r} is not a date", fix="write 2026-11-07, 2026-11-07T12:00 or none") from None


def course_of(book: Gradebook) -> str:
    """The course of the last run.

    Raises:
        UserError: there is no run.
    """
    runs = [run for run in book.runs() if not run.trial]
    if not runs:
        raise UserError(f"no run in {book.path} yet", fix="grade something: grader grade PATH")
    return runs[-1].course


def now() -> str:
    """The time, in ISO form with its offset."""
    return datetime.datetime.now().astimezone().isoformat(timespec="seconds")


def exercise_called(known: list[str], name: str) -> str:
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


def user() -> str:
    """Who is at the keyboard, as the system says."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "unknown"
