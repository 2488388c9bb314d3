"""A class list: which student has which id, and when each handed in. From the instructor's CSV file or an LMS's export.

Never writes the file, and never takes two students for one.
"""

from __future__ import annotations

import csv
import functools
import io
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.course.due import read_due
from grader.errors import UserError
from grader.intake import worksheet
from grader.intake.dates import read_time
from grader.intake.names import id_key, joined_from_any_word, name_key
from grader.text import counted, one_line

_GITHUB = "githubusername"
_IDENTIFIER = "identifier"
# The columns of ids: here, and below, in lower case and without spaces and signs.
_IDS = (
    *("id", "studentid", "userid", _IDENTIFIER, "sisuserid", "sisloginid", "canvasid", "moodleid", "canvasuserid"),
    *("loginid", "username", "login", "email", "emailaddress", "idnumber", "sid", "studentnumber", "studentno"),
    *(_GITHUB, "matriculationnumber", "matrikelnummer", "matrikelnr", "matrikel", "matrnr", "matnr", "matricola"),
)
_NAMES = ("name", "fullname", "student", "studentname")
_FIRST = ("firstname", "givenname", "givennames", "vorname", "vornamen")
_LAST = ("lastname", "surname", "familyname", "nachname", "familienname")
# Columns with the time of handing in, and the name of that time.
_TIMES = {
    "submitted": "roster",
    "submittedat": "roster",
    "submissiontime": "roster",
    "createdat": "Gradescope time",
    "lastmodifiedsubmission": "Moodle worksheet",
}
_EXTENSIONS = ("extension", "extendedto", "extendeduntil")
_GROUPS = ("group", "groupname", "team", "gruppe")
# How many lines may stand above the one that names the columns, that one too.
_HEADER_ROWS = 10
_NO_TIME = ("", "-", "\u2013")
# Moodle's default group is everybody who is in no group.
_NO_GROUP = (*_NO_TIME, "none", "default group")


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
        self._by_github = {one.github: one for one in self.students if one.github}
        self._by_group = {name_key(one.group): one for one in reversed(self.students) if one.group}  # the first counts
        self._by_name: dict[tuple[str, ...], list[Student]] = {}
        for student in self.students:
            self._by_name.setdefault(name_key(student.name), []).append(student)
            for key in student.ids:
                other = self._by_id.setdefault(key.lower(), student)
                if other is not student:
                    raise UserError(
                        f"{file}: `{key}` is the id of {other.name} and of {student.name}", fix="leave one line of them"
                    )

    @functools.cached_property
    def _by_joined(self) -> dict[str, list[Student]]:
        found: dict[str, list[Student]] = {}
        for student in self.students:
            for joined in joined_from_any_word(student.name):
                found.setdefault(joined, []).append(student)
        return found

    @classmethod
    def read(cls, file: Path) -> Roster:
        """Reads a CSV with a header; a Canvas gradebook export and a Moodle grading worksheet will do.

        Raises:
            UserError: it cannot be read, has no column for ids or names, or gives an id to two students.
        """
        try:
            text = decoded(file.read_bytes())[0].lstrip("\ufeff")
        except (OSError, UnicodeDecodeError) as problem:
            raise UserError(f"{file} cannot be read: {problem}", fix="save it as CSV in UTF-8") from None
        missing = ""
        for delimiter in sorted(",;\t", key=text.count, reverse=True):
            try:
                rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
            except csv.Error as problem:
                raise UserError(f"{file} is not a CSV file: {problem}") from None
            for start in range(min(_HEADER_ROWS, len(rows))):
                table = _ClassList(rows[start:])
                if table.has_ids and table.names:
                    return cls(table.students(), file, table.notes(file.name))
                missing = missing or ("names" if table.has_ids else "ids" if table.names else "")
        raise UserError(
            f"{file} has no column for {missing or 'ids'}", fix="one line must name the columns, for example: id,name"
        )

    @classmethod
    def of_people(cls, known: Mapping[str, str]) -> Roster:
        """The people whose work is graded already: their names by id, else by name."""
        people = {(name if key == name else key.lower()): (key, name) for key, name in known.items()}
        return cls((Student(name, () if key == name else (key,)) for key, name in people.values()), Path())

    def find(self, key: str) -> Student | None:
        """The student with that id."""
        return self._by_id.get(id_key(key)) if key else None

    def of_repository(self, name: str) -> Student | None:
        """The student whose GitHub name stands at the end of a repository's, behind the assignment's."""
        parts = name.lower().split("-")
        ends = ("-".join(parts[at:]) for at in range(1, len(parts)))
        return next((self._by_github[end] for end in ends if end in self._by_github), None)

    def of_group(self, name: str) -> Student | None:
        """The first student of the group of that name."""
        return self._by_group.get(name_key(name))

    def named(self, name: str) -> list[Student]:
        """The students of that name, whatever its accents, its case, the order of its words and, as Canvas writes it in
        the names of files, the spaces between them."""
        key = name_key(name)
        return self._by_name.get(key) or (self._by_joined.get(key[0], []) if len(key) == 1 else [])

    def of_name(self, name: str) -> list[Student]:
        """The students of that name, whatever its accents, its case and the order of its words."""
        return self._by_name.get(name_key(name), [])

    def meant(self, ids: Iterable[str], name: str) -> list[Student]:
        """The students with one of these ids, else those of that name."""
        return [student for key in ids if (student := self.find(key))] or self.of_name(name)


