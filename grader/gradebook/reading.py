"""Queries that give records back. Never writes."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from grader.course.due import NOT_DUE, LatePolicy, moment, read_due
from grader.gradebook import by_people
from grader.gradebook.by_people import THEIRS
from grader.gradebook.groups import History, Seen, histories
from grader.gradebook.lateness import is_claim, is_untimed, lateness
from grader.gradebook.records import Extension, Older, Row, Run, record
from grader.intake.roster import Student, name_key
from grader.intake.submission import Arrival
from grader.results import SubmissionResult, from_json
from grader.text import one_line

T = TypeVar("T")


def rows(db: sqlite3.Connection, run: int | None) -> Iterator[Row]:
    """The results of a run; None means the latest of each student of the course. In order of the submissions' names."""
    own = _latest(db) if run is None else [[one] for one in _of_run(db, run)]
    last = last_run(db)
    exercises, rule = _course_of(db, last) if run is None and last is not None else ([], "latest")
    everybody = list(histories(own, _students(db, last if run is None else run)))
    count = Counter(history.whose.name for history in everybody)
    runs: dict[int, tuple[str, LatePolicy]] = {}
    for history in sorted(everybody, key=lambda history: (history.whose.name, history.seen[-1].result)):
        of_run, whose = history.seen[-1].run, history.whose
        if of_run not in runs:
            runs[of_run] = course_and_policy(db, of_run)
        name = f"{whose.name} ({whose.person})" if run is None and count[whose.name] > 1 else whose.name
        works = _works(history) if rule != "latest" else [history]
        yield _that_counts([_row(db, work, name, *runs[of_run], exercises) for work in works], rule)


def no_shows(db: sqlite3.Connection) -> list[Student]:
    """The students of the class list without a result of their own or their group's; see `rows`."""
    students = _students(db, last_run(db))
    whose = [history.whose for history in histories(_latest(db), students)] if students else []
    ids = {key for one in students for key in one.ids}
    there = {one.person.lower() if one.person.lower() in ids else name_key(one.name) for one in whose}
    return [one for one in students if there.isdisjoint((*one.ids, name_key(one.name)))]


def _students(db: sqlite3.Connection, run: int | None) -> list[Student]:
    """The class list of a run's course."""
    return [] if run is None else class_list(db, course_and_policy(db, run)[0])


def class_list(db: sqlite3.Connection, course: str) -> list[Student]:
    """The newest class list of a course; empty if there is none."""
    found = db.execute("SELECT students FROM class_lists WHERE course = ?", (course,)).fetchone()
    return msgspec.json.decode(found[0], type=list[Student]) if found else []


_SEEN = (
    "WITH seen (run, result, submission) AS (SELECT run, id, submission FROM results UNION ALL"
    " SELECT reused.run, results.id, submission FROM reused JOIN results ON results.id = reused.result)"
    " SELECT seen.run, seen.result, submissions.name, coalesce(json_extract(arrival, '$.student'), ''),"
    " coalesce(json_extract(arrival, '$.submitted'), ''), submissions.digest"
    " FROM seen JOIN submissions ON submissions.id = seen.submission JOIN runs ON runs.id = seen.run"
    " JOIN courses ON courses.id = runs.course"
    " LEFT JOIN arrivals ON arrivals.run = seen.run AND arrivals.submission = seen.submission"
)


def _of_run(db: sqlite3.Connection, run: int) -> list[Seen]:
    return [Seen(*row) for row in db.execute(f"{_SEEN} WHERE seen.run = ?", (run,))]


def _latest(db: sqlite3.Connection) -> list[list[Seen]]:
    """The results of each student in any run of the last run's course, the last one last; trials do not count.

    A student is known by the LMS's id, whatever the name in a run; by the name if a run has no ids.
    """
    last = last_run(db)
    if last is None:
        return []
    course = course_and_policy(db, last)[0]
    found = [
        Seen(*row)
        for row in db.execute(f"{_SEEN} WHERE NOT trial AND courses.name = ? ORDER BY seen.run, seen.result", (course,))
    ]
    ids_of: dict[str, set[str]] = {}
    for one in found:
        if one.person:
            ids_of.setdefault(one.name, set()).add(one.person)
    ids = {one.person for one in found}
    of_students: dict[tuple[str, str], list[Seen]] = {}
    for one in found:
        of_name = ids_of.get(one.name, set())
        person = one.person or (min(of_name) if len(of_name) == 1 else one.name if one.name in ids else "")
        of_students.setdefault((person, "") if person else ("", one.name), []).append(one)
    return list(of_students.values())


