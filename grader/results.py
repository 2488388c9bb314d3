"""What grading a submission yields: plain, frozen data that every report and the gradebook share.

Never holds live objects: everything here can be written as JSON and read back equal.
"""

from __future__ import annotations

from typing import Literal

import msgspec

SCHEMA = 1

VerdictKind = Literal["passed", "failed", "blocked", "skipped", "timeout", "crashed", "error"]
NOT_ASSESSED: frozenset[str] = frozenset({"skipped", "error"})
"""Verdicts that take their check out of the total: they say nothing about the student."""
UNASSESSED = "cannot be assessed without a GPU:"
"""Begins the message of a check that was skipped for what the submission itself used."""


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one check.

    Attributes:
        name: the check's name, e.g. ``rows_dotted_with_rows``.
        verdict: one of the verdict kinds.
        message: what the student reads; empty when passed.
    """

    name: str
    verdict: VerdictKind
    message: str = ""


class ExerciseResult(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one exercise; ``max`` is 0 when none of its checks could be assessed."""

    name: str
    score: float
    max: float
    misconception: str | None = None
    checks: tuple[CheckResult, ...] = ()


class SubmissionResult(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one submission: one line of ``results.jsonl``."""

    schema: int = SCHEMA
    submission: str
    score: float
    max: float
    exercises: tuple[ExerciseResult, ...] = ()
    sandbox: tuple[str, ...] = ()

    @property
    def verdicts(self) -> set[str]:
        """The verdict kinds that occur."""
        return {check.verdict for exercise in self.exercises for check in exercise.checks}


def to_json(result: SubmissionResult) -> bytes:
    """One line of JSON, without the line end."""
    return msgspec.json.encode(result)


def from_json(line: bytes | str) -> SubmissionResult:
    """The inverse of `to_json`.

    Raises:
        msgspec.ValidationError: if the line is not such an object.
    """
    return msgspec.json.decode(line, type=SubmissionResult)
