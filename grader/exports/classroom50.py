"""Classroom 50: result.json and the text of the release for one checkout, and the program that writes them there.

Runs no submitted code itself: the program calls ``grader grade`` and reads the gradebook. Where there is no mark, it
writes nothing and ends with another code than 0, an infrastructure error: no mark never becomes a 0.
"""

import datetime
import os
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from grader.course import Course
from grader.course.marks import MarkPolicy
from grader.exports.code_hosts import command, commands, plain, summary
from grader.files import write_atomically
from grader.gradebook import Gradebook
from grader.reports import feedback
from grader.reports.entries import Entry, entries_of
from grader.results import ExerciseResult
from grader.text import clean, counted, listed, points

_SCHEMA: Final = "classroom50/result/v1"
_GIVEN: Final = ("CLASSROOM", "ASSIGNMENT", "SUBMISSION_TAG", "COMMIT_URL", "RELEASE_URL")
"""The variables of the runner without which there is no valid result."""
_PASSED, _FAILED, _FAULT, _USAGE = 0, 1, 3, 4
"""Exit codes of ``grader grade``."""
_NAMED: Final = 5
_NOTES: Final = 20
_BODY_BYTES: Final = 100_000
"""GitHub publishes no release whose text has more than 125,000 characters."""


class NoMark(Exception):
    """There is no mark: nothing was handed in, work could not be read, or the grader failed.

    Attributes:
        code: the exit code, never 0.
    """

    def __init__(self, reason: str, code: int) -> None:
        super().__init__(reason)
        self.code = code


