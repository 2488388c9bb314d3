"""Late work: how late it came, and its penalty. Never changes the score; reports show both."""

import datetime
import math

import msgspec

from grader.course.due import LatePolicy, moment
from grader.intake.submission import FILE_TIME, LAST_COMMIT, Arrival
from grader.text import counted

_DAY = 86_400.0


class Late(msgspec.Struct, frozen=True, omit_defaults=True):
    """How late a submission came.

    Attributes:
        days: days since it was due, rounded up; None if the LMS marks it late, but does not say when it came.
        penalty: the fraction of the points that it loses, 0 to 1.
        by: the source, as in `Arrival.by`, or ``LMS mark``.
        closed: whether it came after the date from which nothing counts.
    """

    days: int | None
    penalty: float
    by: str
    closed: bool = False

    def __str__(self) -> str:
        if self.days is None:
            return "late by the LMS's mark, which does not say how late: no penalty taken (a roster can say)"
        claim = ", which its owner can set" if self.by in (FILE_TIME, LAST_COMMIT) else ""
        closed = ", after the last date" if self.closed else ""
        return f"{counted(self.days, 'day')} late by its {self.by}{claim}{closed}: {100 * self.penalty:g} % off"


def is_untimed(arrival: Arrival, policy: LatePolicy) -> bool:
    """Whether nothing that counts says when the work came, though there is a date when it was due."""
    return policy.due is not None and not arrival.late and not _counts(arrival, policy)


def is_claim(arrival: Arrival, policy: LatePolicy) -> bool:
    """Whether only a time that the student can set says that the work came in time."""
    is_own = policy.due is not None and arrival.by in (FILE_TIME, LAST_COMMIT) and _counts(arrival, policy)
    return is_own and lateness(arrival, policy) is None


def lateness(arrival: Arrival, policy: LatePolicy, extension: datetime.datetime | None = None) -> Late | None:
    """How late it came; None when it came in time or its time is not known.

    Args:
        extension: until when this student may hand in; None if that is no later than for others.
    """
    if policy.due is None or not _counts(arrival, policy):
        return Late(None, 0.0, "LMS mark") if arrival.late and not extension else None
    due = max(policy.due, extension) if extension else policy.due
    until = max(policy.until, due) if policy.until else None
    try:
        came = moment(arrival.submitted)
    except ValueError:
        return None
    after = (came - due).total_seconds()
    closed = until is not None and came > until
    if after <= 60 * policy.grace_minutes and not closed:
        return None
    days = max(1, math.ceil(after / _DAY))
    penalty = 1.0 if closed else min(1.0, policy.cap, round(days * policy.per_day, 9))
    return Late(days, penalty, arrival.by, closed)


def _counts(arrival: Arrival, policy: LatePolicy) -> bool:
    return bool(arrival.submitted) and (arrival.by != FILE_TIME or policy.by_file_time)