def _course_of(db: sqlite3.Connection, run: int) -> tuple[list[str], str]:
    """All exercises that the course of a run had, and which work of several counted."""
    names, rule = db.execute("SELECT exercises, resubmissions FROM runs WHERE id = ?", (run,)).fetchone()
    return msgspec.json.decode(names, type=list[str]), rule


def _works(history: History) -> list[History]:
    """A history for each work that was handed in, in the order in which they came."""
    of_work: dict[str, list[Seen]] = {}
    for seen in history.seen:
        of_work.setdefault(seen.digest, []).append(seen)
    return [replace(history, seen=tuple(seen)) for seen in of_work.values()]


def _that_counts(works: Sequence[Row], rule: str) -> Row:
    """The first work, or the one with the most points after lateness, of equal ones the last."""
    if rule == "first" or not works[1:]:
        return works[0]
    best = max(reversed(works), key=lambda row: row.final)
    unread = [row for row in works if row.unread]
    # Work that could not be read may be worth more: a person has to look first.
    return unread[-1] if unread and best.final < best.max else best


def _with_earlier(
    db: sqlite3.Connection, newest: SubmissionResult, earlier: Sequence[Seen], exercises: Sequence[str]
) -> tuple[SubmissionResult, tuple[Older, ...]]:
    """A result with the latest of those exercises that it has not, and where these are from."""
    if not exercises:
        return newest, ()
    taken = {one.name: one for one in newest.exercises if one.name in exercises}
    parts, older = [newest], []
    for seen in reversed(earlier):
        if len(taken) == len(exercises):
            break
        text, digest = db.execute(
            "SELECT result, digest FROM results JOIN submissions ON submissions.id = submission WHERE results.id = ?",
            (seen.result,),
        ).fetchone()
        found = from_json(text)
        new = {one.name: one for one in found.exercises if one.name in exercises and one.name not in taken}
        if new:
            topics = {name.partition(".")[0] for name in new}
            parts.append(replace(found, unread=tuple(one for one in found.unread if one.topic in topics)))
            older.append(Older(seen.run, digest, tuple(new)))
            taken |= new
    in_order = tuple(taken[name] for name in exercises if name in taken)
    whole = replace(
        newest,
        exercises=in_order,
        score=sum(one.score for one in in_order),
        max=sum(one.max for one in in_order),
        flags=_each_once(part.flags for part in parts),
        unread=_each_once(part.unread for part in parts),
        notes=_each_once(part.notes for part in parts),
    )
    return whole, tuple(older)


def _better_before(
    db: sqlite3.Connection, earlier: Sequence[Seen], digest: str, result: SubmissionResult
) -> float | None:
    """The points of the work before this one, if it was other work, of the same exercises, and worth more."""
    for seen in reversed(earlier):
        score, most, work = db.execute(
            "SELECT score, max, digest FROM results JOIN submissions ON submissions.id = submission"
            " WHERE results.id = ?",
            (seen.result,),
        ).fetchone()
        if work != digest and most == result.max:
            return float(score) if score > result.score else None
    return None


def _each_once(values: Iterable[Iterable[T]]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(item for value in values for item in value))


def people(db: sqlite3.Connection, course: str) -> dict[str, str]:
    """The latest names of the students with a result, by the LMS's id, else by the name."""
    found = db.execute(f"{_SEEN} WHERE NOT trial AND courses.name = ? ORDER BY seen.run", (course,))
    named: dict[str, str] = {}
    for _, _, name, person, *_ in found:
        named[person or name] = name
    return named


def last_run(db: sqlite3.Connection) -> int | None:
    """The number of the last run that is not a trial; None before the first."""
    (last,) = db.execute("SELECT max(id) FROM runs WHERE NOT trial").fetchone()
    return None if last is None else int(last)