def result(entry: Entry, given: Mapping[str, str]) -> bytes:
    """The file result.json, with a test for each exercise that was assessed, and the points before lateness.

    Points are whole numbers there: see `unit_of`. A bonus counts up to the points of its exercise.

    Args:
        given: the environment that the runner gives.
    """
    unit = unit_of(entry)
    tests = [_test(entry, exercise, unit) for exercise in _assessed(entry)]
    came = entry.row.arrival.submitted
    when = datetime.datetime.fromisoformat(came) if came else datetime.datetime.now().astimezone()
    document = {
        "schema": _SCHEMA,
        "classroom": given["CLASSROOM"],
        "assignment": given["ASSIGNMENT"],
        "assignment_type": given.get("ASSIGNMENT_TYPE") or "individual",
        "owner": given.get("OWNER") or given.get("USERNAME") or "",
        "submission": given["SUBMISSION_TAG"],
        "commit": given["COMMIT_URL"],
        "release": given["RELEASE_URL"],
        "review": given.get("REVIEW_URL") or given["COMMIT_URL"],
        "datetime": f"{when.astimezone(datetime.timezone.utc):%Y-%m-%dT%H:%M:%SZ}",
        "score": sum(test["score"] for test in tests),
        "max-score": sum(test["max-score"] for test in tests),
        "tests": tests,
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def unit_of(entry: Entry) -> int:
    """How many of Classroom 50's whole points are one of the course: 1 if all of those are whole, else 100."""
    exercises = entry.result.exercises
    amounts = [
        amount for one in exercises for amount in (one.max, one.not_assessed, *(part.max for part in one.checks))
    ]
    return 1 if all(float(amount).is_integer() for amount in amounts) else 100


def _assessed(entry: Entry) -> Iterator[ExerciseResult]:
    """Not those that need what this machine has not, nor those that a person marks: nothing is known of them."""
    for exercise in entry.result.exercises:
        if not entry.is_unmarked(exercise) and entry.points_of(exercise)[1] > 0:
            yield exercise


def _test(entry: Entry, exercise: ExerciseResult, unit: int) -> dict[str, Any]:
    earned, most = entry.points_of(exercise)
    whole = round(most * unit)
    # Rounding makes no full points of others.
    score = whole if earned >= most - 1e-9 else min(round(earned * unit), whole - 1)
    return {"test-name": exercise.name, "passed": entry.is_right(exercise), "score": max(0, score), "max-score": whole}


def release_body(entry: Entry, course: Course) -> str:
    """Markdown for release-body.md, which the runner also shows as the job's summary."""
    row = entry.row
    lines = [] if unit_of(entry) == 1 else ["Classroom 50's score is in hundredths of a point."]
    pairs = [entry.points_of(exercise) for exercise in _assessed(entry)]
    if (bonus := sum(max(0.0, earned - most) for earned, most in pairs)) > 0:
        lines.append(f"{counted(round(bonus, 2), 'bonus point')} on top, which Classroom 50's score does not show.")
    if row.lates:
        count = f"{points(entry.final, row.max)} points count"
        lines.append(f"{row.late_words}: {count}; Classroom 50's score is without that.")
    lines += row.notes[:_NOTES]
    return summary([entry], course, _BODY_BYTES) + "".join(f"\n- {plain(line)}" for line in lines) + "\n"


def grade(checkout: Path, folder: Path, options: Sequence[str]) -> None:
    """Grades a checkout into the folder ``grades``.

    Args:
        folder: an empty one.
        options: as of ``grader grade``.

    Raises:
        NoMark: nothing was graded.
    """
    # In a folder of its own, the whole checkout is one submission, whatever folders it has.
    work = folder / "work"
    shutil.copytree(checkout, work / "submission", symlinks=True)
    arguments = [sys.executable, "-m", "grader", "grade", str(work), "--out", str(folder / "grades"), "--jobs", "1"]
    ended = subprocess.run([*arguments, *options], capture_output=True, check=False)
    said = clean(ended.stderr.decode("utf-8", "replace")).replace(str(work), "the repository").strip()
    if ended.returncode == _USAGE:
        raise NoMark(said.removeprefix("error: "), _USAGE)
    if ended.returncode not in (_PASSED, _FAILED, _FAULT) or not any((folder / "grades").glob("results*.jsonl")):
        # Otherwise students would read of flags and hidden checks here.
        print(clean(ended.stdout.decode("utf-8", "replace")), said, sep="\n", flush=True)
        raise NoMark("the grader failed; this says nothing about the work: tell your instructor", _FAULT)


def mark_in(book: Gradebook, policy: MarkPolicy) -> Entry:
    """The one result in a gradebook, as students may see it.

    Raises:
        NoMark: it is no mark.
    """
    book.choose(None)
    (entry,) = entries_of(book, policy=policy)
    if faulty := [one.name for one in entry.result.exercises if any(part.verdict == "error" for part in one.checks)]:
        what = f"the grader failed on {listed(faulty, _NAMED)}; this says nothing about the work: tell your instructor"
        raise NoMark(what, _FAULT)
    if unread := feedback.unread(entry.row):
        raise NoMark("; ".join(unread), _USAGE)
    if entry.result.checked and not any(_assessed(entry)):
        raise NoMark(f"nothing can be assessed on this machine: {feedback.not_assessed(entry.result)}", _FAULT)
    return entry.for_students()


def main(checkout: Path, course: Path | None, *only: str) -> int:
    """Writes release-body.md and result.json into the checkout, and prints failures as annotations; the exit code."""
    try:
        if missing := [name for name in _GIVEN if not os.environ.get(name)]:
            raise NoMark(f"{listed(missing, _NAMED)} not set: this is started by Classroom 50's runner", _USAGE)
        loaded = Course.load(course)
        options = ["--course", str(course)] if course else []
        options += [word for name in only for word in ("--only", name)]
        with tempfile.TemporaryDirectory(prefix="grades-") as folder:
            grade(checkout, Path(folder), options)
            with Gradebook.open_existing(Path(folder, "grades")) as book:
                entry = mark_in(book, loaded.marks)
                annotations = list(commands([entry], checkout))
            print(*annotations, sep="\n")
            body = release_body(entry, loaded).encode("utf-8", "replace")
            write_atomically(checkout / "release-body.md", [body])
            write_atomically(checkout / "result.json", [result(entry, os.environ)])
    except NoMark as problem:
        print(command("error", str(problem), title="no mark"))
        return problem.code
    except Exception:
        print(clean(traceback.format_exc()))
        print(command("error", "the grader failed: tell your instructor", title="no mark"))
        return _FAULT
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]) if sys.argv[2] else None, *sys.argv[3:]))
