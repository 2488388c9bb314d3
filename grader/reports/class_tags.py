"""Short names for what submissions did not pass, by which the class page lists who is behind a number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from grader.reports.entries import Entry
from grader.reports.feedback import FAILING, headline, one_cause
from grader.results import NOT_ASSESSED, ExerciseResult
from grader.text import one_line

MOST_COMMON: Final = 10
"""Misconceptions and failures that the page shows."""


class Tags:
    """Short names for what submissions did not pass: exercises, checks, misconceptions and failures."""

    def __init__(self, entries: Sequence[Entry], index: Mapping[str, int]) -> None:
        self.index = index
        self.checks: dict[tuple[str, str], str] = {}
        self.misconceptions: dict[tuple[str, str], str] = {}
        self.failures: dict[tuple[str, str], str] = {}
        count: Counter[tuple[str, str]] = Counter()
        for entry in entries:
            for exercise in entry.result.exercises:
                for check in exercise.checks:
                    self.checks.setdefault((exercise.name, check.name), f"c{len(self.checks)}")
                if exercise.misconception is not None:
                    key = exercise.name, exercise.misconception
                    self.misconceptions.setdefault(key, f"m{len(self.misconceptions)}")
            count.update({key for exercise in entry.result.exercises for key in failures_of(exercise)})
        for key, _ in count.most_common(MOST_COMMON):
            self.failures[key] = f"f{len(self.failures)}"

    def of(self, entry: Entry) -> str:
        """The tags of one submission."""
        found: list[str] = []
        for exercise in entry.result.exercises:
            is_missed = entry.points_of(exercise)[1] > 0 and not entry.is_right(exercise)
            found += [f"e{self.index[exercise.name]}"] if is_missed else []
            for check in exercise.checks:
                if check.verdict not in NOT_ASSESSED | {"passed"}:
                    found.append(self.checks[exercise.name, check.name])
            if exercise.misconception is not None:
                found.append(self.misconceptions[exercise.name, exercise.misconception])
            found += [self.failures[key] for key in failures_of(exercise) if key in self.failures]
        return " ".join(dict.fromkeys(found))


def failures_of(exercise: ExerciseResult) -> Iterator[tuple[str, str]]:
    """The place and the headline of each failure: of every check, or of the one cause that stopped all of them."""
    shared = one_cause(exercise)
    for check in exercise.checks if shared is None else [shared]:
        if check.verdict in FAILING:
            of_topic = check.cause is not None and check.cause.stage != "check"
            where = exercise.name.partition(".")[0] if of_topic else exercise.name
            yield where, one_line(headline(check), 160)
