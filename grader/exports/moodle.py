"""Moodle's offline grading worksheet: Grade and Feedback comments are filled, nothing else is touched."""

import html
from collections.abc import Sequence
from pathlib import Path

from grader.errors import UserError
from grader.exports.matching import Person, fill_cells, match
from grader.exports.sheet import Sheet, neutral
from grader.intake import worksheet
from grader.reports.entries import Entry
from grader.reports.feedback import explanation_of, item_lines, not_marked
from grader.reports.feedback import unread as unread_lines
from grader.text import one_line, points

_IDS = ("identifier", "id number", "email address", "username")
_OURS = "Automatic feedback"


def fill(
    path: Path, entries: Sequence[Entry], unread_as_zero: bool = False, missing_as_zero: bool = False
) -> tuple[bytes, list[str]]:
    """The worksheet with grades and feedback, and notes on what was left out. Feedback that a person wrote stays.

    Args:
        unread_as_zero: whether work that could not be read gets its points; else its grade stays as it is.
        missing_as_zero: whether a student without a submission and without a grade gets 0.

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
    ids = [head[name] for name in _IDS if name in head]
    full_name = head.get("full name")
    people = []
    for row in range(1, len(sheet.rows)):
        keys = tuple(_key(sheet.value(row, c), c == head.get(worksheet.IDENTIFIER)) for c in ids)
        name = "" if full_name is None else sheet.value(row, full_name)
        if any(keys) or name:
            people.append(Person(row, name or " ".join(keys), keys, (name,)))
    matched = match(people, entries, "moodle")

    def most_of(row: int) -> str:
        return sheet.value(row, head["maximum grade"]) if "maximum grade" in head else ""

    notes = [*matched.notes, *fill_cells(sheet, head["grade"], matched, most_of, unread_as_zero, missing_as_zero)]
    feedback = head.get("feedback comments")
    if feedback is None:
        return sheet.content(), notes
    for row, entry in matched.entries.items():
        before = sheet.value(row, feedback).strip()
        if before and _OURS not in before:
            notes.append(f"feedback kept as it is: {one_line(entry.result.submission)}")
        elif entry.row.max > 0 or entry.row.unmarked:
            sheet.replace(row, feedback, neutral(comment(entry)))
    return sheet.content(), notes


def _key(cell: str, is_identifier: bool) -> str:
    """An id as the submissions have it."""
    return (worksheet.participant(cell) if is_identifier else "") or cell.strip()


def comment(entry: Entry) -> str:
    """What the student reads in Moodle: points, and what did not pass. Safe as HTML."""
    row = entry.row
    parts = [f"{_OURS}: {points(row.score, row.max)} points."]
    if row.unread:
        parts = [f"{_OURS}: no mark yet: work could not be read."]
        parts += [f"{line}." for line in unread_lines(row)]
    if row.late is not None:
        parts.append(f"{row.late}.")
    for one in row.overrides:
        parts.append(f"{one.exercise}: {points(one.points or 0.0, one.max)} given by hand ({one.why}).")
    if missing := not_marked(entry.result, row.given):
        parts.append(f"No mark yet: {missing}.")
    overridden = {one.exercise for one in row.overrides}
    for by_rubric in (one for one in row.marks if one.exercise not in overridden):
        items = "; ".join(item_lines(by_rubric.items))
        parts.append(f"{by_rubric.exercise}: {points(by_rubric.points or 0.0, by_rubric.max)} by the rubric ({items}).")
    parts += [f"About {one.exercise}: {one.text}" for one in row.comments]
    aside = {one.topic for one in row.unread}
    missed = [e for e in entry.result.exercises if e.max > 0 and not e.is_right and e.name not in row.given]
    missed = [e for e in missed if e.name.partition(".")[0] not in aside]
    if missed:
        parts.append(f"Not passed: {', '.join(exercise.name for exercise in missed)}.")
    for exercise in missed:
        explanation = explanation_of(exercise)
        parts += [f"{exercise.name}: {explanation}"] if explanation else []
    return html.escape(one_line(" ".join(" ".join(parts).split()), 2000), quote=False)
