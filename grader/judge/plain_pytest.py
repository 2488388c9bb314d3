"""Desks under plain pytest: the submission's topics are modules of this process.

Isolates nothing: submitted code shares memory with the checks here.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from grader.files import python_files
from grader.judge import cause as causes
from grader.judge import explain
from grader.judge.check import Check, Desk
from grader.judge.in_process import LocalHost
from grader.judge.session import collected_checks
from grader.judge.topic_desk import TopicDesk
from grader.results import NOT_ASSESSED

if TYPE_CHECKING:
    from grader.course import Course


class LocalDesks:
    """The desks of the checks of a plain pytest session; skips those of exercises whose needs are not met."""

    def __init__(self, folder: Path, course: Course, seed: int) -> None:
        exercises = folder / "exercises"
        self._folder = exercises if exercises.is_dir() else folder
        self._course = course
        self._needs = {exercise.full_name: exercise.needs for topic in course.topics for exercise in topic.exercises}
        self._seed = seed
        self._passed: dict[str, bool] = {}
        self._desks: dict[str, TopicDesk] = {}

    def desk_for(self, check: Check) -> Desk:
        for need in self._needs.get(check.exercise, ()):
            if not self._passes(need):
                pytest.skip(f"[blocked] {explain.message(causes.blocked([need]))}")
        file = self._folder / f"{check.topic}.py"
        if not file.is_file():
            pytest.fail(f"[failed] {explain.message(causes.missing_file(file.name))}", pytrace=False)
        if check.exercise not in self._desks:
            files = python_files(self._folder)
            desk = TopicDesk(LocalHost(self._folder, self._course.kit), self._course, check.topic, files)
            if desk.import_failure is not None:
                pytest.fail(f"[failed] {explain.message(desk.import_failure)}", pytrace=False)
            desk.memory_limit = 0  # nobody limits this process
            self._desks[check.exercise] = desk
        return self._desks[check.exercise]

    def _passes(self, exercise: str) -> bool:
        """True if an exercise passes. Its checks run here once: pytest-xdist may run them in another process."""
        if exercise not in self._passed:
            file = self._course.check_file(exercise.partition(".")[0])
            with collected_checks([file], self._course.checks_dir, self._seed) as checks:
                verdicts = [checks.run(check, self.desk_for(check))[0].verdict for check in checks.of(exercise)]
            are_right = all(one in ("passed", *NOT_ASSESSED) for one in verdicts)
            self._passed[exercise] = are_right and set(verdicts) != {"skipped"}
        return self._passed[exercise]
