"""A class list: which student has which id, and when each handed in. From the instructor's CSV file or an LMS's export.

Never writes the file, and never takes two students for one.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from grader.course.due import read_due
from grader.errors import UserError
from grader.intake import worksheet
from grader.intake.dates import read_time
from grader.intake.matching import DOUBT, ID, Match, PeopleIndex
from grader.intake.names import exact_name, id_key, name_key
from grader.text import counted, one_line

_GITHUB = "githubusername"
_GITHUB_ID = "githubid"
_USER = "username"
# Who is in Classroom 50's roster and no student.
_STAFF = ("teacher", "instructor", "owner", "admin", "staff", "ta", "head-ta", "hta", "assistant")
_IDENTIFIER = "identifier"
# The columns of ids: here, and below, in lower case and without spaces and signs.
_IDS = (
    *("id", "studentid", "userid", _IDENTIFIER, "sisuserid", "sisloginid", "canvasid", "moodleid", "canvasuserid"),
    *("orgdefinedid", _GITHUB_ID, "loginid", _USER, "login", "email", "emailaddress", "idnumber", "sid"),
    *("studentnumber", "studentno", _GITHUB, "matriculationnumber", "matrikelnummer", "matrikelnr", "matrikel"),
    *("matrnr", "matnr", "matricola"),
)
_NAMES = ("name", "fullname", "student", "studentname")
_FIRST = ("firstname", "givenname", "givennames", "vorname", "vornamen")
_LAST = ("lastname", "surname", "familyname", "nachname", "familienname")
# Columns with the time of handing in, and the name of that time.
_TIMES = {
    **dict.fromkeys(("submitted", "submittedat", "submissiontime"), "roster"),
    **{"createdat": "Gradescope time", "lastmodifiedsubmission": "Moodle worksheet"},
}
_EXTENSIONS = ("extension", "extendedto", "extendeduntil")
_GROUPS = ("group", "groupname", "team", "gruppe")
_EXCUSED = ("excused", "exempt", "excuse", "entschuldigt")
_EX = ("ex", "excused")
_NUMBERED = re.compile(r"\s*\(\d+\)$")
_YES = ("yes", "y", "x", "1", "true", "ex", "excused", "exempt", "ja", "\u2713", "\u2714", "\u2611")
_NO = ("", "-", "\u2013", "no", "n", "0", "false", "none", "nein", "\u2610")
# As Brightspace and Excel write an id, so that it is no number.
_AS_TEXT = re.compile(r'^(?:="|#)([^"]+)"?$')
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
        excused: whether the assignment does not count for them.
        participant: Moodle's number of them in one assignment, or empty: in another one it is somebody else's.
    """

    name: str
    ids: tuple[str, ...]
    submitted: str = ""
    by: str = ""
    extension: str = ""
    github: str = ""
    group: str = ""
    excused: bool = False
    participant: str = ""


