"""How requests reach submitted code: the interfaces of a student process, as the judge's side sees it.

Judge and plain pytest give different ones; nothing here runs anything.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Activity(NamedTuple):
    """The work of a process: whether all its threads sleep, and their processor time (s)."""

    at_rest: bool
    worked: float


class Process(Protocol):
    """A further process of the submission, which has imported it: it answers requests one by one."""

    def sources(self) -> list[int]:
        """The descriptors that become readable when `poll` has something to do: replies, and prints to take away."""

    def post(self, request: bytes) -> None:
        """Sends a request; its reply comes by `poll`."""

    def poll(self) -> bytes | None:
        """The reply if all of it has come, else None; never waits.

        Raises:
            SubmissionCrashed: the process ended, or sent something else than a frame; the text is the reason.
        """

    def ask_where(self) -> None:
        """Makes the process write the lines that it is at."""

    def stacks(self) -> str:
        """The lines that it has written so far, as `faulthandler` writes them; never waits. Not to be trusted."""

    def activity(self) -> Activity:
        """The work of the process up to now, as the kernel counts it."""

    def prints(self) -> tuple[str, str]:
        """Its standard output and standard error since the last call; never waits."""

    def end(self) -> None:
        """Ends the process and all that it started."""

    def wait(self) -> None:
        """Returns when an ended process has gone, with all that it had open; soon in any case."""


class Transport(Protocol):
    """Carries one request to wherever submitted code runs, and its reply back.

    Attributes:
        kept: objects by any name that live as long as the processes behind this transport, e.g. a world of ranks that
            the next check can use again.
    """

    kept: dict[str, object]

    def call(self, request: bytes) -> bytes:
        """Raises `SubmissionTimeout` or `SubmissionCrashed` when no reply can come."""

    def call_outside(self, request: bytes) -> bytes:
        """Like `call`, in a process of the same sandbox and work folder that never imports the submission."""


class Starter(Protocol):
    """A transport that can start further processes beside its own."""

    def processes(self, count: int, imports: bool = True) -> Sequence[Process]:
        """Starts further processes, ended with this transport at the latest.

        Args:
            imports: whether they import the submission, or never do.
        """
