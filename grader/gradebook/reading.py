"""Queries that give records back. Never writes."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from functools import cached_property
from typing import Any

import msgspec
from msgspec.structs import replace

from grader.course.due import NOT_DUE, LatePolicy, moment, read_due
from grader.gradebook.lateness import is_claim, is_untimed, lateness
from grader.gradebook.records import Comment, Extension, Mark, MarkedItem, Override, Row, Run, work_hash
from grader.intake.submission import Arrival
from grader.results import SCHEMA, SubmissionResult, from_json


def rows(db: sqlite3.Connection, run: int | None) -> Iterator[Row]:
    """The results of a run; None: the latest of each student of the course. In order of the submissions' names."""
    seen = _latest(db) if run is None else _of_run(db, run)
    count = Counter(one.name for one in seen)
    runs: dict[int, tuple[str, LatePolicy]] = {}
    for one in sorted(seen, key=lambda one: (one.name, one.result)):
        if one.run not in runs:
            runs[one.run] = _course_and_policy(db, one.run)
        name = f"{one.name} ({one.person})" if run is None and count[one.name] > 1 else one.name
        row = _row(db, one, name, *runs[one.run])
        if row is not None:
            yield row


class _Seen(msgspec.Struct, frozen=True):
    """That a run has a result, new or taken over: the result's number, and whose it is."""

    run: int
    result: int
    name: str
    person: str


_SEEN = (
    "WITH seen (run, result, submission) AS (SELECT run, id, submission FROM results UNION ALL"
    " SELECT reused.run, results.id, submission FROM reused JOIN results ON results.id = reused.result)"
    " SELECT seen.run, seen.result, submissions.name, coalesce(json_extract(arrival, '$.student'), '')"
    " FROM seen JOIN submissions ON submissions.id = seen.submission JOIN runs ON runs.id = seen.run"
    " JOIN courses ON courses.id = runs.course"
    " LEFT JOIN arrivals ON arrivals.run = seen.run AND arrivals.submission = seen.submission"
)


def _of_run(db: sqlite3.Connection, run: int) -> list[_Seen]:
    return [_Seen(*row) for row in db.execute(f"{_SEEN} WHERE seen.run = ?", (run,))]


def _latest(db: sqlite3.Connection) -> list[_Seen]:
    """The last result of each student in any run of the last run's course; trials do not count.

    A student is known by the LMS's id, whatever the name in a run; where a run has no ids, by the name.
    """
    last = last_run(db)
    if last is None:
        return []
    course = _course_and_policy(db, last)[0]
    found = [
        _Seen(*row)
        for row in db.execute(f"{_SEEN} WHERE NOT trial AND courses.name = ? ORDER BY seen.run, seen.result", (course,))
    ]
    ids_of: dict[str, set[str]] = {}
    for one in found:
        if one.person:
            ids_of.setdefault(one.name, set()).add(one.person)
    ids = {one.person for one in found}
    latest: dict[tuple[str, str], _Seen] = {}
    for one in found:
        of_name = ids_of.get(one.name, set())
        person = one.person or (min(of_name) if len(of_name) == 1 else one.name if one.name in ids else "")
        latest[(person, "") if person else ("", one.name)] = one
    return list(latest.values())


def last_run(db: sqlite3.Connection) -> int | None:
    """The number of the last run that is not a trial; None before the first."""
    (last,) = db.execute("SELECT max(id) FROM runs WHERE NOT trial").fetchone()
    return None if last is None else int(last)


def _row(db: sqlite3.Connection, seen: _Seen, name: str, course: str, policy: LatePolicy) -> Row | None:
    text, digest, seconds, made_in, graded, notes, arrived = db.execute(
        "SELECT result, submissions.digest, seconds, results.run, graded, notes, arrival"
        " FROM results JOIN submissions ON submissions.id = results.submission"
        " LEFT JOIN works ON works.digest = submissions.digest"
        " LEFT JOIN arrivals ON arrivals.run = ? AND arrivals.submission = submissions.id WHERE results.id = ?",
        (seen.run, seen.result),
    ).fetchone()
    result = decoded(text)
    if result is None:
        return None
    arrival = msgspec.json.decode(arrived, type=Arrival) if arrived else Arrival()
    due = _extension(db, course, arrival, seen.name)
    changed = _Changes(db, digest, result)
    by_rubric = _marks(db, course, seen, {one.name for one in result.to_mark}, changed)
    late = lateness(arrival, policy, moment(due) if due else None)
    return Row(
        result=result if name == result.submission else replace(result, submission=name),
        digest=digest,
        seconds=seconds,
        reused=made_in != seen.run,
        graded=graded,
        notes=(*json.loads(notes or "[]"), *result.notes),
        arrival=arrival,
        late=late,
        overrides=_overrides(db, course, seen, changed.of_exercise),
        run=seen.run,
        due=due,
        untimed=is_untimed(arrival, policy),
        claimed=is_claim(arrival, policy),
        marks=by_rubric.marks,
        comments=_comments(db, course, seen, changed),
        begun=by_rubric.begun,
    )


