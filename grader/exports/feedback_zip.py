"""A zip with one feedback page for each student: to be mailed, or uploaded to Moodle as feedback files.

Moodle finds the student by the beginning of a file's name, which is that of the files in its own download.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Sequence

from grader.course import Course
from grader.reports.entries import Entry
from grader.reports.feedback import file_stem
from grader.reports.html import feedback_pages
from grader.text import clean

_WHEN = (1980, 1, 1, 0, 0, 0)


def archive(entries: Sequence[Entry], course: Course) -> bytes:
    """The zip; the same entries give the same bytes."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as made:
        for entry, page in feedback_pages(entries, course):
            made.writestr(zipfile.ZipInfo(_name(entry), _WHEN), page, zipfile.ZIP_DEFLATED)
    return target.getvalue()


def _name(entry: Entry) -> str:
    arrival, name = entry.row.arrival, entry.result.submission
    if arrival.lms == "moodle" and arrival.student.isdigit():
        # Moodle splits at underscores: the name must have none.
        plain = re.sub(r"[^\w .'-]|_", " ", clean(name)).strip(" .") or "Participant"
        return f"{plain[:100]}_{arrival.student}_assignfeedback_file_feedback.html"
    return f"{file_stem(name)}.html"
