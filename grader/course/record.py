"""The record of tries in a student's folder: how often each exercise was tried, and when it passed.

It is for the page of `grader finish`, and knows the topics whose questions were asked. It stays in the folder's hidden
state: no verdict and no mark comes from it, `grade` never reads it, and it is never a part of a submission.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Mapping
from typing import Annotated, Final

import msgspec
from msgspec.structs import replace

from grader.course.home import HIDDEN, Home
from grader.files import write_atomically

RECORD: Final = "record.json"
OFF: Final = "no-record"
"""A file of this name beside the record switches it off for the folder."""
MOST_TRIES: Final = 9_999
_MOST_EXERCISES: Final = 2_000
_MOST_TOPICS: Final = 200
_MOST_BYTES: Final = 1_000_000
_Name = Annotated[str, msgspec.Meta(max_length=200)]


class Tries(msgspec.Struct, frozen=True):
    """How one exercise was tried until it passed.

    Attributes:
        first: the day of the first try.
        last: the day of the last try before it passed, or on which it passed.
        count: how often its outcome was another one than before; nothing is counted after it has passed.
        days: on how many days.
        passed: the day on which it passed; None: it has not.
        outcome: stands for how the last try went.
    """

    first: datetime.date
    last: datetime.date
    count: Annotated[int, msgspec.Meta(ge=1, le=MOST_TRIES)] = 1
    days: Annotated[int, msgspec.Meta(ge=1, le=MOST_TRIES)] = 1
    passed: datetime.date | None = None
    outcome: Annotated[str, msgspec.Meta(max_length=64)] = ""

    def after(self, outcome: str, has_passed: bool, today: datetime.date) -> Tries:
        """The same after one more check."""
        if self.passed is not None or outcome == self.outcome:
            return self
        return replace(
            self,
            last=today,
            count=min(self.count + 1, MOST_TRIES),
            days=min(self.days + (today != self.last), MOST_TRIES),
            passed=today if has_passed else None,
            outcome=outcome,
        )


class Outcome(msgspec.Struct, frozen=True):
    """How a try went: `digest` differs where something else happened."""

    digest: str
    has_passed: bool


class _Kept(msgspec.Struct, frozen=True):
    tries: dict[_Name, Tries] = {}
    asked: Annotated[dict[_Name, datetime.date], msgspec.Meta(max_length=_MOST_TOPICS)] = {}


class Record:
    """The record of one folder.

    Attributes:
        note: what to tell the student about the file; empty if there is nothing.
    """

    def __init__(self, home: Home) -> None:
        self._file = home.folder / HIDDEN / RECORD
        self.is_on = not (self._file.parent / OFF).exists() and not self._file.parent.is_symlink()
        self.note = ""
        self._kept = self._read()

    @property
    def tries(self) -> Mapping[str, Tries]:
        """By the full name of each exercise that was tried."""
        return self._kept.tries

    def add(self, outcomes: Mapping[str, Outcome], today: datetime.date | None = None) -> None:
        """Counts how some exercises went, by full name; nothing if the record is off, or cannot be written."""
        today = today or datetime.date.today()
        found = dict(self.tries)
        for name, one in outcomes.items():
            if name in found:
                found[name] = found[name].after(one.digest, one.has_passed, today)
            else:
                found[name] = Tries(today, today, passed=today if one.has_passed else None, outcome=one.digest)
        if found != self.tries:
            latest = sorted(found, key=lambda name: found[name].last)[-_MOST_EXERCISES:]
            self._write(replace(self._kept, tries={name: found[name] for name in found if name in set(latest)}))

    def was_asked(self, topic: str) -> bool:
        """Whether the questions of a topic were asked, or could not be remembered."""
        return not self.is_on or topic in self._kept.asked or len(self._kept.asked) >= _MOST_TOPICS

    def note_asked(self, topic: str) -> None:
        """Keeps that the questions of a topic were asked."""
        self._write(replace(self._kept, asked={**self._kept.asked, topic: datetime.date.today()}))

    def _read(self) -> _Kept:
        if not self.is_on or not self._file.exists():
            return _Kept()
        with contextlib.suppress(OSError, msgspec.DecodeError):
            with self._file.open("rb") as stream:
                data = stream.read(_MOST_BYTES + 1)
            if len(data) <= _MOST_BYTES:
                return msgspec.json.decode(data, type=_Kept)
        self.note = f"the record of your tries ({HIDDEN}/{RECORD}) could not be read, so it begins anew"
        return _Kept()

    def _write(self, kept: _Kept) -> None:
        self._kept = kept
        if self.is_on:
            with contextlib.suppress(OSError):
                write_atomically(self._file, [msgspec.json.encode(kept)], durable=False)
