"""What a submission prints, and messages that come while it prints: reading either never blocks the other."""

from __future__ import annotations

import os
import select
import socket
import time
from typing import Any

from grader.border import frames, wire
from grader.border.failures import SubmissionCrashed, SubmissionTimeout


class Prints:
    """What a submission printed: read as it comes, kept up to a limit; the rest is dropped.

    Attributes:
        reader: the end of the pipe that the judge reads.
        writer: the other end, for the student process; -1 once it is closed here.
        is_open: whether a process may still write.
        is_cut: whether something was dropped since the last `take`.
    """

    def __init__(self, limit: int) -> None:
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.reader, False)
        self._limit = limit
        self._kept = bytearray()
        self.is_cut = False
        self.is_open = True

    def drain(self) -> None:
        """Takes what is there now; bounded, so that endless prints cannot keep the judge here."""
        if self.reader < 0:
            return
        for _ in range(64):
            try:
                data = os.read(self.reader, 1 << 16)
            except OSError:
                return
            if not data:
                self.is_open = False
                return
            room = self._limit - len(self._kept)
            self._kept += data[: max(room, 0)]
            self.is_cut = self.is_cut or len(data) > room

    def seen(self) -> str:
        """What was printed since the last `take`, which will give it again."""
        self.drain()
        return self._kept.decode("utf-8", "replace")

    def take(self) -> str:
        """What was printed since the last `take`."""
        self.drain()
        text = self._kept.decode("utf-8", "replace")
        self._kept.clear()
        was_cut, self.is_cut = self.is_cut, False
        return text + ("\n(cut here: too much was printed)" if was_cut else "")

    def close_writer(self) -> None:
        """Closes the writing end here, once the student process has it."""
        if self.writer >= 0:
            os.close(self.writer)
            self.writer = -1

    def close(self) -> None:
        """Closes both ends; does nothing the second time."""
        self.close_writer()
        if self.reader >= 0:
            os.close(self.reader)
            self.reader, self.is_open = -1, False


def receive(sock: socket.socket, deadline: float, prints: Prints | None, kind: Any) -> Any:
    """One message before the deadline, draining prints on the way.

    Args:
        deadline: on the monotonic clock.
        kind: the struct that may come, or a union of structs.

    Raises:
        SubmissionTimeout: the deadline has passed.
        SubmissionCrashed: the stream has ended.
        WireError, BrokenFrame: what came is no such message.
    """
    payload = frames.receive(lambda size: _recv_before(deadline, sock, size, prints))
    return wire.unpack(payload or b"", kind)


def _recv_before(deadline: float, sock: socket.socket, size: int, prints: Prints | None) -> bytes:
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise SubmissionTimeout
        sources: list[socket.socket | int] = [sock, prints.reader] if prints is not None and prints.is_open else [sock]
        readable, _, _ = select.select(sources, [], [], min(left, 1.0))
        if prints is not None and prints.reader in readable:
            prints.drain()
        if sock in readable:
            try:
                data = sock.recv(size)
            except OSError:
                data = b""
            if not data:
                raise SubmissionCrashed("")
            return data
