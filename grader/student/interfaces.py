"""The interface of a host, which starts the processes of submissions: `HostClient` forks, `PortableHost` spawns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from grader.kit import Kit
from grader.machine import Devices
from grader.sandbox.limits import Limits
from grader.student.student_process import TopicProcesses


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
