"""Late work: how late it came, and what that costs. Never changes the score; reports show both."""

from __future__ import annotations

import math

import msgspec

from grader.course.due import LatePolicy, moment
from grader.intake.submission import Arrival
from grader.text import counted

FILE_TIME = "file time"
"""The source of a time of handing in that is only the student's own claim: whoever has a file can set its time."""
_DAY = 86_400.0


class Late(msgspec.Struct, frozen=True):
    """How late a submission came.

    Attributes:
        days: days since it was due, rounded up; None: the LMS marks it late, but does not say when it came.
        penalty: the fraction of the points that it loses, 0 to 1.
        by: the source: ``roster``, ``file time`` or ``LMS mark``.
    """

    days: int | None
    penalty: float
    by: str

    def __str__(self) -> str:
        if self.days is None:
            return "late by the LMS's mark, which does not say how late: no penalty taken (a roster can say)"
        claim = ", which its owner can set" if self.by == FILE_TIME else ""
        return f"{counted(self.days, 'day')} late by its {self.by}{claim}: {100 * self.penalty:g} % off"


def is_claim(arrival: Arrival, policy: LatePolicy) -> bool:
    """Whether only the times of the student's own files say that the work came in time."""
    return policy.due is not None and arrival.by == FILE_TIME and lateness(arrival, policy) is None


def lateness(arrival: Arrival, policy: LatePolicy) -> Late | None:
    """How late it came; None when it came in time or its time is not known."""
    if arrival.submitted and policy.due is not None:
        try:
            after = (moment(arrival.submitted) - policy.due).total_seconds()
        except ValueError:
            after = 0.0
        days = math.ceil(after / _DAY)
        return Late(days, min(1.0, round(days * policy.per_day, 9)), arrival.by) if days > 0 else None
    return Late(None, 0.0, "LMS mark") if arrival.late else None
