"""Desks for submissions that run in this process: under plain pytest, and for the reference solution.

Isolates nothing: submitted code shares memory with the checks here. Only plain ``pytest`` runs use it for a
student's files; the judge uses it only for the course's own solutions.
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
from grader.judge import cause as causes
from grader.judge import explain, run
from grader.judge.check import Check
from grader.judge.collected import CollectedChecks
from grader.judge.desk import Desk
from grader.judge.session import with_collected_checks
from grader.kit import Kit, load
from grader.results import NOT_ASSESSED
from grader.testkit import in_student_process

if TYPE_CHECKING:
    from grader.course import Course


class LocalTransport:
    """Answers calls from a service in this process; a `Transport`."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.kept: dict[str, object] = {}

    def call(self, request: bytes) -> bytes:
        return self._service.answer(request)

    def call_outside(self, request: bytes) -> bytes:
        """There is no other process: the same one answers."""
        return self._service.answer(request)

    def take_ahead(self) -> list[bytes]:
        """Nothing is sent ahead in-process."""
        return []

    def drop_ahead(self) -> None:
        """Nothing is sent ahead in-process."""


class LocalDesk:
    """A desk for one topic's module in a folder; every fresh channel imports the module again."""

    shrinks_failures = True
    wants_trace_only = False
    can_send_ahead = False  # a call in this process needs no message

    def __init__(self, folder: Path, topic: str, kit: Kit | None = None) -> None:
        self._folder = folder
        self._topic = topic
        self._kit = kit
        self._channel: Channel | None = None

    def channel(self) -> Channel:
        if self._channel is None:
            return self.fresh_channel()
        self._channel.restart()
        return self._channel

    def fresh_channel(self) -> Channel:
        path = (self._folder / f"{self._topic}.py").resolve()
        module = load_module(self._topic, path)
        files = frozenset(str(file) for file in path.parent.glob("*.py"))
        service = Service(module, files, modules={**in_student_process.MODULES, **load(self._kit)})
        self._channel = Channel(LocalTransport(service), self._kit.name if self._kit else "")
        return self._channel

    def send_ahead(self, requests: list[bytes]) -> bool:
        return False

    def end_process(self) -> None:
        self._channel = None

    def take_prints(self) -> str:
        return ""

    def stopped_at(self) -> tuple[Any, ...]:
        return ()

    def last_call(self) -> Call | None:
        return self._channel.last if self._channel else None

    def reference_also_fails(self, check: Check, fixtures: dict[str, Any]) -> bool:
        raise NotImplementedError


class ReferenceDesk(LocalDesk):
    """A desk for the course's solution: a check that raises an error on it too is wrong itself."""

    shrinks_failures = False

    def reference_also_fails(self, check: Check, fixtures: dict[str, Any]) -> bool:
        return True


class SubmissionDesk(LocalDesk):
    """A desk for a student's folder."""

    def __init__(self, folder: Path, topic: str, course: Course) -> None:
        super().__init__(folder, topic, course.kit)
        self._course = course

    def reference_also_fails(self, check: Check, fixtures: dict[str, Any]) -> bool:
        return reference_raises(self._course, check, fixtures)


def reference_raises(course: Course, check: Check, fixtures: dict[str, Any]) -> bool:
    """Whether the check fails or ends in an error on the course's own solution; found out once for each check.

    That it is late says nothing about a check: on a busy machine everything is.
    """
    if check.fails_on_reference is None:
        topic = check.exercise.partition(".")[0]
        desk = ReferenceDesk(course.solutions_dir, topic, course.kit)
        try:
            result, _ = run.run(check, desk, fixtures)
            check.fails_on_reference = result.verdict in ("failed", "error")
        except Exception:  # what it raises cannot even be described
            check.fails_on_reference = True
    return check.fails_on_reference


class LocalDesks:
    """Gives each check of a plain pytest session its desk; skips what its exercise's needs block."""

    def __init__(self, folder: Path, course: Course, seed: int) -> None:
        exercises = folder / "exercises"
        self._folder = exercises if exercises.is_dir() else folder
        self._course = course
        self._needs = {exercise.full_name: exercise.needs for topic in course.topics for exercise in topic.exercises}
        self._seed = seed
        self._passed: dict[str, bool] = {}
        self._desks: dict[str, SubmissionDesk] = {}

    def desk_for(self, check: Check) -> Desk:
        for need in self._needs.get(check.exercise, ()):
            if not self._passes(need):
                pytest.skip(f"[blocked] {explain.message(causes.blocked([need]))}")
        topic = check.exercise.partition(".")[0]
        if not (self._folder / f"{topic}.py").is_file():
            pytest.fail(f"[failed] {explain.message(causes.missing_file(topic))}", pytrace=False)
        if check.exercise not in self._desks:
            desk = SubmissionDesk(self._folder, topic, self._course)
            try:
                desk.fresh_channel()
            except BaseException as error:
                service = Service(ModuleType(topic), frozenset({str((self._folder / f"{topic}.py").resolve())}))
                failure = import_raised(service.describe(error))
                pytest.fail(f"[failed] {explain.message(causes.import_failed(topic, failure, ''))}", pytrace=False)
            self._desks[check.exercise] = desk
        return self._desks[check.exercise]

    def _passes(self, exercise: str) -> bool:
        """Whether an exercise passes. Its checks run here once: pytest-xdist may run them in another process."""
        if exercise not in self._passed:
            topic = exercise.partition(".")[0]
            file = self._course.check_file(topic)

            def all_pass(checks: CollectedChecks) -> bool:
                return all(
                    checks.run(check, self.desk_for(check))[0].verdict in ("passed", *NOT_ASSESSED)
                    for check in checks.of(exercise)
                )

            self._passed[exercise] = with_collected_checks([file], self._course.checks_dir, self._seed, all_pass)
        return self._passed[exercise]


def load_module(name: str, path: Path) -> ModuleType:
    """Imports a file under a name, again if it was imported before, with its folder first on ``sys.path`` meanwhile."""
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
