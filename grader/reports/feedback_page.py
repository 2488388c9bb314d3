"""The data of one feedback page, for its template. Makes nothing by itself: `html_feedback` fills it."""

from __future__ import annotations

from dataclasses import dataclass

from grader.reports.excerpts import Excerpt
from grader.results import VerdictKind


@dataclass(frozen=True)
class CheckGroup:
    """Checks with the same verdict and cause, shown once.

    Attributes:
        heading: the first check's name; empty where the cause is not about single checks.
        verdict: the verdict of all of them.
        words: the verdict in words.
        message: what the student reads.
        is_brief: the message is only a reason of one line.
        others: the number of checks besides the first.
    """

    heading: str
    verdict: VerdictKind
    words: str
    message: str
    is_brief: bool = False
    others: int = 0


@dataclass(frozen=True)
class ExercisePart:
    """One exercise on the page.

    Attributes:
        explanation: of the misconception that was recognised.
        hint: the first hint, where there is no explanation.
        hint_command: the command that prints the next hint.
        code_left_out: the page would become too large with the code.
        by_hand: what a person gave, and the automatic points; empty where the automatic ones count.
    """

    name: str
    verdict: VerdictKind
    score: str
    groups: tuple[CheckGroup, ...] = ()
    explanation: str | None = None
    hint: str | None = None
    hint_command: str | None = None
    code: tuple[Excerpt, ...] = ()
    code_left_out: bool = False
    by_hand: str = ""


@dataclass(frozen=True)
class ManualPart:
    """An exercise that a person marks.

    Attributes:
        score: its points; in words where there are none yet.
        about: whose work it is, what it is worth, and whether it was there.
        items: of the rubric, a line each; none before it is marked.
        by_hand: points given above the mark.
        comment: what a person says; may have several lines.
        changed: that other work is graded now; empty where that is not so.
    """

    name: str
    score: str
    about: str
    items: tuple[str, ...] = ()
    by_hand: str = ""
    comment: str = ""
    changed: str = ""


@dataclass(frozen=True)
class TopicPart:
    """One topic on the page; ``cause`` is what stopped all of its exercises, where one cause did.

    Attributes:
        comments: what a person says about exercises with checks: name and text.
    """

    name: str
    title: str
    score: float
    max: float
    passed: tuple[ExercisePart, ...]
    others: tuple[ExercisePart, ...]
    cause: CheckGroup | None = None
    manual: tuple[ManualPart, ...] = ()
    comments: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class FeedbackPage:
    """One submission's page."""

    name: str
    score: str
    share: float | None
    fault: bool
    not_assessed: str
    late: str
    final: str
    overrides: tuple[str, ...]
    unread: tuple[str, ...]
    notes: tuple[str, ...]
    sandbox: tuple[str, ...]
    topics: tuple[TopicPart, ...]
    files: tuple[Excerpt, ...] = ()
    files_left_out: int = 0
    other_files: tuple[str, ...] = ()
