"""The memory that the processes of a topic hold together, and whose fault it is when they end because memory is short.

A submission that goes over its limit has failed. If the machine's memory is short, the submission is at fault only if
its own processes took most of what was left when they began; else nobody loses points.
"""

from typing import Final

from grader.border import failures
from grader.border.failures import SubmissionCrashed
from grader.machine import LEAST_BYTES, available_bytes, memory_kills

KILLED: Final = (-9, 15)
"""The exit codes of a process that was killed: the second one on Windows."""
RESERVE_BYTES: Final = 256 << 20
"""If the machine has less left, it would soon swap, or end processes (bytes)."""


class MemoryUse:
    """The memory of the processes of one topic, from the start of its main process on.

    Args:
        limit: the memory that they may hold together (bytes).

    Attributes:
        matters_from: they may hold this much whatever else the machine does (bytes).
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._available = available_bytes() or 0
        self._kills = memory_kills()
        self._share = max(LEAST_BYTES, self._available // 2)
        self.matters_from = min(limit, self._share)
        self._most = 0
        self._ended_at = 0

    def is_too_much(self, held: int) -> bool:
        """True if they must be killed for what they hold now (bytes); `crash` then returns why."""
        self._most = max(self._most, held)
        if held <= self._limit and not (self._is_most(held) and self._is_short()):
            return False
        self._ended_at = held
        return True

    def crash(self, code: int | None) -> SubmissionCrashed | None:
        """The crash of a process that has ended with this code, if memory was the reason."""
        if self._ended_at and code in (None, *KILLED):
            reason = failures.OUT_OF_MEMORY if self._ended_at > self._limit else failures.MEMORY_TAKEN
            return failures.OutOfMemory(held=self._ended_at, reason=reason)
        if code != KILLED[0] or memory_kills() <= self._kills:
            return None
        if self._is_most(self._most):
            return failures.OutOfMemory(held=self._most, reason=failures.MEMORY_TAKEN)
        return failures.KilledBySystem(failures.MEMORY_SHORT)

    def _is_most(self, held: int) -> bool:
        return held >= self._share

    def _is_short(self) -> bool:
        left = available_bytes()
        return left is not None and left < min(RESERVE_BYTES, self._available // 4)
