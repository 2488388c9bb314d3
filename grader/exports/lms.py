"""Files of Canvas and Moodle: the cells of one assignment are filled, and nothing else of the file is touched.

Finds each submission's row by id, else by a name that only one row and one submission have. Never guesses: a submission
or row in doubt is not matched, and a note names it.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from grader.errors import UserError
from grader.exports.spreadsheet import Spreadsheet, neutral
from grader.intake import worksheet
from grader.intake.matching import ID, NAME, Match, PeopleIndex
from grader.reports import feedback
from grader.reports.entries import Entry
from grader.text import counted, listed, one_line, points

_ASSIGNMENT: Final = re.compile(r".*\((\d+)\)\s*$", re.DOTALL)
_TOTALS: Final = re.compile(r"\b(Current|Final|Unposted \w+) (Score|Points|Grade)\s*$")
_CANVAS_IDS: Final = ("id", "sis user id", "sis login id", "integration id")
_MOODLE_IDS: Final = ("identifier", "id number", "email address", "username")
_OURS: Final = "Automatic feedback"
_EMPTY: Final = ("", "-", "\u2013")
_NAMED: Final = 20


class _Person(NamedTuple):
    """A row of the file.

    Attributes:
        ids: column by column; the first is that of the LMS's download.
        names: in the forms that a submission may be called by.
        most: the text of the most points; with a comma if the mark should have one.
    """

    row: int
    label: str
    ids: list[str]
    names: list[str]
    most: str


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
    sheet = Spreadsheet.read(path)
    if not sheet.rows or len(sheet.rows[0]) < 2:
        raise UserError(f"{path} is not a Canvas gradebook", fix="export it in Canvas: Grades, Export")
    head = [cell.value.strip() for cell in sheet.rows[0]]
    target = _assignment(path, head, column)
    possible_row = next((r for r, row in enumerate(sheet.rows) if row[0].value.strip() == "Points Possible"), 0)
    given = sheet.value(possible_row, target) if possible_row else ""
    if "read only" in given.lower():
        problem = f"Canvas does not let column `{one_line(head[target])}` be changed"
        raise UserError(problem, fix="name another: --column")
    id_columns = [c for c, name in enumerate(head) if name.lower() in _CANVAS_IDS] or [1]
    most = given if sheet.delimiter == ";" else given.replace(",", ".")
    people = []
    for row in range(possible_row + 1, len(sheet.rows)):
        name, ids = sheet.value(row, 0), [sheet.value(row, c) for c in id_columns]
        if name and any(one.strip() for one in ids):
            last, _, first = name.partition(",")
            people.append(_Person(row, name, ids, [name, f"{first} {last}"], most))
    _, notes = _fill(sheet, target, people, entries, "canvas", unread_as_zero, missing_as_zero)
    possible = _number(given)
    totals = sorted({entry.row.max for entry in entries if entry.row.max > 0})
    if possible and totals != [possible]:
        scales = ", ".join(f"{total:g}" for total in totals)
        notes.insert(0, f"marks are scaled from {scales} to {possible:g} points")
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
    sheet = Spreadsheet.read(path)
    head = worksheet.columns_of([[cell.value for cell in row] for row in sheet.rows])
    if "grade" not in head or not ({"identifier", "full name"} & head.keys()):
        fix = "in the assignment's submissions, Download grading worksheet (offline grading must be on)"
        raise UserError(f"{path} is not a Moodle grading worksheet", fix=f"download it: {fix}")

    def value(row: int, column: str) -> str:
        return sheet.value(row, head[column]) if column in head else ""

    people = []
    for row in range(1, len(sheet.rows)):
        ids = [value(row, column).strip() for column in _MOODLE_IDS]
        ids[0] = worksheet.participant(ids[0]) or ids[0]
        name = value(row, "full name")
        if any(ids) or name:
            people.append(_Person(row, name or " ".join(filter(None, ids)), ids, [name], value(row, "maximum grade")))
    matched, notes = _fill(sheet, head["grade"], people, entries, "moodle", unread_as_zero, missing_as_zero)
    for row, entry in matched.items() if "feedback comments" in head else ():
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


def _fill(
    sheet: Spreadsheet,
    column: int,
    people: Sequence[_Person],
    entries: Sequence[Entry],
    lms: str,
    unread_as_zero: bool,
    missing_as_zero: bool,
) -> tuple[dict[int, Entry], list[str]]:
    """Writes the marks into their cells; gives the submission of each row that has one, and notes."""
    matched, meant, notes = _matched(people, entries, lms)
    without = [person for person in people if person.row not in matched]
    empty = [one for one in without if one.row not in meant and sheet.value(one.row, column).strip() in _EMPTY]
    zeros = [one for one in empty if missing_as_zero and sheet.replace(one.row, column, "0")]
    if names := [one_line(one.label) for one in zeros]:
        notes.append(f"0 for {counted(len(names), 'student')} without a submission: {listed(names, _NAMED)}")
    if names := [one_line(one.label) for one in without if one not in zeros]:
        notes.append(f"not changed: {counted(len(names), 'row')} without a submission: {listed(names, _NAMED)}")
    unread = [entry for _, entry in matched.values() if entry.row.unread and not unread_as_zero]
    unmarked = [entry for _, entry in matched.values() if entry.row.unmarked]
    for aside, why, fix in (
        (unread, "could not be read", "--unread-as 0: zeros"),
        (unmarked, "is not marked yet", "see: grader mark"),
    ):
        if names := [one_line(entry.result.submission) for entry in aside]:
            cells = "1 cell left as it is" if len(names) == 1 else f"{len(names)} cells left as they are"
            notes.append(f"{cells}, as the work {why}: {listed(names, _NAMED)} ({fix})")
    for row, (person, entry) in matched.items():
        if entry in unread or entry in unmarked:
            continue
        if sheet.value(row, column).strip().upper() == "EX":
            notes.append(_not_filled(entry, "excused (EX)"))
        elif entry.row.max <= 0:
            notes.append(_not_filled(entry, "nothing could be assessed"))
        elif not sheet.replace(row, column, _mark(entry, person.most)):
            notes.append(_not_filled(entry, "its row ends before the column"))
    return {row: entry for row, (_, entry) in matched.items()}, notes


def _matched(
    people: Sequence[_Person], entries: Sequence[Entry], lms: str
) -> tuple[dict[int, tuple[_Person, Entry]], set[int], list[str]]:
    """The submission of each row that is the only one for it, the rows that any may belong to, and notes on others."""
    finder = _RowFinder(people, entries, lms)
    found = [(entry, finder.rows_of(entry)) for entry in entries]
    sure = Counter(match.one for _, match in found if match.how in (ID, NAME))
    loose = Counter(match.one for _, match in found if match.how not in (ID, NAME))
    of_row = {person.row: person for person in people}
    matched: dict[int, tuple[_Person, Entry]] = {}
    notes = []
    for entry, match in found:
        row, is_sure = match.one, match.how in (ID, NAME)
        if row is None:
            notes.append(_not_filled(entry, f"{'several rows' if match.people[1:] else 'no row'} for it in the file"))
        elif sure[row] > 1 or (not is_sure and sure[row] + loose[row] > 1):
            notes.append(_not_filled(entry, f"not the only one for {one_line(of_row[row].label)} in the file"))
        else:
            matched[row] = of_row[row], entry
            if not is_sure:
                name, label = one_line(entry.result.submission), one_line(of_row[row].label)
                notes.append(f"{name}: filled in for {label}, by a name that is not exactly the same")
    return matched, {row for _, match in found for row in match.people}, notes


class _RowFinder:
    """Finds the rows that a submission may belong to."""

    def __init__(self, people: Sequence[_Person], entries: Sequence[Entry], lms: str) -> None:
        # Moodle's own ids are of one assignment: nothing else than its own download has them.
        others = 1 if lms == "moodle" else 0
        self._index = PeopleIndex((one.row, one.ids[others:], one.names) for one in people)
        self._of_platform = PeopleIndex((one.row, one.ids[:1], ()) for one in people)
        names = [entry.result.submission for entry in entries]
        self._by_name = dict(zip(names, self._index.find_all(names), strict=True))
        self._lms = lms

    def rows_of(self, entry: Entry) -> Match[int]:
        """By id, else by name; in doubt if they are of different rows."""
        arrival, name = entry.row.arrival, entry.result.submission
        number = arrival.platform_id or arrival.student
        is_own = arrival.lms in ("", self._lms)
        is_of_list = not arrival.lms or arrival.student != number  # else it is an id of the platform alone
        rows = self._of_platform.of_id(number) if is_own and arrival.lms else []
        rows = [*rows, *(self._index.of_id(arrival.student) if is_own or is_of_list else ())]
        if not rows:
            return self._by_name[name]
        named = self._index.named(name).people
        others = () if not named or any(row in named for row in rows) else named
        return Match(tuple(dict.fromkeys([*rows, *others])), ID)


def _not_filled(entry: Entry, why: str) -> str:
    return f"not filled in: {one_line(entry.result.submission)}: {why}"


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
