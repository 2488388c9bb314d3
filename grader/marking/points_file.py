"""`grader import`: points and comments from a spreadsheet, kept as overrides and comments. All of the file, or nothing.

Never guesses: a line that names no student or exercise, or points that cannot be, refuses the whole file.
"""

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from grader.course import Course
from grader.errors import UserError
from grader.gradebook import Gift, Gradebook, Mark, Override, Row
from grader.intake.roster import decoded
from grader.marking.given import comment_on, override_of, read_points, text_of_comment, worth_of_exercises
from grader.marking.keeping import Agreed, course_of, exercise_called, looked_at, open_book
from grader.marking.whom import Students
from grader.reports.feedback import earned, work_file
from grader.reports.status import when
from grader.results import total_points
from grader.text import counted, listed, one_line, points

_COLUMNS: Final = ("student", "exercise", "assignment", "points", "comment", "why")
_HINT: Final = re.compile(r"\s*sep=", re.IGNORECASE)
"""The line for Excel that some programs write above all others."""
_MOST_BYTES: Final = 16 * 1024 * 1024
_MOST_PROBLEMS: Final = 20
_MOST_TEXT: Final = 60


class _Line(NamedTuple):
    """A line of the file: its number, and its cells by the names of their columns."""

    number: int
    cells: dict[str, str]


def import_points(
    out: Path, file: Path, who: str | None, agreed: Agreed, assignment: str | None = None, course: Course | None = None
) -> Iterator[str]:
    """Gives the points and comments of a file; returns lines on what changes, after which it asks.

    Args:
        assignment: the one that the exercises are of; None: the one that the file names, or the only one.

    Raises:
        UserError: the file cannot be read, or a line of it cannot be kept, or nobody agrees; nothing is changed then.
    """
    lines, notes = _read(file)
    yield from notes
    named = {one for line in lines if (one := line.cells.get("assignment"))}
    with open_book(out, course) as book:
        book.choose(next(iter(named)) if assignment is None and len(named) == 1 and book.plan.is_term else assignment)
        changes, problems = _Changes(book, list(book.results()), file, who), []
        for line in lines:
            try:
                changes.add(line)
            except UserError as problem:
                fix = f" ({problem.fix})" if problem.fix else ""
                problems.append(f"{file}, line {line.number}: {problem.message}{fix}")
        if problems:
            yield from problems[1:_MOST_PROBLEMS]
            more = f"; {counted(len(problems) - 1, 'other line')} as well" if problems[1:] else ""
            raise UserError(problems[0] + more, fix="nothing is changed: mend the file, and import it again")
        yield from changes.lines
        if changes.unchanged:
            yield f"{counted(changes.unchanged, 'line')} without a change"
        if not changes.gifts:
            yield "nothing to change"
            return
        if not agreed():
            raise UserError("nothing is changed", fix="to keep this: --yes")
        book.give_all(course_of(book), changes.gifts)
    yield f"kept: {counted(changes.points, 'override')}, {counted(changes.comments, 'comment')}"


class _Changes:
    """The changes that the lines of a file make, in their order.

    Attributes:
        lines: before and after, for whoever decides.
        unchanged: the lines that say what counts already, or nothing.
    """

    def __init__(self, book: Gradebook, rows: list[Row], file: Path, who: str | None) -> None:
        self.gifts: list[Gift] = []
        self.lines: list[str] = []
        self.points = self.comments = self.unchanged = 0
        self._book = book
        self._students = Students(book, rows)
        self._most = worth_of_exercises(rows)
        self._file = file
        self._who = who
        self._seen: dict[tuple[str, str, str], tuple[int, str]] = {}

    def add(self, line: _Line) -> None:
        """Adds the changes of a line.

        Raises:
            UserError: it names no student or exercise, or cannot be kept.
        """
        cells = line.cells
        if not cells.get("student"):
            raise UserError("no student is named")
        row = self._students.row(cells["student"])
        of, at_hand = cells.get("assignment", ""), self._book.assignment
        if of and of != at_hand:
            what = f"the points are given for `{at_hand}`" if at_hand else "this course declares none"
            raise UserError(f"assignment `{one_line(of)}`: {what}", fix="a file for each: --assignment NAME")
        if not (of or cells.get("exercise")):
            raise UserError("no exercise is named")
        is_whole = not cells.get("exercise")
        name = next(iter(self._most)) if is_whole else exercise_called([*self._most], cells["exercise"])
        before = len(self.gifts)
        meant = of if is_whole else name
        if (text := cells.get("points", "")) and self._is_new(row.label, meant, "points", text, line):
            why = cells.get("why") or f"from {self._file.name}, line {line.number}"
            most = self._most if is_whole else {name: self._most[name]}
            given = read_points(text, total_points(most.values()), meant)
            for one, worth in _shares(given, most).items():
                self._give_points(row, override_of(row, one, worth, most[one], why, self._who))
        # A comment is about the work, so all of a group have it.
        if (text := cells.get("comment", "")) and self._is_new(row.group or row.label, name, "comment", text, line):
            self._give_comment(row, name, text_of_comment(text))
        self.unchanged += len(self.gifts) == before

    def _is_new(self, whose: str, exercise: str, kind: str, text: str, line: _Line) -> bool:
        """Whether no line before says the same of the same exercise.

        Raises:
            UserError: one says something else.
        """
        number, said = self._seen.setdefault((whose, exercise, kind), (line.number, text))
        if said != text:
            other = "other points" if kind == "points" else "another comment"
            raise UserError(f"line {number} has {other} of {whose} for {exercise}", fix="leave one of them")
        return number == line.number

    def _give_points(self, row: Row, made: Override) -> None:
        name = made.exercise
        in_force: list[Override | Mark] = [*row.overrides, *row.marks]
        by_hand = next((one for one in in_force if one.exercise == name), None)
        if made.points == (by_hand.points if by_hand else None) and not (by_hand and by_hand.stale):
            return
        found = next((one for one in row.result.exercises if one.name == name), None)
        was = "not graded" if found is None else "not marked" if found.manual else f"{earned(found)} automatic"
        if by_hand is not None:
            was = f"{points(by_hand.points or 0.0, by_hand.max)} by {by_hand.who}, {when(by_hand.made)}"
        now = "automatic" if made.points is None else points(made.points, made.max)
        self._keep(Gift(made, looked_at(self._book, row, name), row.people))
        self.lines.append(f"{row.label}: {name}: {was} → {now} ({one_line(made.why, _MOST_TEXT)})")
        self.points += 1

    def _give_comment(self, row: Row, name: str, text: str) -> None:
        there = next((one for one in row.comments if one.exercise == name and not one.line), None)
        if text == (there.text if there else "") and not (there and there.stale):
            return
        file = next((work_file(one) for one in row.result.exercises if one.name == name), "")
        self._keep(Gift(comment_on(row, name, text, self._who), looked_at(self._book, row, name, file), row.people))
        was = f"“{_short(there.text)}” by {there.who}" if there else "none"
        self.lines.append(f"{row.label}: {name}: comment: {was} → {f'“{_short(text)}”' if text else 'none'}")
        self.comments += 1

    def _keep(self, gift: Gift) -> None:
        number = self._book.standing(course_of(self._book), gift.people, gift.given).number
        self.gifts.append(gift._replace(after=number))


