"""Whose points differ between two runs, and by how much: for an instructor who has changed a course."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from grader.gradebook.records import Row


class Move(msgspec.Struct, frozen=True):
    """An exercise of a submission whose points differ; None: that run does not have it."""

    submission: str
    exercise: str
    before: float | None
    after: float | None
    new_work: bool = False


def compare(before: Iterable[Row], after: Iterable[Row]) -> Iterator[Move]:
    """Every exercise whose automatic points differ, in order of names; ``new_work``: other files were handed in."""
    old = {row.result.submission: (row.digest, _points(row)) for row in before}
    new = {row.result.submission: (row.digest, _points(row)) for row in after}
    for name in sorted(old.keys() | new.keys()):
        digest_before, left = old.get(name, ("", {}))
        digest_after, right = new.get(name, ("", {}))
        changed = bool(digest_before and digest_after and digest_before != digest_after)
        for exercise in dict.fromkeys([*left, *right]):
            if left.get(exercise) != right.get(exercise):
                yield Move(name, exercise, left.get(exercise), right.get(exercise), changed)


def _points(row: Row) -> dict[str, float]:
    return {exercise.name: exercise.score for exercise in row.result.exercises}
