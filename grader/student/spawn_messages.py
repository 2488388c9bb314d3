"""The messages between the judge and a spawned student process before it imports submitted code."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from grader.border.messages import SetUp, Start
from grader.student.orders import Refused


class Connect(msgspec.Struct, frozen=True, tag=True):
    """First message, on standard input: the port where the judge waits, and a token by which it knows this process."""

    port: int
    token: bytes


class Ready(msgspec.Struct, frozen=True, tag=True):
    """All is loaded; ``process`` is its id, which on Windows is not that of the program that was started."""

    process: int


FromSpawned: TypeAlias = Ready | Refused


class Begin(msgspec.Struct, frozen=True, tag=True):
    """The task of this process: to be a student process of a topic, or one that never imports the submission.

    Attributes:
        folder: the work folder, where the submission's files are; in ``setup`` they have no content.
        outputs: the files for standard output, standard error, and where it is when it is asked.
        arena: the file with the memory shared with the judge; empty for none.
        events: the file for notes on the actions of submitted code; empty for none.
    """

    setup: SetUp
    start: Start
    folder: str
    outputs: tuple[str, str, str]
    arena: str
    events: str
