"""Classes made up for tests of reports and exports: results as the judge would give them, without grading anything."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from grader.course import Course, Exercise, Misconception, misconceptions_of
from grader.gradebook import Gradebook, Row
from grader.intake.submission import Submission, digest
from grader.judge import explain
from grader.reports.entries import Entry
from grader.results import Cause, CauseKind, CheckResult, ExerciseResult, Frame, SubmissionResult, VerdictKind

OWN = Path(__file__).resolve().parent.parent / "examples" / "own_course"
NAMES = (
    "Zoë Müller",
    "O'Neil, Pat",
    '=HYPERLINK("http://x")',
    "<script>alert(1)</script>",
    "أمينة",
    "-2+3",
    "@sum",
    "Björk",
)


KINDS: dict[VerdictKind, CauseKind] = {
    "failed": "assertion",
    "timeout": "timeout",
    "crashed": "crash",
    "blocked": "blocked",
    "skipped": "not_assessed",
    "error": "grader_fault",
}


def check(
    name: str = "one", verdict: VerdictKind = "passed", message: str = "", *, cause: Cause | None = None
) -> CheckResult:
    """A check's result; without a cause, one that did not pass gets one of its verdict, with the message as reason."""
    if cause is None and verdict != "passed":
        cause = Cause(kind=KINDS[verdict], reason=message)
    return CheckResult(name=name, verdict=verdict, message=message, cause=cause)


def exercise(
    name: str, *checks: CheckResult, points: float = 1, misconception: Misconception | None = None
) -> ExerciseResult:
    right = all(one.verdict in ("passed", "skipped", "error") for one in checks)
    assessed = any(one.verdict not in ("skipped", "error") for one in checks)
    maximum = points if assessed else 0
    return ExerciseResult(
        name=name,
        score=maximum if right else 0,
        max=maximum,
        checks=checks,
        misconception=misconception and misconception.name,
        explanation=misconception and " ".join(misconception.tell.split()),
        not_assessed=0 if assessed else points,
    )


def result(name: str, *exercises: ExerciseResult, sandbox: tuple[str, ...] = ("seccomp",)) -> SubmissionResult:
    return SubmissionResult(
        submission=name,
        score=sum(one.score for one in exercises),
        max=sum(one.max for one in exercises),
        exercises=exercises,
        sandbox=sandbox,
    )


def entry(given: SubmissionResult, files: dict[str, str] | None = None, seconds: float = 0.5) -> Entry:
    contents = {path: text.encode() for path, text in (files or {}).items()}
    submission = Submission(given.submission, contents)
    return Entry(Row(given, digest(submission), seconds), lambda _: contents)


def classroom(course: Course, size: int, seed: int = 0) -> list[Entry]:
    """A class in which the later exercises go worse, with the course's own stubs and solutions as code."""
    files = {f"{topic.name}.py": course.solution_file(topic.name).read_text() for topic in course.topics}
    dice = random.Random(seed)
    entries = []
    for number in range(size):
        name = NAMES[number] if number < len(NAMES) else f"student{number:03d}"
        skill = dice.betavariate(4, 1.6)
        results = tuple(_exercise(dice, course, one, skill, files) for one in course.exercises)
        entries.append(entry(result(name, *results), files, seconds=round(dice.lognormvariate(0, 0.6), 3)))
    return sorted(entries, key=lambda one: one.result.submission)


def _exercise(
    dice: random.Random, course: Course, one: Exercise, skill: float, files: dict[str, str]
) -> ExerciseResult:
    right = check("the_first"), check("rows_of_length_one"), check("empty_too")
    hard = list(course.exercises).index(one) / len(course.exercises)
    if dice.random() < skill * (1.15 - 0.5 * hard):
        return exercise(one.full_name, *right, points=one.points)
    kind = dice.choices(["wrong", "unwritten", "timeout", "crashed", "blocked"], [12, 5, 1, 1, 1])[0]
    if kind == "unwritten":
        stub = Cause(kind="unwritten", reason=f"`{one.name}` is not written yet")
        none = [explain.result(c.name, stub) for c in right]
        return exercise(one.full_name, *none, points=one.points)
    if kind == "blocked":
        needs = [check(c.name, "blocked", f"{course.exercises[0].full_name} must pass first") for c in right]
        return exercise(one.full_name, *needs, points=one.points)
    lines = files[f"{one.topic}.py"].split("\n")
    line = next(n for n, text in enumerate(lines) if f" {one.name}(" in text)
    line = next(n for n, text in enumerate(lines) if n > line and "# solution" in text) + 2
    asked = Cause(
        kind="assertion",
        sentence="Entry (i, j) is the dot product of rows i and j, for any matrix.",
        call=f"{one.name}(tensor([[1., 2.], [3., 4.]]))",
    )
    at = (Frame(f"{one.topic}.py", line, one.name, lines[line - 1].strip()),)
    causes = {
        "wrong": replace(
            asked,
            returned="tensor([[10., 14.], [14., 20.]])",
            expected="tensor([[5., 11.], [11., 25.]])",
            reason="4 of 4 entries differ",
            frames=at,
            prints="<b>shape</b> (2, 2)",
            printed=19,
        ),
        "timeout": replace(asked, kind="timeout", frames=at),
        "crashed": replace(asked, kind="crash", reason="ended the process with exit code 0"),
    }
    known = [wrong for wrong in _misconceptions(course, one.topic) if wrong.exercise == one.full_name]
    named = dice.choice(known) if known and kind == "wrong" and dice.random() < 0.4 else None
    wrong = explain.result("rows_of_length_one", causes[kind])
    return exercise(one.full_name, right[0], wrong, right[2], points=one.points, misconception=named)


@functools.cache
def _misconceptions(course: Course, topic: str) -> list[Misconception]:
    return list(misconceptions_of(course, topic))


def gradebook(path: Path, entries: list[Entry]) -> Path:
    """A gradebook with these results."""
    with Gradebook.open(path) as book:
        run = book.start_run("course", "hash", 0, "{}", {})
        for one in entries:
            book.record(run, one.result, one.row.digest, one.row.seconds)
    return path


def rows(path: Path) -> Iterator[Row]:
    with Gradebook.open(path) as book:
        yield from book.results()
