"""The messages between the grader's main process and a worker: length-prefixed msgpack frames on its stdin and stdout.

Both ends are trusted; no submitted code ever holds either. Never uses pickle, never imports torch.
"""

from __future__ import annotations

from typing import IO, TypeVar

import msgspec

from grader.border import frames
from grader.machine import Devices
from grader.results import SubmissionResult
from grader.sandbox.limits import Limits

T = TypeVar("T")
MAX_WORKER_MESSAGE = 256 << 20
"""Bytes of a submission or a result."""


class WorkerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The first frame to a worker: what all its submissions are graded with.

    Attributes:
        course: root of the course; None is the shipped one.
        exercises: full names of the exercises to grade; empty means all.
        seed: varies the generated inputs.
        limits: what each submission may use.
        misconceptions: whether to compare with the records of the misconceptions.
        devices: what checks that want GPUs get; resolved for this machine.
    """

    course: str | None = None
    exercises: tuple[str, ...] = ()
    seed: int = 0
    limits: Limits = Limits()
    misconceptions: bool = True
    devices: Devices = "simulated"


class Fault(msgspec.Struct, frozen=True):
    """A worker's reply when it could not grade: the grader's own fault, in words."""

    fault: str


def write_frame(stream: IO[bytes], message: msgspec.Struct) -> None:
    """Sends one message and flushes.

    Raises:
        BrokenPipeError: the other end is gone.
    """
    frames.write(stream, msgspec.msgpack.encode(message))


def read_frame(stream: IO[bytes], kind: type[T]) -> T | None:
    """The next message, or None when the stream has ended.

    Raises:
        BrokenFrame: the frame is cut short or too long.
        msgspec.ValidationError: the message is not of that kind.
    """
    payload = frames.receive(stream.read, MAX_WORKER_MESSAGE)
    return None if payload is None else msgspec.msgpack.decode(payload, type=kind)


def read_reply(stream: IO[bytes]) -> SubmissionResult | Fault | None:
    """A worker's reply: a result, or ``{"fault": text}``; None when the stream has ended.

    Raises:
        BrokenFrame, msgspec.DecodeError: what came is not a reply.
    """
    payload = frames.receive(stream.read, MAX_WORKER_MESSAGE)
    if payload is None:
        return None
    try:
        return msgspec.msgpack.decode(payload, type=SubmissionResult)
    except msgspec.ValidationError:
        return msgspec.msgpack.decode(payload, type=Fault)