def runs(db: sqlite3.Connection) -> Iterator[Run]:
    """Every run and how far it came, the first one first."""
    cursor = db.cursor()
    cursor.row_factory = sqlite3.Row
    found = cursor.execute(
        "WITH has (run, graded, final, newly_graded) AS (SELECT run, graded, final, 1 FROM results UNION ALL"
        " SELECT reused.run, '', final, 0 FROM reused JOIN results ON results.id = reused.result)"
        " SELECT runs.id AS id, name AS course, hash AS course_hash, seed, started, finished,"
        " coalesce(max(graded), '') AS last, expected, count(has.run) AS done,"
        " coalesce(sum(newly_graded), 0) AS newly_graded,"
        " coalesce(sum(NOT final), 0) AS failed, process, host, trial"
        " FROM runs JOIN courses ON courses.id = runs.course LEFT JOIN has ON has.run = runs.id"
        " GROUP BY runs.id ORDER BY runs.id"
    )
    for row in found:
        yield Run(**{**dict(row), "trial": bool(row["trial"])})


def decoded(text: str) -> SubmissionResult | None:
    """A stored result, also one of an older schema; None if it cannot be read, and so has to be made again."""
    try:
        result = from_json(text)
    except msgspec.ValidationError:
        return None
    return result if result.schema == SCHEMA else None


def policy(db: sqlite3.Connection, run: int) -> LatePolicy:
    """When the work of a run was due, and what late work cost."""
    return _course_and_policy(db, run)[1]


def extensions(db: sqlite3.Connection, course: str) -> list[Extension]:
    """The extensions of a course in force: the newest of each student, unless that one withdraws."""
    found = db.execute(
        "SELECT student, due, why, who, made FROM extensions WHERE id IN"
        " (SELECT max(id) FROM extensions WHERE course = ? GROUP BY person, student) AND due <> '' ORDER BY student",
        (course,),
    )
    return [Extension(student=name, due=due, why=why, who=who, made=made) for name, due, why, who, made in found]


def _extension(db: sqlite3.Connection, course: str, arrival: Arrival, name: str) -> str:
    """Until when a student may hand in: as was said last by hand, else by the class list; empty: as all others."""
    found = db.execute(
        f"SELECT due FROM extensions WHERE course = :course AND {_THEIRS} ORDER BY id DESC LIMIT 1",
        {"course": course, "person": arrival.student, "name": name},
    ).fetchone()
    return str(found[0]) if found and found[0] else arrival.due


_THEIRS = "((person <> '' AND person = :person) OR ((person = '' OR :person = '') AND student IN (:name, :person)))"
"""Whether a line is about a student: by the LMS's id, or by the name where one of the two has no id."""


def _overrides(
    db: sqlite3.Connection, course: str, seen: _Seen, changed: Callable[[str, str], bool]
) -> tuple[Override, ...]:
    """Those in force: the newest for each exercise, unless that one withdraws.

    Args:
        changed: whether the work of an exercise is other work than that of a digest.
    """
    found = db.execute(
        "SELECT exercise, points, max, why, who, made, digest FROM overrides WHERE id IN"
        f" (SELECT max(id) FROM overrides WHERE course = :course AND {_THEIRS} GROUP BY exercise)"
        " AND points IS NOT NULL ORDER BY exercise",
        {"course": course, "person": seen.person, "name": seen.name},
    )
    return tuple(
        Override(
            student=seen.name,
            exercise=name,
            points=points,
            max=top,
            why=why,
            who=who,
            made=made,
            stale=changed(name, digest),
        )
        for name, points, top, why, who, made, digest in found
    )


