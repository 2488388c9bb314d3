"""The rows of a gradebook together with the files that were graded, as reports and exports need them. Only reads.

Students see of checks with ``hidden="all"`` only their number and whether they pass, until their release. Results keep
all of it for the instructor; everything that a student may read is made by `for_students`.
"""

from __future__ import annotations

import dataclasses
import datetime
import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from grader.course.due import moment
from grader.course.marks import BY_POINTS, MarkPolicy
from grader.errors import UserError
from grader.gradebook import Gradebook, Mark, Override, Row
from grader.results import Cause, CheckResult, ExerciseResult, SubmissionResult
from grader.text import counted, percent

_SAID: Final = "a hidden check does not pass"
_OPEN: Final = frozenset(("blocked", "not_assessed", "memory_short", "unwritten", "grader_fault"))
"""Kinds of causes that reveal nothing about a check."""


@dataclass(frozen=True)
class Entry:
    """One submission of a class. `files` reads its files again each time, because a class may not fit in memory.

    Of a group whose members handed in differing work it has only what a person gave to this one: nobody knows yet
    whose results count.
    """

    row: Row
    files_of: Callable[[str], Mapping[str, bytes]] = lambda digest: {}
    policy: MarkPolicy = BY_POINTS

    def __post_init__(self) -> None:
        if self.row.differing:
            object.__setattr__(self, "row", _without_work(self.row))

    @property
    def result(self) -> SubmissionResult:
        """The automatic result."""
        return self.row.result

    def points_of(self, exercise: ExerciseResult) -> tuple[float, float]:
        """Points and maximum of an exercise: as given by hand, else the automatic ones."""
        return self.row.given.get(exercise.name, (exercise.score, exercise.max))

    @property
    def is_of_nobody(self) -> bool:
        """Whether its student has no mark because the group's members handed in differing work."""
        given = self.row.given
        return bool(self.row.differing) and any(one.name not in given for one in self.result.exercises)

    @property
    def share(self) -> float | None:
        """The percentage that was earned, by the weights of the topics; None if nothing could be assessed."""
        if not self.policy.weights:
            return percent(self.row.score, self.row.max)
        earned = self._weighted(self.row.points)
        return None if earned is None else percent(earned, 1.0)

    @property
    def final(self) -> float:
        """The points that count: by the weights of the topics, less the penalty for lateness."""
        if not self.policy.weights:
            return self.row.final
        return (self._weighted(self.row.less_penalty(self.row.points)) or 0.0) * self.row.max

    @property
    def letter(self) -> str:
        """The letter grade of the points that count; empty if the course has none, or there is no mark yet."""
        if self.row.unread or self.row.unmarked:
            return ""
        return self.policy.letter(100.0 * self.final / self.row.max if self.row.max > 0 else None)

    def _weighted(self, points: Mapping[str, float]) -> float | None:
        worth = {one.name: one.max for one in self.result.exercises}
        worth |= {name: most for name, (_, most) in self.row.given.items()}
        return self.policy.share((name, points[name], most) for name, most in worth.items())

    @property
    def read(self) -> tuple[ExerciseResult, ...]:
        """The exercises that count in statistics: those of topics that could be read, or that a person gave points."""
        aside = {one.topic for one in self.row.unread}
        given = self.row.given
        exercises = self.result.exercises
        return tuple(one for one in exercises if one.topic not in aside or one.name in given)

    def is_right(self, exercise: ExerciseResult) -> bool:
        """Whether an exercise has all the points that could be earned, by hand or by itself, without a bonus."""
        if exercise.name in self.row.given:
            score, most = self.points_of(exercise)
            return most > 0 and score >= most
        return exercise.is_right

    def is_unmarked(self, exercise: ExerciseResult) -> bool:
        """Whether a person has to mark it, and has not yet."""
        return exercise.manual is not None and exercise.name not in self.row.given

    def override_of(self, exercise: ExerciseResult) -> Override | None:
        """The points that a person gave for it, whatever its checks or its rubric say; None if nobody did."""
        return next((one for one in self.row.overrides if one.exercise == exercise.name), None)

    def mark_of(self, exercise: ExerciseResult) -> Mark | None:
        """Its mark by a rubric; None if it has none."""
        return next((one for one in self.row.marks if one.exercise == exercise.name), None)

    def said_of(self, exercise: ExerciseResult) -> str:
        """The comments on an exercise and on lines of its file; may have several lines, or none."""
        return "\n".join(one.said for one in self.row.comments if one.exercise == exercise.name)

    def for_students(self) -> Entry:
        """The same without hidden checks: for everything that a student may read."""
        result = for_students(self.result)
        return self if result is self.result else dataclasses.replace(self, row=replace(self.row, result=result))

    def of_exercises(self, names: Collection[str]) -> Entry:
        """The same with the results and points of these exercises alone."""
        row = self.row
        row = replace(
            row,
            result=row.result.of_exercises(names),
            missing=tuple(name for name in row.missing if name in names),
            older=tuple(
                replace(one, exercises=own)
                for one in row.older
                if (own := tuple(name for name in one.exercises if name in names))
            ),
            overrides=tuple(one for one in row.overrides if one.exercise in names),
            marks=tuple(one for one in row.marks if one.exercise in names),
            comments=tuple(one for one in row.comments if one.exercise in names),
        )
        return dataclasses.replace(self, row=row)

    def files(self) -> Mapping[str, bytes]:
        """The files that were graded, by path; a topic's file is the one that its exercises were graded with."""
        files = dict(self.files_of(self.row.digest))
        older = {name for one in self.row.older for name in one.exercises}
        topics = {one.topic for one in self.result.exercises if one.name not in older}
        for one in self.row.older:
            modules = {f"{topic}.py" for topic in {name.partition(".")[0] for name in one.exercises} - topics}
            if one.digest != self.row.digest:
                files |= {path: content for path, content in self.files_of(one.digest).items() if path in modules}
            topics |= {module.removesuffix(".py") for module in modules}
        return files


