"""A class list: which student has which id, and when each handed in. From the instructor's CSV file or an LMS's export.

Never writes the file, and never takes two students for one.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.course.due import read_due
from grader.errors import UserError
from grader.intake import worksheet
from grader.intake.dates import read_time
from grader.text import counted, one_line

_GITHUB = "github_username"
_IDS = (
    *("id", "student id", "user id", "userid", "identifier", "sis user id", "sis login id", "canvas id", "moodle id"),
    *(
        "canvas_user_id",
        "user_id",
        "login_id",
        "sis_user_id",
        "username",
        "user name",
        "login",
        "email",
        "email address",
        "id number",
        "sid",
        "student number",
    ),
    *(_GITHUB, "matriculation number", "matrikelnummer", "matrikelnr", "matrikel-nr."),
)
_NAMES = ("name", "full name", "student", "student name")
_FIRST, _LAST = (
    ("first name", "given name", "firstname", "vorname"),
    ("last name", "surname", "family name", "lastname", "nachname"),
)
_ENCODINGS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_TIMES = {
    "submitted": "roster",
    "submitted at": "roster",
    "submission time": "roster",
    "created_at": "Gradescope time",
    worksheet.SUBMITTED: "Moodle worksheet",
}
"""Columns with the time of handing in, and the name of that time."""
_EXTENSIONS = ("extension", "extended to", "extended until")
_GROUPS = ("group", "group name", "group_name", "team", "gruppe")
_NO_TIME = ("", "-", "\u2013")
_NO_GROUP = (*_NO_TIME, "none", "default group")
"""Moodle's default group is everybody who is in no group."""


@dataclass(frozen=True)
class Student:
    """One line of the class list.

    Attributes:
        submitted: an ISO time, or empty.
        by: the source of that time.
        extension: the ISO time until which the student may hand in, or empty.
        github: their name at GitHub in lower case, or empty.
        group: the group that hands in together, or empty.
    """

    name: str
    ids: tuple[str, ...]
    submitted: str = ""
    by: str = ""
    extension: str = ""
    github: str = ""
    group: str = ""


class Roster:
    """The class list of one file.

    Attributes:
        notes: lines on the cells that could not be read.
    """

    def __init__(self, students: Iterable[Student], file: Path, notes: Iterable[str] = ()) -> None:
        self.students = list(dict.fromkeys(students))
        self.notes = list(notes)
        self._by_id: dict[str, Student] = {}
        for student in self.students:
            for key in student.ids:
                other = self._by_id.setdefault(key, student)
                if other is not student:
                    raise UserError(f"{file}: `{key}` is the id of {other.name} and of {student.name}")
        self._by_github = {student.github: student for student in self.students if student.github}
        self._groups: dict[tuple[str, ...], Student] = {}
        for student in self.students:
            if student.group:
                self._groups.setdefault(name_key(student.group), student)
        self._by_name: dict[tuple[str, ...], list[Student]] = {}
        for student in self.students:
            self._by_name.setdefault(name_key(student.name), []).append(student)

    @classmethod
    def read(cls, file: Path) -> Roster:
        """Reads a CSV with a header; a Canvas gradebook export and a Moodle grading worksheet will do.

        Raises:
            UserError: it cannot be read, has no column for ids or names, or gives an id to two students.
        """
        try:
            text = _text(file.read_bytes())
        except (OSError, UnicodeDecodeError) as problem:
            raise UserError(f"{file} cannot be read: {problem}", fix="save it as CSV in UTF-8") from None
        head = text.partition("\n")[0]
        delimiter = max(",;\t", key=head.count)
        try:
            rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
        except csv.Error as problem:
            raise UserError(f"{file} is not a CSV file: {problem}") from None
        columns = _Columns(rows)
        if not columns.ids or not columns.names:
            raise UserError(
                f"{file} has no column for {'names' if columns.ids else 'ids'}",
                fix="its first line must name the columns, for example: id,name",
            )
        students = [student for row in rows[1:] if (student := columns.student(row))]
        return cls(students, file, columns.notes(file.name))

    def find(self, key: str) -> Student | None:
        """The student with that id."""
        return self._by_id.get(_key(key)) if key else None

    def of_repository(self, name: str) -> Student | None:
        """The student whose GitHub name stands at the end of a repository's, behind the assignment's."""
        parts = name.split("-")
        ends = ("-".join(parts[at:]).lower() for at in range(1, len(parts)))
        return next((self._by_github[end] for end in ends if end in self._by_github), None)

    def of_group(self, name: str) -> Student | None:
        """The first student of the group of that name."""
        return self._groups.get(name_key(name))

    def named(self, name: str) -> list[Student]:
        """The students of that name, whatever its accents, its case and the order of its words."""
        return self._by_name.get(name_key(name), [])


