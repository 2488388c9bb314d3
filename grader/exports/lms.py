"""Files of Canvas, Moodle, Brightspace and Blackboard: the cells of one assignment are filled, the rest stays as it is.

Finds each submission's row by id, else by a name that only one row and one submission have. Never guesses: a submission
or row in doubt is not matched, and a note names it.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from grader.errors import UserError
from grader.exports.mark_column import MarkColumn, has_decimal_comma, number
from grader.exports.spreadsheet import Spreadsheet, neutral
from grader.exports.titles import Title, blackboard_titles, brightspace_titles, canvas_titles, chosen
from grader.gradebook import Absent
from grader.intake import worksheet
from grader.intake.matching import ID, NAME, Match, PeopleIndex
from grader.intake.names import id_key
from grader.reports import feedback
from grader.reports.entries import Entry
from grader.text import counted, named, one_line, points

_CANVAS_IDS: Final = ("id", "sis user id", "sis login id", "integration id")
_MOODLE_IDS: Final = ("identifier", "id number", "email address", "username")
_OURS: Final = "Automatic feedback"
_NOTES: Final = 3
"""Notes on files that a comment has."""
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


class _Layout(NamedTuple):
    """Where things are in the file of one LMS.

    Attributes:
        column: of the marks.
        people: the rows.
        heading: of the column, where the file has several.
        most: the most points of the column; empty if each row says its own.
        comments: the column of the feedback that students read; None if there is none.
    """

    column: int
    people: Sequence[_Person]
    heading: str = ""
    most: str = ""
    comments: int | None = None


def fill(
    lms: str,
    path: Path,
    entries: Sequence[Entry],
    column: str | None = None,
    unread_as_zero: bool = False,
    missing_as_zero: bool = False,
    *,
    only_empty: bool = False,
    all_changes: bool = False,
    absent: Sequence[Absent] | None = None,
    content: bytes | None = None,
) -> tuple[bytes, list[str]]:
    """The file that an LMS gave, with marks in the assignment's column; and notes on each change and omission.

    In Moodle's worksheet students get feedback, too; a person's own feedback stays.

    Args:
        lms: ``canvas``, ``moodle``, ``brightspace`` or ``blackboard``.
        column: the assignment's title or number; needed where the file has several assignments.
        unread_as_zero: whether work that could not be read gets its points; else its cell stays as it is.
        missing_as_zero: whether an empty cell of a student without a submission gets 0.
        only_empty: whether a cell that has a mark keeps it.
        all_changes: whether the notes have a line for each cell that is filled.
        absent: those of the class list without work: nobody else gets a 0 for nothing; None: there is no class list.
        content: what the file holds by now, if other columns of it are filled already.

    Raises:
        UserError: it is no such file of that LMS, several columns or none could be meant, or zeros are wanted while
            work is there that no row is for.
    """
    sheet = Spreadsheet.read(path) if content is None else Spreadsheet.parse(content)
    layout = _LAYOUTS[lms](path, sheet, column)
    marks = MarkColumn(sheet, layout.column, only_empty)
    matched, notes = _fill(marks, layout.people, entries, lms, unread_as_zero, missing_as_zero, absent)
    if layout.comments is not None:
        notes += _put_comments(sheet, layout.comments, matched, only_empty)
    if layout.heading:
        with_mark = [entry for entry in entries if not any(_without_mark(entry, unread_as_zero))]
        notes = [*_about_points(layout.most, {entry.row.max for entry in with_mark} - {0.0}), *notes]
    about = [f"column: {one_line(layout.heading)}"] if layout.heading else []
    return sheet.content(), [*about, *marks.lines(all_of_them=all_changes), *notes]


def _about_points(most: str, totals: Collection[float]) -> Iterator[str]:
    """How the points of submissions become those of the column."""
    possible = number(most)
    scales = ", ".join(f"{total:g}" for total in sorted(totals))
    if not possible:
        yield "the file does not say how many points the column is worth: marks are not scaled"
    elif totals and set(totals) != {possible}:
        yield f"marks are scaled from {scales} to {possible:g} points"


def _canvas(path: Path, sheet: Spreadsheet, wanted: str | None) -> _Layout:
    """Canvas's gradebook; a line above the students has the most points of each assignment."""
    if not sheet.rows or len(sheet.rows[0]) < 2:
        raise UserError(f"{path} is not a Canvas gradebook", fix="export it in Canvas: Grades, Export")
    head = [cell.value.strip() for cell in sheet.rows[0]]
    titles = canvas_titles(head)
    target = chosen(path, head, titles, wanted)
    id_columns = [c for c, name in enumerate(head) if name.lower() in _CANVAS_IDS] or [1]
    ids = [[sheet.value(row, c) for c in id_columns] for row in range(len(sheet.rows))]
    possible_row = next((r for r, row in enumerate(sheet.rows) if row[0].value.strip() == "Points Possible"), 0)
    if not possible_row:  # in another language
        labels = [sheet.value(row, 0) for row in range(len(sheet.rows))]
        indented = (r for r, label in enumerate(labels) if label.startswith("  ") and label.strip() and not any(ids[r]))
        possible_row = next(indented, 0)
    given = sheet.value(possible_row, target) if possible_row else ""
    if "read only" in given.lower():
        problem = f"Canvas does not let column `{one_line(head[target])}` be changed"
        raise UserError(problem, fix="name another: --column")
    most = _as_written(titles[target].worth(given), has_comma=sheet.delimiter == ";" and "," in given)
    people = []
    for row in range(possible_row + 1, len(sheet.rows)):
        name = sheet.value(row, 0)
        if name and any(one.strip() for one in ids[row]):
            last, _, first = name.partition(",")
            people.append(_Person(row, name, ids[row], [name, f"{first} {last}"], most))
    return _Layout(target, people, head[target], most)


