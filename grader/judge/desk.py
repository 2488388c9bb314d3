"""The interface between a check and a submission, which is in a sandboxed process or is a module of this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from grader.border.channel import Channel
from grader.border.proxies import Call
from grader.judge.check import Check, Trace
from grader.results import CheckResult, Frame, SpentTime


class Desk:
    """Through a desk a check calls a submission, and reads its prints and the lines at which it stopped.

    Here: a desk without limits, prints or further processes.

    Attributes:
        shrinks_failures: whether a smaller failing example is looked for, which only a reader of messages needs.
        wants_trace_only: whether a run yields only its trace and no cause.
        is_final: whether a failure counts now; if not, only whether the check passes is wanted.
        memory_limit: the memory that a submission may use (bytes); 0 if there is no limit.
    """

    shrinks_failures = True
    wants_trace_only = False
    is_final = True
    memory_limit = 0

    def channel(self) -> Channel:
        """The channel to the current exercise's process, with an empty record and a new deadline.

        Raises:
            SubmissionCrashed: no process can be started for the exercise.
        """
        raise NotImplementedError

    def renew_time(self) -> None:
        """Gives the running check its full time again."""

    def end_process(self) -> None:
        """Ends the process; the next `channel` starts a new one."""

    def end_worlds(self) -> None:
        """Ends the further processes that the check has started."""

    def take_prints(self) -> str:
        """The text that the submission printed since this was last called."""
        return ""

    def stopped_at(self) -> tuple[Frame, ...]:
        """After a timeout: the student's lines that were running, innermost first."""
        return ()

    def spent_time(self) -> SpentTime | None:
        """After a timeout: the time that is over, and how it was spent; None if that is not known."""
        return None

    def last_call(self) -> Call | None:
        """The last call that the check made, for messages; None before the first."""
        return None

    def reference_also_fails(self, check: Check, run: RunOn) -> bool:
        """Whether the reference solution does not pass the check either; if so, the check itself is wrong.

        Args:
            run: runs the check with another desk, that of the reference solution.
        """
        return True


RunOn: TypeAlias = Callable[[Desk], tuple[CheckResult, Trace]]
