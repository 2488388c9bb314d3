"""A judge over submissions in the test's own process: neither worker nor sandbox, so its results take no second to get.

For tests of what the judge decides: points, causes, blocking, names of misconceptions. Whatever concerns processes,
isolation, limits of time and messages to a worker is tested with a worker (`shared.Warm`).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

from grader.border.arena import Arena
from grader.border.failures import ImportFailure, raised_error
from grader.border.messages import Imported, LoadOrder
from grader.border.service import WRONG_ANSWERS, Service
from grader.course import Course, pictured
from grader.intake.submission import Submission
from grader.judge.in_process import LocalTransport, importable, load_module
from grader.judge.judge import open_judge
from grader.kit import load
from grader.results import Flag, SubmissionResult
from grader.sandbox.clock import Deadline
from grader.sandbox.limits import Limits
from grader.student.statements import NothingLoaded, load_topic
from grader.testkit.in_student_process import MODULES


def grade_here(
    course: Path,
    *submissions: Submission | Mapping[str, str],
    only: Sequence[str] = (),
    names: bool = False,
    pictures: bool = False,
) -> list[SubmissionResult]:
    """The results of some submissions, each by a judge in this process.

    Args:
        submissions: each a `Submission`, or the text of each module by the module's name.
        only: full names of the exercises to grade, with what they need; empty means all.
        names: whether misconceptions are named.
        pictures: whether pictures are made of what has passed.

    Raises:
        UserError: the course cannot be graded.
    """
    loaded = Course.load(course)
    found = [one if isinstance(one, Submission) else of_modules(one) for one in submissions]
    wanted = pictured(loaded) if pictures else ()
    with open_judge(loaded, HostHere(loaded), names_misconceptions=names, pictured=wanted) as judge:
        return [judge.grade(one, only) for one in found]


def of_modules(modules: Mapping[str, str]) -> Submission:
    """A submission with these modules: ``{"vectors": "def normalize(x): ..."}``."""
    return Submission("somebody", {f"{name}.py": text.encode() for name, text in modules.items()})


class HostHere:
    """A `Host` whose student processes are modules of this process."""

    layers: tuple[str, ...] = ()

    def __init__(self, course: Course) -> None:
        self.limits = Limits()
        self.modules = {**MODULES, **load(course.kit)}

    def finish_preparing(self) -> None:
        """It is ready from the start."""

    def open_topic(
        self, topic: str, files: Mapping[str, bytes], bindings: Sequence[tuple[str, str]] | None
    ) -> TopicHere:
        return TopicHere(self, topic, files, bindings)


class TopicHere:
    """The `TopicProcesses` of one topic of a submission, of which there is never more than one."""

    def __init__(
        self, host: HostHere, topic: str, files: Mapping[str, bytes], bindings: Sequence[tuple[str, str]] | None
    ) -> None:
        self._host = host
        self._topic = topic
        self._files = files
        self._folder = tempfile.TemporaryDirectory()
        self.bindings = bindings
        self.flags: dict[Flag, None] = {}
        self.load_order: LoadOrder | None = None
        for name, content in files.items():
            path = Path(self._folder.name, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def deadline(self, seconds: float) -> Deadline:
        return Deadline(seconds)

    def start_afresh(self) -> ProcessHere:
        folder = Path(self._folder.name).resolve()
        return ProcessHere(folder, self._topic, self.bindings, self.load_order, self._host.modules)

    def tidy(self, main: ProcessHere, threads: int) -> bool:
        """Nothing is removed before the end."""
        return True

    def close(self) -> None:
        self._folder.cleanup()


class ProcessHere:
    """What a `TopicDesk` needs of a `StudentProcess`: a module that is imported here, and answers here."""

    def __init__(
        self,
        folder: Path,
        topic: str,
        bindings: Sequence[tuple[str, str]] | None,
        load_order: LoadOrder | None,
        modules: Mapping[str, ModuleType],
    ) -> None:
        self._folder = folder
        self._topic = topic
        self._bindings = bindings
        self._load_order = load_order
        self._modules = modules
        self._transport: LocalTransport | None = None
        self.pid = os.getpid()
        self.alive = True
        self.arena = Arena.local()
        self.deadline = Deadline(0.0)
        self.imported = Imported()
        self.stopped_at = ()
        self.kept: dict[str, object] = {}

    def finish_import(self, deadline: Deadline) -> ImportFailure | None:
        file = self._folder / f"{self._topic}.py"
        files = frozenset(map(str, self._folder.glob("*.py")))
        reporter = Service(ModuleType(self._topic), files, modules=self._modules)
        try:
            if self._load_order is None:
                module = load_module(self._topic, file)
            else:
                with importable(self._folder, {}):
                    module, self.imported = load_topic(self._topic, file, self._load_order, reporter.describe)
            overlay: dict[str, object] = {}
            if self._bindings is not None:
                wrong = load_module(WRONG_ANSWERS, self._folder / f"{WRONG_ANSWERS}.py")
                overlay = {name: getattr(wrong, other) for name, other in self._bindings}
        except NothingLoaded as nothing:
            self.alive = False
            return raised_error(nothing.raised)
        except (Exception, SystemExit) as error:
            self.alive = False
            return raised_error(reporter.describe(error))
        self._transport = LocalTransport(Service(module, files, overlay, self._modules, self.arena))
        return None

    def call(self, request: bytes) -> bytes:
        assert self._transport is not None
        return self._transport.call(request)

    def call_outside(self, request: bytes) -> bytes:
        return self.call(request)

    def take_prints(self) -> str:
        return ""

    def flags(self) -> list[Flag]:
        return []

    def end_others(self) -> None:
        """There are none."""

    def end(self) -> None:
        self.alive = False
