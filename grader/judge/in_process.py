"""Desks for submissions that run in this process: under plain pytest, and for the reference solution.

Isolates nothing: submitted code shares memory with the checks here. Only plain ``pytest`` runs use it for a
student's files; the judge uses it only for the course's own solutions.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from grader.border.arena import Arena
from grader.border.channel import Channel
from grader.border.failures import raised_error
from grader.border.messages import LoadOrder, Raised
from grader.border.proxies import Call
from grader.border.service import Service
from grader.border.transport import Process
from grader.judge import cause as causes
from grader.judge import explain
from grader.judge.check import Check, Desk, RunOn
from grader.judge.loading import FIRST_TRY
from grader.judge.local_process import LocalProcess
from grader.judge.session import collected_checks
from grader.judge.time_limit import Overrun
from grader.kit import Kit, load
from grader.results import NOT_ASSESSED
from grader.sandbox.limits import Limits
from grader.student.statements import NothingLoaded, import_file, load_topic
from grader.student.student_process import one_at_a_time
from grader.testkit._ranks.world import RunningWorld
from grader.testkit.in_student_process import MODULES

if TYPE_CHECKING:
    from grader.course import Course


class LocalTransport:
    """Answers calls from a service in this process, and forks further processes; a `Transport` and a `Starter`.

    Args:
        make_service: imports the submission again, for a further process; None if none is ever needed.
        folder: of the submission's files.
    """

    def __init__(
        self, service: Service, make_service: Callable[[], Service] | None = None, folder: Path = Path()
    ) -> None:
        self._service = service
        self._make_service = make_service
        self._folder = folder
        self._started: list[LocalProcess] = []
        self.kept: dict[str, object] = {}

    def call(self, request: bytes) -> bytes:
        return self._service.answer(request)

    call_outside = call  # there is no other process: the same one answers

    def processes(self, count: int, imports: bool = True) -> list[Process]:
        if self._make_service is None or not hasattr(os, "fork"):
            pytest.skip("needs further processes of the submission, which cannot be forked here")
        # The modules that ranks need first, because each rank would pay more than a second for them.
        import torch._dynamo
        import torch.distributed.run
        import torch.nn.parallel
        import torch.optim  # noqa: F401

        make = self._make_service if imports else lambda: Service(ModuleType("outside"), frozenset(), modules=MODULES)
        started = [LocalProcess(make, self._folder) for _ in range(count)]
        self._started += started
        return [*started]

    def add_prints(self, text: str) -> None:
        """Prints the output of further processes as if it were this one's."""
        print(text, end="")

    def own_network(self) -> AbstractContextManager[None]:
        """Keeps others of this user from opening ports meanwhile: submissions choose fixed ones."""
        return one_at_a_time()

    def close(self) -> None:
        """Ends the further processes, and removes everything that was kept for them."""
        for kept in self.kept.values():
            if isinstance(kept, RunningWorld):
                kept.end()
        self.kept.clear()
        for process in self._started:
            process.end()
        self._started.clear()


class LocalDesk(Desk):
    """A desk for one topic's module in a folder; every fresh channel imports the module again."""

    def __init__(self, folder: Path, topic: str, kit: Kit | None = None) -> None:
        self._folder = folder.resolve()
        self._topic = topic
        self._kit = kit
        self._transport: LocalTransport | None = None
        self._channel: Channel | None = None

    def channel(self) -> Channel:
        if self._channel is None:
            self.end_process()
            arena = Arena.local()
            self._transport = LocalTransport(self._make_service(arena), self._make_service, self._folder)
            self._channel = Channel(self._transport, self._kit.name if self._kit else "", arena)
        self._channel.restart()
        return self._channel

    def _make_service(self, arena: Arena | None = None) -> Service:
        path = self._folder / f"{self._topic}.py"
        files = frozenset(str(file) for file in self._folder.glob("*.py"))
        imported: dict[str, ModuleType] = {}
        with importable(self._folder, imported):
            imported[self._topic] = module = self._load(path, files)
        modules = {**MODULES, **load(self._kit)}
        return _ServiceOfFolder(self._folder, imported, module, files, modules=modules, arena=arena)

    def _load(self, path: Path, files: frozenset[str]) -> ModuleType:
        return import_file(self._topic, path)

    def end_process(self) -> None:
        if self._transport is not None:
            self._transport.close()
        self._transport = self._channel = None

    def last_call(self) -> Call | None:
        return self._channel.last if self._channel else None