def _moodle(path: Path, sheet: Spreadsheet, wanted: str | None) -> _Layout:
    """Moodle's grading worksheet: it is of one assignment, and each row says the most points."""
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
    return _Layout(head["grade"], people, comments=head.get("feedback comments"))


def _brightspace(path: Path, sheet: Spreadsheet, wanted: str | None) -> _Layout:
    """Brightspace's export of grades; ids begin with ``#``, so that no spreadsheet takes them for numbers."""
    head, places = _head_of(sheet)
    id_columns = [places[name] for name in ("orgdefinedid", "username", "email") if name in places]
    if not {"orgdefinedid", "username"} & places.keys():
        fix = "export it in Brightspace: Grades, Enter Grades, Export, with Org Defined ID, Username and Points Grade"
        raise UserError(f"{path} is not an export of Brightspace's grades", fix=fix)
    names = places.get("firstname"), places.get("lastname")
    return _with_titles(path, sheet, head, brightspace_titles(head), wanted, id_columns, names)


def _blackboard(path: Path, sheet: Spreadsheet, wanted: str | None) -> _Layout:
    """Blackboard's download of the gradebook, in any language: its first columns are always the same."""
    head, places = _head_of(sheet)
    titles = blackboard_titles(head)
    id_columns = [places[name] for name in ("username", "studentid") if name in places]
    names = places.get("firstname"), places.get("lastname")
    if "username" not in places and min(titles, default=0) > 2:
        found = [row[2].value.strip() if row[2:] else "" for row in sheet.rows[1:] if any(cell.value for cell in row)]
        if all(one and " " not in one for one in found) and len(set(found)) == len(found):
            id_columns, names = [2], (1, 0)
    if not titles or not id_columns:
        fix = "download it in Blackboard: Gradebook, Download, with the user information and without the hidden columns"
        raise UserError(f"{path} is not a download of Blackboard's gradebook", fix=fix)
    return _with_titles(path, sheet, head, titles, wanted, id_columns, names)


