"""A class list: which student has which id, and when each handed in. From the instructor's CSV file or an LMS's export.

Never writes the file, and never takes two students for one.
"""

from __future__ import annotations

import csv
import datetime
import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from grader.course.due import moment
from grader.errors import UserError

_IDS = (
    *("id", "student id", "user id", "userid", "identifier", "sis user id", "sis login id", "canvas id", "moodle id"),
    *("username", "user name", "login", "email", "email address", "id number"),
)
_NAMES = ("name", "full name", "student", "student name")
_FIRST, _LAST = ("first name", "given name", "firstname"), ("last name", "surname", "family name", "lastname")
_TIMES = ("submitted", "submitted at", "submission time", "last modified (submission)")
_FORMATS = ("%A, %d %B %Y, %I:%M %p", "%A, %d %B %Y, %H:%M", "%A, %d %B %Y, %I:%M:%S %p", "%d/%m/%Y %H:%M")


@dataclass(frozen=True)
class Student:
    """One line of the class list; ``submitted`` is an ISO time, or empty."""

    name: str
    ids: tuple[str, ...]
    submitted: str = ""


class Roster:
    """The class list of one file."""

    def __init__(self, students: Iterable[Student], file: Path) -> None:
        self.students = list(students)
        self._by_id: dict[str, Student] = {}
        for student in self.students:
            for key in student.ids:
                other = self._by_id.setdefault(key, student)
                if other is not student:
                    raise UserError(f"{file}: `{key}` is the id of {other.name} and of {student.name}")

    @classmethod
    def read(cls, file: Path) -> Roster:
        """Reads a CSV with a header; a Canvas gradebook export and a Moodle grading worksheet will do.

        Raises:
            UserError: it cannot be read, has no column for ids or names, or gives an id to two students.
        """
        try:
            text = file.read_bytes().decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as problem:
            raise UserError(f"{file} cannot be read: {problem}", fix="save it as CSV in UTF-8") from None
        head = text.partition("\n")[0]
        delimiter = max(",;\t", key=head.count)
        try:
            rows = list(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
        except csv.Error as problem:
            raise UserError(f"{file} is not a CSV file: {problem}") from None
        columns = {(name or "").strip().lower(): name for name in (rows[0] if rows else {})}
        ids = [columns[name] for name in _IDS if name in columns]
        names = [columns[name] for name in _NAMES if name in columns][:1]
        if not names:
            names = [columns[name] for group in (_FIRST, _LAST) for name in group if name in columns][:2]
        if not ids or not names:
            raise UserError(
                f"{file} has no column for {'names' if ids else 'ids'}",
                fix="its first line must name the columns, for example: id,name",
            )
        times = [columns[name] for name in _TIMES if name in columns][:1]
        return cls([student for row in rows if (student := _student(row, ids, names, times, file))], file)

    def find(self, key: str) -> Student | None:
        """The student with that id."""
        return self._by_id.get(_key(key)) if key else None


def _student(row: dict[str, str], ids: list[str], names: list[str], times: list[str], file: Path) -> Student | None:
    def cell(column: str) -> str:
        return str(row.get(column) or "").strip()

    name = " ".join(filter(None, map(cell, names)))
    keys = tuple(dict.fromkeys(_key(cell(column)) for column in ids if cell(column)))
    if not keys or name == "Points Possible":
        return None
    time = next((cell(column) for column in times if cell(column) not in ("", "-")), "")
    return Student(name or keys[0], keys, _time(time, name, file) if time else "")


def _key(text: str) -> str:
    return text.strip().removeprefix("Participant ").removeprefix("Participant_").lower()


def _time(text: str, name: str, file: Path) -> str:
    for form in ("", *_FORMATS):
        try:
            when = datetime.datetime.strptime(text, form).astimezone() if form else moment(text)
            return when.isoformat(timespec="seconds")
        except ValueError:
            continue
    raise UserError(
        f"{file}: the time of {name}'s submission cannot be read: {text!r}", fix="write it as 2026-10-31T23:59"
    )
