"""The messages of a student process, each a struct: its control messages, and the calls that it answers.

A message is decoded by its type, strictly: what a student process sends is data of exactly these shapes, or it is
refused. Must never hold an expected answer. What `Raised` and `SentLine` say is only what the submission sent.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import msgspec

MAX_MESSAGE: Final = 2_000
"""Characters of an exception's text."""


class _Message(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A message is sent as an array: its tag, if it has one, then its fields in order."""


# ---------------------------------------------------------------- calls and their replies


class Request(_Message, frozen=True):
    """One call: an operation of `Service`, its arguments as trees of the wire format."""

    operation: str
    args: list[Any]
    kwargs: list[tuple[str, Any]]


FORGET: Final = Request("forget", [], [])
"""Drops all handles; its reply is `Returned` with the place of the next tensor in the arena."""


class Returned(_Message, frozen=True, tag="ok"):
    """A call's value, as a tree of the wire format."""

    value: Any


class SentLine(_Message, frozen=True):
    """One line of a traceback, as it was sent; `failures.source_lines` makes a line of it that can be shown."""

    file: str
    line: int
    function: str
    text: str


class Raised(_Message, frozen=True, tag="raise"):
    """A call, or an import, raised: the name of the exception's type, and whether that is the built-in one."""

    kind: str
    is_built_in: bool
    message: str
    frames: tuple[SentLine, ...]


class Missing(_Message, frozen=True, tag="missing"):
    """The submission does not define the name that was called."""

    name: str


class TooLarge(_Message, frozen=True, tag="large"):
    """The call's value goes over the limits of the wire format."""

    reason: str


class Reported(_Message, frozen=True, tag="report"):
    """A function of the testkit gave a `Report` in place of a value.

    Attributes:
        summary: the part that two submissions with the same mistake share.
        content: the report's fields, as its struct is encoded.
    """

    summary: str
    content: Any


Reply: TypeAlias = Returned | Raised | Missing | TooLarge | Reported


class Report(msgspec.Struct, frozen=True):
    """Base of what a function of the testkit returns to report why there is no value; `Channel.request` decodes it."""

    def summary(self) -> str:
        """The part that two submissions with the same mistake share, e.g. no line numbers."""
        raise NotImplementedError


class Digest(msgspec.Struct, frozen=True):
    """Stands for a reply that is too long to be kept.

    Attributes:
        sha256: of all its bytes.
    """

    sha256: bytes


class Exchange(msgspec.Struct, frozen=True):
    """One call that crossed the border: kept for messages to students, for plans, and to recognise misconceptions."""

    request: bytes
    reply: bytes | Digest


# ---------------------------------------------------------------- control of a topic's process


class SetUp(_Message, frozen=True, tag="set-up"):
    """First message to a topic's process: what to import. Carries the descriptor for prints."""

    topic: str
    files: dict[str, bytes]


class StartExercise(_Message, frozen=True, tag="start-exercise"):
    """Asks a topic's process to fork one for an exercise. Carries the descriptors for its calls and its prints.

    Attributes:
        bindings: pairs (name, other name): calls of the first go to the second, in the course's wrong answers.
    """

    bindings: list[tuple[str, str]]


class Imported(_Message, frozen=True, tag="imported"):
    """The topic has been imported; the other answer to `SetUp` is `Raised`."""


class ReadyForCalls(_Message, frozen=True, tag="ready"):
    """First message of an exercise's process, on its own socket: calls may come."""


class Ended(_Message, frozen=True, tag="ended"):
    """An exercise's process has ended: its exit code, or minus the signal that ended it."""

    code: int


# ---------------------------------------------------------------- why an import failed, as the judge holds it


class SourceLine(msgspec.Struct, frozen=True):
    """One line of the student's own code in a traceback."""

    file: str
    line: int
    function: str
    text: str


class ImportRaised(msgspec.Struct, frozen=True, tag=True):
    """Importing the topic raised an exception.

    Attributes:
        kind: the name of the exception's type, safe to print.
        message: its text, at most 2,000 characters.
        frames: the student's own lines, outermost first.
    """

    kind: str
    message: str
    frames: tuple[SourceLine, ...] = ()


class ImportCrashed(msgspec.Struct, frozen=True, tag=True):
    """The process that imported the topic ended, went over a limit, or sent something that is not an answer.

    Attributes:
        reason: completes the sentence "importing tensor_ops.py …".
    """

    reason: str


class ImportBadReply(msgspec.Struct, frozen=True, tag=True):
    """The process that imported the topic sent something that is not an answer.

    Attributes:
        reason: completes the sentence "importing tensor_ops.py …".
    """

    reason: str


class ImportTimeout(msgspec.Struct, frozen=True, tag=True):
    """Importing the topic took longer than the topic may."""


ImportFailure: TypeAlias = ImportRaised | ImportCrashed | ImportBadReply | ImportTimeout
