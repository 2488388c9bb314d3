"""What the judge orders of the warm host, and what the host answers: each a struct with a tag of its own."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from grader.machine import Devices
from grader.sandbox.limits import Limits


class Prepare(msgspec.Struct, frozen=True, tag=True):
    """The first order: the settings of all student processes. Answers: `Layers`, `Refused`.

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
    """Starts a topic's leader, under a number that the judge chose; its socket comes with the order.

    Answers: `Spawned`, `Failed`.
    """

    topic: int


class End(msgspec.Struct, frozen=True, tag=True):
    """Ends a topic's leader and all that it started. Answer: `Done`."""

    topic: int


class Sweep(msgspec.Struct, frozen=True, tag=True):
    """Ends all processes below a topic's leader. Answer: `Done`."""

    topic: int


class Dump(msgspec.Struct, frozen=True, tag=True):
    """Makes one process below a topic's leader write where it is. Answer: `Done`."""

    topic: int
    process: int


class WhyEnded(msgspec.Struct, frozen=True, tag=True):
    """Asks why a process of a topic has ended. Answer: `Why`."""

    topic: int


Order: TypeAlias = Prepare | Spawn | End | Sweep | Dump | WhyEnded


class Done(msgspec.Struct, frozen=True, tag=True):
    """The order has been carried out."""


class Spawned(msgspec.Struct, frozen=True, tag=True):
    """The leader has been started; ``process`` is its id."""

    process: int


class Layers(msgspec.Struct, frozen=True, tag=True):
    """The layers of the sandbox that every student process gets."""

    names: tuple[str, ...]


class Refused(msgspec.Struct, frozen=True, tag=True):
    """The course's ``preload`` or kit cannot be loaded; the reason is for the author of the course."""

    reason: str


class Failed(msgspec.Struct, frozen=True, tag=True):
    """The system refused to start a process."""

    reason: str


class Why(msgspec.Struct, frozen=True, tag=True):
    """Whether the host ended a process of the topic because the topic used more memory than it may."""

    out_of_memory: bool


Answer: TypeAlias = Done | Spawned | Layers | Refused | Failed | Why
