"""The zip of feedback pages, whose names lead back to the students: on the platform that their work came from, too."""

import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from grader.course import Course
from grader.gradebook import Gradebook
from grader.intake.submission import Arrival
from grader.reports.entries import Entry
from grader.reports.feedback import file_names
from grader.text import printable

_PAGE: Final = "feedback.html"
_MOODLE: Final = re.compile(r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_")
_SAFE: Final = re.compile(r'[^./~<>:"\\|?*\n\t][^/<>:"\\|?*\n\t]*/?')
"""A part of a file's name, or one folder, that cannot lead anywhere else."""


def feedback_zip(entries: Sequence[Entry], course: Course) -> bytes:
    """A zip with one feedback page for each student: to be mailed, or uploaded as feedback files.

    The same entries give the same bytes.
    """
    from grader.reports.html import feedback_pages

    return _zip(zip(page_names(entries), (page for _, page in feedback_pages(entries, course)), strict=True))


def term_feedback_zip(book: Gradebook, course: Course) -> bytes:
    """A zip with one page over the term for each student."""
    from grader.reports.html_term import student_pages, term_rows

    rows = term_rows(book, course)
    stems = file_names([(row.student.name, next(iter(row.student.ids), "")) for row in rows])
    return _zip((f"{stem}.html", page) for stem, (_, page) in zip(stems, student_pages(rows, course), strict=True))


def _zip(pages: Iterable[tuple[str, bytes]]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as made:
        for name, page in pages:
            made.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), page, zipfile.ZIP_DEFLATED)
    return target.getvalue()


def page_names(entries: Sequence[Entry]) -> list[str]:
    """The name of each page: as in the platform's own download, if that is one student's alone; else a readable one."""
    known = [_in_download(entry.row.arrival) for entry in entries]
    counts = Counter(map(str.casefold, known))
    names = [name if counts[name.casefold()] == 1 else "" for name in known]
    others = [n for n, name in enumerate(names) if not name]
    people = [(entries[n].result.submission, entries[n].row.arrival.student) for n in others]
    taken = [name.removesuffix(".html") for name in names if name]
    for n, stem in zip(others, file_names(people, taken), strict=True):
        names[n] = f"{stem}.html"
    return names


def _in_download(arrival: Arrival) -> str:
    """The name by which the platform finds the student; empty if it is not known.

    Canvas looks for the two numbers before the name of a file, Moodle for the one in the second of the parts between
    underscores, Brightspace for the name of the folder.
    """
    prefix = arrival.prefix
    if not _SAFE.fullmatch(prefix) or printable(prefix) != prefix:
        return ""
    if found := _MOODLE.match(prefix):
        name = found["name"].replace("_", " ").strip(" .~") or "Participant"
        return f"{name}_{found['id']}_assignfeedback_file_{_PAGE}"
    return f"{prefix}{_PAGE}"
