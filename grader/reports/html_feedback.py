"""What one submission's feedback page shows: the same as ``grader check``, with the code beside each failure.

Makes data for the template; escapes nothing and forms no HTML.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from grader.course import Course, Exercise
from grader.gradebook import Override
from grader.reports.entries import Entry
from grader.reports.excerpts import Excerpt, excerpt
from grader.reports.feedback import VERDICT_WORDS, alike, bounded, is_brief, lines_of, one_cause, one_line, tell, worst
from grader.results import CheckResult, ExerciseResult, SubmissionResult, VerdictKind
from grader.text import percent, points

_LINES = 60
_FEW_LINES = 12


@dataclass(frozen=True)
class Told:
    """One group of equal checks: whose they are, how they ended, and the message; ``brief`` when that is one line."""

    heading: str
    verdict: VerdictKind
    words: str
    message: str
    brief: bool = False
    others: int = 0


@dataclass(frozen=True)
class ExercisePart:
    """One exercise on the page."""

    name: str
    verdict: VerdictKind
    score: str
    told: tuple[Told, ...] = ()
    tell: str | None = None
    hint: str | None = None
    more: str | None = None
    code: tuple[Excerpt, ...] = ()
    code_left_out: bool = False


@dataclass(frozen=True)
class TopicPart:
    """One topic on the page: what passed is one line, what did not is shown in full."""

    name: str
    title: str
    score: float
    max: float
    passed: tuple[ExercisePart, ...]
    others: tuple[ExercisePart, ...]
    cause: Told | None = None


@dataclass(frozen=True)
class FeedbackPage:
    """One submission's page."""

    name: str
    score: str
    share: float | None
    fault: bool
    not_assessed: float
    late: str
    final: str
    overrides: tuple[str, ...]
    notes: tuple[str, ...]
    sandbox: tuple[str, ...]
    topics: tuple[TopicPart, ...] = field(default_factory=tuple)


