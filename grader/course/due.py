"""When work is due and the cost of a late day, from a course or a command line."""

import contextlib
import datetime

import msgspec


class LatePolicy(msgspec.Struct, frozen=True):
    """When work is due, and the cost of late work.

    Attributes:
        due: when it is due; None: nothing is late.
        per_day: the fraction of the points (0 to 1) that each day late costs; days are rounded up.
        grace_minutes: minutes after which work is late.
        cap: the largest fraction of the points that lateness costs.
        until: work that comes later than this counts nothing; None: there is no such date.
        by_file_time: whether the times of the student's files say when it came, if nothing else does.
        zone: the time zone, such as ``Europe/Berlin``, whose clock counts the days; empty: that of this machine.
    """

    due: datetime.datetime | None = None
    per_day: float = 0.0
    grace_minutes: float = 0.0
    cap: float = 1.0
    until: datetime.datetime | None = None
    by_file_time: bool = False
    zone: str = ""

    def __str__(self) -> str:
        if self.due is None:
            return "no due date"
        parts = [f"due {self.due.astimezone():%Y-%m-%d %H:%M}", f"{100 * self.per_day:g} % off a day"]
        parts += [f"at most {100 * self.cap:g} %"] if self.cap < 1 else []
        parts += [f"{self.grace_minutes:g} minutes of grace"] if self.grace_minutes else []
        parts += [f"nothing counts after {self.until.astimezone():%Y-%m-%d %H:%M}"] if self.until else []
        return ", ".join([*parts, *(["times of files count"] if self.by_file_time else [])])


NOT_DUE = LatePolicy()


def read_due(value: object) -> datetime.datetime:
    """The moment that a TOML date or time or ISO text means; a date alone is the end of that day, here.

    Raises:
        ValueError: it is not a date or a time.
    """
    read = value
    if isinstance(value, str):
        text = value.strip()
        with contextlib.suppress(ValueError):
            read = datetime.date.fromisoformat(text) if len(text) == 10 else _iso(text)
    if isinstance(read, datetime.date) and not isinstance(read, datetime.datetime):
        read = datetime.datetime.combine(read, datetime.time(23, 59, 59))
    if not isinstance(read, datetime.datetime):
        raise ValueError(f"{value!r} is not a date: write 2026-10-31 or 2026-10-31T23:59")
    return read if read.tzinfo else read.astimezone()


def local_zone() -> str:
    """The name of this machine's time zone; one that no zone has if it is not known."""
    from babel.localtime import get_localzone  # here, because it takes a moment

    try:
        return getattr(get_localzone(), "key", "") or "unknown"
    except (LookupError, OSError, ValueError):
        return "unknown"


def moment(text: str) -> datetime.datetime:
    """An ISO time; without an offset it is a local one.

    Raises:
        ValueError: it is not an ISO time.
    """
    return _iso(text.strip()).astimezone()


def _iso(text: str) -> datetime.datetime:
    if len(text) > 8 and text.isdigit():  # any sign may stand before the time, so a digit of it would be taken for that
        raise ValueError(f"{text!r} is not a time: write 2026-10-31T23:59")
    return datetime.datetime.fromisoformat(text[:-1] + "+00:00" if text[-1:] in ("Z", "z") else text)


def read_penalty(value: object) -> float:
    """The cost of a late day: a fraction from 0 to 1.

    Raises:
        ValueError: it is not such a number.
    """
    return read_fraction(value, "; 0.1 takes a tenth for each day")


def read_fraction(value: object, example: str = "") -> float:
    """A fraction from 0 to 1.

    Raises:
        ValueError: it is not such a number; `example` is added to the message.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(f"{value!r} is not a fraction from 0 to 1{example}")
    return float(value)


def read_minutes(value: object) -> float:
    """A number of minutes.

    Raises:
        ValueError: it is below 0, infinite or no number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise ValueError(f"{value!r} is not a number of minutes")
    return float(value)
