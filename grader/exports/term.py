"""The marks of a term as a table: a row per student, the result of each assignment, and the mark of all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from grader.course import Course
from grader.exports.spreadsheet import csv_line
from grader.gradebook import Gradebook
from grader.reports.term import Standing, term_of, worth_of
from grader.text import listed

_END: Final = ("grade", "without a mark", "dropped", "left the class")
EXCUSED: Final = "EX"


def term_table(book: Gradebook, course: Course, missing_as_zero: bool = False) -> Iterator[bytes]:
    """A CSV file of the term, piece by piece. No cell acts as a formula.

    Of each assignment: the points that count, after lateness, ``EX`` if the student is excused, nothing without a mark;
    then the student's state. The percentage is exact to a hundredth; it is empty while an assignment has no mark. Its
    heading says that it is one so far while an assignment has no run.

    Args:
        missing_as_zero: whether what was not handed in counts 0 points; else it leaves the term without a mark.
    """
    plan, worth = course.plan, worth_of(course)
    students = term_of(book, course)
    begun = [one for one in plan.assignments if one.name in book.assignments()]
    columns = [cell for one in begun for cell in (f"{one.name} ({worth[one.name]:g})", f"{one.name} state")]
    percent_head = "percent" if len(begun) == len(plan.assignments) else "percent so far"
    yield b"\xef\xbb\xbf" + csv_line(["student", "id", "group", *columns, percent_head, *_END])
    for student in students:
        cells: list[str] = [student.name, next(iter(student.ids), ""), student.group]
        for one in begun:
            standing = student.standings.get(one.name)
            cells += (
                ["", "not in the class"] if standing is None else _cells(standing, missing_as_zero, worth[one.name])
            )
        total = student.total(plan, worth, missing_as_zero)
        percent = "" if total.percent is None else f"{total.percent:.2f}"
        lacking = [f"{one.assignment.name}: {one.state}" for one in total.lacking]
        lacking += [student.doubt] if student.doubt else []
        cells += [percent, total.letter(plan.term.letters), "; ".join(lacking), " ".join(total.dropped)]
        yield csv_line([*cells, "yes" if student.has_left else ""])


def _cells(standing: Standing, missing_as_zero: bool, worth: float) -> list[str]:
    """The points that count, and the state; with the most points, if they are others than the assignment's now."""
    if standing.state == "excused":
        return [EXCUSED, str(standing)]
    if standing.state == "not handed in":
        return ["0" if missing_as_zero and standing.can_be_zero else "", str(standing)]
    points = f"{standing.entry.final:g}" if standing.entry and standing.has_mark else ""
    late = standing.entry.row.late_words if standing.entry else ""
    most = (
        f"of {standing.entry.row.max:g} points" if points and standing.entry and standing.entry.row.max != worth else ""
    )
    return [points, listed([str(standing), *filter(None, (most, late))], 3)]