def _row(
    db: sqlite3.Connection, history: History, name: str, course: str, policy: LatePolicy, exercises: Sequence[str]
) -> Row:
    seen, whose = history.seen[-1], history.whose
    text, digest, seconds, made_in, graded, notes, arrived = db.execute(
        "SELECT result, submissions.digest, seconds, results.run, graded, notes, arrival"
        " FROM results JOIN submissions ON submissions.id = results.submission"
        " LEFT JOIN works ON works.digest = submissions.digest"
        " LEFT JOIN arrivals ON arrivals.run = ? AND arrivals.submission = submissions.id WHERE results.id = ?",
        (seen.run, seen.result),
    ).fetchone()
    result, older = _with_earlier(db, from_json(text), history.seen[:-1], exercises)
    arrival = msgspec.json.decode(arrived, type=Arrival) if arrived else Arrival()
    arrival = replace(arrival, due=history.extension) if history.group else arrival
    said = msgspec.json.decode(notes or "[]", type=list[str])
    if (seen.name, seen.person) != (whose.name, whose.person):
        arrival = replace(arrival, student=whose.person)
        said.insert(0, f"the work of group {one_line(history.group)}, handed in by {one_line(seen.name)}")
    due = _extension(db, course, arrival, whose.name)
    changed = by_people.ChangedWork(db, digest, result)
    by_rubric = by_people.by_rubric(
        db, course, history.members or (whose,), {one.name for one in result.to_mark}, changed
    )
    overrides = by_people.overrides(db, course, whose, changed.of_exercise)
    covered = {one.name for one in result.exercises} | {one.exercise for one in overrides}
    late = lateness(arrival, policy, moment(due) if due else None)
    return Row(
        result=result if name == result.submission else replace(result, submission=name),
        digest=digest,
        seconds=seconds,
        reused=made_in != seen.run,
        graded=graded,
        notes=(*said, *result.notes),
        arrival=arrival,
        late=late,
        overrides=overrides,
        run=seen.run,
        due=due,
        untimed=is_untimed(arrival, policy),
        claimed=is_claim(arrival, policy),
        marks=by_rubric.marks,
        comments=by_people.comments(db, course, history.members or (whose,), changed),
        begun=by_rubric.begun,
        older=older,
        missing=tuple(one for one in exercises if one not in covered),
        before=None if history.differing else _better_before(db, history.seen[:-1], digest, result),
        group=history.group,
        differing=history.differing,
    )


def runs(db: sqlite3.Connection) -> Iterator[Run]:
    """Every run and how far it came, the first one first."""
    found = db.execute(
        "WITH has (run, graded, final, newly_graded) AS (SELECT run, graded, final, 1 FROM results UNION ALL"
        " SELECT reused.run, '', final, 0 FROM reused JOIN results ON results.id = reused.result)"
        " SELECT runs.id AS id, name AS course, hash AS course_hash, seed, started, finished,"
        " coalesce(min(nullif(graded, '')), '') AS first, coalesce(max(graded), '') AS last, expected,"
        " count(has.run) AS done,"
        " coalesce(sum(newly_graded), 0) AS newly_graded,"
        " coalesce(sum(NOT final), 0) AS failed, process, host, trial"
        " FROM runs JOIN courses ON courses.id = runs.course LEFT JOIN has ON has.run = runs.id"
        " GROUP BY runs.id ORDER BY runs.id"
    )
    yield from (record(Run, row) for row in found)


def extensions(db: sqlite3.Connection, course: str) -> list[Extension]:
    """The extensions of a course in force: the newest of each student, unless that one withdraws."""
    found = db.execute(
        "SELECT * FROM extensions WHERE id IN"
        " (SELECT max(id) FROM extensions WHERE course = ? GROUP BY person, student) AND due <> '' ORDER BY student",
        (course,),
    )
    return [record(Extension, row) for row in found]


def _extension(db: sqlite3.Connection, course: str, arrival: Arrival, name: str) -> str:
    """Until when a student may hand in: as last given by hand, else by the class list; empty means no extension."""
    found = db.execute(
        f"SELECT due FROM extensions WHERE course = :course AND {THEIRS} ORDER BY id DESC LIMIT 1",
        {"course": course, "person": arrival.student, "name": name},
    ).fetchone()
    return str(found[0]) if found and found[0] else arrival.due


def course_and_policy(db: sqlite3.Connection, run: int) -> tuple[str, LatePolicy]:
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
