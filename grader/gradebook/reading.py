"""Queries that give records back. Never writes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator

import msgspec

from grader.course.due import NOT_DUE, LatePolicy, read_due
from grader.gradebook.lateness import lateness
from grader.gradebook.records import Override, Row, Run
from grader.intake.submission import Arrival
from grader.results import SCHEMA, SubmissionResult, from_json


def rows(db: sqlite3.Connection, run: int | None) -> Iterator[Row]:
    """The results of a run (None: the last that is not a trial), in order of the submissions' names."""
    course, policy = _course_and_policy(db, run)
    found = db.execute(
        "WITH wanted (run) AS (SELECT coalesce(?, (SELECT max(id) FROM runs WHERE NOT trial)))"
        " SELECT result, submissions.digest, seconds, results.run <> wanted.run, graded, notes, arrival"
        " FROM wanted, results JOIN submissions ON submissions.id = results.submission"
        " LEFT JOIN works ON works.digest = submissions.digest"
        " LEFT JOIN arrivals ON arrivals.run = wanted.run AND arrivals.submission = submissions.id"
        " WHERE results.run = wanted.run"
        " OR EXISTS (SELECT 1 FROM reused WHERE reused.run = wanted.run AND reused.result = results.id)"
        " ORDER BY submissions.name, results.id",
        (run,),
    )
    for text, digest, seconds, reused, graded, notes, arrived in found:
        result = decoded(text)
        if result is None:
            continue
        arrival = msgspec.json.decode(arrived, type=Arrival) if arrived else Arrival()
        yield Row(
            result=result,
            digest=digest,
            seconds=seconds,
            reused=bool(reused),
            graded=graded,
            notes=(*json.loads(notes or "[]"), *result.notes),
            arrival=arrival,
            late=lateness(arrival, policy),
            overrides=_overrides(db, course, result.submission, digest),
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


def late_policy(db: sqlite3.Connection, run: int | None) -> LatePolicy:
    """When the work of a run was due, and what a day costs."""
    return _course_and_policy(db, run)[1]


def _overrides(db: sqlite3.Connection, course: str, student: str, digest: str) -> tuple[Override, ...]:
    """Those in force: the newest for each exercise, unless that one withdraws."""
    found = db.execute(
        "SELECT exercise, points, max, why, who, made, digest <> ? FROM overrides WHERE id IN"
        " (SELECT max(id) FROM overrides WHERE course = ? AND student = ? GROUP BY exercise)"
        " AND points IS NOT NULL ORDER BY exercise",
        (digest, course, student),
    )
    return tuple(
        Override(student=student, exercise=name, points=points, max=top, why=why, who=who, made=made, stale=bool(stale))
        for name, points, top, why, who, made, stale in found
    )


def _course_and_policy(db: sqlite3.Connection, run: int | None) -> tuple[str, LatePolicy]:
    row = db.execute(
        "SELECT name, due, late_penalty FROM runs JOIN courses ON courses.id = runs.course"
        " WHERE runs.id = coalesce(?, (SELECT max(id) FROM runs WHERE NOT trial))",
        (run,),
    ).fetchone()
    if row is None:
        return "", NOT_DUE
    return row[0], LatePolicy(read_due(row[1]) if row[1] else None, row[2])
