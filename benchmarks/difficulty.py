"""How hard the exercises of the shipped course are, as far as the project's own wrong answers show it.

    python benchmarks/difficulty.py [TOPIC ...]

For each exercise, in the course's order: its minutes and level, the lines of its solution, its misconceptions, the
wrong answers in `tests/answers/wrong`, and the students of the sample class who did not pass it. The *weight* is the
mean of the places that an exercise has by each of these, from 0 (the least of the course) to 100. At the end: exercises
whose level does not fit their weight, and those that come before a much lighter one that does not need them.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.course import Course, Exercise, misconceptions_of
from grader.course.definitions import docstrings
from grader.course.stubs import solution_of

TESTS = Path(__file__).resolve().parent.parent / "tests"
EXPECTED = {"easy": (0, 55), "medium": (25, 85), "hard": (50, 100)}
"""The weights that fit a level."""
APART = 40
"""By how much one exercise of a topic may be heavier than the next one that could come before it."""


@dataclass(frozen=True)
class Measured:
    """What is known of one exercise."""

    exercise: Exercise
    lines: int
    misconceptions: int
    wrong: int
    students: int

    @property
    def numbers(self) -> tuple[int, ...]:
        """Larger for what is harder."""
        return self.exercise.minutes or 0, self.lines, self.misconceptions, self.wrong, self.students


def measured(course: Course) -> list[Measured]:
    """All exercises of the course that have checks."""
    files = TESTS.glob("answers/wrong/*/*.py")
    wrong = Counter(f"{file.parent.name}.{file.stem.partition('__')[0]}" for file in files)
    verdicts = json.loads((TESTS / "grading" / "sample_class_verdicts.json").read_text(encoding="utf-8"))
    failed = Counter(name.split()[-1] for name, found in verdicts.items() if isinstance(found, dict))
    known = Counter(one.exercise for topic in course.topics for one in misconceptions_of(course, topic.name))
    return [
        Measured(one, _lines(course, one), known[one.full_name], wrong[one.full_name], failed[one.full_name])
        for one in course.exercises
    ]


def _lines(course: Course, exercise: Exercise) -> int:
    """The lines of the solution that are not blank, a comment or a docstring."""
    lines = solution_of(course.solution_file(exercise.topic), exercise.name).split("\n")
    left_out = docstrings(lines, 1, len(lines))
    code = [line.strip() for number, line in enumerate(lines, start=1) if number not in left_out]
    return sum(bool(line) and not line.startswith("#") for line in code)


def weights(exercises: list[Measured]) -> dict[str, float]:
    """The weight of each exercise, by its full name."""
    columns = list(zip(*(one.numbers for one in exercises), strict=True))
    most = len(exercises) - 1
    found = {}
    for one in exercises:
        places = [
            (sum(other < number for other in column) + sum(other <= number for other in column) - 1) / 2 / most
            for number, column in zip(one.numbers, columns, strict=True)
        ]
        found[one.exercise.full_name] = 100 * sum(places) / len(places)
    return found


def misfits(course: Course, exercises: list[Measured], weight: Mapping[str, float]) -> list[str]:
    """Levels that do not fit, and exercises that come before a much lighter one that does not need them."""
    found = []
    for one in (each.exercise for each in exercises):
        low, high = EXPECTED.get(one.level or "", (0, 100))
        if not low <= weight[one.full_name] <= high:
            found.append(f"{one.full_name}: {one.level}, {one.minutes} minutes, weight {weight[one.full_name]:.0f}")
    for topic in course.topics:
        for before, after in zip(topic.exercises, topic.exercises[1:], strict=False):
            is_free = before.full_name not in course.with_needs([after.full_name])
            if is_free and weight[before.full_name] - weight[after.full_name] > APART:
                found.append(f"{before.full_name} comes before {after.full_name}, which is much lighter")
    return found


def main() -> None:
    """Prints the table, and the misfits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("topics", nargs="*")
    wanted = parser.parse_args().topics
    course = Course.load(None)
    exercises = measured(course)
    weight = weights(exercises)
    heads = f"{'level':7} {'minutes':>7} {'lines':>5} {'misconceptions':>14} {'wrong':>5} {'class':>5} weight"
    print(f"{'exercise':36} {heads}")
    for one in exercises:
        if not wanted or one.exercise.topic in wanted:
            minutes, lines, known, wrong, students = one.numbers
            name, level = one.exercise.full_name, one.exercise.level or "–"
            print(f"{name:36} {level:7} {minutes:7} {lines:5} {known:14} {wrong:5} {students:5} {weight[name]:6.0f}")
    print("\n".join(misfits(course, exercises, weight)) or "all fit")


if __name__ == "__main__":
    main()