def latest_mark(db: sqlite3.Connection, course: str, name: str, person: str, exercise: str) -> Mark | None:
    """The newest mark of an exercise, also one that is only begun or that takes back those before it."""
    found = db.execute(
        f"SELECT {_MARK} FROM marks WHERE course = :course AND exercise = :exercise AND {_THEIRS}"
        " ORDER BY id DESC LIMIT 1",
        {"course": course, "exercise": exercise, "person": person, "name": name},
    ).fetchone()
    return None if found is None else _mark(name, found[:-3])


_MARK = "exercise, items, points, max, who, made, done, digest, file, work"


def _mark(student: str, columns: tuple[Any, ...], stale: bool = False) -> Mark:
    exercise, items, points, most, who, made, done = columns
    try:
        marked = msgspec.json.decode(items, type=tuple[MarkedItem, ...])
    except (msgspec.DecodeError, msgspec.ValidationError):  # of a gradebook that was damaged
        marked = ()
    return Mark(
        student=student,
        exercise=exercise,
        items=marked,
        points=points,
        max=most,
        who=who,
        made=made,
        done=bool(done),
        stale=stale,
    )


class _ByRubric(msgspec.Struct, frozen=True):
    """The marks of one student that count, and the exercises that somebody has begun to mark since."""

    marks: tuple[Mark, ...]
    begun: tuple[str, ...]


def _marks(
    db: sqlite3.Connection, course: str, seen: _Seen, wanted: Collection[str], changed: Callable[[str, str, str], bool]
) -> _ByRubric:
    """Of each exercise the newest mark that is done, unless that one takes back.

    Args:
        wanted: the exercises that a person marks.
        changed: whether work of that digest, file and hash has changed.
    """
    done: dict[str, Mark] = {}
    begun: dict[str, None] = {}
    for *columns, digest, file, work in db.execute(
        f"SELECT {_MARK} FROM marks WHERE course = :course AND {_THEIRS} ORDER BY id",
        {"course": course, "person": seen.person, "name": seen.name},
    ):
        mark = _mark(seen.name, tuple(columns), stale=False)
        if mark.exercise in wanted:
            begun.pop(mark.exercise, None)
            if mark.done:
                done[mark.exercise] = replace(mark, stale=changed(digest, file, work))
            else:
                begun[mark.exercise] = None
    in_force = (done[name] for name in sorted(done) if done[name].points is not None)
    return _ByRubric(tuple(in_force), tuple(sorted(begun)))


def _comments(
    db: sqlite3.Connection, course: str, seen: _Seen, changed: Callable[[str, str, str], bool]
) -> tuple[Comment, ...]:
    """The newest comment on each exercise, unless it is empty."""
    found = db.execute(
        "SELECT exercise, text, who, made, digest, file, work FROM comments WHERE id IN"
        f" (SELECT max(id) FROM comments WHERE course = :course AND {_THEIRS} GROUP BY exercise)"
        " AND text <> '' ORDER BY exercise",
        {"course": course, "person": seen.person, "name": seen.name},
    )
    return tuple(
        Comment(student=seen.name, exercise=name, text=text, who=who, made=made, stale=changed(digest, file, work))
        for name, text, who, made, digest, file, work in found
    )


def files(db: sqlite3.Connection, digest: str) -> dict[str, bytes]:
    """The files of the work, by path; empty when an older grader did not keep them."""
    row = db.execute("SELECT files FROM works WHERE digest = ?", (digest,)).fetchone()
    return {} if row is None else msgspec.msgpack.decode(zlib.decompress(row[0]), type=dict[str, bytes])


class _Changes:
    """Whether what a person looked at is other work than that of a result; files are read only where that may be."""

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

        The modules of other topics are none of these.
        """
        if digest == self._digest:
            return False
        before = files(self._db, digest)
        if not before:
            return True  # an older grader kept no files
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
    found = _overrides(db, course, _Seen(0, 0, name, person), lambda exercise, digest: False)
    return tuple(one.exercise for one in found if one.points is not None and one.points >= one.max)


def _course_and_policy(db: sqlite3.Connection, run: int) -> tuple[str, LatePolicy]:
    """The name of a run's course, when its work was due and what late work cost."""
    row = db.execute(
        "SELECT name, due, late_penalty, grace_minutes, late_cap, late_until, by_file_time"
        " FROM runs JOIN courses ON courses.id = runs.course WHERE runs.id = ?",
        (run,),
    ).fetchone()
    if row is None:
        return "", NOT_DUE
    name, due, per_day, grace, cap, until, by_file_time = row
    due, until = (read_due(time) if time else None for time in (due, until))
    return name, LatePolicy(due, per_day, grace, cap, until, bool(by_file_time))
