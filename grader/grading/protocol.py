"""The messages between the grader's main process and a worker: length-prefixed msgpack frames on its stdin and stdout.

Both ends are trusted; no submitted code ever holds either. Never uses pickle, never imports torch.
"""

from typing import IO, Any

import msgspec

from grader.border import frames
from grader.intake.submission import Submission
from grader.judge.listener import Listener, NotRun, Place
from grader.judge.time_limit import JUDGE_SECONDS
from grader.machine import Devices
from grader.results import ExerciseResult, SubmissionResult
from grader.sandbox.limits import Limits

MAX_WORKER_MESSAGE = 256 << 20
"""Bytes of a submission or a result."""


class WorkerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The first frame to a worker: the settings for all its submissions.

    Attributes:
        course: root of the course; None is the shipped one.
        exercises: full names of the exercises to grade; empty means all.
        needed: those of them that nobody asked for, but others need them.
        seed: varies the generated inputs.
        limits: of each submission.
        misconceptions: whether to compare with the records of the misconceptions.
        pictures: full names of the exercises whose pictures are made if they pass.
        devices: the kind of devices for checks that want GPUs; resolved for this machine.
        judge_seconds: processor time of the judge for one run of a check's body.
    """

    course: str | None = None
    exercises: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    seed: int = 0
    limits: Limits = Limits()
    misconceptions: bool = True
    pictures: tuple[str, ...] = ()
    devices: Devices = "simulated"
    judge_seconds: float = JUDGE_SECONDS


class Work(msgspec.Struct, frozen=True):
    """A frame to a worker: a submission.

    Attributes:
        not_run: the checks that are not run, and why.
        exercises: full names of those that are graded, with those that they need; empty means all of the worker's.
        elsewhere: those that another worker grades, and whether they pass, for those that need them.
    """

    submission: Submission
    not_run: tuple[NotRun, ...] = ()
    exercises: tuple[str, ...] = ()
    elsewhere: dict[str, bool] = {}


class Began(msgspec.Struct, frozen=True, tag=True):
    """From a worker: the place that it runs from now on."""

    place: Place


class Alive(msgspec.Struct, frozen=True, tag=True):
    """From a worker, about once a second: it runs Python code, or waits for a student process."""


class ExerciseDone(msgspec.Struct, frozen=True, tag=True):
    """From a worker, before its reply: the result of one exercise."""

    exercise: ExerciseResult


class Done(msgspec.Struct, frozen=True, tag=True):
    """A worker's reply.

    Attributes:
        resident: the memory that it holds now (bytes); 0 if that is not known.
        endless: the checks that do not end on the reference solution either: other workers need not find out.
    """

    result: SubmissionResult
    resident: int = 0
    endless: tuple[NotRun, ...] = ()


class Fault(msgspec.Struct, frozen=True, tag=True):
    """A worker's reply when it could not grade: the grader's own fault, in words.

    Attributes:
        retry_may_help: true if another worker might be able to grade it.
    """

    fault: str
    retry_may_help: bool


FromWorker = Began | Alive | ExerciseDone | Done | Fault
Event = Began | ExerciseDone | Done
"""The news that a worker gives of a submission; `Done` is the last."""


def send(stream: IO[bytes], message: msgspec.Struct) -> None:
    """Sends one message and flushes.

    Raises:
        BrokenPipeError: the other end is gone.
    """
    frames.write(stream, msgspec.msgpack.encode(message))


class Sender(Listener):
    """Sends a worker's messages, also from a signal handler that interrupts the sending of another one."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._is_sending = False

    def send(self, message: msgspec.Struct) -> None:
        """Sends one message."""
        self._is_sending = True
        try:
            send(self._stream, message)
        finally:
            self._is_sending = False

    def began(self, place: Place) -> None:
        self.send(Began(place))

    def known(self, exercise: ExerciseResult) -> None:
        self.send(ExerciseDone(exercise))

    def send_alive(self) -> None:
        """Sends a sign of life, unless another message is being sent, which is one as well."""
        if not self._is_sending:
            self.send(Alive())


def receive(stream: IO[bytes], kind: Any) -> Any:
    """The next message, or None when the stream has ended.

    Args:
        kind: a type, or a union of types.

    Raises:
        BrokenFrame: the frame is cut short or too long.
        msgspec.ValidationError: the message is not of that kind.
    """
    payload = frames.receive(stream.read, MAX_WORKER_MESSAGE)
    return None if payload is None else msgspec.msgpack.decode(payload, type=kind)