def _shares(given: float | None, most: dict[str, float]) -> dict[str, float | None]:
    """Points for all of these exercises, in the shares that they have of them; the last one makes up the whole."""
    if given is None:
        return dict.fromkeys(most)
    whole = total_points(most.values())
    shares: dict[str, float | None] = {name: total_points([given * worth / whole]) for name, worth in most.items()}
    *others, last = most
    shares[last] = max(0.0, total_points([given, *(-(shares[name] or 0.0) for name in others)]))
    return shares


def _short(text: str) -> str:
    return one_line(text.replace("\n", " / "), _MOST_TEXT)


def _read(file: Path) -> tuple[list[_Line], list[str]]:
    """The lines of the file below the one that names the columns, without empty ones; and notes on it.

    Raises:
        UserError: it cannot be read, is not a CSV file, or lacks a column.
    """
    try:
        with file.open("rb") as stream:
            content = stream.read(_MOST_BYTES + 1)
        if content.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
            raise UserError(f"{file} is a workbook, not a CSV file", fix="save it as CSV in UTF-8")
        if len(content) > _MOST_BYTES:
            raise UserError(f"{file} is larger than {_MOST_BYTES >> 20} MiB")
        text = decoded(content)[0].lstrip("\ufeff")
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "it is not text"
        fix = "name the file" if isinstance(problem, OSError) else "save it as CSV in UTF-8"
        raise UserError(f"{file} cannot be read: {reason}", fix=fix) from None
    named = next((one for one in text.splitlines() if one.strip() and not _HINT.match(one)), "")
    delimiter = max(",;\t", key=named.count)
    if not (table := _table(file, text, delimiter)):
        raise UserError(f"{file} is empty")
    (first, head), *rows = table
    names = [" ".join(name.split()).casefold() for name in head]
    if twice := next((name for name in _COLUMNS if names.count(name) > 1), ""):
        raise UserError(f"{file}, line {first}: two columns are called `{twice}`", fix="leave one of them")
    for needed in (("student",), ("exercise", "assignment"), ("points", "comment")):
        if not set(needed) & set(names):
            columns = "student, exercise, points, comment, why"
            raise UserError(
                f"{file}, line {first}: no column `{'` or `'.join(needed)}`",
                fix=f"the first line names them: {columns}",
            )
    lines = [_Line(number, dict(zip(names, map(str.strip, row), strict=False))) for number, row in rows]
    for line, (_, row) in zip(lines, rows, strict=True):
        if any(cell.strip() for cell in row[len(names) :]):
            raise UserError(f"{file}, line {line.number}: more cells than columns", fix="put quotes around its texts")
    others = [name for name in names if name and name not in _COLUMNS]
    notes = [f"not read: {counted(len(others), 'column')}: {one_line(listed(others, 6), 300)}"] if others else []
    return lines, notes


def _table(file: Path, text: str, delimiter: str) -> list[tuple[int, list[str]]]:
    """The rows that are not empty, each with the number of its first line."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[tuple[int, list[str]]] = []
    number = 1
    try:
        for row in reader:
            if any(cell.strip() for cell in row) and not (number == 1 and _HINT.match(delimiter.join(row))):
                rows.append((number, row))
            number = reader.line_num + 1
    except csv.Error as problem:
        raise UserError(f"{file}, line {number}: not a line of a CSV file: {problem}") from None
    return rows
