"""A judge over submissions in the test's own process: neither worker nor sandbox, so its results take no second to get.

For tests of what the judge decides: points, causes, blocking, names of misconceptions. Whatever concerns processes,
isolation, limits of time and messages to a worker is tested with a worker (`shared.Warm`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from grader.border.service import Service
from grader.course import Course, pictured
from grader.intake.submission import Submission
from grader.judge.in_process import LocalHost, LocalTopic
from grader.judge.judge import open_judge
from grader.judge.topic_desk import LocalDesk
from grader.results import SubmissionResult


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


class HostHere(LocalHost):
    """A `Host` whose student processes are modules of this process."""

    def __init__(self, course: Course) -> None:
        super().__init__(Path(), course.kit)

    def open_topic(
        self, topic: str, files: Mapping[str, bytes], bindings: Sequence[tuple[str, str]] | None
    ) -> TopicHere:
        return TopicHere(self, topic, files, bindings)


class TopicHere(LocalTopic):
    """One topic of a submission, whose files are in a folder of its own."""

    def __init__(
        self, host: HostHere, topic: str, files: Mapping[str, bytes], bindings: Sequence[tuple[str, str]] | None
    ) -> None:
        super().__init__(host, topic, files, bindings)
        self._new_folder = tempfile.TemporaryDirectory()
        self.folder = Path(self._new_folder.name).resolve()
        for name, content in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def close(self) -> None:
        self._new_folder.cleanup()


class ServiceHere:
    """A `Transport` to a service of this process."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.kept: dict[str, object] = {}

    def call(self, request: bytes) -> bytes:
        return self._service.answer(request)

    call_outside = call


def desk_here(folder: Path, topic: str) -> LocalDesk:
    """A desk for a topic of a folder that is no course's; its failures are explained."""
    desk = LocalDesk(folder, topic, cast("Course", SimpleNamespace(kit=None, module_file="{}.py".format)))
    desk.explains_failures = True
    return desk
