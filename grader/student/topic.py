"""The judge's side of a topic's process: starts it through the host, talks to it, and never waits without a limit."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Iterable, Mapping
from typing import Final

from grader.border import frames, wire
from grader.border.arena import Arena
from grader.border.bounds import WireError
from grader.border.failures import OUT_OF_MEMORY, SubmissionCrashed, SubmissionTimeout, import_raised, is_out_of_memory
from grader.border.frames import BrokenFrame
from grader.border.messages import (
    Ended,
    ImportBadReply,
    ImportCrashed,
    Imported,
    ImportFailure,
    ImportTimeout,
    Raised,
    ReadyForCalls,
    SetUp,
    StartExercise,
)
from grader.student.client import HostClient
from grader.student.exercise import ExerciseProcess
from grader.student.prints import Prints, receive

START_SECONDS: Final = 10.0
"""How long a fork may take on a loaded machine before it counts as failed (s)."""
LEAVE_SECONDS: Final = 0.3
"""How long an exercise's process may take to end by itself once its calls are over (s)."""
REAP_SECONDS: Final = 2.0
"""How long the topic's process may take to report that end; or to fork, when the topic's time is nearly over (s)."""


class TopicProcess:
    """One sandboxed process that has imported one topic of one submission.

    Attributes:
        failure: why it cannot be imported, else None.
        prints: what the import printed.
    """

    def __init__(self, host: HostClient, name: str, files: Mapping[str, bytes], deadline: float) -> None:
        self.host = host
        self._ending_read = False
        self._stuck = False
        self._until = deadline
        self._sock, theirs = socket.socketpair()
        prints = Prints(host.limits.print_bytes)
        try:
            with theirs:
                self._number = host.spawn(theirs)
            self.failure = self._import(name, files, prints, deadline)
            self.prints = prints.take()
        finally:
            prints.close()

    def _import(self, name: str, files: Mapping[str, bytes], prints: Prints, deadline: float) -> ImportFailure | None:
        try:
            self._sock.settimeout(START_SECONDS)
            frames.send_with_descriptors(self._sock, wire.pack(SetUp(name, dict(files))), [prints.writer])
        except OSError:
            return ImportCrashed(self.why_it_ended())
        finally:
            prints.close_writer()
        try:
            reply: Imported | Raised = receive(self._sock, deadline, prints, Imported | Raised)
        except SubmissionTimeout:
            return ImportTimeout()
        except SubmissionCrashed:
            return ImportCrashed(self.why_it_ended())
        except (WireError, BrokenFrame) as error:
            return ImportBadReply(f"sent something that is no answer ({error})")
        if isinstance(reply, Imported):
            return None
        return ImportCrashed(OUT_OF_MEMORY) if is_out_of_memory(reply) else import_raised(reply)

    def exercise(self, bind: Iterable[tuple[str, str]] = ()) -> ExerciseProcess | None:
        """Forks a process for one exercise off the imported topic; None if the topic's process cannot any more."""
        if self._stuck:
            return None
        ours, theirs = socket.socketpair()
        prints = Prints(self.host.limits.print_bytes)
        arena = Arena.create()
        self._ending_read = False
        now = time.monotonic()
        try:
            with theirs:
                start = wire.pack(StartExercise(list(bind)))
                frames.send_with_descriptors(self._sock, start, [theirs.fileno(), prints.writer, arena.descriptor])
            prints.close_writer()
            receive(ours, min(now + START_SECONDS, max(self._until, now + REAP_SECONDS)), prints, ReadyForCalls)
        except (OSError, SubmissionTimeout, SubmissionCrashed, WireError, BrokenFrame):
            ours.close()
            prints.close()
            arena.close()
            return None
        return ExerciseProcess(self, ours, prints, arena)

    def why_it_ended(self) -> str:
        """How the exercise's process ended, in words; completes "your code …".

        The host knows whether it was for memory; else only the exit code is taken from the topic's process.
        """
        if self.host.ran_out_of_memory(self._number):
            return OUT_OF_MEMORY
        try:
            ended: Ended = receive(self._sock, time.monotonic() + 1.0, None, Ended)
        except (SubmissionTimeout, SubmissionCrashed, WireError, BrokenFrame, OSError):
            return "ended the process"
        self._ending_read = True
        if ended.code < 0:
            return f"was ended by signal {-ended.code} ({_signal_name(-ended.code)})"
        return f"ended the process with exit code {ended.code}"

    def collect_ending(self) -> None:
        """Reads the topic process's message about the exercise that ended, before the next exercise starts."""
        if self._ending_read:
            return
        for patience in (LEAVE_SECONDS, REAP_SECONDS):
            try:
                receive(self._sock, time.monotonic() + patience, None, Ended)
                return
            except SubmissionTimeout:
                self.sweep()  # its calls are over, so it has nothing left to do
            except (SubmissionCrashed, WireError, BrokenFrame, OSError):
                return
        self._stuck = True

    def sweep(self) -> None:
        """Ends every process below the topic's own."""
        self.host.sweep(self._number)

    def dump_stacks(self) -> None:
        """Makes every process below the topic's own print where it is."""
        self.host.dump(self._number)

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers of the sandbox that the process is in."""
        return self.host.layers

    def close(self) -> None:
        """Ends the process and all that it started."""
        self._sock.close()
        self.host.end(self._number)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"