class Roster:
    """The class list of one file.

    Attributes:
        notes: lines on the cells that could not be read.
    """

    def __init__(self, students: Iterable[Student], file: Path, notes: Iterable[str] = ()) -> None:
        self.students = list(dict.fromkeys(students))
        self.notes = list(notes)
        by_id: dict[str, Student] = {}
        for student in self.students:
            for key in student.ids:
                other = by_id.setdefault(id_key(key), student)
                if other is not student:
                    fix = "leave one line of them"
                    raise UserError(f"{file}: `{key}` is the id of {other.name} and of {student.name}", fix=fix)
        self.index = PeopleIndex(
            ((one, [key for key in one.ids if not _is_name(key, one)], [one.name]) for one in self.students),
            ((one, one.github) for one in self.students if one.github),
        )
        self._by_id = by_id
        self._by_participant: dict[str, Student] = {}
        groups = ((name_key(one.group), one) for one in reversed(self.students))  # the first counts
        self._by_group = {key: one for key, one in groups if key}

    @classmethod
    def read(cls, file: Path, assignment: str = "", title: str = "") -> Roster:
        """Reads a CSV with a header; a Canvas gradebook export and a Moodle grading worksheet will do.

        Args:
            assignment: its name, for a worksheet that has no other id than Moodle's number in it; empty: the file's.
            title: its title; in a column of that title or name, as a Canvas gradebook has it, EX means excused.

        Raises:
            UserError: it cannot be read, has no column for ids or names, or gives an id to two students.
        """
        try:
            text = decoded(file.read_bytes())[0].lstrip("\ufeff")
        except OSError as problem:
            raise UserError(
                f"{file} cannot be read: {problem.strerror}", fix="name another file: --roster CSV"
            ) from None
        except UnicodeDecodeError as problem:
            raise UserError(f"{file} cannot be read: {problem}", fix="save it as CSV in UTF-8") from None
        missing = ""
        for delimiter in sorted(",;\t", key=text.count, reverse=True):
            try:
                rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
            except csv.Error as problem:
                raise UserError(f"{file} is not a CSV file: {problem}", fix="save it as CSV again") from None
            for start in range(min(_HEADER_ROWS, len(rows))):
                table = _ClassList(rows[start:], (assignment, title))
                if table.has_ids and table.has_names:
                    students = [*_with_ids(list(table.students()), assignment or download_name(file))]
                    roster = cls(students, file, table.notes(file.name))
                    # A list that was kept may be of another assignment, where the numbers are those of others.
                    roster._by_participant = {one.participant: one for one in students if one.participant}
                    return roster
                missing = missing or ("names" if table.has_ids else "ids" if table.has_names else "")
        fix = "save it as CSV, with one line that names the columns, for example: id,name"
        raise UserError(f"{file} has no column for {missing or 'ids'}", fix=fix)

    @classmethod
    def of_people(cls, known: Mapping[str, str]) -> Roster:
        """The people whose work is graded already: their names by id, else by name."""
        people = {(name if key == name else key.lower()): (key, name) for key, name in known.items()}
        return cls((Student(name, () if key == name else (key,)) for key, name in people.values()), Path())

    def find(self, key: str) -> Student | None:
        """The student with that id."""
        return self._by_id.get(id_key(key)) if key else None

    def participant(self, number: str) -> Student | None:
        """The student with that number in the Moodle assignment whose worksheet this is."""
        return self._by_participant.get(number)

    def of_group(self, name: str) -> Student | None:
        """The first student of the group of that name."""
        return self._by_group.get(name_key(name))

    def meant(self, ids: Iterable[str], name: str) -> list[Student]:
        """The students with one of these ids, else those whom that name means."""
        found = self._match(ids, name)
        return [] if found.how == DOUBT else list(found.people)

    def candidates(self, ids: Iterable[str], name: str) -> list[Student]:
        """The same, with those who may be meant: who is sure to have handed in nothing is none of them."""
        return list(self._match(ids, name).people)

    def _match(self, ids: Iterable[str], name: str) -> Match[Student]:
        keys = [key for key in ids if key]
        if of_ids := [student for key in keys if (student := self.find(key))]:
            return Match(tuple(of_ids), ID)
        return self.index.named(name, is_joined=False) if keys else self.index.find(name)


def participant_id(number: str, assignment: str) -> str:
    """An id for somebody of whom nothing is known but Moodle's number in an assignment."""
    return id_key(f"participant {number} of {assignment}")


def download_name(path: Path) -> str:
    """The name of a downloaded file or folder, without the number that a browser adds to a second one."""
    return re.sub(r" ?\(\d{1,3}\)$", "", path.stem if path.is_file() else path.name)


def _with_ids(students: Sequence[Student], assignment: str) -> Iterator[Student]:
    """The students; who has no id but Moodle's number gets one that is theirs alone: by the name, if one has it."""
    count = Counter(id_key(one.name) for one in students)
    for one in students:
        if not one.ids:
            is_known = count[id_key(one.name)] == 1 and one.name != f"Participant {one.participant}"
            one = replace(one, ids=(id_key(one.name) if is_known else participant_id(one.participant, assignment),))
        yield one


def _is_name(key: str, student: Student) -> bool:
    """Whether an id is only the name: see `_with_ids`."""
    return bool(student.participant) and key == id_key(student.name)


