"""The program that runs on Gradescope: grades one submission and writes results.json, also when grading fails.

Runs no submitted code itself: it calls ``grader grade`` and reads the gradebook.
"""

import contextlib
import csv
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path

import msgspec

from grader.course import Course
from grader.errors import UserError
from grader.exports.gradescope import failure, results
from grader.files import write_atomically
from grader.gradebook import Gradebook
from grader.intake.dates import read_time
from grader.reports.entries import entries_of
from grader.text import clean

_MOST = 100
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
        command += times(root / "submission_metadata.json", Path(folder), course)
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
            return results(entries[0])


def times(file: Path, folder: Path, course: Path | None) -> list[str]:
    """Options that say when the work was handed in, and when it was due where the course only says what a day costs.

    Args:
        file: Gradescope's facts about the submission; without them nothing is late.
        folder: where a roster of this one submission is written.
    """
    try:
        metadata = msgspec.json.decode(file.read_bytes(), type=_Metadata)
        policy = Course.load(course).late
    except (OSError, msgspec.DecodeError, UserError):
        return []  # Where the course is the reason, grading says so.
    when = read_time(metadata.created_at)
    # What lies in the folder may be found under a name of its own, such as that of an archive.
    handed_in = file.parent / "submission"
    found = sorted(path.name for path in handed_in.iterdir()) if handed_in.is_dir() else []
    names = {name.lower(): name for path in found[:_MOST] for name in (path, path.partition(".")[0]) if name.strip()}
    roster = folder / "roster.csv"
    with roster.open("w", encoding="utf-8", errors="replace", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["id", "name", "created_at"])
        rows.writerows([name, "submission", when] for name in {"submission": "submission", **names}.values())
    due = read_time(metadata.assignment.due_date or "")
    costs = policy.per_day or policy.until is not None
    return ["--roster", str(roster), *(["--due", due] if due and policy.due is None and costs else [])]


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
