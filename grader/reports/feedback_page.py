"""The data of one feedback page, for its template. Makes nothing by itself: `html_feedback` fills it."""

from __future__ import annotations

from dataclasses import dataclass

from grader.pictures import Picture
from grader.reports.excerpts import Excerpt
from grader.results import VerdictKind


@dataclass(frozen=True)
class CheckGroup:
    """Checks with the same verdict and cause, shown once.

    Attributes:
        heading: the first check's name; empty if the cause is not about single checks.
        verdict: the verdict of all of them.
        words: the verdict in words.
        message: the check's message to the student.
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
    """One exercise on the page: the first failure is shown, and the others are folded away.

    Attributes:
        alike: the checks that fail like the first one.
        otherwise: all others that do not pass.
        explanation: of the misconception that was recognised.
        hint: the first hint, if there is no explanation.
        hint_command: the command that prints the next hint.
        code_left_out: the page would become too large with the code.
        by_hand: a person's points and the automatic ones; empty if the automatic ones count.
        pictures: of what passed, as far as there is room.
    """

    name: str
    verdict: VerdictKind
    score: str
    first: CheckGroup | None = None
    alike: tuple[CheckGroup, ...] = ()
    otherwise: tuple[CheckGroup, ...] = ()
    explanation: str | None = None
    hint: str | None = None
    hint_command: str | None = None
    code: tuple[Excerpt, ...] = ()
    code_left_out: bool = False
    by_hand: str = ""
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True)
class ManualPart:
    """An exercise that a person marks.

    Attributes:
        score: its points; in words if there are none yet.
        about: its file, and whether the work was there.
        items: of the rubric, a line each; none before it is marked.
        by_hand: points given above the mark.
        comment: a person's words; may have several lines.
        changed: that the work has changed; empty if it has not.
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
    """One topic on the page; ``cause`` is set if one cause stopped all of its exercises. It is empty without a mark.

    Attributes:
        comments: a person's words about exercises with checks: name and text.
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
    letter: str
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
