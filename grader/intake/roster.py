"""A class list: which student has which id, and when each handed in. From the instructor's CSV file or an LMS's export.

Never writes the file, and never takes two students for one.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.course.due import read_due
from grader.errors import UserError
from grader.intake import worksheet
from grader.intake.dates import read_time
from grader.text import counted, folded, one_line

_GITHUB = "githubusername"
_IDENTIFIER = "identifier"
_IDS = (
    *("id", "studentid", "userid", _IDENTIFIER, "sisuserid", "sisloginid", "canvasid", "moodleid", "canvasuserid"),
    *("loginid", "username", "login", "email", "emailaddress", "idnumber", "sid", "studentnumber", "studentno"),
    *(_GITHUB, "matriculationnumber", "matrikelnummer", "matrikelnr", "matrikel", "matrnr", "matnr", "matricola"),
)
"""The columns of ids: here, and below, in lower case and without spaces and marks."""
_NAMES = ("name", "fullname", "student", "studentname")
_FIRST, _LAST = (
    ("firstname", "givenname", "givennames", "vorname", "vornamen"),
    ("lastname", "surname", "familyname", "nachname", "familienname"),
)
_TIMES = {
    "submitted": "roster",
    "submittedat": "roster",
    "submissiontime": "roster",
    "createdat": "Gradescope time",
    "lastmodifiedsubmission": "Moodle worksheet",
}
"""Columns with the time of handing in, and the name of that time."""
_EXTENSIONS = ("extension", "extendedto", "extendeduntil")
_GROUPS = ("group", "groupname", "team", "gruppe")
_HEADER_ROWS = 10
"""How many lines may stand above the one that names the columns, that one too."""
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
                    raise UserError(
                        f"{file}: `{key}` is the id of {other.name} and of {student.name}", fix="leave one line of them"
                    )
        self._by_github = {student.github: student for student in self.students if student.github}
        self._groups: dict[tuple[str, ...], Student] = {}
        for student in self.students:
            if student.group:
                self._groups.setdefault(name_key(student.group), student)
        self._by_name: dict[tuple[str, ...], list[Student]] = {}
        self._by_joined: dict[tuple[str, ...], list[Student]] = {}
        for student in self.students:
            self._by_name.setdefault(name_key(student.name), []).append(student)
            words = re.findall(r"[^\W_]+", folded(student.name))
            for joined in {"".join(words[at:] + words[:at]) for at in range(len(words)) if words[1:]}:
                self._by_joined.setdefault((joined,), []).append(student)

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
        first = None
        for delimiter in sorted(",;\t", key=text.count, reverse=True):
            try:
                rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
            except csv.Error as problem:
                raise UserError(f"{file} is not a CSV file: {problem}") from None
            for start in range(min(_HEADER_ROWS, len(rows))):
                columns = _Columns(rows[start:])
                if columns.ids and columns.names:
                    return cls(filter(None, map(columns.student, rows[start + 1 :])), file, columns.notes(file.name))
                first = first or (columns if columns.ids or columns.names else None)
        raise UserError(
            f"{file} has no column for {'names' if first and first.ids else 'ids'}",
            fix="one line must name the columns, for example: id,name",
        )

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
        """The students of that name, whatever its accents, its case, the order of its words and, as Canvas writes it in
        the names of files, the spaces between them."""
        return self._by_name.get(name_key(name)) or self._by_joined.get(name_key(name), [])


class _Columns:
    """Finds the columns of a class list, and makes students of its lines."""

    def __init__(self, rows: Sequence[Sequence[str]]) -> None:
        known: dict[str, int] = {}
        for name, place in worksheet.columns_of(rows).items():
            known.setdefault(re.sub(r"[\W_]", "", name), place)
        self.ids = [known[name] for name in _IDS if name in known]
        first, last, whole = ([known[name] for name in names if name in known][:1] for names in (_FIRST, _LAST, _NAMES))
        is_last_name = "vorname" in known and not last  # as in `Name;Vorname`
        self.names = first + whole if is_last_name else whole or first + last
        self._times = [(known[name], by) for name, by in _TIMES.items() if name in known][:1]
        self._extensions = [known[name] for name in _EXTENSIONS if name in known][:1]
        self._group = next((known[name] for name in _GROUPS if name in known), None)
        self._github = known.get(_GITHUB)
        self._identifier = known.get(_IDENTIFIER) if self._github is None else None
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
        name = name or next(iter(ids.values()))
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
    return tuple(sorted(re.findall(r"[^\W_]+", folded(name))))


def _text(content: bytes) -> str:
    """The text of a file in UTF-8 or UTF-16, else in the encoding that Excel uses on Windows."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-32" if content.startswith(codecs.BOM_UTF32_LE) else "utf-16")
    if b"\0" in content[:2]:
        return content.decode("utf-16-le" if content[1:2] == b"\0" else "utf-16-be")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252")


def _key(text: str) -> str:
    return text.strip().removeprefix("Participant ").removeprefix("Participant_").lower()
