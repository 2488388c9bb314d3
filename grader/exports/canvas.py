"""The Canvas gradebook: one column of the file that the instructor exported is filled, nothing else is touched."""

import re
from collections.abc import Sequence
from pathlib import Path

from grader.errors import UserError
from grader.exports.matching import Person, fill_cells, match, number
from grader.exports.sheet import Sheet
from grader.reports.entries import Entry
from grader.text import one_line

_ASSIGNMENT = re.compile(r".*\((\d+)\)\s*$", re.DOTALL)
_TOTALS = re.compile(r"\b(Current|Final|Unposted \w+) (Score|Points|Grade)\s*$")
_IDS = ("id", "sis user id", "sis login id", "integration id")


def fill(
    path: Path,
    entries: Sequence[Entry],
    column: str | None = None,
    unread_as_zero: bool = False,
    missing_as_zero: bool = False,
) -> tuple[bytes, list[str]]:
    """The file with marks in the assignment's column, and notes about rows and submissions that were left out.

    Args:
        column: the assignment's title or id; needed where the file has several assignments.
        unread_as_zero: whether work that could not be read gets its points; else its cell stays as it is.
        missing_as_zero: whether an empty cell of a student without a submission gets 0.

    Raises:
        UserError: it is not a Canvas gradebook, or several columns or none could be meant.
    """
    sheet = Sheet.read(path)
    if not sheet.rows or len(sheet.rows[0]) < 2:
        raise UserError(f"{path} is not a Canvas gradebook", fix="export it in Canvas: Grades, Export")
    head = [cell.value.strip() for cell in sheet.rows[0]]
    target = _column(path, head, column)
    possible_row = next((r for r, row in enumerate(sheet.rows) if row[0].value.strip() == "Points Possible"), None)
    first = 1 if possible_row is None else possible_row + 1
    given = "" if possible_row is None else sheet.value(possible_row, target)
    if "read only" in given.lower():
        raise UserError(
            f"Canvas does not let column `{one_line(head[target])}` be changed", fix="name another: --column"
        )
    ids = [c for c, name in enumerate(head) if name.lower() in _IDS] or [1]
    people = [
        Person(row, name, tuple(sheet.value(row, c) for c in ids), _forms(name))
        for row in range(first, len(sheet.rows))
        if any(sheet.value(row, c).strip() for c in ids) and (name := sheet.value(row, 0))
    ]
    matched = match(people, entries, "canvas")
    most = given if sheet.delimiter == ";" else given.replace(",", ".")
    notes = [*matched.notes, *_scale(entries, number(given))]
    notes += fill_cells(sheet, target, matched, lambda row: most, unread_as_zero, missing_as_zero)
    return sheet.content(), notes


def _column(path: Path, head: list[str], wanted: str | None) -> int:
    known = {
        c: found[1] for c, name in enumerate(head) if (found := _ASSIGNMENT.match(name)) and not _TOTALS.search(name)
    }
    if wanted is None:
        columns = list(known)
    else:
        columns = [c for c, number in known.items() if wanted in (number, head[c])]
        columns = columns or [c for c in known if wanted.lower() in head[c].lower()]
    if len(columns) == 1:
        return columns[0]
    names = "; ".join(one_line(head[c]) for c in (columns or known)) or "none"
    what = "several assignments" if columns else "no such assignment"
    raise UserError(f"{path} has {what}: {names}", fix="name one by its title or number: --column NAME")


def _forms(name: str) -> tuple[str, ...]:
    """The forms of a name: ``Doe, Jane`` and ``Jane Doe``."""
    last, _, first = name.partition(",")
    return name, f"{first} {last}"


def _scale(entries: Sequence[Entry], possible: float | None) -> list[str]:
    totals = sorted({entry.row.max for entry in entries if entry.row.max > 0})
    if not possible or totals == [possible]:
        return []
    return [f"marks are scaled from {', '.join(f'{total:g}' for total in totals)} to {possible:g} points"]
