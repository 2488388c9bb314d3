"""Keeps in a student's folder how exercises went: for `grader list` the last check of each, and the record of tries."""

import hashlib
from collections.abc import Sequence

import msgspec

from grader.course.home import Home
from grader.course.record import Outcome, Record
from grader.reports.states import last_checks, state_of
from grader.results import ExerciseResult


def keep_progress(home: Home | None, exercises: Sequence[ExerciseResult], *, counts_tries: bool = True) -> str:
    """Keeps how some exercises went, if `grader init` made the folder; a note for the student, empty if there is none.

    Args:
        counts_tries: whether the record of tries is kept too.
    """
    if home is None:
        return ""
    home.note(last_checks(exercises))
    record = Record(home) if counts_tries else None
    if record is None or not record.is_on:
        return ""
    record.add({one.name: _outcome(one) for one in exercises if state_of(one) in ("passed", "failing")})
    return record.note


def _outcome(exercise: ExerciseResult) -> Outcome:
    """What happened, without what differs from run to run or moves with the lines of a file."""
    causes = [(check.name, check.verdict, check.cause) for check in exercise.checks]
    happened = [
        (name, verdict, *((cause.kind, cause.reason, cause.call, cause.returned) if cause else ()))
        for name, verdict, cause in causes
    ]
    digest = hashlib.sha256(msgspec.json.encode(happened)).hexdigest()[:16]
    return Outcome(digest, state_of(exercise) == "passed")
