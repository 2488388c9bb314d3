"""``grader export``: from the gradebook to a file in another program's format, written in one step."""

import contextlib
import csv
import io
import os
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from grader.course import Course
from grader.errors import UserError
from grader.exports.spreadsheet import neutral
from grader.files import write_named_file
from grader.gradebook import Gradebook
from grader.intake.roster import Student
from grader.reports.entries import Entry, entries_of
from grader.reports.feedback import changed_since, file_stem, unread
from grader.results import SCHEMA
from grader.text import clean, counted, listed, one_line

FILES = {
    "csv": "marks.csv",
    "json": "marks.json",
    "junit": "junit.xml",
    "canvas": "canvas.csv",
    "moodle": "moodle.csv",
    "gradescope": "gradescope.json",
    "gitlab": "code-quality.json",
    "feedback": "feedback.zip",
    "github": "",
}
"""For each format, its file beside the gradebook, used where no other file is named."""


OF_MARKS: Final = frozenset(("csv", "canvas", "moodle", "gradescope"))
"""Formats whose marks are those of the whole course, unless a part of it is asked for."""
READ_BY_STUDENTS: Final = frozenset(("moodle", "gradescope", "junit", "github", "gitlab", "feedback"))
"""Formats that students may read: what is hidden from them is not in these."""
_HEAD: Final = (
    *("submission", "id", "points", "max", "percent"),
    *("automatic", "days late", "penalty", "final", "verdicts"),
)
_END: Final = ("not assessed", "flags", "unread", "not marked", "changed since", "comments", "group", "grade")
_MOST_TEXT: Final = 500
"""Characters of a comment."""


class ExportSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What is exported, and where to.

    Attributes:
        grades: the folder of the gradebook.
        course: the course's folder; None is the shipped course.
        to: the file to write, ``-`` for stdout; None: beside the gradebook.
        into: Canvas, Moodle: the file that was downloaded.
        column: Canvas: the assignment's title or number.
        submission: the only one to export; None: all.
        run: the number of a run in the gradebook; None: the latest result of every student.
        unread_as_zero: Canvas, Moodle: write 0 for work that could not be read, instead of leaving its cell.
        missing_as_zero: CSV, Canvas, Moodle: write 0 for those who handed in nothing.
        root: GitHub, GitLab: the repository, to name files in it.
        only: topics and exercises that the marks are of; empty: the whole course.
    """

    grades: Path
    course: Path | None = None
    to: Path | None = None
    into: Path | None = None
    column: str | None = None
    submission: str | None = None
    run: int | None = None
    unread_as_zero: bool = False
    missing_as_zero: bool = False
    root: Path = Path()
    only: tuple[str, ...] = ()


def export(kind: str, settings: ExportSettings) -> None:
    """Writes the export, and prints where it is and what was left out.

    Raises:
        UserError: no such gradebook, submission or file; a file that cannot be filled or written; marks of exercises
            that were not graded.
    """
    course = Course.load(settings.course)
    to, into, name = settings.to, settings.into, settings.submission
    with contextlib.suppress(OSError):  # one of them is not there
        if to is not None and into is not None and to.samefile(into):  # who needs to start again has only that
            raise UserError(f"{to} is the file that you downloaded", fix="write another one: --to FILE")
    with Gradebook.open_existing(settings.grades) as book:
        everybody = entries_of(book, settings.run, course.marks)
        entries = [entry for entry in everybody if name is None or entry.result.submission == name]
        if name is not None and not entries:
            raise UserError(f"no submission is called {one_line(name)}", fix="see: grader export csv")
        absent = [] if settings.run or name else book.no_shows()
        if settings.only:
            names = course.select(settings.only)
            entries = [entry.of_exercises(names) for entry in entries]
        lacking = [entry for entry in entries if entry.row.missing]
        if kind in OF_MARKS and lacking:  # marks of a part of the course must not pass for marks of all of it
            missing = dict.fromkeys(name for entry in lacking for name in entry.row.missing)
            who = f"{counted(len(lacking), 'submission')}: {listed([*missing], 3)}"
            fix = "grade without --only, or export the part that was graded: --only NAME"
            raise UserError(f"not graded yet for {who}; so these are no marks of the course", fix)
        if kind in READ_BY_STUDENTS:
            entries = [entry.for_students() for entry in entries]
        if kind == "github":
            _github(entries, course, settings.root)
        elif kind == "gradescope" and len(entries) > 1:
            from grader.exports.gradescope import results

            folder = to or settings.grades / "gradescope"
            for entry in entries:
                write_named_file(folder / f"{file_stem(entry.result.submission)}.json", [results(entry)])
            print(folder)
        else:
            content, notes = _content(kind, entries, course, settings, absent)
            file = to or book.path.parent / FILES[kind]
            is_printed = str(file) == "-"
            if is_printed:
                sys.stdout.flush()
                sys.stdout.buffer.writelines(content)
                sys.stdout.buffer.flush()
            else:
                write_named_file(file, content)
            for note in notes:
                print(clean(note), file=sys.stderr)
            if not is_printed:
                print(file)


def _content(
    kind: str, entries: list[Entry], course: Course, settings: ExportSettings, absent: Sequence[Student]
) -> tuple[Iterable[bytes], list[str]]:
    # Each where it is needed: together they take a third of a small export's time.
    if kind in ("canvas", "moodle"):
        if settings.into is None:
            what = "gradebook export" if kind == "canvas" else "grading worksheet"
            raise UserError(f"{kind} needs the {what} that you downloaded", fix="name it: --into FILE")
        from grader.exports.lms import fill_canvas, fill_moodle

        zeros = settings.unread_as_zero, settings.missing_as_zero
        if kind == "canvas":
            filled, notes = fill_canvas(settings.into, entries, settings.column, *zeros)
        else:
            filled, notes = fill_moodle(settings.into, entries, *zeros)
        return [filled], notes
    if kind == "feedback":
        return [feedback_zip(entries, course)], []
    if kind == "csv":
        return csv_table(entries, course, absent, settings.missing_as_zero), []
    if kind == "json":
        return json_document(entries, course), []
    if kind == "gradescope":
        from grader.exports.gradescope import results

        return [results(entries[0])], []
    from grader.exports.code_hosts import code_quality, junit

    return junit(entries) if kind == "junit" else [code_quality(entries, settings.root)], []


def csv_table(
    entries: Sequence[Entry], course: Course, absent: Sequence[Student] = (), missing_as_zero: bool = False
) -> Iterator[bytes]:
    """A CSV file of the class, piece by piece: a row per submission, a column per exercise. No cell acts as a formula.

    The points of exercises include overrides, and are empty where nothing was assessed. The last columns are the points
    that are not assessed, what an instructor should look at, what could not be read, the points that nobody has marked
    yet, what was given for other work, what people say, the group and the letter grade. Who has something that was not
    read or not marked has no final points and no percentage.

    Args:
        absent: the students of the class list who have handed in nothing: a row for each, below the others.
        missing_as_zero: whether they have 0 points instead of none.
    """
    order = {exercise.full_name: number for number, exercise in enumerate(course.exercises)}
    names = dict.fromkeys(exercise.name for entry in entries for exercise in entry.result.exercises)
    in_order = sorted(names, key=lambda name: order.get(name, len(order)))
    yield b"\xef\xbb\xbf" + _line([*_HEAD, *in_order, *_END])
    for entry in entries:
        row, result, late = entry.row, entry.result, entry.row.late
        scores = {one.name: f"{one.score:g}" for one in entry.read if one.max > 0}
        scores |= {name: f"{score:g}" for name, (score, _) in row.given.items()}
        is_open = bool(row.unread or row.unmarked)
        aside = sum(one.not_assessed for one in result.left_out if one.name not in row.given)
        days = "0" if late is None else "unknown" if late.days is None else str(late.days)
        cells = [result.submission, row.arrival.student, f"{row.score:g}", f"{row.max:g}"]
        cells += ["" if entry.share is None or is_open else f"{entry.share:.1f}", f"{result.score:g}", days]
        cells += [f"{entry.penalty:g}", "" if is_open else f"{entry.final:g}"]
        cells += [" ".join(sorted(result.verdicts - {"passed", "failed"}))]
        cells += [scores.get(name, "") for name in in_order]
        cells += [f"{aside:g}", "; ".join(map(str, result.flags)), "; ".join(unread(row))]
        cells += [f"{sum(one.manual.points for one in row.unmarked if one.manual):g}", "; ".join(changed_since(row))]
        cells += ["; ".join(f"{one.exercise}: {one_line(one.said, _MOST_TEXT)}" for one in row.comments)]
        yield _line([*cells, row.group, entry.letter])
    most = max((entry.row.max for entry in entries), default=0.0)
    zeros = ["0", f"{most:g}", "0.0", "0", "0", "0", "0"] if missing_as_zero else [""] * 7
    nothing = [""] * (len(names) + len(_END) - 2)
    letter = course.marks.letter(0.0) if missing_as_zero else ""
    for student in absent:
        yield _line([student.name, student.ids[0], *zeros, "nothing handed in", *nothing, student.group, letter])


def _line(cells: Sequence[str]) -> bytes:
    stream = io.StringIO()
    csv.writer(stream).writerow([neutral(cell) for cell in cells])
    return stream.getvalue().encode("utf-8", "replace")


def json_document(entries: Sequence[Entry], course: Course) -> Iterator[bytes]:
    """Everything that the gradebook knows about these submissions, piece by piece: nothing is left out or added."""
    head = msgspec.json.encode({"schema": SCHEMA, "course": course.name, "title": course.title})
    yield head[:-1] + b',"submissions":[\n'
    for number, entry in enumerate(entries):
        row = entry.row
        marks = {"submission": row.result.submission, "score": row.score, "max": row.max, "final": row.final}
        not_marked = [one.name for one in row.unmarked]
        document = {**marks, "unread": row.unread, "not_marked": not_marked, **msgspec.structs.asdict(row)}
        yield (b",\n" if number else b"") + msgspec.json.encode(document)
    yield b"\n]}\n"


def feedback_zip(entries: Sequence[Entry], course: Course) -> bytes:
    """A zip with one feedback page for each student: to be mailed, or uploaded to Moodle as feedback files.

    The same entries give the same bytes.
    """
    from grader.reports.html import feedback_pages

    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as made:
        for entry, page in feedback_pages(entries, course):
            made.writestr(zipfile.ZipInfo(_page_name(entry), (1980, 1, 1, 0, 0, 0)), page, zipfile.ZIP_DEFLATED)
    return target.getvalue()


def _page_name(entry: Entry) -> str:
    """Moodle finds the student by the beginning of a file's name, which is that of the files in its own download."""
    arrival, name = entry.row.arrival, entry.result.submission
    if arrival.lms == "moodle" and arrival.student.isdigit():
        # Moodle splits at underscores: the name must have none.
        plain = re.sub(r"[^\w .'-]|_", " ", clean(name)).strip(" .") or "Participant"
        return f"{plain[:100]}_{arrival.student}_assignfeedback_file_feedback.html"
    return f"{file_stem(name)}.html"


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
