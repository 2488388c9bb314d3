"""The interface of the processes that run submitted code, however they are started.

`HostClient` and `LeaderClient` are the forked ones, `PortableHost` and `PortableTopic` the spawned ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from grader.border.messages import Definitions
from grader.kit import Kit
from grader.machine import Devices
from grader.sandbox.clock import Deadline
from grader.sandbox.limits import Limits
from grader.student.student_process import StudentProcess, Team


class TopicProcesses(Team, Protocol):
    """The processes of one topic of one submission, which share a work folder.

    Attributes:
        bindings: for the course's own wrong answers: which name is answered by which of them.
        definitions: how processes import the topic from now on; None: as it is.
    """

    bindings: Sequence[tuple[str, str]] | None
    definitions: Definitions | None

    def deadline(self, seconds: float) -> Deadline:
        """So many seconds of the processes' own time, from now on."""

    def start_afresh(self) -> StudentProcess:
        """Ends every process, makes the work folder new, and starts a process that imports the topic."""

    def keep_files(self) -> None:
        """The files that are in the work folder now stay when it is tidied."""

    def tidy(self) -> None:
        """Removes the files that calls have left in the work folder."""

    def has_left_something(self, main: StudentProcess, threads: int) -> bool:
        """Whether more is running than the judge started: another process, or more threads in the main one."""

    def close(self) -> None:
        """Ends all of them."""


class Host(Protocol):
    """Makes the processes of submissions, one topic at a time.

    Attributes:
        limits: of each submission.
    """

    limits: Limits

    def prepare(
        self,
        hidden: Sequence[str],
        preload: Sequence[str],
        devices: Devices = "simulated",
        kit: Kit | None = None,
    ) -> None:
        """Hides folders and loads modules and the course's kit. Does not wait until it is done."""

    @property
    def layers(self) -> tuple[str, ...]:
        """The sandbox's active layers."""

    def finish_preparing(self) -> None:
        """Waits until it is ready.

        Raises:
            UserError: when a module of ``preload`` or the kit cannot be loaded.
        """

    def open_topic(
        self, topic: str, files: Mapping[str, bytes], bindings: Sequence[tuple[str, str]] | None
    ) -> TopicProcesses:
        """The processes for a topic of a submission.

        Args:
            files: the submission's files by name.
            bindings: None for a submission; see `TopicProcesses`.
        """

    def close(self) -> None:
        """Ends every process."""