class _ClassList:
    """The lines of a class list from the one on that names the columns."""

    def __init__(self, rows: Sequence[Sequence[str]]) -> None:
        self._rows = rows[1:]
        self._columns: dict[str, int] = {}
        for name, place in worksheet.columns_of(rows).items():
            self._columns.setdefault(re.sub(r"[\W_]", "", name), place)
        self.has_ids = not self._columns.keys().isdisjoint(_IDS)
        first, last, whole = ([one for one in names if one in self._columns][:1] for names in (_FIRST, _LAST, _NAMES))
        is_last_name = "vorname" in self._columns and not last  # as in `Name;Vorname`
        self.names = first + whole if is_last_name else whole or first + last
        self._unread_times: list[str] = []
        self._unread_extensions: list[str] = []

    def students(self) -> Iterator[Student]:
        """The students; a line that is nobody's is left out."""
        for row in self._rows:
            cells = {name: row[place].strip() for name, place in self._columns.items() if place < len(row)}
            if _GITHUB not in cells:
                identifier = cells.get(_IDENTIFIER, "")
                cells[_IDENTIFIER] = worksheet.participant(identifier) or identifier
            ids = [cells[name] for name in _IDS if cells.get(name)]
            name = " ".join(filter(None, (cells.get(one) for one in self.names)))
            if ids and name != "Points Possible":
                yield self._student(name or ids[0], tuple(dict.fromkeys(map(id_key, ids))), cells)

    def _student(self, name: str, ids: tuple[str, ...], cells: Mapping[str, str]) -> Student:
        column, written = self._first(cells, _TIMES, _NO_TIME)
        submitted = read_time(written)
        if written and not submitted:
            self._unread_times.append(f"{name}: {written}")
        _, until = self._first(cells, _EXTENSIONS, _NO_TIME)
        try:
            extension = read_due(until).isoformat(timespec="seconds") if until else ""
        except (ValueError, OverflowError):
            extension = read_time(until)
            if not extension:
                self._unread_extensions.append(f"{name}: {until}")
        by = _TIMES[column] if submitted else ""
        _, group = self._first(cells, _GROUPS, _NO_GROUP)
        return Student(name, ids, submitted, by, extension, cells.get(_GITHUB, "").lower(), group)

    def _first(self, cells: Mapping[str, str], columns: Iterable[str], nothing: Collection[str]) -> tuple[str, str]:
        """The first of these columns that the list has, and what its cell says; empty if that is nothing."""
        name = next((one for one in columns if one in self._columns), "")
        cell = cells.get(name, "")
        return name, "" if cell.casefold() in nothing else cell

    def notes(self, file: str) -> Iterator[str]:
        """Lines on the cells that could not be read."""
        for unread, noun, what in (
            (self._unread_times, "time", "of handing in cannot be read, so nothing there counts as late"),
            (self._unread_extensions, "extension", "cannot be read, write them as 2026-10-31"),
        ):
            if unread:
                yield f"{file}: {counted(len(unread), noun)} {what}; the first: {one_line(unread[0])}"


def decoded(content: bytes) -> tuple[str, str]:
    """The text of a CSV file with its byte order mark, and the encoding: of Unicode, else that of Excel on Windows.

    Raises:
        UnicodeDecodeError: it is not text.
    """
    encoding = json.detect_encoding(content).removesuffix("-sig")  # by the zeros among the first bytes
    if encoding in ("utf-16", "utf-32"):
        encoding += "-le" if content[:1] == b"\xff" else "-be"
    try:
        return content.decode(encoding), encoding
    except UnicodeDecodeError:
        if encoding != "utf-8":
            raise
        return content.decode("cp1252"), "cp1252"