class Pages:
    """Makes the pages of a class; code is left out of a page that would become larger than about `page_bytes`."""

    def __init__(self, course: Course, page_bytes: int) -> None:
        self._course = course
        self._page_bytes = page_bytes
        self._exercises = {exercise.full_name: exercise for exercise in course.exercises}
        self._titles = {topic.name: topic.title for topic in course.topics}
        self._lines = _LINES
        self._tells: dict[tuple[str, str | None], str | None] = {}

    def page(self, entry: Entry) -> FeedbackPage:
        """The page of one submission."""
        result, row, files = entry.result, entry.row, entry.files()
        left = [self._page_bytes - _size_without_code(result)]
        self._lines = _LINES if left[0] > 0 else _FEW_LINES
        topics: dict[str, list[ExerciseResult]] = {}
        for exercise in result.exercises:
            topics.setdefault(exercise.name.partition(".")[0], []).append(exercise)
        return FeedbackPage(
            name=one_line(result.submission),
            score=points(row.score, row.max),
            share=percent(row.score, row.max),
            late=str(row.late) if row.late else "",
            final=points(row.final, row.max),
            overrides=tuple(_override(one) for one in row.overrides),
            fault="error" in result.verdicts,
            not_assessed=self._not_assessed(result, {one.exercise for one in row.overrides}),
            notes=tuple(one_line(note, 400) for note in row.notes),
            sandbox=result.sandbox,
            topics=tuple(self._topic(name, exercises, files, left) for name, exercises in topics.items()),
        )

    def _topic(
        self, name: str, exercises: Sequence[ExerciseResult], files: Mapping[str, bytes], left: list[int]
    ) -> TopicPart:
        cause = _shared_cause(exercises)
        parts = [self._exercise(exercise, files, left, told=cause is None) for exercise in exercises]
        return TopicPart(
            name=name,
            title=self._titles.get(name, ""),
            score=sum(exercise.score for exercise in exercises),
            max=sum(exercise.max for exercise in exercises),
            passed=tuple(part for part in parts if part.verdict == "passed"),
            others=tuple(part for part in parts if part.verdict != "passed"),
            cause=cause,
        )

    def _exercise(
        self, exercise: ExerciseResult, files: Mapping[str, bytes], left: list[int], told: bool
    ) -> ExercisePart:
        topic, _, name = exercise.name.partition(".")
        verdict = worst(exercise)
        score = "not assessed" if exercise.max == 0 else points(exercise.score, exercise.max)
        if verdict == "passed" or not told:
            return ExercisePart(name or topic, verdict, score)
        cause = one_cause(exercise)
        not_passed = [check for check in exercise.checks if check.verdict != "passed"]
        groups = (
            [_told([cause], "", self._lines)]
            if cause
            else [_told(group, group[0].name, self._lines) for group in alike(not_passed)]
        )
        helps = cause is None and bool({"failed", "timeout", "crashed"} & {check.verdict for check in not_passed})
        known = self._exercises.get(exercise.name)
        tells = self._tell(exercise) if helps else None
        code: list[Excerpt] = []
        if verdict in ("failed", "timeout", "crashed") and not _nothing_to_show(cause):
            marks = {mark for check in not_passed for mark in lines_of(check)}
            code = excerpt(files, topic, name, marks)
        size = sum(part.size for part in code)
        fits = not code or size <= left[0]
        left[0] -= size if fits else 0
        return ExercisePart(
            name=name or topic,
            verdict=verdict,
            score=score,
            told=tuple(groups),
            tell=tells,
            hint=known.hints[0] if helps and not tells and known and known.hints else None,
            more=_more(known, bool(tells)) if helps else None,
            code=tuple(code) if fits else (),
            code_left_out=not fits,
        )

    def _tell(self, exercise: ExerciseResult) -> str | None:
        key = (exercise.name, exercise.misconception)
        if key not in self._tells:
            self._tells[key] = tell(self._course, exercise)
        return self._tells[key]

    def _not_assessed(self, result: SubmissionResult, by_hand: set[str]) -> float:
        left_out = (e.name for e in result.exercises if not e.max and e.checks and e.name not in by_hand)
        missing = (self._exercises.get(name) for name in left_out)
        return sum(exercise.points for exercise in missing if exercise)


def _override(one: Override) -> str:
    stale = " (given for other work than this)" if one.stale else ""
    return one_line(f"{one.exercise}: {points(one.points or 0.0, one.max)} by {one.who}: {one.why}{stale}", 400)


def _size_without_code(result: SubmissionResult) -> int:
    """Roughly the bytes of a page."""
    size = 5_000
    for exercise in result.exercises:
        messages = {check.message for check in exercise.checks} - {""}
        size += 420 + sum(80 + int(1.1 * len(message)) for message in messages) if messages else 90
    return size


def _shared_cause(exercises: Sequence[ExerciseResult]) -> Told | None:
    """What stopped every exercise of a topic alike, such as a module that cannot be imported: told once."""
    checks = [check for exercise in exercises for check in exercise.checks]
    if len(exercises) > 1 and checks and checks[0].verdict != "passed" and len(alike(checks)) == 1:
        return _told(checks[:1], "")
    return None


def _told(group: Sequence[CheckResult], name: str, lines: int = _LINES) -> Told:
    first = group[0]
    heading = one_line(name).replace("_", " ")
    message = bounded(first.message, lines)
    words = VERDICT_WORDS[first.verdict]
    return Told(heading, first.verdict, words, message, brief=is_brief(first), others=len(group) - 1)


def _nothing_to_show(check: CheckResult | None) -> bool:
    """Whether no code of the student's belongs beside the message: one line says all."""
    return check is not None and check.verdict == "failed" and is_brief(check)


def _more(exercise: Exercise | None, told: bool) -> str | None:
    if exercise is None or len(exercise.hints) <= (0 if told else 1):
        return None
    return f"grader hint {exercise.full_name}{'' if told else ' --level 2'}"
