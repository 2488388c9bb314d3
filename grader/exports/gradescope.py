"""Gradescope: results.json of one submission, and the program that runs there and always writes one.

Runs no submitted code itself: the program calls ``grader grade`` and reads the gradebook.
"""

import contextlib
import csv
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from grader.course import Course
from grader.errors import UserError
from grader.files import write_atomically
from grader.gradebook import Gradebook
from grader.intake import kinds
from grader.intake.dates import read_time
from grader.reports import feedback
from grader.reports.entries import Entry, entries_of
from grader.reports.feedback import VERDICT_WORDS, bounded
from grader.results import NOT_ASSESSED, ExerciseResult
from grader.text import clean, listed, named, points

_MOST: Final = 100
_NAMED: Final = 5
_UNREAD: Final = "This is no mark yet: work could not be read. Hand in again, or tell your instructor."
_FAULT: Final = "The grader failed. This says nothing about your work: tell your instructor."


def results(entry: Entry) -> bytes:
    """The file, with a visible test for each exercise: Gradescope hides the total if one test is hidden.

    Where checks have points of their own, and none were given by hand, there is a test for each check instead.
    """
    row, result = entry.row, entry.result
    percent = "" if entry.share is None else f", {entry.share:.1f}%"
    lines = [f"{points(row.score, row.max)} points{percent}"]
    if row.unread:
        lines = [_UNREAD]
        lines += map(clean, feedback.why_unread(row))
    if row.lates:
        lines.append(f"{row.late_words}: {points(entry.final, row.max)} points count")
    if missing := feedback.left_out(result, row.given):
        lines.append(f"{row.score:g} of {row.max:g}, {missing}")
    lines += map(clean, row.notes)
    if "error" in result.verdicts:
        lines.append("THE GRADER FAILED on some exercises: tell your instructor; no points are lost.")
    if result.sandbox:
        lines.append(f"sandbox: {', '.join(result.sandbox)}")
    document: dict[str, Any] = {"score": round(entry.final, 4), "execution_time": round(row.seconds, 3)}
    document["output"] = "\n".join(lines)
    document |= dict.fromkeys(("output_format", "test_output_format", "test_name_format"), "text")
    document |= {"visibility": "visible", "stdout_visibility": "hidden"}
    document["extra_data"] = {"unread": [one.topic for one in row.unread]}
    numbered = enumerate(result.exercises, start=1)
    document["tests"] = [test for n, exercise in numbered for test in _tests(entry, exercise, n)]
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


def _failure(message: str, unread: Sequence[str] = ()) -> bytes:
    """The file when there is no result: the message, no points, and the topics that could not be read."""
    document = {"score": 0.0, "output": clean(message), "output_format": "text", "visibility": "visible", "tests": []}
    return msgspec.json.encode({**document, "extra_data": {"unread": unread}}) + b"\n"


def _nothing_read(handed_in: Path, course: Course, only: Sequence[str]) -> bytes | None:
    """The file for an upload in which nothing is of a kind that is read, such as a document; None if something is."""
    there = sorted(path for path in handed_in.iterdir() if not kinds.is_clutter(path.name))
    if not there or any(path.is_dir() or kinds.is_work(path.name) for path in there):
        return None
    topics = list(dict.fromkeys(name.partition(".")[0] for name in course.select(only)))
    wanted = [topic.file for topic in course.modules if topic.name in topics]
    files = f": {listed(wanted, _NAMED)}" if wanted else ""
    said = f"This is no mark yet: {listed([path.name for path in there], _NAMED)} could not be read. "
    return _failure(f"{said}Hand in Python files or notebooks{files}. Or tell your instructor.", topics)


