"""What the parent knows of one rank: its process, its pipes, and what came through them.

Must never block, and never keep more than a bounded part of what a rank sends.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
from typing import Final

from grader.border import wire
from grader.border.bounds import WireError
from grader.border.frames import BrokenFrame, FrameReader
from grader.testkit._ranks.states import RankRaised, RankReturned

PRINT_BYTES: Final = 16 << 10
DUMP_BYTES: Final = 20_000
_TORCHS: Final = re.compile(r"\[Gloo\] Rank |\[[EFIW]\d{4} [\d:.]+ \w+\.cpp:\d+\]|\[rank\d+\]:\[[EFIW]\d{4} ")


class Rank:
    """What the parent knows of one rank."""

    def __init__(self, number: int, process: int, fds: dict[str, int]) -> None:
        self.number = number
        self.process = process
        self.fds = fds
        self._reports = FrameReader()
        self.report: RankReturned | RankRaised | None = None
        self.ended: str | None = None
        self.printed = bytearray()
        self.errors = bytearray()
        self.dump = bytearray()

    @property
    def done(self) -> bool:
        return self.report is not None or self.ended is not None

    @property
    def has_failed(self) -> bool:
        """Whether it has raised, or its process has ended without a report."""
        return self.ended is not None or isinstance(self.report, RankRaised)

    def read(self, which: str) -> None:
        """Takes what has come on one of its pipes."""
        try:
            data = os.read(self.fds[which], 1 << 18)
        except BlockingIOError:
            return
        if not data:
            os.close(self.fds.pop(which))
        elif which == "prints":
            self.printed += data[: max(PRINT_BYTES - len(self.printed), 0)]
        elif which == "errors":
            self.errors += data[: max(PRINT_BYTES - len(self.errors), 0)]
        elif which == "dumps":
            self.dump += data[: max(DUMP_BYTES - len(self.dump), 0)]
        elif self.report is None:
            self._read_report(data)

    def _read_report(self, data: bytes) -> None:
        self._reports.feed(data)
        try:
            payload = self._reports.next()
            if payload is not None:
                self.report = wire.unpack(payload, RankReturned | RankRaised)
        except (WireError, BrokenFrame):
            self.ended = "a report that is no data"

    def look_if_alive(self) -> None:
        """Notices a process that has ended without a report."""
        if self.ended is None:
            process, status = os.waitpid(self.process, os.WNOHANG)
            if process:
                for which in list(self.fds):
                    self.read(which)
                self.ended = self.ended or _ending(os.waitstatus_to_exitcode(status))

    def end(self) -> None:
        """Kills it and all that it started in its process group."""
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                kill(self.process, signal.SIGKILL)
        for fd in self.fds.values():
            os.close(fd)
        self.fds.clear()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.process, 0)

    def text(self) -> str:
        """What it wrote to its standard output."""
        return own_lines(self.printed)


def own_lines(printed: bytes | bytearray) -> str:
    """The text of some prints, without the lines that torch writes by itself (some hold the time of day)."""
    lines = printed.decode("utf-8", "replace").splitlines(keepends=True)
    return "".join(line for line in lines if not _TORCHS.match(line))


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {-code} ({signal.Signals(-code).name})"
    except ValueError:
        return f"signal {-code}"