class _Columns:
    """Finds the columns of a class list, and makes students of its lines."""

    def __init__(self, rows: Sequence[Sequence[str]]) -> None:
        known = worksheet.columns_of(rows)
        self.ids = [known[name] for name in _IDS if name in known]
        self.names = [known[name] for name in _NAMES if name in known][:1]
        if not self.names:
            self.names = [known[name] for group in (_FIRST, _LAST) for name in group if name in known][:2]
        self._times = [(known[name], by) for name, by in _TIMES.items() if name in known][:1]
        self._extensions = [known[name] for name in _EXTENSIONS if name in known][:1]
        self._group = next((known[name] for name in _GROUPS if name in known), None)
        self._github = known.get(_GITHUB)
        self._identifier = known.get(worksheet.IDENTIFIER) if self._github is None else None
        self._unread: list[str] = []
        self._unread_extensions: list[str] = []

    def student(self, row: Sequence[str]) -> Student | None:
        """The student of a line; None if it is nobody's."""

        def cell(column: int) -> str:
            return row[column].strip() if column < len(row) else ""

        name = " ".join(filter(None, map(cell, self.names)))
        ids = {column: cell(column) for column in self.ids if cell(column)}
        if self._identifier in ids:
            ids[self._identifier] = worksheet.participant(ids[self._identifier]) or ids[self._identifier]
        keys = tuple(dict.fromkeys(map(_key, ids.values())))
        if not keys or name == "Points Possible":
            return None
        name = name or keys[0]
        written = next(((cell(column), by) for column, by in self._times if cell(column) not in _NO_TIME), ("", ""))
        until = next((cell(column) for column in self._extensions if cell(column) not in _NO_TIME), "")
        submitted = read_time(written[0])
        if written[0] and not submitted:
            self._unread.append(f"{name}: {written[0]}")
        by = written[1] if submitted else ""
        github = cell(self._github).lower() if self._github is not None else ""
        group = cell(self._group) if self._group is not None else ""
        group = "" if group.casefold() in _NO_GROUP else group
        return Student(name, keys, submitted, by, self._extension(until, name), github, group)

    def notes(self, file: str) -> Iterator[str]:
        """Lines on the cells that could not be read."""
        if self._unread:
            times = counted(len(self._unread), "time")
            first = one_line(self._unread[0])
            yield f"{file}: {times} of handing in cannot be read, so nothing there counts as late; the first: {first}"
        if self._unread_extensions:
            those = counted(len(self._unread_extensions), "extension")
            first = one_line(self._unread_extensions[0])
            yield f"{file}: {those} cannot be read, write them as 2026-10-31; the first: {first}"

    def _extension(self, text: str, name: str) -> str:
        if not text:
            return ""
        try:
            return read_due(text).isoformat(timespec="seconds")
        except (ValueError, OverflowError):
            read = read_time(text)
            if not read:
                self._unread_extensions.append(f"{name}: {text}")
            return read


def name_key(name: str) -> tuple[str, ...]:
    """The words of a name in alphabetical order, without accents and in lower case."""
    plain = unicodedata.normalize("NFKD", name.casefold())
    letters = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return tuple(sorted(re.findall(r"[^\W_]+", letters)))


def _text(content: bytes) -> str:
    """The text of a file in UTF-8 or UTF-16, else in the encoding that Excel uses on Windows."""
    for mark, encoding in _ENCODINGS.items():
        if content.startswith(mark):
            return content.decode(encoding)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252")


def _key(text: str) -> str:
    return text.strip().removeprefix("Participant ").removeprefix("Participant_").lower()
