"""Reads the times that an LMS writes in the language of its user, such as ``Mittwoch, 30. September 2026, 11:05``.

Never guesses: a text that could mean two times means none.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import re
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from grader.course.due import moment
from grader.intake.names import words_of
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
# A time zone by its name, behind a time of the day.
_ZONE = re.compile(r"(?<=[\dMm.])\s?(UTC|GMT|[ACEMP][SD]T|[CEW]ES?T|BST|IST|JST|MSK|MES?Z)\b")
# Words that may follow a time of the day and do not say which half of it is meant.
_AFTER_A_CLOCK = {"uhr", "h", "hrs", "klo", "kl"}


def read_time(text: str) -> str:
    """The ISO time that the text means, in local time if it has no offset; empty if it means none, or more than one."""
    zone = _ZONE.search(text)
    if zone and zone[1] not in ("UTC", "GMT", *time.tzname):  # `IST` is that of India, of Ireland and of Israel
        return ""
    offset = datetime.timezone.utc if zone and zone[1] in ("UTC", "GMT") else None
    text = _ZONE.sub("", text)
    with contextlib.suppress(ValueError):
        return moment(f"{text.strip()}{'+00:00' if offset else ''}").isoformat(timespec="seconds")
    found = list(_CLOCK.finditer(folded(text)))
    clocks = [one for one in found if ":" in one[0]] or found[-1:]
    if len(clocks) != 1:
        return ""
    clock, plain = clocks[0], clocks[0].string
    half, before, after = _take_half(plain[: clock.start()], plain[clock.end() :])
    days = set(_days(f"{before} {after}"))
    hour, minute, second = (int(part or 0) for part in clock.groups())
    if half == "unknown" or (half and not 1 <= hour <= 12) or len(days) != 1:
        return ""
    hour = hour % 12 + (12 if half == "pm" else 0) if half else hour
    try:
        found_time = datetime.datetime.combine(days.pop(), datetime.time(hour, minute, second, tzinfo=offset))
        return found_time.astimezone().isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return ""


def _take_half(before: str, after: str) -> tuple[str, str, str]:
    """Which half of the day is said beside a time (``am``, ``pm``, nothing or ``unknown``), and the other words."""
    after, before = after.lstrip(" ,"), before.rstrip(" ,")
    for name, half in _halves().items():
        if after.startswith(name) and not after[len(name) : len(name) + 1].isalpha():
            return half, before, after[len(name) :]
        if before.endswith(name) and len(name) > 1 and not name.isascii():
            return half, before[: -len(name)], after
    word = _WORD.match(after.lstrip("."))
    return ("unknown" if word and word[0] not in _AFTER_A_CLOCK else ""), before, after


def _days(text: str) -> Iterator[datetime.date]:
    """The days that the text can mean."""
    for form in _NUMERIC:
        if found := form.search(text):
            year, month, day = int(found["year"]), int(found["month"]), int(found["day"])
            yield from _day(year, month, day)
            yield from _day(year, day, month) if "/" in found[0] else ()
            return
    numbers = re.findall(r"\d+", text)
    years = [int(number) for number in numbers if len(number) == 4]
    others = [int(number) for number in numbers if len(number) <= 2]
    if len(years) != 1 or len(others) != 1 or len(numbers) != 2:
        return
    words = set(_letters(text))
    by_weekday: set[datetime.date] = set()
    by_month: set[datetime.date] = set()
    contradicts = False
    for names_of_months, names_of_weekdays in _languages():
        months = {names_of_months[word] for word in words & names_of_months.keys()}
        weekdays = {names_of_weekdays[word] for word in words & names_of_weekdays.keys()}
        for meant in _day(years[0], months.pop(), others[0]) if len(months) == 1 else ():
            if not weekdays:
                by_month.add(meant)
            elif meant.weekday() in weekdays:
                by_weekday.add(meant)
            else:
                contradicts = True
    yield from by_weekday or (() if contradicts else by_month)


def _day(year: int, month: int, day: int) -> list[datetime.date]:
    """That day, if there is such a day."""
    try:
        return [datetime.date(year, month, day)]
    except ValueError:
        return []


@functools.cache
def _languages() -> list[tuple[dict[str, int], dict[str, int]]]:
    """Of each language the words for months, from 1, and for weekdays, from Monday, 0."""
    return [(_numbers(locale.months), _numbers(locale.days)) for locale in _locales()]


def _numbers(names: Mapping[str, Any]) -> dict[str, int]:
    """The number of each month or weekday by the first word of its names, if that is the first of one only."""
    found: dict[str, set[int]] = {}
    for width in ("abbreviated", "wide"):
        for form in ("stand-alone", "format"):
            for number, name in names.get(form, {}).get(width, {}).items():
                for word in _letters(name)[:1]:
                    found.setdefault(word, set()).add(number)
    return {word: numbers.pop() for word, numbers in found.items() if len(numbers) == 1}


def _letters(text: str) -> list[str]:
    """The words of a text, without numbers; in scripts whose vowels are marks, with these."""
    return [word for word in words_of(text) if not any(map(str.isdigit, word))]


@functools.cache
def _halves() -> dict[str, str]:
    """The names of the halves of the day in all languages, the longest first; one that means both means none."""
    names: dict[str, set[str]] = {"am": {"am"}, "pm": {"pm"}, "a.m.": {"am"}, "p.m.": {"pm"}}
    for locale in _locales():
        for form in locale.day_periods.values():
            for width in form.values():
                for half in ("am", "pm"):
                    names.setdefault(folded(width.get(half, "")).strip(), set()).add(half)
    known = {name: halves.pop() for name, halves in names.items() if name and len(halves) == 1}
    return dict(sorted(known.items(), key=lambda item: -len(item[0])))


@functools.cache
def _locales() -> list[babel.Locale]:
    """Every language that babel knows; takes a moment, once."""
    from babel import Locale, localedata

    return [Locale.parse(name) for name in sorted(localedata.locale_identifiers()) if "_" not in name]
