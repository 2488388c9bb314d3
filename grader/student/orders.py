"""Orders from the judge to the warm host, and the host's answers: each a struct with a tag of its own."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

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
    """Starts a topic's leader, whose socket comes with the order. Answers: `Spawned`, `Refused`."""


Order: TypeAlias = Prepare | Spawn


class Ready(msgspec.Struct, frozen=True, tag=True):
    """The host can fork student processes; all of them get these layers of the sandbox."""

    layers: tuple[str, ...]


class Spawned(msgspec.Struct, frozen=True, tag=True):
    """The leader has been started; ``process`` is its id."""

    process: int


class Refused(msgspec.Struct, frozen=True, tag=True):
    """The course's ``preload`` or kit cannot be loaded, or no process can be started."""

    reason: str


Answer: TypeAlias = Ready | Spawned | Refused
