"""Finds each submission's row in an LMS's file: by id, else by a name that only one row and one submission have.

Never guesses: a submission or row in doubt is not matched, and a note names it.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from grader.exports.sheet import Sheet
from grader.reports.entries import Entry
from grader.text import counted, folded, listed, one_line


@dataclass(frozen=True)
class Person:
    """A row of the file: its ids, column by column, and its names in the forms that a submission may be called by."""

    row: int
    label: str
    ids: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


class Matched(NamedTuple):
    """Whose row is whose.

    Attributes:
        entries: the submission of each row that has one.
        without: the rows that have none.
        missing: those of them that no submission can be meant for.
        notes: a line for each submission without a row.
    """

    entries: dict[int, Entry]
    without: list[Person]
    missing: list[Person]
    notes: list[str]


def match(people: Sequence[Person], entries: Iterable[Entry], lms: str) -> Matched:
    """Finds the rows of the submissions."""
    columns = max((len(person.ids) for person in people), default=0)
    by_id = [_index((_id(p.ids[c]), p) for p in people if p.ids[c:] and _id(p.ids[c])) for c in range(columns)]
    by_name = _index((key, person) for person in people for key in {_name(name) for name in person.names} if key)
    found: list[tuple[Entry, Person | None, str]] = []
    meant: set[int] = set()
    for entry in entries:
        arrival, name = entry.row.arrival, entry.result.submission
        ids = [_id(arrival.student)] if arrival.student and arrival.lms in ("", lms) else []
        rows = _first(by_id, ids) or _first(by_id, [_id(name)]) or by_name.get(_name(name), [])
        meant |= {person.row for person in rows}
        found.append((entry, rows[0] if len(rows) == 1 else None, "several rows" if rows else "no row"))
    taken = Counter(person.row for _, person, _ in found if person)
    matched: dict[int, Entry] = {}
    notes = []
    for entry, person, why in found:
        if person is not None and taken[person.row] == 1:
            matched[person.row] = entry
        else:
            why = f"{why} for it" if person is None else f"not the only one for {one_line(person.label)}"
            notes.append(f"not filled in: {one_line(entry.result.submission)}: {why} in the file")
    without = [person for person in people if person.row not in matched]
    return Matched(matched, without, [person for person in without if person.row not in meant], notes)


def fill_cells(
    sheet: Sheet,
    column: int,
    matched: Matched,
    most_of: Callable[[int], str],
    unread_as_zero: bool,
    missing_as_zero: bool,
) -> Iterator[str]:
    """Writes the marks into their cells, and gives notes on the cells that are left and on zeros for no work.

    Args:
        most_of: the text of the most points of a row; with a comma if the mark should have one.
    """
    empty = [one for one in matched.missing if sheet.value(one.row, column).strip() in _EMPTY]
    zeros = [one for one in empty if missing_as_zero and sheet.replace(one.row, column, "0")]
    if zeros:
        names = [one_line(one.label) for one in zeros]
        yield f"0 for {counted(len(zeros), 'student')} without a submission: {listed(names, _NAMED)}"
    if left := [one_line(one.label) for one in matched.without if one not in zeros]:
        yield f"not changed: {counted(len(left), 'row')} without a submission: {listed(left, _NAMED)}"
    unread = [entry for entry in matched.entries.values() if entry.row.unread and not unread_as_zero]
    unmarked = [entry for entry in matched.entries.values() if entry.row.unmarked]
    yield from _left(unread, "could not be read", "--unread-as 0: zeros")
    yield from _left(unmarked, "is not marked yet", "see: grader mark")
    for row, entry in matched.entries.items():
        if entry in unread or entry in unmarked:
            continue
        text = mark(entry, number(most_of(row)), "," in most_of(row))
        why = ""
        if sheet.value(row, column).strip().upper() == "EX":
            why = "excused (EX)"
        elif text is None:
            why = "nothing could be assessed"
        elif not sheet.replace(row, column, text):
            why = "its row ends before the column"
        if why:
            yield f"not filled in: {one_line(entry.result.submission)}: {why}"


def _left(entries: Sequence[Entry], why: str, fix: str) -> Iterator[str]:
    names = [one_line(entry.result.submission) for entry in entries]
    if names:
        cells = "1 cell left as it is" if len(names) == 1 else f"{len(names)} cells left as they are"
        yield f"{cells}, as the work {why}: {listed(names, _NAMED)} ({fix})"


_EMPTY = ("", "-", "\u2013")
_NAMED = 20


def mark(entry: Entry, possible: float | None, comma: bool = False) -> str | None:
    """The final points (with overrides and late penalty) scaled to `possible`; None when nothing was assessed."""
    if entry.row.max <= 0:
        return None
    points = entry.final if not possible else entry.final / entry.row.max * possible
    text = f"{points:.2f}".rstrip("0").rstrip(".")
    return text.replace(".", ",") if comma else text


def number(text: str) -> float | None:
    """The number in a cell, with a decimal point or comma; None if the cell has no number."""
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        return None


def _index(pairs: Iterable[tuple[str, Person]]) -> dict[str, list[Person]]:
    found: dict[str, list[Person]] = {}
    for key, person in pairs:
        if person not in found.setdefault(key, []):
            found[key].append(person)
    return found


def _first(indexes: Sequence[Mapping[str, list[Person]]], keys: Iterable[str]) -> list[Person]:
    """The rows of the first key that is found, in the first column that has it; empty if none is found."""
    return next((index[key] for key in keys for index in indexes if key in index), [])


def _id(text: str) -> str:
    return re.sub(r"^participant[ _]", "", text.strip().lower())


def _name(text: str) -> str:
    """Letters and digits only, without accents and in one case: ``Doe, Jane`` is Canvas's ``doejane``."""
    return "".join(filter(str.isalnum, folded(text)))
