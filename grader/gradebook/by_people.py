"""Queries for marks by rubric, comments and overrides that people gave, and whether the work under them has changed.

Never writes.
"""

import sqlite3
import zlib
from collections.abc import Callable, Collection, Sequence
from functools import cached_property

import msgspec
from msgspec.structs import replace

from grader.gradebook.records import Comment, Mark, Override, record, work_hash
from grader.results import SubmissionResult


class Whose(msgspec.Struct, frozen=True):
    """A student: the name that the submission has in a run, and the LMS's id, if it is known."""

    name: str
    person: str


THEIRS = "((person <> '' AND person = :person) OR ((person = '' OR :person = '') AND student IN (:name, :person)))"
"""Whether a line is about a student: by the LMS's id, or by the name if one of the two has no id."""


def overrides(
    db: sqlite3.Connection, course: str, whose: Whose, changed: Callable[[str, str], bool]
) -> tuple[Override, ...]:
    """Those in force: the newest for each exercise, unless that one withdraws.

    Args:
        changed: whether the work of an exercise is other work than that of a digest.
    """
    found = db.execute(
        "SELECT * FROM overrides WHERE id IN"
        f" (SELECT max(id) FROM overrides WHERE course = :course AND {THEIRS} GROUP BY exercise)"
        " AND points IS NOT NULL ORDER BY exercise",
        {"course": course, "person": whose.person, "name": whose.name},
    )
    return tuple(
        record(Override, row, student=whose.name, stale=changed(row["exercise"], row["digest"])) for row in found
    )


def latest_mark(db: sqlite3.Connection, course: str, name: str, person: str, exercise: str) -> Mark | None:
    """The newest mark of an exercise, also one that is only begun or that takes back those before it."""
    row = db.execute(
        f"SELECT * FROM marks WHERE course = :course AND exercise = :exercise AND {THEIRS} ORDER BY id DESC LIMIT 1",
        {"course": course, "exercise": exercise, "person": person, "name": name},
    ).fetchone()
    return None if row is None else _mark(row, name)


def _mark(row: sqlite3.Row, student: str) -> Mark:
    return record(Mark, row, student=student, items=msgspec.json.decode(row["items"]))


class ByRubric(msgspec.Struct, frozen=True):
    """The marks of one student that count, and the exercises that somebody has begun to mark since."""

    marks: tuple[Mark, ...]
    begun: tuple[str, ...]


def by_rubric(
    db: sqlite3.Connection,
    course: str,
    members: Sequence[Whose],
    wanted: Collection[str],
    changed: Callable[[str, str, str], bool],
) -> ByRubric:
    """Of each exercise the newest mark that is done, unless that one takes back.

    Args:
        members: the student, and everybody whose work it is as well.
        wanted: the exercises that a person marks.
        changed: whether work of that digest, file and hash has changed.
    """
    done: dict[str, Mark] = {}
    begun: dict[str, None] = {}
    found: dict[int, sqlite3.Row] = {}
    for whose in members:
        rows = db.execute(
            f"SELECT * FROM marks WHERE course = :course AND {THEIRS}",
            {"course": course, "person": whose.person, "name": whose.name},
        )
        found |= {row["id"]: row for row in rows if row["exercise"] in wanted}
    for row in (found[number] for number in sorted(found)):
        mark = _mark(row, members[0].name)
        begun.pop(mark.exercise, None)
        if mark.done:
            done[mark.exercise] = replace(mark, stale=changed(row["digest"], row["file"], row["work"]))
        else:
            begun[mark.exercise] = None
    in_force = (done[name] for name in sorted(done) if done[name].points is not None)
    return ByRubric(tuple(in_force), tuple(sorted(begun)))


def comments(
    db: sqlite3.Connection, course: str, members: Sequence[Whose], changed: Callable[[str, str, str], bool]
) -> tuple[Comment, ...]:
    """The newest comment on each exercise, unless it is empty; `members` as in `by_rubric`."""
    newest: dict[str, sqlite3.Row] = {}
    for whose in members:
        for row in db.execute(
            f"SELECT *, max(id) FROM comments WHERE course = :course AND {THEIRS} GROUP BY exercise",
            {"course": course, "person": whose.person, "name": whose.name},
        ):
            newest[row["exercise"]] = max(newest.get(row["exercise"], row), row, key=lambda one: int(one["id"]))
    return tuple(
        record(Comment, row, student=members[0].name, stale=changed(row["digest"], row["file"], row["work"]))
        for _, row in sorted(newest.items())
        if row["text"]
    )


def files(db: sqlite3.Connection, digest: str) -> dict[str, bytes]:
    """The files of the work, by path; empty if the gradebook has none of that digest."""
    row = db.execute("SELECT files FROM works WHERE digest = ?", (digest,)).fetchone()
    return {} if row is None else msgspec.msgpack.decode(zlib.decompress(row[0]), type=dict[str, bytes])


class ChangedWork:
    """Whether the work has changed since a person looked at it; files are read only if that is possible."""

    def __init__(self, db: sqlite3.Connection, digest: str, result: SubmissionResult) -> None:
        self._db = db
        self._digest = digest
        self._result = result

    @cached_property
    def _files(self) -> dict[str, bytes]:
        return files(self._db, self._digest)

    def __call__(self, digest: str, file: str, work: str) -> bool:
        return digest != self._digest and work_hash(self._files, file) != work

    def of_exercise(self, exercise: str, digest: str) -> bool:
        """Whether the work of an exercise was other work at a digest: its file, or any module that it may import.

        The modules of other topics do not count.
        """
        if digest == self._digest:
            return False
        before = files(self._db, digest)
        if not before:
            return True  # nobody can tell, so somebody should look
        manual = next((one.manual for one in self._result.to_mark if one.name == exercise), None)
        if manual is not None:
            return before.get(manual.file) != self._files.get(manual.file)
        own = exercise.partition(".")[0]
        others = {f"{one.name.partition('.')[0]}.py" for one in self._result.checked} - {f"{own}.py"}
        modules = (
            {path: data for path, data in work.items() if path.endswith(".py") and path not in others}
            for work in (before, self._files)
        )
        return next(modules) != next(modules)


def granted(db: sqlite3.Connection, course: str, name: str, person: str) -> tuple[str, ...]:
    """The exercises for which a person has given all points."""
    found = overrides(db, course, Whose(name, person), lambda exercise, digest: False)
    return tuple(one.exercise for one in found if one.points is not None and one.points >= one.max)