def _with_titles(
    path: Path,
    sheet: Spreadsheet,
    head: Sequence[str],
    titles: Mapping[int, Title],
    wanted: str | None,
    id_columns: Sequence[int],
    names: tuple[int | None, int | None],
) -> _Layout:
    """The layout of a file with students below its first line, whose headings say the most points.

    Args:
        names: the columns of first and last names.
    """
    target = chosen(path, head, titles, wanted)
    has_comma = any(has_decimal_comma(sheet.value(row, target)) for row in range(1, len(sheet.rows)))
    most = _as_written(titles[target].worth(), has_comma=has_comma)
    people = []
    for row in range(1, len(sheet.rows)):
        ids = [sheet.value(row, c).strip().removeprefix("#") for c in id_columns]
        first, last = (sheet.value(row, c).strip() if c is not None else "" for c in names)
        if any(ids):
            label = f"{last}, {first}" if first and last else first or last or next(filter(None, ids))
            people.append(_Person(row, label, ids, [f"{first} {last}", f"{last} {first}"], most))
    return _Layout(target, people, head[target], most)


def _head_of(sheet: Spreadsheet) -> tuple[list[str], dict[str, int]]:
    """The headings, and the column of each that has small letters only and no spaces."""
    head = [cell.value.strip() for cell in sheet.rows[0]] if sheet.rows else []
    places: dict[str, int] = {}
    for column, name in enumerate(head):
        places.setdefault("".join(filter(str.isalpha, name)).lower(), column)
    return head, places


_LAYOUTS: Final[Mapping[str, Callable[[Path, Spreadsheet, str | None], _Layout]]] = {
    "canvas": _canvas,
    "moodle": _moodle,
    "brightspace": _brightspace,
    "blackboard": _blackboard,
}


def _as_written(most: str, *, has_comma: bool) -> str:
    """The most points as the file writes numbers."""
    return (most if "." in most else f"{most}.0").replace(".", ",") if most and has_comma else most


def _put_comments(sheet: Spreadsheet, column: int, matched: Mapping[int, Entry], only_empty: bool) -> list[str]:
    """Writes the feedback that students read; gives notes on that which stays."""
    notes = []
    for row, entry in matched.items():
        before = sheet.value(row, column).strip()
        if before and (only_empty or _OURS not in before):
            notes.append(f"feedback kept as it is: {one_line(entry.result.submission)}")
        elif entry.row.max > 0 or entry.row.unmarked or entry.row.differing:
            sheet.replace(row, column, neutral(_comment(entry)))
    return notes


def _comment(entry: Entry) -> str:
    """What the student reads in Moodle: points, and what did not pass. Safe as HTML."""
    row = entry.row
    parts = [f"{_OURS}: {points(row.score, row.max)} points."]
    if entry.is_of_nobody:
        parts = [f"{_OURS}: no mark yet: {row.differing}."]
    elif row.unread:
        parts = [f"{_OURS}: no mark yet: work could not be read.", *(f"{line}." for line in feedback.why_unread(row))]
    if row.lates:
        parts.append(f"{row.late_words}.")
    for one in row.overrides:
        parts.append(f"{one.exercise}: {points(one.points or 0.0, one.max)} given by hand ({one.why}).")
    if missing := feedback.not_marked(entry.result, row.given):
        parts.append(f"No mark yet: {missing}.")
    overridden = {one.exercise for one in row.overrides}
    for mark in (one for one in row.marks if one.exercise not in overridden):
        items = "; ".join(feedback.item_lines(mark.items))
        parts.append(f"{mark.exercise}: {points(mark.points or 0.0, mark.max)} by the rubric ({items}).")
    parts += [f"About {one.exercise}: {one.said}" for one in row.comments]
    missed = [e for e in entry.read if e.max > 0 and not e.is_right and e.name not in row.given]
    if missed:
        parts.append(f"Not passed: {', '.join(exercise.name for exercise in missed)}.")
        files = {f"{exercise.topic}.py" for exercise in missed}
        parts += [f"{line}." for line in feedback.not_imported(entry.result)]
        parts += [f"{note}." for note in row.notes if note.partition(": ")[0] in files][:_NOTES]
    explained = ((exercise.name, feedback.explanation_of(exercise)) for exercise in missed)
    parts += [f"{name}: {explanation}" for name, explanation in explained if explanation]
    return html.escape(one_line(" ".join(" ".join(parts).split()), 2000), quote=False)


