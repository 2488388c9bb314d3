"""Desks for submissions that run in this process: under plain pytest, and for the reference solution.

Isolates nothing: submitted code shares memory with the checks here. Only plain ``pytest`` runs use it for a
student's files; the judge uses it for the course's own solutions alone.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from grader.border.failures import import_raised
from grader.border.proxies import Call, Channel
from grader.border.service import Service
from grader.border.transport import LocalTransport
from grader.judge import explain, run
from grader.results import NOT_ASSESSED

if TYPE_CHECKING:
    from grader.course import Course


class LocalDesk:
    """One exercise of a folder of modules; every fresh channel imports the topic anew."""

    explains = True
    only_records = False

    def __init__(self, folder: Path, topic: str) -> None:
        self._folder = folder
        self._topic = topic
        self._channel: Channel | None = None

    def channel(self) -> Channel:
        if self._channel is None:
            return self.fresh()
        self._channel.restart()
        return self._channel

    def fresh(self) -> Channel:
        path = (self._folder / f"{self._topic}.py").resolve()
        module = load_module(self._topic, path)
        files = frozenset(str(file) for file in path.parent.glob("*.py"))
        self._channel = Channel(LocalTransport(Service(module, files)))
        return self._channel

    def prime(self, plan: list[bytes]) -> bool:
        """Nothing travels here, so nothing is sent ahead."""
        return False

    def discard(self) -> None:
        self._channel = None

    def prints(self) -> str:
        return ""

    def stopped_at(self) -> tuple[Any, ...]:
        return ()

    def last_call(self) -> Call | None:
        return self._channel.last if self._channel else None

    def owes_error(self, check: run.Check, fixtures: dict[str, Any]) -> bool:
        raise NotImplementedError


class ReferenceDesk(LocalDesk):
    """The course's solution: what a check does on it tells a wrong check from an unforeseen answer."""

    explains = False

    def owes_error(self, check: run.Check, fixtures: dict[str, Any]) -> bool:
        return True


class SubmissionDesk(LocalDesk):
    """A student's folder, in-process."""

    def __init__(self, folder: Path, topic: str, course: Course) -> None:
        super().__init__(folder, topic)
        self._course = course

    def owes_error(self, check: run.Check, fixtures: dict[str, Any]) -> bool:
        return reference_raises(self._course, check, fixtures)


def reference_raises(course: Course, check: run.Check, fixtures: dict[str, Any]) -> bool:
    """Whether the check ends in anything but *passed* on the course's own solution."""
    topic = check.exercise.partition(".")[0]
    desk = ReferenceDesk(course.solutions_dir, topic)
    plan, check.plan = check.plan, []
    try:
        result, _ = run.run(check, desk, fixtures)
        return result.verdict != "passed"
    finally:
        check.plan = plan


class LocalDesks:
    """Gives each check of a plain pytest session its desk; skips what its exercise's needs block."""

    def __init__(self, folder: Path, course: Course, seed: int) -> None:
        exercises = folder / "exercises"
        self._folder = exercises if exercises.is_dir() else folder
        self._course = course
        self._needs = {exercise.full_name: exercise.needs for topic in course.topics for exercise in topic.exercises}
        self._seed = seed
        self._earned: dict[str, bool] = {}
        self._desks: dict[str, SubmissionDesk] = {}

    def desk_for(self, check: run.Check) -> run.Desk:
        for need in self._needs.get(check.exercise, ()):
            if not self._passes(need):
                pytest.skip(f"[blocked] {need} must pass first")
        topic = check.exercise.partition(".")[0]
        if not (self._folder / f"{topic}.py").is_file():
            pytest.fail(f"[failed] {topic}.py is not in the submission", pytrace=False)
        if check.exercise not in self._desks:
            desk = SubmissionDesk(self._folder, topic, self._course)
            try:
                desk.fresh()
            except BaseException as error:
                service = Service(ModuleType(topic), frozenset({str((self._folder / f"{topic}.py").resolve())}))
                failure = import_raised(service.describe(error))
                pytest.fail(f"[failed] {explain.import_failed(topic, failure, '')}", pytrace=False)
            self._desks[check.exercise] = desk
        return self._desks[check.exercise]

    def _passes(self, exercise: str) -> bool:
        """Whether an exercise passes; run apart, once, as pytest-xdist may run its checks in another process."""
        if exercise not in self._earned:
            from grader.judge.session import CollectedChecks

            topic = exercise.partition(".")[0]
            file = self._course.checks_dir / f"test_{topic}.py"
            collected = CollectedChecks([file], self._course.checks_dir, self._seed)
            self._earned[exercise] = all(
                collected.run(check, self.desk_for(check))[0].verdict in ("passed", *NOT_ASSESSED)
                for check in collected.of(exercise)
            )
        return self._earned[exercise]


def load_module(name: str, path: Path) -> ModuleType:
    """Imports a file under a name, anew, with its folder first on the path while it runs."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(name)
    dont_write, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
        sys.dont_write_bytecode = dont_write
        if before is None:
            sys.modules.pop(name, None)
        else:
            sys.modules[name] = before
    return module
