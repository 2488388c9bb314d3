"""Orders from the judge to the warm host or to a spawned process, and their answers: each with a tag of its own."""

from typing import TypeAlias

import msgspec

from grader.border.messages import SetUp, Start
from grader.machine import Devices
from grader.sandbox.limits import Limits


class Prepare(msgspec.Struct, frozen=True, tag=True):
    """The first order: the settings of all student processes. Answers: `Ready`, `Refused`.

    Attributes:
        hidden: files and folders that no student process may see.
        preload: modules to import before the first fork.
        kit: name and folder of the course's own recipes and probes, loaded before the first fork too.
    """

    limits: Limits
    hidden: list[str]
    preload: list[str]
    devices: Devices
    kit: tuple[str, str] | None = None


class Spawn(msgspec.Struct, frozen=True, tag=True):
    """Starts a topic's leader, whose socket comes with the order. Answers: `Ready`, `Refused`."""


Order: TypeAlias = Prepare | Spawn


class Ready(msgspec.Struct, frozen=True, tag=True):
    """All is loaded, or the leader has been started.

    Attributes:
        layers: those of the sandbox, which all processes get that the host forks; none for a spawned process.
        process: the id of the leader, or of a spawned process, which on Windows is not that of the program started.
        token: by which the judge knows a spawned process.
    """

    layers: tuple[str, ...] = ()
    process: int = 0
    token: bytes = b""


class Refused(msgspec.Struct, frozen=True, tag=True):
    """The course's ``preload`` or kit cannot be loaded, or no process can be started."""

    reason: str
    token: bytes = b""


Answer: TypeAlias = Ready | Refused


# ---------------------------------------------------------------- a spawned process, before it imports submitted code


class Connect(msgspec.Struct, frozen=True, tag=True):
    """First message, on standard input: the port where the judge waits, and a token by which it knows this process."""

    port: int
    token: bytes


class Begin(msgspec.Struct, frozen=True, tag=True):
    """The task of this process: to be a student process of a topic, or one that never imports the submission.

    Attributes:
        folder: the work folder, where the submission's files are; in ``setup`` they have no content.
        outputs: the files for standard output, standard error, its stack when it is asked, and notes on its actions.
        arena: the file with the memory shared with the judge.
    """

    setup: SetUp
    start: Start
    folder: str
    outputs: list[str]
    arena: str
