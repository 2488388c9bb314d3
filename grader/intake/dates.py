"""Reads the times that an LMS writes in the language of its user, such as ``Mittwoch, 30. September 2026, 11:05``.

Never guesses: a text that could mean two times means none.
"""

from __future__ import annotations

import datetime
import functools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.course.due import moment
from grader.text import folded

if TYPE_CHECKING:
    import babel

_CLOCK = re.compile(r"\b(\d{1,2})\s?[:.h]\s?(\d{2})(?::(\d{2}))?\b(?!\s*[./-]?\d{4})")
_NUMERIC = (
    re.compile(r"\b(?P<year>\d{4})[./-](?P<month>\d{1,2})[./-](?P<day>\d{1,2})\b"),
    re.compile(r"\b(?P<day>\d{1,2})\.\s?(?P<month>\d{1,2})\.\s?(?P<year>\d{4})\b"),
    re.compile(r"\b(?P<day>\d{1,2})/(?P<month>\d{1,2})/(?P<year>\d{4})\b"),
    re.compile(r"(?P<year>\d{4})\s*[年년]\s*(?P<month>\d{1,2})\s*[月월]\s*(?P<day>\d{1,2})\s*[日일]"),
)
_WORD = re.compile(r"[^\W\d_]+")
_AFTER_A_CLOCK = {"uhr", "h", "hrs", "klo", "kl"}
"""Words that may follow a time of the day and do not say which half of it is meant."""


def read_time(text: str) -> str:
    """The ISO time that the text means, in local time if it has no offset; empty if it means none, or more than one."""
    try:
        return moment(text).isoformat(timespec="seconds")
    except ValueError:
        pass
    plain = folded(text)
    plain, clock = _take_clock(plain)
    days = set(_days(plain))
    if clock is None or len(days) != 1:
        return ""
    try:
        return datetime.datetime.combine(days.pop(), clock).astimezone().isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return ""


def _take_clock(text: str) -> tuple[str, datetime.time | None]:
    """The text without the time of day, and that time; None if there is not exactly one."""
    found = list(_CLOCK.finditer(text))
    clocks = [one for one in found if ":" in one[0]] or found[-1:]
    if len(clocks) != 1:
        return text, None
    before, after = text[: clocks[0].start()], text[clocks[0].end() :]
    hour, minute, second = (int(part or 0) for part in clocks[0].groups())
    half, before, after = _take_half(before, after)
    if half == "unknown" or (half and not 1 <= hour <= 12):
        return text, None
    hour = hour % 12 + (12 if half == "pm" else 0) if half else hour
    try:
        return f"{before} {after}", datetime.time(hour, minute, second)
    except ValueError:
        return text, None


def _take_half(before: str, after: str) -> tuple[str, str, str]:
    """Which half of the day is said beside a time (``am``, ``pm``, nothing or ``unknown``), and the other words."""
    for name, half in _halves().items():
        if after.lstrip(" ,").startswith(name) and not after.lstrip(" ,")[len(name) : len(name) + 1].isalpha():
            return half, before, after.lstrip(" ,")[len(name) :]
        if before.rstrip(" ,").endswith(name) and len(name) > 1 and not name.isascii():
            return half, before.rstrip(" ,")[: -len(name)], after
    word = _WORD.match(after.lstrip(" ,."))
    return ("unknown" if word and word[0] not in _AFTER_A_CLOCK else ""), before, after


def _days(text: str) -> Iterator[datetime.date]:
    """The days that the text can mean."""
    for form in _NUMERIC:
        if found := form.search(text):
            year, month, day = int(found["year"]), int(found["month"]), int(found["day"])
            readings = [_day(year, month, day), _day(year, day, month) if "/" in found[0] else None]
            yield from (one for one in readings if one is not None)
            return
    numbers = re.findall(r"\d+", text)
    years = [int(number) for number in numbers if len(number) == 4]
    others = [int(number) for number in numbers if len(number) <= 2]
    if len(years) != 1 or len(others) != 1 or len(numbers) != 2:
        return
    words = set(_WORD.findall(text))
    sure: set[datetime.date] = set()
    unsure: set[datetime.date] = set()
    contradicts = False
    for language in _languages():
        months = {language.months[word] for word in words if word in language.months}
        weekdays = {language.weekdays[word] for word in words if word in language.weekdays}
        meant = _day(years[0], months.pop(), others[0]) if len(months) == 1 else None
        if meant is None:
            continue
        if not weekdays:
            unsure.add(meant)
        elif meant.weekday() in weekdays:
            sure.add(meant)
        else:
            contradicts = True
    yield from sure or (() if contradicts else unsure)


def _day(year: int, month: int, day: int) -> datetime.date | None:
    try:
        return datetime.date(year, month, day)
    except ValueError:
        return None


class _Language:
    """The words of one language: of months from 1, of weekdays from Monday, 0."""

    def __init__(self) -> None:
        self.months: dict[str, int] = {}
        self.weekdays: dict[str, int] = {}


@functools.cache
def _languages() -> list[_Language]:
    found = []
    for locale in _locales():
        language = _Language()
        for names, kept in ((locale.months, language.months), (locale.days, language.weekdays)):
            for width in ("abbreviated", "wide"):
                for form in ("stand-alone", "format"):
                    for number, name in names.get(form, {}).get(width, {}).items():
                        for word in _WORD.findall(folded(name))[:1]:
                            kept[word] = number
        found.append(language)
    return found


@functools.cache
def _halves() -> dict[str, str]:
    """The names of the halves of the day in all languages, the longest first; one that means both means none."""
    names: dict[str, set[str]] = {"am": {"am"}, "pm": {"pm"}, "a.m.": {"am"}, "p.m.": {"pm"}}
    for locale in _locales():
        for form in locale.day_periods.values():
            for width in form.values():
                for half in ("am", "pm"):
                    if name := folded(width.get(half, "")).strip():
                        names.setdefault(name, set()).add(half)
    known = {name: halves.pop() for name, halves in names.items() if len(halves) == 1}
    return dict(sorted(known.items(), key=lambda item: -len(item[0])))


@functools.cache
def _locales() -> list[babel.Locale]:
    """Every language that babel knows; takes a moment, once."""
    from babel import Locale, localedata

    return [Locale.parse(name) for name in sorted(localedata.locale_identifiers()) if "_" not in name]
