"""What every report says about a result, before it is given a form: marks, words, groups of equal checks, what to tell.

Decides nothing and prints nothing: terminal, pages and exports share it, so that all of them say the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import unicodedata
from collections.abc import Sequence

from grader.course import Course, misconceptions_of
from grader.errors import UserError
from grader.results import Cause, CheckResult, ExerciseResult, VerdictKind
from grader.text import clean

WORST_FIRST: tuple[VerdictKind, ...] = ("error", "crashed", "timeout", "failed", "blocked", "skipped", "passed")
SYMBOLS: dict[VerdictKind, str] = {
    "passed": "✓",
    "failed": "✗",
    "timeout": "✗",
    "crashed": "✗",
    "blocked": "○",
    "skipped": "–",
    "error": "!",
}
VERDICT_WORDS: dict[VerdictKind, str] = {
    "passed": "passed",
    "failed": "failed",
    "timeout": "took too long",
    "crashed": "crashed",
    "blocked": "blocked",
    "skipped": "skipped",
    "error": "the grader's own fault, no points are lost",
}


def worst(exercise: ExerciseResult) -> VerdictKind:
    """The verdict that an exercise shows; a skipped check does not hide that the others passed."""
    kinds = {check.verdict for check in exercise.checks}
    for kind in WORST_FIRST:
        if kind in kinds and not (kind == "skipped" and "passed" in kinds):
            return kind
    return "skipped"


def alike(checks: Sequence[CheckResult]) -> list[list[CheckResult]]:
    """The checks in groups of equal verdict and cause, in order of their first."""
    groups: dict[tuple[str, Cause | None], list[CheckResult]] = {}
    for check in checks:
        groups.setdefault((check.verdict, check.cause), []).append(check)
    return list(groups.values())


def one_cause(exercise: ExerciseResult) -> CheckResult | None:
    """The check that speaks for all where one cause, such as a failing import, stopped every check; else None."""
    not_passed = [check for check in exercise.checks if check.verdict != "passed"]
    alone = len(not_passed) == len(exercise.checks) > 1 and len(alike(not_passed)) == 1
    return not_passed[0] if alone else None


def tell(course: Course, exercise: ExerciseResult) -> str | None:
    """What to tell about the misconception that was recognised, in one line; its name if the course knows no more."""
    if exercise.misconception is None:
        return None
    with contextlib.suppress(UserError):
        for misconception in misconceptions_of(course, exercise.name.partition(".")[0]):
            if (misconception.exercise, misconception.name) == (exercise.name, exercise.misconception):
                return " ".join(misconception.tell.split())
    return exercise.misconception.replace("_", " ")


def one_line(text: str, width: int = 120) -> str:
    """Text from outside, such as a submission's name, made harmless, on one line and bounded."""
    text = clean(text[: 4 * width]).replace("\n", "\ufffd")
    return text if len(text) <= width else text[: width - 1] + "…"


def file_stem(submission: str) -> str:
    """A file name for a submission, without extension: always the same, safe on every file system, unique."""
    plain = unicodedata.normalize("NFKD", submission[:60]).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain)[:60].strip("-")
    return f"{slug or 'submission'}-{hashlib.sha256(submission.encode('utf-8', 'replace')).hexdigest()[:10]}"


def bounded(message: str, lines: int = 60, width: int = 2000) -> str:
    """A message made harmless and cut to a size that a reader can take in."""
    found = clean(message).rstrip().split("\n")
    kept = [line[:width] for line in found[:lines]]
    return "\n".join(kept + ([f"… and {len(found) - lines} more lines"] if len(found) > lines else []))


def lines_of(check: CheckResult) -> list[tuple[str, int]]:
    """The student's own lines that a check's cause points at: file and line number, innermost last."""
    return [(frame.file, frame.line) for frame in check.cause.frames] if check.cause else []


def is_brief(check: CheckResult) -> bool:
    """Whether the reason is all there is to say: no call, no line of the student's, no prints, and no second line."""
    cause = check.cause
    if cause is None or cause.kind == "unrecorded" or cause.stage == "submission":
        return False
    more = cause.sentence or cause.call or cause.returned or cause.frames or cause.prints or cause.note
    return not more and "\n" not in cause.reason + cause.exception_message


def headline(check: CheckResult) -> str:
    """What a failure is about, in one line: the check's sentence, else the reason, else the check's name."""
    cause = check.cause
    if cause is None:
        return check.name.replace("_", " ")
    if cause.sentence:
        return cause.sentence
    if cause.exception_type:
        what = f"{cause.file} cannot be imported: " if cause.stage == "import" else ""
        return f"{what}{cause.exception_type}: {cause.exception_message}".partition("\n")[0]
    if cause.stage == "import" and cause.kind != "timeout":
        return f"importing {cause.file} {cause.reason}"
    return cause.reason.partition("\n")[0] or check.name.replace("_", " ")