def about(book: Gradebook, entries: Iterable[Entry]) -> Iterator[str]:
    """Which course and runs these results are of, and when they were made, a line each."""
    of_run = Counter(run for entry in entries for run in entry.row.runs)
    for run in book.runs():
        if run.id in of_run:
            made = f"{moment(run.started):%Y-%m-%d %H:%M}"
            those = counted(of_run[run.id], "submission")
            yield f"{run.course}, run {run.id} of {made}: {those}; {book.policy(run.id)}"


def entries_of(book: Gradebook, run: int | None = None, policy: MarkPolicy = BY_POINTS) -> list[Entry]:
    """The submissions of a run (None: the latest of every student) in order of their names.

    Args:
        policy: the course's weights and letter grades.

    Raises:
        UserError: the run has no results.
    """
    entries = [Entry(row, book.files, policy) for row in book.results(run)]
    if not entries:
        raise UserError(f"{book.path} has no results", fix="grade first: grader grade SUBMISSIONS")
    return entries


def _without_work(row: Row) -> Row:
    """The row without results of any work, notes and lateness; its exercises keep only their names."""
    exercises = tuple(
        ExerciseResult(name=one.name, score=0.0, max=0.0, manual=one.manual) for one in row.result.exercises
    )
    bare = replace(row.result, score=0.0, max=0.0, exercises=exercises, flags=(), unread=(), notes=())
    return replace(row, result=bare, notes=(), late=None, older=(), marks=(), comments=(), begun=(), before=None)


def for_students(result: SubmissionResult, now: datetime.datetime | None = None) -> SubmissionResult:
    """The same result without the checks that are hidden at this time; None means now."""
    exercises = tuple(exercise_for_students(one, now) for one in result.exercises)
    return result if exercises == result.exercises else replace(result, exercises=exercises)


def exercise_for_students(exercise: ExerciseResult, now: datetime.datetime | None = None) -> ExerciseResult:
    """The same exercise without the checks that are hidden at this time; None means now."""
    if not any(check.hidden_until for check in exercise.checks):
        return exercise
    now = now or datetime.datetime.now(datetime.timezone.utc)
    shown = [check for check in exercise.checks if not _is_hidden(check, now)]
    numbers = itertools.count(1)
    checks = tuple(
        check if check in shown else _without_content(check, next(numbers), exercise.name) for check in exercise.checks
    )
    if all(check.verdict == "passed" for check in shown):  # else a mistake would be named that no shown check finds
        exercise = replace(exercise, misconception=None, explanation=None)
    return replace(exercise, checks=checks)


def _is_hidden(check: CheckResult, now: datetime.datetime) -> bool:
    try:
        return bool(check.hidden_until) and now < datetime.datetime.fromisoformat(check.hidden_until)
    except (ValueError, TypeError):  # "always"
        return True


def _without_content(check: CheckResult, number: int, exercise: str) -> CheckResult:
    check = replace(check, name=f"hidden_check_{number}")
    cause = check.cause
    if cause is None or cause.kind in _OPEN or cause.stage != "check":
        return check
    if cause.kind == "missing" and cause.names == (exercise.partition(".")[2],):
        return check
    bare = Cause(kind=cause.kind, advice=_SAID, reason=_SAID)
    return replace(check, message=_SAID, cause=bare)