def _fill(
    marks: MarkColumn,
    people: Sequence[_Person],
    entries: Sequence[Entry],
    lms: str,
    unread_as_zero: bool,
    missing_as_zero: bool,
    absent: Sequence[Absent] | None,
) -> tuple[dict[int, Entry], list[str]]:
    """Writes the marks into their cells; gives the submissions that students may read about by row, and notes."""
    matched, meant, notes, inexact = _matched(people, entries, lms)
    if missing_as_zero and notes and absent is None:
        raise UserError(
            f"zeros for nothing could be wrong: {counted(len(notes), 'submission')} of nobody: {named(notes, _NAMED)}",
            fix="name their owners with a class list: grade again with --roster, or leave --missing-as out",
        )
    notes += inexact
    without = [person for person in people if person.row not in matched]
    listed = _rows_of_absent(people, absent or (), lms)
    excused = [one for one in without if one.row in listed and listed[one.row].excused]
    excused += [person for person, entry in matched.values() if entry.row.excused]
    notes += _put_excused(marks, excused, lms)
    without = [one for one in without if one not in excused]
    empty = [one for one in without if one.row not in meant and marks.is_empty(one.row)]
    if absent is not None:
        empty = [one for one in empty if one.row in listed and listed[one.row].handed_in_nothing]
    zeros = [one for one in empty if missing_as_zero and marks.sheet.replace(one.row, marks.place, "0")]
    if names := [one_line(one.label) for one in zeros]:
        notes.append(f"0 for {counted(len(names), 'student')} without a submission: {named(names, _NAMED)}")
    waiting = [one for one in without if one.row in listed and listed[one.row].is_waiting]
    for rows, of_these in (
        (waiting, "whose work is not graded yet (see: grader status)"),
        ([one for one in without if one not in (*zeros, *waiting)], "without a submission"),
    ):
        if names := [one_line(one.label) for one in rows]:
            notes.append(f"not changed: {counted(len(names), 'row')} {of_these}: {named(names, _NAMED)}")
    aside: dict[tuple[str, str], list[str]] = {}
    shown: dict[int, Entry] = {}
    for row, (person, entry) in matched.items():
        if entry.row.excused:
            continue
        if reasons := list(_without_mark(entry, unread_as_zero)):
            for reason in reasons:
                aside.setdefault(reason, []).append(feedback.name_with_missing(entry.row))
            if not entry.row.missing:
                shown[row] = entry
        elif entry.row.max <= 0:
            notes.append(_not_filled(entry, "nothing could be assessed"))
        else:
            became = marks.put(row, person.label, _mark(entry, person.most))
            if why := _NOT_PUT.get(became):
                notes.append(_not_filled(entry, why))
            if became not in ("kept", "no cell"):
                shown[row] = entry
    for (why, fix), names in aside.items():
        cells = "1 cell left as it is" if len(names) == 1 else f"{len(names)} cells left as they are"
        notes.append(f"{cells}, as the work {why}: {named(names, _NAMED)} ({fix})")
    return shown, notes


def _rows_of_absent(people: Sequence[_Person], absent: Sequence[Absent], lms: str) -> dict[int, Absent]:
    """The rows of students without work: by id and name, as far as these do not contradict each other."""
    index = _index_of(people, lms)
    found: dict[int, Absent] = {}
    for one in absent:
        by_id = {row for key in one.student.ids for row in index.of_id(key)}
        named = {*index.named(one.student.name).people}
        rows = by_id & named or by_id | named
        if len(rows) == 1:
            found[rows.pop()] = one
    return found


def _put_excused(marks: MarkColumn, people: Sequence[_Person], lms: str) -> Iterator[str]:
    """Writes Canvas's word for who is excused; other platforms have none, so their cells stay."""
    if not people:
        return
    names = named([one_line(person.label) for person in people], _NAMED)
    if lms == "canvas":
        for person in people:
            marks.put(person.row, person.label, "EX")
        yield f"EX for {counted(len(people), 'excused student')}: {names}"
    else:
        yield f"not changed: {counted(len(people), 'excused student')}, whom you excuse there by hand: {names}"


