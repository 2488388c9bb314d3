"""Queries that give records back. Never writes."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from grader.course.due import NOT_DUE, LatePolicy, moment, read_due
from grader.gradebook import by_people
from grader.gradebook.by_people import THEIRS
from grader.gradebook.lateness import is_claim, is_untimed, lateness
from grader.gradebook.records import Extension, Row, Run
from grader.intake.submission import Arrival
from grader.results import from_json


def rows(db: sqlite3.Connection, run: int | None) -> Iterator[Row]:
    """The results of a run; None means the latest of each student of the course. In order of the submissions' names."""
    seen = _latest(db) if run is None else _of_run(db, run)
    count = Counter(one.name for one in seen)
    runs: dict[int, tuple[str, LatePolicy]] = {}
    for one in sorted(seen, key=lambda one: (one.name, one.result)):
        if one.run not in runs:
            runs[one.run] = _course_and_policy(db, one.run)
        name = f"{one.name} ({one.person})" if run is None and count[one.name] > 1 else one.name
        yield _row(db, one, name, *runs[one.run])


class _Seen(msgspec.Struct, frozen=True):
    """That a run has a result, new or taken over: the result's number, and its student."""

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

    A student is known by the LMS's id, whatever the name in a run; by the name if a run has no ids.
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


def _row(db: sqlite3.Connection, seen: _Seen, name: str, course: str, policy: LatePolicy) -> Row:
    text, digest, seconds, made_in, graded, notes, arrived = db.execute(
        "SELECT result, submissions.digest, seconds, results.run, graded, notes, arrival"
        " FROM results JOIN submissions ON submissions.id = results.submission"
        " LEFT JOIN works ON works.digest = submissions.digest"
        " LEFT JOIN arrivals ON arrivals.run = ? AND arrivals.submission = submissions.id WHERE results.id = ?",
        (seen.run, seen.result),
    ).fetchone()
    result = from_json(text)
    arrival = msgspec.json.decode(arrived, type=Arrival) if arrived else Arrival()
    due = _extension(db, course, arrival, seen.name)
    whose = by_people.Whose(seen.name, seen.person)
    changed = by_people.ChangedWork(db, digest, result)
    by_rubric = by_people.by_rubric(db, course, whose, {one.name for one in result.to_mark}, changed)
    late = lateness(arrival, policy, moment(due) if due else None)
    return Row(
        result=result if name == result.submission else replace(result, submission=name),
        digest=digest,
        seconds=seconds,
        reused=made_in != seen.run,
        graded=graded,
        notes=(*msgspec.json.decode(notes or "[]", type=list[str]), *result.notes),
        arrival=arrival,
        late=late,
        overrides=by_people.overrides(db, course, whose, changed.of_exercise),
        run=seen.run,
        due=due,
        untimed=is_untimed(arrival, policy),
        claimed=is_claim(arrival, policy),
        marks=by_rubric.marks,
        comments=by_people.comments(db, course, whose, changed),
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


def policy(db: sqlite3.Connection, run: int) -> LatePolicy:
    """When the work of a run was due, and the cost of late work."""
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
    """Until when a student may hand in: as last given by hand, else by the class list; empty means no extension."""
    found = db.execute(
        f"SELECT due FROM extensions WHERE course = :course AND {THEIRS} ORDER BY id DESC LIMIT 1",
        {"course": course, "person": arrival.student, "name": name},
    ).fetchone()
    return str(found[0]) if found and found[0] else arrival.due


def _course_and_policy(db: sqlite3.Connection, run: int) -> tuple[str, LatePolicy]:
    """The name of a run's course, when its work was due, and the cost of late work."""
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
