"""Files of Canvas and Moodle: the cells of one assignment are filled, and nothing else of the file is touched.

Finds each submission's row by id, else by a name that only one row and one submission have. Never guesses: a submission
or row in doubt is not matched, and a note names it.
"""

import html
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from grader.errors import UserError
from grader.exports.sheet import Sheet, neutral
from grader.intake import worksheet
from grader.reports import feedback
from grader.reports.entries import Entry
from grader.text import counted, folded, listed, one_line, points

_ASSIGNMENT: Final = re.compile(r".*\((\d+)\)\s*$", re.DOTALL)
_TOTALS: Final = re.compile(r"\b(Current|Final|Unposted \w+) (Score|Points|Grade)\s*$")
_CANVAS_IDS: Final = ("id", "sis user id", "sis login id", "integration id")
_MOODLE_IDS: Final = ("identifier", "id number", "email address", "username")
_OURS: Final = "Automatic feedback"
_EMPTY: Final = ("", "-", "\u2013")
_NAMED: Final = 20


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


def fill_canvas(
    path: Path,
    entries: Sequence[Entry],
    column: str | None = None,
    unread_as_zero: bool = False,
    missing_as_zero: bool = False,
) -> tuple[bytes, list[str]]:
    """Canvas's gradebook with marks in the assignment's column, and notes about what was left out.

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
    target = _assignment(path, head, column)
    possible_row = next((r for r, row in enumerate(sheet.rows) if row[0].value.strip() == "Points Possible"), 0)
    given = sheet.value(possible_row, target) if possible_row else ""
    if "read only" in given.lower():
        raise UserError(
            f"Canvas does not let column `{one_line(head[target])}` be changed", fix="name another: --column"
        )
    id_columns = [c for c, name in enumerate(head) if name.lower() in _CANVAS_IDS] or [1]
    people = []
    for row in range(possible_row + 1, len(sheet.rows)):
        name, ids = sheet.value(row, 0), tuple(sheet.value(row, c) for c in id_columns)
        if name and any(one.strip() for one in ids):
            last, _, first = name.partition(",")
            people.append(Person(row, name, ids, (name, f"{first} {last}")))
    matched = match(people, entries, "canvas")
    notes = list(matched.notes)
    possible = _number(given)
    totals = sorted({entry.row.max for entry in entries if entry.row.max > 0})
    if possible and totals != [possible]:
        scales = ", ".join(f"{total:g}" for total in totals)
        notes.append(f"marks are scaled from {scales} to {possible:g} points")
    most = given if sheet.delimiter == ";" else given.replace(",", ".")
    notes += _fill(sheet, target, matched, lambda row: most, unread_as_zero, missing_as_zero)
    return sheet.content(), notes


def _assignment(path: Path, head: list[str], wanted: str | None) -> int:
    """The column of an assignment."""
    named = [(c, _ASSIGNMENT.match(name)) for c, name in enumerate(head) if not _TOTALS.search(name)]
    ids = {c: found[1] for c, found in named if found}
    columns = [c for c, number in ids.items() if wanted in (None, number, head[c])]
    if wanted is not None and not columns:
        columns = [c for c in ids if wanted.lower() in head[c].lower()]
    if len(columns) == 1:
        return columns[0]
    names = "; ".join(one_line(head[c]) for c in (columns or ids)) or "none"
    what = "several assignments" if columns else "no such assignment"
    raise UserError(f"{path} has {what}: {names}", fix="name one by its title or number: --column NAME")


def fill_moodle(
    path: Path, entries: Sequence[Entry], unread_as_zero: bool = False, missing_as_zero: bool = False
) -> tuple[bytes, list[str]]:
    """Moodle's grading worksheet with grades and feedback, and notes about what was left out.

    Feedback that a person wrote stays. For the arguments, see `fill_canvas`.

    Raises:
        UserError: it is not a Moodle grading worksheet.
    """
    sheet = Sheet.read(path)
    head = worksheet.columns_of([[cell.value for cell in row] for row in sheet.rows])
    if "grade" not in head or not ({"identifier", "full name"} & head.keys()):
        raise UserError(
            f"{path} is not a Moodle grading worksheet",
            fix="download it: in the assignment's submissions, Download grading worksheet (offline grading must be on)",
        )

    def value(row: int, column: str) -> str:
        return sheet.value(row, head[column]) if column in head else ""

    people = []
    for row in range(1, len(sheet.rows)):
        ids = [value(row, column).strip() for column in _MOODLE_IDS if column in head]
        if worksheet.IDENTIFIER in head:
            ids[0] = worksheet.participant(value(row, worksheet.IDENTIFIER)) or ids[0]
        name = value(row, "full name")
        if any(ids) or name:
            people.append(Person(row, name or " ".join(ids), tuple(ids), (name,)))
    matched = match(people, entries, "moodle")
    filled = _fill(
        sheet, head["grade"], matched, lambda row: value(row, "maximum grade"), unread_as_zero, missing_as_zero
    )
    notes = [*matched.notes, *filled]
    for row, entry in matched.entries.items() if "feedback comments" in head else ():
        before = value(row, "feedback comments").strip()
        if before and _OURS not in before:
            notes.append(f"feedback kept as it is: {one_line(entry.result.submission)}")
        elif entry.row.max > 0 or entry.row.unmarked:
            sheet.replace(row, head["feedback comments"], neutral(_comment(entry)))
    return sheet.content(), notes


def _comment(entry: Entry) -> str:
    """What the student reads in Moodle: points, and what did not pass. Safe as HTML."""
    row = entry.row
    parts = [f"{_OURS}: {points(row.score, row.max)} points."]
    if row.unread:
        parts = [f"{_OURS}: no mark yet: work could not be read.", *(f"{line}." for line in feedback.unread(row))]
    if row.late is not None:
        parts.append(f"{row.late}.")
    for one in row.overrides:
        parts.append(f"{one.exercise}: {points(one.points or 0.0, one.max)} given by hand ({one.why}).")
    if missing := feedback.not_marked(entry.result, row.given):
        parts.append(f"No mark yet: {missing}.")
    overridden = {one.exercise for one in row.overrides}
    for mark in (one for one in row.marks if one.exercise not in overridden):
        items = "; ".join(feedback.item_lines(mark.items))
        parts.append(f"{mark.exercise}: {points(mark.points or 0.0, mark.max)} by the rubric ({items}).")
    parts += [f"About {one.exercise}: {one.text}" for one in row.comments]
    missed = [e for e in entry.read if e.max > 0 and not e.is_right and e.name not in row.given]
    if missed:
        parts.append(f"Not passed: {', '.join(exercise.name for exercise in missed)}.")
    explained = ((exercise.name, feedback.explanation_of(exercise)) for exercise in missed)
    parts += [f"{name}: {explanation}" for name, explanation in explained if explanation]
    return html.escape(one_line(" ".join(" ".join(parts).split()), 2000), quote=False)


def match(people: Sequence[Person], entries: Iterable[Entry], lms: str) -> Matched:
    """Finds the rows of the submissions."""
    columns = max((len(person.ids) for person in people), default=0)
    by_id = [_index((_id(p.ids[c]), p) for p in people if p.ids[c:] and _id(p.ids[c])) for c in range(columns)]
    by_name = _index((key, person) for person in people for key in map(_name, person.names) if key)
    found: list[tuple[Entry, list[Person]]] = []
    for entry in entries:
        arrival, name = entry.row.arrival, entry.result.submission
        keys = [_id(arrival.student)] if arrival.student and arrival.lms in ("", lms) else []
        of_ids = [index[key] for key in (*keys, _id(name)) for index in by_id if key in index]
        found.append((entry, of_ids[0] if of_ids else by_name.get(_name(name), [])))
    taken = Counter(rows[0].row for _, rows in found if len(rows) == 1)
    matched: dict[int, Entry] = {}
    notes = []
    for entry, rows in found:
        if len(rows) == 1 and taken[rows[0].row] == 1:
            matched[rows[0].row] = entry
            continue
        why = "several rows for it" if rows else "no row for it"
        if len(rows) == 1:
            why = f"not the only one for {one_line(rows[0].label)}"
        notes.append(f"not filled in: {one_line(entry.result.submission)}: {why} in the file")
    meant = {person.row for _, rows in found for person in rows}
    without = [person for person in people if person.row not in matched]
    return Matched(matched, without, [person for person in without if person.row not in meant], notes)


def _fill(
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
    for those, why in (
        (unread, "could not be read: {} (--unread-as 0: zeros)"),
        (unmarked, "is not marked yet: {} (see: grader mark)"),
    ):
        if names := [one_line(entry.result.submission) for entry in those]:
            cells = "1 cell left as it is" if len(names) == 1 else f"{len(names)} cells left as they are"
            yield f"{cells}, as the work {why.format(listed(names, _NAMED))}"
    for row, entry in matched.entries.items():
        if entry in unread or entry in unmarked:
            continue
        why = ""
        if sheet.value(row, column).strip().upper() == "EX":
            why = "excused (EX)"
        elif entry.row.max <= 0:
            why = "nothing could be assessed"
        elif not sheet.replace(row, column, _mark(entry, most_of(row))):
            why = "its row ends before the column"
        if why:
            yield f"not filled in: {one_line(entry.result.submission)}: {why}"


def _mark(entry: Entry, most: str) -> str:
    """The final points (with overrides and late penalty), scaled to the most points, as these are written."""
    possible = _number(most)
    final = entry.final / entry.row.max * possible if possible else entry.final
    text = f"{final:.2f}".rstrip("0").rstrip(".")
    return text.replace(".", ",") if "," in most else text


def _number(text: str) -> float | None:
    """The number in a cell, with a decimal point or comma; None if the cell has no number."""
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        return None


def _index(pairs: Iterable[tuple[str, Person]]) -> Mapping[str, list[Person]]:
    found: dict[str, list[Person]] = {}
    for key, person in pairs:
        if person not in found.setdefault(key, []):
            found[key].append(person)
    return found


def _id(text: str) -> str:
    return re.sub(r"^participant[ _]", "", text.strip().lower())


def _name(text: str) -> str:
    """Letters and digits only, without accents and in one case: ``Doe, Jane`` is Canvas's ``doejane``."""
    return "".join(filter(str.isalnum, folded(text)))
