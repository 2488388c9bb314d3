"""The judge's side of a topic's process: starts it through the host, talks to it, and never waits for ever."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Iterable, Mapping
from typing import Final

from grader.border.proxies import OUT_OF_MEMORY, SubmissionCrashed, SubmissionTimeout, is_out_of_memory
from grader.border.wire import Tree, WireError
from grader.student.client import HostClient, HostGone
from grader.student.exercise import ExerciseProcess
from grader.student.prints import Prints, receive
from grader.student.process import send_with_fds

START_SECONDS: Final = 10.0
"""How long a fork may take on a loaded machine before it counts as failed."""
LEAVE_SECONDS: Final = 0.3
"""How long an exercise's process may take to end by itself once its calls are over."""
REAP_SECONDS: Final = 2.0
"""How long the topic's process may take to say so; or to fork, when the topic's time is nearly up."""


class TopicProcess:
    """One sandboxed process that has imported one topic of one submission.

    Attributes:
        failure: why it cannot be imported: ``["raise", …]``, ``["crashed", text]`` or ``["timeout", text]``; else None.
        prints: what the import printed.
    """

    def __init__(self, host: HostClient, name: str, files: Mapping[str, bytes], deadline: float) -> None:
        self.host = host
        self.number = number = host.next_number()
        self._ending_read = False
        self._stuck = False
        self._until = deadline
        self._sock, theirs = socket.socketpair()
        prints = Prints(host.limits.print_bytes)
        try:
            with theirs:
                answer = host.ask(["spawn", number], [theirs.fileno()])
            if answer[0] != "spawned":
                raise HostGone(f"cannot start a student process: {answer[1:]}")
            self.failure = self._import(name, files, prints, deadline)
            self.prints = prints.take()
        finally:
            prints.close()

    def _import(self, name: str, files: Mapping[str, bytes], prints: Prints, deadline: float) -> Tree:
        try:
            self._sock.settimeout(START_SECONDS)
            send_with_fds(self._sock, [name, [[key, value] for key, value in files.items()]], [prints.theirs])
        except OSError:
            return ["crashed", self.why_it_ended()]
        finally:
            prints.hand_over()
        try:
            reply = receive(self._sock, deadline, prints)
        except SubmissionTimeout:
            return ["timeout", f"import of {name}.py did not end"]
        except SubmissionCrashed:
            return ["crashed", self.why_it_ended()]
        except WireError as error:
            return ["crashed", f"sent something that is no answer ({error})"]
        match reply:
            case ["ok", None]:
                return None
            case ["raise", str(kind), _, str(message), _] if is_out_of_memory(kind, message):
                return ["crashed", OUT_OF_MEMORY]
        return reply

    def exercise(self, bind: Iterable[tuple[str, str]] = ()) -> ExerciseProcess | None:
        """Forks a process for one exercise off the imported topic; None if the topic's process cannot any more."""
        if self._stuck:
            return None
        ours, theirs = socket.socketpair()
        prints = Prints(self.host.limits.print_bytes)
        self._ending_read = False
        now = time.monotonic()
        try:
            with theirs:
                send_with_fds(self._sock, [list(pair) for pair in bind], [theirs.fileno(), prints.theirs])
            prints.hand_over()
            receive(ours, min(now + START_SECONDS, max(self._until, now + REAP_SECONDS)), prints)
        except (OSError, SubmissionTimeout, SubmissionCrashed, WireError):
            ours.close()
            prints.close()
            return None
        return ExerciseProcess(self, ours, prints)

    def why_it_ended(self) -> str:
        """The end of the process at hand in words; asks the host, and believes the process only for its exit code."""
        answer = self.host.ask(["why", self.number])
        if answer[1:] != [0]:
            return OUT_OF_MEMORY
        try:
            message = receive(self._sock, time.monotonic() + 1.0, None)
        except (SubmissionTimeout, SubmissionCrashed, WireError, OSError):
            return "ended the process"
        self._ending_read = True
        match message:
            case ["ended", int(code)] if code < 0:
                return f"was ended by signal {-code} ({_signal_name(-code)})"
            case ["ended", int(code)]:
                return f"ended the process with exit code {code}"
        return "ended the process"

    def collect_ending(self) -> None:
        """Reads the topic process's note about the exercise that ended, so that it does not meet the next one."""
        for patience in () if self._ending_read else (LEAVE_SECONDS, REAP_SECONDS):
            try:
                receive(self._sock, time.monotonic() + patience, None)
                return
            except SubmissionTimeout:
                self.sweep()  # its calls are over, so it has nothing left to do
            except (SubmissionCrashed, WireError, OSError):
                return
        self._stuck = not self._ending_read

    def sweep(self) -> None:
        """Ends every process below the topic's own."""
        self.host.ask(["sweep", self.number])

    def close(self) -> None:
        """Ends the process and all that it started."""
        self._sock.close()
        self.host.ask(["end", self.number])


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"