class _ClassList:
    """The lines of a class list from the one on that names the columns."""

    def __init__(self, rows: Sequence[Sequence[str]], titles: Sequence[str] = ()) -> None:
        self._rows = rows[1:]
        self._columns: dict[str, int] = {}
        found = worksheet.columns_of(rows)
        for name, place in found.items():
            self._columns.setdefault(re.sub(r"[\W_]", "", name), place)
        self._has_participants = worksheet.has_participants(rows, found)
        if self._has_participants:  # in some languages its column is called ID
            place = self._columns[_IDENTIFIER]
            self._columns = {name: at for name, at in self._columns.items() if at != place or name == _IDENTIFIER}
        self.has_ids = not self._columns.keys().isdisjoint(_IDS)
        first, last, whole = ([one for one in names if one in self._columns][:1] for names in (_FIRST, _LAST, _NAMES))
        is_last_name = "vorname" in self._columns and not last  # as in `Name;Vorname`
        self._names = first + whole if is_last_name else whole or first + last
        # GitHub knows its students by the user name alone, and who grades blindly knows no names.
        self.has_names = bool(self._names) or self._has_participants or _USER in self._columns
        wanted = {title.strip().lower() for title in titles} - {""}
        # Canvas puts the assignment's number behind its title.
        own = [name for name in found if name in wanted or _NUMBERED.sub("", name) in wanted]
        self._marks = [re.sub(r"[\W_]", "", name) for name in own]
        self._unread: dict[str, list[str]] = {"time": [], "extension": [], "excuse": []}

    def students(self) -> Iterator[Student]:
        """The students; a line that is nobody's is left out."""
        for row in self._rows:
            cells = {name: row[place].strip() for name, place in self._columns.items() if place < len(row)}
            participant = worksheet.participant(cells.pop(_IDENTIFIER, "")) if self._has_participants else ""
            ids = [_AS_TEXT.sub(r"\1", cells[name]) for name in _IDS if cells.get(name)]
            name = exact_name(" ".join(filter(None, (cells.get(one) for one in self._names))))
            if (ids or participant) and name != "Points Possible" and cells.get("role", "").casefold() not in _STAFF:
                called = [name, cells.get(_IDENTIFIER, ""), cells.get(_USER, ""), *ids, f"Participant {participant}"]
                keys = tuple(dict.fromkeys(map(id_key, ids)))
                yield self._student(next(filter(None, called)), keys, cells, participant)

    def _student(self, name: str, ids: tuple[str, ...], cells: Mapping[str, str], participant: str) -> Student:
        column, written = self._first(cells, _TIMES, _NO_TIME)
        submitted = read_time(written)
        if written and not submitted:
            self._unread["time"].append(f"{name}: {written}")
        _, until = self._first(cells, _EXTENSIONS, _NO_TIME)
        try:
            extension = read_due(until).isoformat(timespec="seconds") if until else ""
        except (ValueError, OverflowError):
            extension = read_time(until)
            if not extension:
                self._unread["extension"].append(f"{name}: {until}")
        by = _TIMES[column] if submitted else ""
        _, group = self._first(cells, _GROUPS, _NO_GROUP)
        github = cells.get(_GITHUB) or (cells.get(_USER, "") if _GITHUB_ID in self._columns else "")
        _, said = self._first(cells, _EXCUSED, _NO)
        if said and said.casefold() not in _YES:
            self._unread["excuse"].append(f"{name}: {said}")
        return Student(
            name=name,
            ids=ids,
            submitted=submitted,
            by=by,
            extension=extension,
            github=github.lower(),
            group=group,
            excused=said.casefold() in _YES or any(cells.get(one, "").casefold() in _EX for one in self._marks),
            participant=participant,
        )

    def _first(self, cells: Mapping[str, str], columns: Iterable[str], nothing: Collection[str]) -> tuple[str, str]:
        """The first of these columns that the list has, and what its cell says; empty if that is nothing."""
        name = next((one for one in columns if one in self._columns), "")
        cell = cells.get(name, "")
        return name, "" if cell.casefold() in nothing else cell

    def notes(self, file: str) -> Iterator[str]:
        """Lines on the cells that could not be read."""
        what = {
            "time": "of handing in cannot be read, so nothing there counts as late",
            "extension": "cannot be read, write them as 2026-10-31",
            "excuse": "cannot be read, so nobody is excused by it: write yes or no",
        }
        for noun, unread in self._unread.items():
            if unread:
                yield f"{file}: {counted(len(unread), noun)} {what[noun]}; the first: {one_line(unread[0])}"


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