_NOT_PUT: Final[Mapping[str, str]] = {"excused": "excused (EX)", "no cell": "its row ends before the column"}


def _without_mark(entry: Entry, unread_as_zero: bool) -> Iterator[tuple[str, str]]:
    """Why a submission has no mark that could be filled in, and what to do; nothing if it has one."""
    row = entry.row
    if row.missing:
        yield "is not graded yet", "see: grader status"
    if entry.is_of_nobody:
        yield "of their group differs", "grade again the one that counts"
    elif row.unread and not unread_as_zero:
        yield "could not be read", "--unread-as 0: zeros"
    if row.unmarked:
        yield "is not marked yet", "see: grader mark"


def _matched(
    people: Sequence[_Person], entries: Sequence[Entry], lms: str
) -> tuple[dict[int, tuple[_Person, Entry]], set[int], list[str], list[str]]:
    """The submission of each row that is the only one for it, the rows that any may belong to, and notes.

    The first notes are on the submissions of no row, the others on those that were found by a name which is not exact.
    """
    finder = _RowFinder(people, entries, lms)
    found = [(entry, finder.rows_of(entry)) for entry in entries]
    sure = Counter(match.one for _, match in found if match.how in (ID, NAME))
    loose = Counter(match.one for _, match in found if match.how not in (ID, NAME))
    of_row = {person.row: person for person in people}
    matched: dict[int, tuple[_Person, Entry]] = {}
    notes, inexact = [], []
    for entry, match in found:
        row, is_sure = match.one, match.how in (ID, NAME)
        if row is None:
            why = f"{'several rows' if match.people[1:] else 'no row'} for it in the file"
            if match.how == ID:
                why = f"its id is that of {one_line(of_row[match.people[0]].label)} in the file, its name is not"
            notes.append(_not_filled(entry, why))
        elif sure[row] > 1 or (not is_sure and sure[row] + loose[row] > 1):
            notes.append(_not_filled(entry, f"not the only one for {one_line(of_row[row].label)} in the file"))
        else:
            matched[row] = of_row[row], entry
            if not is_sure:
                name, label = one_line(entry.result.submission), one_line(of_row[row].label)
                inexact.append(f"{name}: filled in for {label}, by a name that is not exactly the same")
    return matched, {row for _, match in found for row in match.people}, notes, inexact


def _index_of(people: Sequence[_Person], lms: str) -> PeopleIndex[int]:
    """The rows; without Moodle's own ids, which are of one assignment: nothing else than its own download has them."""
    others = 1 if lms == "moodle" else 0
    return PeopleIndex((one.row, one.ids[others:], one.names) for one in people)


class _RowFinder:
    """Finds the rows that a submission may belong to."""

    def __init__(self, people: Sequence[_Person], entries: Sequence[Entry], lms: str) -> None:
        self._index = _index_of(people, lms)
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
        # The class list may have others than that of the platform, which could be another one's elsewhere.
        more = (key for one in entry.row.people[:1] for key in one.ids if key != id_key(number))
        rows = rows or [row for key in more for row in self._index.of_id(key)]
        if not rows:
            return self._by_name[name]
        named = self._index.named(name).people
        others = () if not named or any(row in named for row in rows) else named
        return Match(tuple(dict.fromkeys([*rows, *others])), ID)


def _not_filled(entry: Entry, why: str) -> str:
    return f"not filled in: {one_line(entry.result.submission)}: {why}"


def _mark(entry: Entry, most: str) -> str:
    """The final points (with overrides and late penalty), scaled to the most points, as these are written."""
    possible = number(most)
    final = entry.final / entry.row.max * possible if possible else entry.final
    text = f"{final:.2f}".rstrip("0").rstrip(".")
    return text.replace(".", ",") if "," in most else text
