"""``grader export``: from the gradebook to a file in another program's format, written in one step."""

import contextlib
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
from grader.files import write_named_file
from grader.gradebook import Gradebook
from grader.intake.roster import Student
from grader.reports.entries import Entry, entries_of
from grader.reports.feedback import file_stem
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
    _require_other_file(settings)
    with Gradebook.open_existing(settings.grades) as book:
        entries = _wanted(entries_of(book, settings.run, course.marks), settings.submission)
        missing = [] if settings.run or settings.submission else book.no_shows()
        if settings.only:
            names = course.select(settings.only)
            entries = [entry.of_exercises(names) for entry in entries]
        if kind in OF_MARKS:
            _require_graded(entries)
        if kind in READ_BY_STUDENTS:
            entries = [entry.for_students() for entry in entries]
        if kind == "github":
            _github(entries, course, settings.root)
        elif kind == "gradescope" and len(entries) > 1:
            _write_each(entries, settings)
        else:
            content, notes = _content(kind, entries, course, settings, missing)
            to = settings.to or book.path.parent / FILES[kind]
            if str(to) == "-":
                _print_bytes(content)
                return
            write_named_file(to, content)
            for note in notes:
                print(clean(note), file=sys.stderr)
            print(to)


def _require_graded(entries: Sequence[Entry]) -> None:
    """Keeps marks of a part of the course from passing for marks of all of it.

    Raises:
        UserError: exercises were not graded for some submission.
    """
    lacking = [entry for entry in entries if entry.row.missing]
    if lacking:
        missing = dict.fromkeys(name for entry in lacking for name in entry.row.missing)
        names = listed([*missing], 3)
        raise UserError(
            f"not graded yet for {counted(len(lacking), 'submission')}: {names}; so these are no marks of the course",
            fix="grade without --only, or export the part that was graded: --only NAME",
        )


def _require_other_file(settings: ExportSettings) -> None:
    """Keeps the download as it is: whoever needs to start again has only that.

    Raises:
        UserError: the file to write is the one that was downloaded.
    """
    to, into = settings.to, settings.into
    with contextlib.suppress(OSError):  # one of them is not there
        if to is not None and into is not None and to.samefile(into):
            raise UserError(f"{to} is the file that you downloaded", fix="write another one: --to FILE")


def _wanted(entries: list[Entry], name: str | None) -> list[Entry]:
    found = [entry for entry in entries if name is None or entry.result.submission == name]
    if name is not None and not found:
        raise UserError(f"no submission is called {one_line(name)}", fix="see: grader export csv")
    return found


def _print_bytes(content: Iterable[bytes]) -> None:
    sys.stdout.flush()
    for chunk in content:
        sys.stdout.buffer.write(chunk)


def _content(
    kind: str, entries: list[Entry], course: Course, settings: ExportSettings, missing: Sequence[Student]
) -> tuple[Iterable[bytes], list[str]]:
    # Each where it is needed: together they take a third of a small export's time.
    if kind in ("canvas", "moodle"):
        if settings.into is None:
            what = "gradebook export" if kind == "canvas" else "grading worksheet"
            raise UserError(f"{kind} needs the {what} that you downloaded", fix="name it: --into FILE")
        from grader.exports import canvas, moodle

        zeros = settings.unread_as_zero, settings.missing_as_zero
        if kind == "canvas":
            filled, notes = canvas.fill(settings.into, entries, settings.column, *zeros)
        else:
            filled, notes = moodle.fill(settings.into, entries, *zeros)
        return [filled], notes
    if kind == "feedback":
        return [feedback_zip(entries, course)], []
    if kind == "csv":
        from grader.exports.csv_table import table

        return table(entries, course, missing, settings.missing_as_zero), []
    if kind == "json":
        return json_document(entries, course), []
    if kind == "junit":
        from grader.exports import junit

        return junit.document(entries), []
    if kind == "gitlab":
        from grader.exports.code_hosts import code_quality

        return [code_quality(entries, settings.root)], []
    from grader.exports.gradescope import results

    return [results(entries[0])], []


def json_document(entries: Sequence[Entry], course: Course) -> Iterator[bytes]:
    """Everything that the gradebook knows about these submissions, piece by piece: nothing is left out or added."""
    head = msgspec.json.encode({"schema": SCHEMA, "course": course.name, "title": course.title})
    yield head[:-1] + b',"submissions":[\n'
    for number, entry in enumerate(entries):
        row = entry.row
        yield (b",\n" if number else b"") + msgspec.json.encode(
            {
                "submission": entry.result.submission,
                "score": row.score,
                "max": row.max,
                "final": row.final,
                "unread": row.unread,
                "not_marked": [one.name for one in row.unmarked],
                **{name: getattr(row, name) for name in row.__struct_fields__},
            }
        )
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


def _write_each(entries: list[Entry], settings: ExportSettings) -> None:
    """A folder with Gradescope's file of each submission."""
    from grader.exports.gradescope import results

    folder = settings.to or settings.grades / "gradescope"
    for entry in entries:
        write_named_file(folder / f"{file_stem(entry.result.submission)}.json", [results(entry)])
    print(folder)


def _github(entries: list[Entry], course: Course, root: Path) -> None:
    from grader.exports.code_hosts import classroom, commands, summary

    for line in commands(entries, root):
        print(line)
    _append("GITHUB_STEP_SUMMARY", summary(entries, course))
    if len(entries) == 1:
        _append("GITHUB_OUTPUT", f"result={classroom(entries[0], root)}\n")


def _append(variable: str, text: str) -> None:
    """Appends to the file whose path is in the variable, where GitHub has set it."""
    name = os.environ.get(variable)
    if name:
        with open(name, "ab") as stream:
            stream.write(text.encode("utf-8", "replace"))
