"""``grader export``: from the gradebook to a file in another program's format, written in one step."""

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from grader.course import Course
from grader.errors import UserError
from grader.exports.spreadsheet import csv_line
from grader.files import write_named_file
from grader.gradebook import Absent, Gradebook
from grader.reports.entries import Entry, entries_of
from grader.reports.feedback import changed_since, file_names, name_with_missing, unread
from grader.reports.term import require_earned_zeros, state_of
from grader.results import SCHEMA
from grader.text import clean, counted, listed, named, one_line

FILES = {
    "csv": "marks.csv",
    "json": "marks.json",
    "junit": "junit.xml",
    "canvas": "canvas.csv",
    "moodle": "moodle.csv",
    "brightspace": "brightspace.csv",
    "blackboard": "blackboard.csv",
    "gradescope": "gradescope.json",
    "gitlab": "code-quality.json",
    "feedback": "feedback.zip",
    "github": "",
}
"""For each format, its file beside the gradebook, used where no other file is named."""


DOWNLOADS: Final = {
    "canvas": "gradebook export",
    "moodle": "grading worksheet",
    "brightspace": "export of grades",
    "blackboard": "download of the gradebook",
}
"""The formats that fill a copy of a file which an LMS gave, and what that file is."""
OF_MARKS: Final = frozenset(("csv", "gradescope", *DOWNLOADS))
"""Formats whose marks are those of the whole course, unless a part of it is asked for."""
READ_BY_STUDENTS: Final = frozenset(("moodle", "gradescope", "junit", "github", "gitlab", "feedback"))
"""Formats that students may read: what is hidden from them is not in these."""
_HEAD: Final = (
    *("submission", "id", "points", "max", "percent"),
    *("automatic", "days late", "penalty", "final", "verdicts"),
)
_END: Final = ("not assessed", "flags", "unread", "not marked", "changed since", "comments", "group", "grade")
_FEW: Final = 3
_NAMED: Final = 20
_MOST_TEXT: Final = 500
"""Characters of a comment."""


class ExportSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The format of an export, and its file.

    Attributes:
        grades: the folder of the gradebook.
        course: the course's folder; None is the shipped course.
        to: the file to write, ``-`` for stdout; None: beside the gradebook.
        into: LMS: the file that was downloaded.
        column: LMS: the assignment's title or number; Moodle's worksheet is of one. Several: each as ``NAME=TITLE``,
            with the name of an assignment of the course.
        submission: the only one to export; None: all.
        run: the number of a run in the gradebook; None: the latest result of every student.
        unread_as_zero: LMS: write 0 for work that could not be read, instead of leaving its cell.
        missing_as_zero: CSV, LMS: write 0 for those who handed in nothing.
        only_empty: LMS: leave cells that have a mark.
        all_changes: LMS: name each cell that is filled.
        root: GitHub, GitLab: the repository, to name files in it.
        only: topics and exercises that the marks are of; empty: the whole course.
        assignment: the one that the marks are of; None: the only one, or for CSV the term.
    """

    grades: Path
    course: Path | None = None
    to: Path | None = None
    into: Path | None = None
    column: tuple[str, ...] = ()
    submission: str | None = None
    run: int | None = None
    unread_as_zero: bool = False
    missing_as_zero: bool = False
    only_empty: bool = False
    all_changes: bool = False
    root: Path = Path()
    only: tuple[str, ...] = ()
    assignment: str | None = None


def export(kind: str, settings: ExportSettings) -> None:
    """Writes the export, and prints where it is and what was left out.

    Raises:
        UserError: no such gradebook, submission or file; a file that cannot be filled or written; marks of exercises
            that were not graded.
    """
    course = Course.load(settings.course)
    to, name = settings.to, settings.submission
    with Gradebook.open_existing(settings.grades) as book:
        book.use_plan(course.plan)
        is_of_term = settings.assignment is None and settings.run is None and not settings.only
        is_of_term = is_of_term and book.plan.is_term and name is None
        if kind == "feedback" and is_of_term and len(book.assignments()) > 1:
            from grader.exports.feedback_zip import term_feedback_zip

            _write([term_feedback_zip(book, course)], to or book.path.parent / FILES[kind])
            return
        if kind == "csv" and is_of_term:
            from grader.exports.term import term_table

            if settings.missing_as_zero:
                require_earned_zeros(book, book.assignments())
            _write(term_table(book, course, settings.missing_as_zero), to or book.path.parent / FILES[kind])
            return
        columns = _columns(settings, book)
        if kind in DOWNLOADS and len(columns) > 1:
            if settings.run is not None or settings.only or name is not None:
                why = "several columns at once get all marks of their assignments"
                raise UserError(why, fix="name one --column, or leave out --run, --only and --submission")
            _fill_several(kind, book, course, settings, columns)
            return
        if settings.run is None:
            book.choose(next(iter(columns), settings.assignment))
        if settings.missing_as_zero and settings.run is None:
            require_earned_zeros(book, [book.assignment])
        everybody = entries_of(book, settings.run, course.marks)
        entries = [entry for entry in everybody if name is None or entry.result.submission == name]
        if name is not None and not entries:
            raise UserError(f"no submission is called {one_line(name)}", fix="see: grader export csv")
        absent = [] if settings.run or name else _absent(book)
        if settings.only:
            names = course.select(settings.only)
            entries = [entry.of_exercises(names) for entry in entries]
        notes = _not_graded(entries) if kind in OF_MARKS else []
        if kind == "gradescope":
            entries = _with_marks(entries, notes)
        if kind in READ_BY_STUDENTS:
            entries = [entry.for_students() for entry in entries]
        if kind == "github":
            _github(entries, course, settings.root)
        elif kind == "gradescope" and len(entries) > 1:
            from grader.exports.gradescope import results

            folder = to or settings.grades / "gradescope"
            _print_notes(notes)
            stems = file_names([(entry.result.submission, entry.row.arrival.student) for entry in entries])
            for entry, stem in zip(entries, stems, strict=True):
                write_named_file(folder / f"{stem}.json", [results(entry)])
            print(folder)
        else:
            file = _target(kind, book, settings)
            if kind in DOWNLOADS:
                column = next(iter(columns.values()), next(iter(settings.column), None))
                filled, notes = _filled(kind, entries, settings, absent, column)
                content: Iterable[bytes] = [filled]
            else:
                content = _content(kind, entries, course, settings, absent)
            _print_notes(notes)
            _write(content, file)


def _absent(book: Gradebook) -> list[Absent] | None:
    """The students of the class list without work; None if there is no class list."""
    return book.absent() if book.class_list(book.course) else None


def _columns(settings: ExportSettings, book: Gradebook) -> dict[str, str]:
    """The columns that are named with their assignments, as in ``week1=Week 1``."""
    known = {one.name for one in book.plan.assignments if one.name}
    pairs = [one.partition("=") for one in settings.column]
    if any(name not in known or not title for name, _, title in pairs):
        if len(pairs) > 1:
            first = next(iter(sorted(known)), "NAME")
            raise UserError("several columns need the names of their assignments", fix=f"--column {first}='Week 1'")
        return {}
    return {name: title for name, _, title in pairs}


def _fill_several(
    kind: str, book: Gradebook, course: Course, settings: ExportSettings, columns: Mapping[str, str]
) -> None:
    """Fills one column for each assignment, in one copy of the file."""
    file = _target(kind, book, settings)
    if settings.missing_as_zero:
        require_earned_zeros(book, list(columns))
    content: bytes | None = None
    for name, title in columns.items():
        with book.within(name):
            entries, absent = entries_of(book, None, course.marks), _absent(book)
        notes = _not_graded(entries)
        if kind in READ_BY_STUDENTS:
            entries = [entry.for_students() for entry in entries]
        content, more = _filled(kind, entries, settings, absent, title, content)
        _print_notes(f"{name}: {note}" for note in [*notes, *more])
    _write([content or b""], file)


def _target(kind: str, book: Gradebook, settings: ExportSettings) -> Path:
    """The file to write.

    Raises:
        UserError: a downloaded one is needed and not named, or it is the one to write.
    """
    file = settings.to or book.path.parent / FILES[kind]
    if kind in DOWNLOADS:
        if settings.into is None:
            raise UserError(f"{kind} needs the {DOWNLOADS[kind]} that you downloaded", fix="name it: --into FILE")
        file = settings.to or file.with_suffix(settings.into.suffix or file.suffix)
        with contextlib.suppress(OSError):  # one of them is not there
            if file.samefile(settings.into):  # who needs to start again has only that
                raise UserError(f"{file} is the file that you downloaded", fix="write another one: --to FILE")
    return file


def _print_notes(notes: Iterable[str]) -> None:
    for note in notes:
        print(clean(note), file=sys.stderr, flush=True)


def _write(content: Iterable[bytes], file: Path) -> None:
    """Writes the file and prints its name; ``-`` is stdout."""
    if str(file) == "-":
        sys.stdout.flush()
        sys.stdout.buffer.writelines(content)
        sys.stdout.buffer.flush()
    else:
        write_named_file(file, content)
        print(file)


def _not_graded(entries: Sequence[Entry]) -> list[str]:
    """Notes on those of whom not all exercises are graded: the marks of a part must not pass for marks of all of it.

    Raises:
        UserError: that is everybody, so a part of the course is meant, and nobody said so.
    """
    lacking = [entry for entry in entries if entry.row.missing]
    if not lacking:
        return []
    if len(lacking) < len(entries):
        names = named([name_with_missing(entry.row) for entry in lacking], _NAMED)
        return [f"{counted(len(lacking), 'submission')} without a mark, as the work is not graded yet: {names}"]
    missing = dict.fromkeys(name for entry in lacking for name in entry.row.missing)
    who = named([one_line(entry.result.submission) for entry in lacking], _FEW)
    what = f"{counted(len(lacking), 'submission')}: {listed([*missing], _FEW)} ({who})"
    fix = "grade without --only, or export the part that was graded: --only NAME"
    raise UserError(f"not graded yet for {what}; so these are no marks of the course", fix)


def _with_marks(entries: Sequence[Entry], notes: list[str]) -> list[Entry]:
    """The submissions whose students have a mark; adds notes on groups that have none.

    Raises:
        UserError: nobody has one.
    """
    notes += [
        f"no mark: {one_line(entry.result.submission)}: {one_line(entry.row.differing, 300)}"
        for entry in entries
        if entry.is_of_nobody
    ]
    notes += [f"excused: {one_line(entry.result.submission)}" for entry in entries if entry.row.excused]
    found = [entry for entry in entries if not (entry.row.missing or entry.is_of_nobody or entry.row.excused)]
    if not found:
        raise UserError(notes[-1], fix="grade again the work that counts")
    return found


def _filled(
    kind: str,
    entries: list[Entry],
    settings: ExportSettings,
    absent: Sequence[Absent] | None,
    column: str | None,
    content: bytes | None = None,
) -> tuple[bytes, list[str]]:
    """A file of an LMS with one more column filled."""
    from grader.exports.lms import fill

    assert settings.into is not None, "`_target` requires it"
    return fill(
        kind,
        settings.into,
        entries,
        column,
        settings.unread_as_zero,
        settings.missing_as_zero,
        only_empty=settings.only_empty,
        all_changes=settings.all_changes,
        absent=absent,
        content=content,
    )


def _content(
    kind: str, entries: list[Entry], course: Course, settings: ExportSettings, absent: Sequence[Absent] | None
) -> Iterable[bytes]:
    """The file of a format that fills none of an LMS."""
    # Each where it is needed: together they take a third of a small export's time.
    if kind == "feedback":
        from grader.exports.feedback_zip import feedback_zip

        return [feedback_zip(entries, course)]
    if kind == "csv":
        return csv_table(entries, course, absent or (), settings.missing_as_zero)
    if kind == "json":
        return json_document(entries, course)
    if kind == "gradescope":
        from grader.exports.gradescope import results

        return [results(entries[0])]
    from grader.exports.code_hosts import code_quality, junit

    return junit(entries) if kind == "junit" else [code_quality(entries, settings.root)]


def csv_table(
    entries: Sequence[Entry], course: Course, absent: Sequence[Absent] = (), missing_as_zero: bool = False
) -> Iterator[bytes]:
    """A CSV file of the class, piece by piece: a row per submission, a column per exercise. No cell acts as a formula.

    The points of exercises include overrides, and are empty where nothing was assessed. The last columns are the points
    that are not assessed, what an instructor should look at, what could not be read, the points that nobody has marked
    yet, what was given for other work, what people say, the group and the letter grade. Who has something that was not
    read or not marked has no final points and no percentage; who was not graded on all of it, no points at all.

    Args:
        absent: the students of the class list without work: a row for each, below the others.
        missing_as_zero: whether those who handed in nothing have 0 points instead of none.
    """
    order = {exercise.full_name: number for number, exercise in enumerate(course.exercises)}
    names = dict.fromkeys(exercise.name for entry in entries for exercise in entry.result.exercises)
    in_order = sorted(names, key=lambda name: order.get(name, len(order)))
    yield b"\xef\xbb\xbf" + csv_line([*_HEAD, *in_order, *_END])
    for entry in entries:
        row, result = entry.row, entry.result
        scores = {one.name: f"{one.score:g}" for one in entry.read if one.max > 0}
        scores |= {name: f"{score:g}" for name, (score, _) in row.given.items()}
        is_open = bool(row.unread or row.unmarked or row.missing or row.excused)
        has_no_points = bool(row.missing or row.excused) or entry.is_of_nobody
        aside = sum(one.not_assessed for one in result.left_out if one.name not in row.given)
        all_days = [late.days for late in row.lates]
        days = "unknown" if None in all_days else str(max(filter(None, all_days), default=0))
        cells = [result.submission, row.arrival.student]
        cells += ["", ""] if has_no_points else [f"{row.score:g}", f"{row.max:g}"]
        cells += ["" if entry.share is None or is_open else f"{entry.share:.1f}"]
        cells += ["" if has_no_points else f"{result.score:g}", days]
        cells += [f"{row.penalty:g}", "" if is_open else f"{entry.final:g}"]
        verdicts = sorted(result.verdicts - {"passed", "failed"})
        cells += [" ".join([*verdicts, *([state_of(row)[0]] if row.missing or row.excused else [])])]
        cells += [scores.get(name, "") for name in in_order]
        cells += [f"{aside:g}", "; ".join(map(str, result.flags)), "; ".join(unread(row))]
        cells += [f"{sum(one.manual.points for one in row.unmarked if one.manual):g}", "; ".join(changed_since(row))]
        cells += ["; ".join(f"{one.exercise}: {one_line(one.said, _MOST_TEXT)}" for one in row.comments)]
        yield csv_line([*cells, row.group, "" if row.missing or row.excused else entry.letter])
    most = max((entry.row.max for entry in entries), default=0.0)
    nothing = [""] * (len(names) + len(_END) - 2)
    for one in absent:
        is_zero = missing_as_zero and one.handed_in_nothing
        numbers = ["0", f"{most:g}", "0.0", "0", "0", "0", "0"] if is_zero else [""] * 7
        state = "nothing handed in" if one.handed_in_nothing else state_of(one)[0]
        letter = course.marks.letter(0.0) if is_zero else ""
        student = one.student
        yield csv_line([student.name, student.ids[0], *numbers, state, *nothing, student.group, letter])


def json_document(entries: Sequence[Entry], course: Course) -> Iterator[bytes]:
    """Everything that the gradebook knows about these submissions, piece by piece: nothing is left out or added.

    Score, maximum and final points are null for a group that has no mark because its members' work differs.
    """
    head = msgspec.json.encode({"schema": SCHEMA, "course": course.name, "title": course.title})
    yield head[:-1] + b',"submissions":[\n'
    for number, entry in enumerate(entries):
        row = entry.row
        has_none = entry.is_of_nobody or row.excused
        score, most, final = (None, None, None) if has_none else (row.score, row.max, row.final)
        marks = {"submission": row.result.submission, "score": score, "max": most, "final": final}
        not_marked = [one.name for one in row.unmarked]
        document = {**marks, "unread": row.unread, "not_marked": not_marked, **msgspec.structs.asdict(row)}
        yield (b",\n" if number else b"") + msgspec.json.encode(document)
    yield b"\n]}\n"


def _github(entries: list[Entry], course: Course, root: Path) -> None:
    """Prints commands, and appends to the files that GitHub names."""
    from grader.exports.code_hosts import classroom, commands, summary

    for line in commands(entries, root):
        print(line)
    texts = {"GITHUB_STEP_SUMMARY": summary(entries, course)}
    if len(entries) == 1:
        texts["GITHUB_OUTPUT"] = f"result={classroom(entries[0], root)}\n"
    for variable, text in texts.items():
        if name := os.environ.get(variable):
            with open(name, "ab") as stream:
                stream.write(text.encode("utf-8", "replace"))
