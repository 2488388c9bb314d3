"""The interface of a host, which starts the processes of submissions: `HostClient` forks, `PortableHost` spawns."""

import abc
from collections.abc import Mapping, Sequence

from grader.kit import Kit
from grader.machine import Devices
from grader.sandbox.limits import CUDA_BYTES, Limits
from grader.student.endings import MemoryWatch
from grader.student.orders import Prepare
from grader.student.student_process import TopicProcesses


class Host(abc.ABC):
    """Makes the processes of submissions, one topic at a time.

    Attributes:
        limits: of each submission.
        watch: looks at the memory of the topics that are open.
        most_bytes: memory that a topic's processes may hold together, beyond what each held before (bytes).
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.watch = MemoryWatch()
        self.most_bytes = limits.memory_bytes

    def prepare(
        self, hidden: Sequence[str], preload: Sequence[str], devices: Devices = "simulated", kit: Kit | None = None
    ) -> None:
        """Hides folders and loads modules and the course's kit. Does not wait until it is done."""
        self.most_bytes += 0 if devices == "simulated" else CUDA_BYTES
        place = (kit.name, str(kit.folder)) if kit else None
        self._send_settings(Prepare(self.limits, [*hidden], [*preload], devices, place))

    @abc.abstractmethod
    def _send_settings(self, order: Prepare) -> None:
        """Sends the first order to the process that runs or forks submitted code."""

    @property
    def layers(self) -> tuple[str, ...]:
        """The sandbox's active layers; none where there is no sandbox."""
        return ()

    @abc.abstractmethod
    def finish_preparing(self) -> None:
        """Waits until it is ready.

        Raises:
            UserError: when a module of ``preload`` or the kit cannot be loaded.
        """

    @abc.abstractmethod
    def open_topic(
        self, topic: str, files: Mapping[str, bytes], bindings: Sequence[tuple[str, str]] | None
    ) -> TopicProcesses:
        """The processes for a topic of a submission.

        Args:
            files: the submission's files by name.
            bindings: None for a submission; see `TopicProcesses`.
        """

    @abc.abstractmethod
    def close(self) -> None:
        """Ends every process."""
