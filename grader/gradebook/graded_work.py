"""Whether the work of a result is other work than a person looked at, and which of several works counts."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from grader.gradebook import by_hand, records
from grader.gradebook.records import Whose
from grader.results import SubmissionResult

OfExercise = TypeVar("OfExercise", by_hand.Override, by_hand.Mark, by_hand.Comment)

ReadFiles = Callable[[str], Mapping[str, bytes]]
"""Gives the files of a work by its digest."""


class GradedWork:
    """Tells whether the work of a result is other work than a person looked at; reads files only if it may be.

    Args:
        older: the exercises that were graded with earlier work.
    """

    def __init__(self, files: ReadFiles, digest: str, result: SubmissionResult, older: Sequence[records.Older]) -> None:
        self._files = functools.cache(files)
        self._newest = digest
        self._older = {name: one.digest for one in older for name in one.exercises}
        self._result = result

    def in_force(self, given: Sequence[tuple[OfExercise, by_hand.LookedAt]], whose: Whose) -> tuple[OfExercise, ...]:
        """The newest of each exercise, and of each line of its file, unless that one takes back; with whether it is
        about other work than this."""
        newest = {(one.exercise, one.subject[2:]): (one, looked_at) for one, looked_at in given}
        return tuple(
            replace(one, student=whose.name, stale=self._has_changed(one, looked_at))
            for _, (one, looked_at) in sorted(newest.items())
            if not one.is_withdrawal
        )

    def _has_changed(
        self, given: by_hand.Override | by_hand.Mark | by_hand.Comment, looked_at: by_hand.LookedAt
    ) -> bool:
        """Whether the file of a mark or a comment has; for points, the exercise's file or a module that it may import.

        The files of other topics do not count.
        """
        exercise = given.exercise
        digest = self._older.get(exercise, self._newest)
        if looked_at.digest == digest:
            return False
        now = self._files(digest)
        if not isinstance(given, by_hand.Override):
            return by_hand.work_hash(now, looked_at.file) != looked_at.work
        before = self._files(looked_at.digest)
        if not before:
            return True  # nobody can tell, so somebody should look
        for one in self._result.to_mark:
            if one.name == exercise and one.manual is not None:
                return before.get(one.manual.work) != now.get(one.manual.work)
        own = exercise.partition(".")[0]
        others = {f"{one.name.partition('.')[0]}.py" for one in self._result.checked} - {f"{own}.py"}
        modules = {path for path in before.keys() | now.keys() if path.endswith(".py")} - others
        return any(before.get(path) != now.get(path) for path in modules)


def that_counts(works: Sequence[records.Row], rule: str) -> records.Row:
    """The first work, or the one with the most points after lateness, of equal ones the last."""
    if rule == "first" or not works[1:]:
        return works[0]
    best = max(reversed(works), key=lambda row: row.final)
    unread = [row for row in works if row.unread]
    # Work that could not be read may be worth more: a person has to look first.
    return unread[-1] if unread and best.final < best.max else best
