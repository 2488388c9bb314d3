"""How the grader's main process talks with a worker: length-prefixed msgpack frames on its stdin and stdout.

Both ends are trusted; no submitted code ever holds either. Never pickles, never imports torch.
"""

from __future__ import annotations

from typing import IO, TypeVar

import msgspec

from grader.machine import Devices
from grader.results import SubmissionResult
from grader.sandbox.limits import Limits

T = TypeVar("T")
MAX_FRAME = 256 * 1024 * 1024


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
    """A worker's reply when it could not grade: the grader's own fault, told in text."""

    fault: str


class BrokenFrame(Exception):
    """The stream ended inside a frame, or a frame is impossibly long.

    Cause: the other process died while writing, or something else wrote to its stdout. Remedy: end it, start another.
    """


def write_frame(stream: IO[bytes], message: msgspec.Struct) -> None:
    """Sends one message and flushes.

    Raises:
        BrokenPipeError: the other end is gone.
    """
    data = msgspec.msgpack.encode(message)
    stream.write(len(data).to_bytes(4, "little") + data)
    stream.flush()


def read_frame(stream: IO[bytes], kind: type[T]) -> T | None:
    """The next message, or None when the stream has ended.

    Raises:
        BrokenFrame: the frame is cut short or too long.
        msgspec.ValidationError: the message is not of that kind.
    """
    data = _frame(stream)
    return None if data is None else msgspec.msgpack.decode(data, type=kind)


def read_reply(stream: IO[bytes]) -> SubmissionResult | Fault | None:
    """A worker's reply: a result, or ``{"fault": text}``; None when the stream has ended.

    Raises:
        BrokenFrame, msgspec.DecodeError: what came is no reply.
    """
    data = _frame(stream)
    if data is None:
        return None
    try:
        return msgspec.msgpack.decode(data, type=SubmissionResult)
    except msgspec.ValidationError:
        return msgspec.msgpack.decode(data, type=Fault)


def _frame(stream: IO[bytes]) -> bytes | None:
    head = _exactly(stream, 4)
    if head is None:
        return None
    length = int.from_bytes(head, "little")
    if length > MAX_FRAME:
        raise BrokenFrame(f"a frame of {length} bytes")
    data = _exactly(stream, length)
    if data is None:
        raise BrokenFrame("the stream ended before the frame's content")
    return data


def _exactly(stream: IO[bytes], size: int) -> bytes | None:
    data = b""
    while len(data) < size:
        part = stream.read(size - len(data))
        if not part:
            if data:
                raise BrokenFrame(f"the stream ended after {len(data)} of {size} bytes")
            return None
        data += part
    return data
