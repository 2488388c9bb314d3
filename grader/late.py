"""Late work: when it was due, how late it came, and what that costs. Never touches the score: it is shown beside it."""

from __future__ import annotations

import datetime
import math

import msgspec

from grader.intake.submission import Arrival

_DAY = 86_400.0


class LatePolicy(msgspec.Struct, frozen=True):
    """When work is due, and the fraction of its points that each day begun after that takes."""

    due: datetime.datetime | None = None
    per_day: float = 0.0


NOT_DUE = LatePolicy()


class Late(msgspec.Struct, frozen=True):
    """How late a submission came.

    Attributes:
        days: days begun since it was due; None: the LMS marks it late, and when it came is not known.
        penalty: the fraction of the points that it loses, 0 to 1.
        by: what says so: ``roster``, ``file time`` or ``LMS mark``.
    """

    days: int | None
    penalty: float
    by: str

    def __str__(self) -> str:
        if self.days is None:
            return "late by the LMS's mark, nobody says how late: no penalty taken (a roster can tell)"
        days = f"{self.days} day{'s'[: self.days != 1]}"
        return f"{days} late by its {self.by}: {100 * self.penalty:g} % off"


def read_due(value: object) -> datetime.datetime:
    """The moment that a TOML date or time or ISO text means; a date alone is the end of that day, here.

    Raises:
        ValueError: it means none.
    """
    if isinstance(value, str):
        text = value.strip()
        value = datetime.date.fromisoformat(text) if len(text) == 10 else moment(text)
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        value = datetime.datetime.combine(value, datetime.time(23, 59, 59))
    if not isinstance(value, datetime.datetime):
        raise ValueError(f"{value!r} is no date")
    return value.astimezone()


def moment(text: str) -> datetime.datetime:
    """An ISO time; without an offset it is a local one.

    Raises:
        ValueError: it is none.
    """
    text = text.strip()
    return datetime.datetime.fromisoformat(text[:-1] + "+00:00" if text[-1:] in ("Z", "z") else text).astimezone()


def read_penalty(value: object) -> float:
    """A fraction from 0 to 1.

    Raises:
        ValueError: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(f"{value!r} is no fraction from 0 to 1; 0.1 takes a tenth for each day")
    return float(value)


def lateness(arrival: Arrival, policy: LatePolicy) -> Late | None:
    """How late it came; None when it came in time or nothing says that it did not."""
    if arrival.submitted and policy.due is not None:
        try:
            after = (moment(arrival.submitted) - policy.due).total_seconds()
        except ValueError:
            after = 0.0
        days = math.ceil(after / _DAY)
        return Late(days, min(1.0, round(days * policy.per_day, 9)), arrival.by) if days > 0 else None
    return Late(None, 0.0, "LMS mark") if arrival.late else None