class SubmissionDesk(LocalDesk):
    """A desk for a student's folder."""

    def __init__(self, folder: Path, topic: str, course: Course) -> None:
        super().__init__(folder, topic, course.kit)
        self._course = course

    def _load(self, path: Path, files: frozenset[str]) -> ModuleType:
        """The module, loaded statement by statement as in a student process."""
        if self._course.strict_import:
            return import_file(self._topic, path)
        exercises = [one.name for one in self._course.topic(self._topic).exercises]
        service = Service(ModuleType(self._topic), files)

        def describe(error: BaseException) -> Raised:
            if isinstance(error, KeyboardInterrupt | Overrun):
                raise error  # not of the file
            return service.describe(error)

        return load_topic(self._topic, path, LoadOrder(exercises, Limits().topic_seconds * FIRST_TRY), describe)[0]

    def reference_also_fails(self, check: Check, run: RunOn) -> bool:
        return reference_raises(self._course, check, run)


def reference_raises(course: Course, check: Check, run: RunOn) -> bool:
    """Whether the check fails, ends in an error or does not end on the course's own solution; found out once.

    If a course was handed out without its solutions, the check is taken to be right.

    Raises:
        Overrun: the check does not end, when it is asked for the first time.
    """
    if check.on_reference is None:
        if not course.solution_file(check.topic).is_file():
            return False
        desk = LocalDesk(course.solutions_dir, check.topic, course.kit)
        desk.explains_failures = False
        try:
            verdict = run(desk)[0].verdict
            if verdict in ("passed", "skipped"):
                check.on_reference = "passes"
            else:
                check.on_reference = "fails" if verdict in ("failed", "error") else "unclear"
        except Exception:  # an exception that cannot even be described
            check.on_reference = "fails"
        except Overrun:
            check.on_reference = "overruns"
            raise
        finally:
            desk.end_process()
    return check.on_reference in ("fails", "overruns")


class LocalDesks:
    """Gives each check of a plain pytest session its desk; skips it if the needs of its exercise are not met."""

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
        file = self._folder / f"{check.topic}.py"
        if not file.is_file():
            pytest.fail(f"[failed] {explain.message(causes.missing_file(check.topic))}", pytrace=False)
        if check.exercise not in self._desks:
            desk = SubmissionDesk(self._folder, check.topic, self._course)
            try:
                desk.channel()
            except BaseException as error:
                service = Service(ModuleType(check.topic), frozenset({str(file.resolve())}))
                raised = error.raised if isinstance(error, NothingLoaded) else service.describe(error)
                cause = causes.import_failed(check.topic, raised_error(raised), "")
                pytest.fail(f"[failed] {explain.message(cause)}", pytrace=False)
            self._desks[check.exercise] = desk
        return self._desks[check.exercise]

    def _passes(self, exercise: str) -> bool:
        """Whether an exercise passes. Its checks run here once: pytest-xdist may run them in another process."""
        if exercise not in self._passed:
            file = self._course.check_file(exercise.partition(".")[0])
            with collected_checks([file], self._course.checks_dir, self._seed) as checks:
                verdicts = [checks.run(check, self.desk_for(check))[0].verdict for check in checks.of(exercise)]
            are_right = all(one in ("passed", *NOT_ASSESSED) for one in verdicts)
            self._passed[exercise] = are_right and set(verdicts) != {"skipped"}
        return self._passed[exercise]


class _ServiceOfFolder(Service):
    """Answers for one topic of a folder, whose other modules the topic may import while it answers.

    Args:
        imported: the modules of the folder that were imported so far, by name.
        arguments: those of `Service`.
    """

    def __init__(self, folder: Path, imported: dict[str, ModuleType], *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._folder = folder
        self._imported = imported

    def answer(self, request: bytes) -> bytes:
        with importable(self._folder, self._imported):
            return super().answer(request)


def load_module(name: str, path: Path) -> ModuleType:
    """Imports a file under a name, again if it was imported before; its folder's other modules can be imported, too."""
    with importable(path.parent, {}):
        return import_file(name, path)


@contextlib.contextmanager
def importable(folder: Path, imported: dict[str, ModuleType]) -> Iterator[None]:
    """Names of a folder's files mean its modules meanwhile; those that are imported are kept for the next time."""
    names = {file.stem for file in folder.glob("*.py")}
    before = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    sys.modules.update(imported)
    dont_write, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        sys.dont_write_bytecode = dont_write
        imported.update({name: sys.modules.pop(name) for name in names if name in sys.modules})
        sys.modules.update(before)
