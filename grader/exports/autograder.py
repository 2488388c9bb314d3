"""The program that runs on Gradescope: grades one submission and writes results.json, also when grading fails.

Runs no submitted code itself: it calls ``grader grade`` and reads the gradebook.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path

import msgspec

from grader.course import Course
from grader.exports.gradescope import failure, results
from grader.files import write_atomically
from grader.gradebook import Gradebook
from grader.intake.dates import read_time
from grader.reports.entries import entries_of
from grader.text import clean

_FAULT = "The grader failed. This says nothing about your work: tell your instructor."


class _Assignment(msgspec.Struct):
    due_date: str | None = None


class _Metadata(msgspec.Struct):
    """What is used of Gradescope's file about a submission."""

    created_at: str = ""
    assignment: _Assignment = msgspec.field(default_factory=_Assignment)


def run(root: Path, only: Sequence[str] = ()) -> bytes:
    """Grades ``submission`` under Gradescope's folder, and returns results.json; `only` as of ``grader grade``."""
    own = root / "source" / "course"
    course = own if own.is_dir() else None
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "grader", "grade", str(root / "submission"), "--out", folder, "--jobs", "1"]
        command += ["--course", str(course)] if course else []
        command += [word for name in only for word in ("--only", name)]
        command += _times(root / "submission_metadata.json", Path(folder), Course.load(course))
        ended = subprocess.run(command, capture_output=True, check=False)
        errors = clean(ended.stderr.decode("utf-8", "replace"))
        print(clean(ended.stdout.decode("utf-8", "replace")), errors, sep="\n", flush=True)
        if ended.returncode == 4:
            return failure(errors.replace(str(root / "submission"), "your submission").removeprefix("error: "))
        with contextlib.closing(Gradebook.open_existing(Path(folder))) as book:
            entries = entries_of(book)
            if len(entries) > 1:
                names = ", ".join(entry.result.submission for entry in entries[:5])
                return failure(f"There are several submissions in this upload: {names}. Hand in one set of files.")
            return results(entries[0], Course.load(course))


def _times(file: Path, folder: Path, course: Course) -> list[str]:
    """Options that say when the work was handed in, and when it was due where the course only says what a day costs."""
    try:
        metadata = msgspec.json.decode(file.read_bytes(), type=_Metadata)
    except (OSError, msgspec.DecodeError):
        return []
    roster = folder / "roster.csv"
    roster.write_text(f"id,name,created_at\nsubmission,submission,{read_time(metadata.created_at)}\n")
    due = metadata.assignment.due_date
    wanted = course.late.due is None and course.late.per_day > 0 and due and read_time(due)
    return ["--roster", str(roster), *(["--due", str(due)] if wanted else [])]


def main(root: Path, *only: str) -> None:
    """Writes results.json; a fault of the grader is reported there too, with a traceback on stdout for instructors."""
    try:
        document = run(root, only)
    except Exception:
        traceback.print_exc(file=sys.stdout)
        document = failure(_FAULT)
    (root / "results").mkdir(exist_ok=True)
    write_atomically(root / "results" / "results.json", [document])


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