def _tests(entry: Entry, exercise: ExerciseResult, number: int) -> Iterator[dict[str, Any]]:
    said = entry.said_of(exercise)
    comment = clean(f"comment: {said}\n\n") if said else ""
    if exercise.name in entry.row.given or not any(check.max > 0 for check in exercise.parts):
        score, most = entry.points_of(exercise)
        given, mark = entry.override_of(exercise), entry.mark_of(exercise)
        by_hand = clean(f"{points(score, most)} given by hand: {given.why}\n\n") if given else ""
        output = _output(exercise)
        if exercise.manual is not None and given is None:
            items = "not marked yet" if mark is None else clean("\n".join(feedback.item_lines(mark.items)))
            output = f"{feedback.about_manual(exercise)}\n{items}"
        passed = score >= most if most > 0 else None
        yield _test(exercise.name, f"{number}", score, most, by_hand + comment + output, passed)
        return
    for n, check in enumerate(exercise.checks, start=1):
        name = f"{exercise.name}: {feedback.check_title(check.name)}{' (bonus)' if check.is_bonus else ''}"
        is_assessed = check.verdict not in NOT_ASSESSED
        most = check.max if is_assessed and not check.is_bonus else 0.0
        output = f"{VERDICT_WORDS[check.verdict]}\n{bounded(check.message)}" if check.message else ""
        passed = check.verdict == "passed" if is_assessed else None
        yield _test(name, f"{number}.{n}", check.score, most, comment + output if n == 1 else output, passed)


def _test(name: str, number: str, score: float, most: float, output: str, passed: bool | None) -> dict[str, Any]:
    """One test; whether it has passed is None if that is not known."""
    test = {"name": clean(name), "number": number, "visibility": "visible", "score": score, "max_score": most}
    return {**test, "output": output} | ({} if passed is None else {"status": "passed" if passed else "failed"})


def _output(exercise: ExerciseResult) -> str:
    if feedback.worst(exercise) == "passed":
        return ""
    explanation = feedback.explanation_of(exercise)
    parts = [f"what happened: {explanation}"] if explanation else []
    if cause := feedback.one_cause(exercise):
        parts.append(f"{VERDICT_WORDS[cause.verdict]}\n{bounded(cause.message)}")
        return "\n\n".join(parts)
    for first, *others in feedback.equal_groups(feedback.not_passed(exercise)):
        name = clean(first.name).replace("_", " ")
        more = f"\nand {len(others)} more: the same" if others else ""
        parts.append(f"{name}: {VERDICT_WORDS[first.verdict]}\n{bounded(first.message)}{more}")
    return "\n\n".join(parts)


class _Assignment(msgspec.Struct):
    due_date: str | None = None


class _Metadata(msgspec.Struct):
    """The used part of Gradescope's file about a submission."""

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
        command += times(root / "submission_metadata.json", Path(folder), course, only)
        ended = subprocess.run(command, capture_output=True, check=False)
        errors = clean(ended.stderr.decode("utf-8", "replace"))
        print(clean(ended.stdout.decode("utf-8", "replace")), errors, sep="\n", flush=True)
        if ended.returncode == 4:
            if unread := _nothing_read(root / "submission", Course.load(course), only):
                return unread
            return _failure(errors.replace(str(root / "submission"), "your submission").removeprefix("error: "))
        with contextlib.closing(Gradebook.open_existing(Path(folder))) as book:
            book.choose(None)
            entries = entries_of(book)
            if len(entries) > 1:
                names = named([entry.result.submission for entry in entries], 5)
                return _failure(f"There are several submissions in this upload: {names}. Hand in one set of files.")
            return results(entries[0])


def times(file: Path, folder: Path, course: Path | None, only: Sequence[str] = ()) -> list[str]:
    """Options that say when the work was handed in, and when it was due where the course only says what a day costs.

    Args:
        file: Gradescope's facts about the submission; without them nothing is late.
        folder: where a roster of this one submission is written.
        only: the topics, exercises or assignment that are graded.
    """
    try:
        metadata = msgspec.json.decode(file.read_bytes(), type=_Metadata)
        policy = Course.load(course).assignment_with(only).late
    except (OSError, msgspec.DecodeError, UserError):
        return []  # Where the course is the reason, grading says so.
    when = read_time(metadata.created_at)
    # What lies in the folder may be found under a name of its own, such as that of an archive.
    handed_in = file.parent / "submission"
    inside = handed_in.iterdir() if handed_in.is_dir() else ()
    work = (path for path in inside if path.is_dir() or kinds.is_work(path.name) or kinds.has_no_ending(path.name))
    found = sorted(path.name for path in work)
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
        document = _failure(_FAULT)
    (root / "results").mkdir(exist_ok=True)
    write_atomically(root / "results" / "results.json", [document])


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
