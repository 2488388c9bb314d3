"""How a mark is made of points: which work counts of several, the weights of topics, and letter grades."""

from collections.abc import Iterable
from typing import Any, Final, Literal

import msgspec

Resubmissions = Literal["latest", "best", "first"]
_DIGITS: Final = 9
"""Decimals of a percentage that letters compare."""


class MarkPolicy(msgspec.Struct, frozen=True):
    """The part of ``course.toml`` about marks.

    Attributes:
        resubmissions: which work of several counts.
        weights: of topics: name and weight; empty: a topic counts by its points.
        letters: the least percentage of each letter grade, the highest first.
    """

    resubmissions: Resubmissions = "latest"
    weights: tuple[tuple[str, float], ...] = ()
    letters: tuple[tuple[str, float], ...] = ()

    def share(self, of_exercises: Iterable[tuple[str, float, float]]) -> float | None:
        """The fraction that was earned, above 1 with a bonus; None if nothing could be assessed.

        Args:
            of_exercises: full name, points and maximum of each exercise. With weights, a topic of which nothing was
                assessed counts nothing, and one without a weight counts 1.
        """
        topics: dict[str, tuple[float, float]] = {}
        for name, score, most in of_exercises:
            topic = name.partition(".")[0]
            earned, worth = topics.get(topic, (0.0, 0.0))
            topics[topic] = earned + score, worth + most
        assessed = {name: of for name, of in topics.items() if of[1] > 0}
        if not assessed:
            return None
        if not self.weights:
            return sum(score for score, _ in topics.values()) / sum(most for _, most in assessed.values())
        given = dict(self.weights)
        weights = {name: given.get(name, 1.0) for name in assessed}
        total = sum(weights.values())
        if not total:
            return None
        return sum(weights[name] * score / most for name, (score, most) in assessed.items()) / total

    def letter(self, percentage: float | None) -> str:
        """The letter grade of a percentage; empty if there are no letters, or no percentage.

        Args:
            percentage: as exact as it is: 89.96 is below 90. Only the noise of sums of floats does not count.
        """
        if percentage is None:
            return ""
        exact = round(percentage, _DIGITS)
        return next((letter for letter, least in self.letters if exact >= least), "")


BY_POINTS: Final = MarkPolicy()
"""The latest work counts, a topic by its points, and there are no letters."""


def read_letters(table: Any) -> tuple[tuple[str, float], ...]:
    """The letter grades of a table such as ``{ A = 90, B = 80, F = 0 }``.

    Raises:
        ValueError: a percentage is not from 0 to 100, or two letters have the same.
    """
    if not isinstance(table, dict):
        raise ValueError("write a table of letters and the least percentage of each: { A = 90, B = 80, F = 0 }")
    for letter, least in table.items():
        if isinstance(least, bool) or not isinstance(least, (int, float)) or not 0 <= least <= 100:
            raise ValueError(f"`{letter}` must be a percentage from 0 to 100, not {least!r}")
    if len(set(table.values())) < len(table):
        raise ValueError("two letters have the same percentage")
    return tuple(sorted(((str(letter), float(least)) for letter, least in table.items()), key=lambda one: -one[1]))
