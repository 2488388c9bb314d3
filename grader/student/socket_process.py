"""The part of a further process of a submission that is the same wherever it runs: its socket and its outputs.

Must never wait. What comes is read as bytes: descriptors that come along are not taken, so the system closes them.
"""

from __future__ import annotations

import abc
import select
import socket

from grader.border.failures import SubmissionCrashed
from grader.border.frames import BrokenFrame, FrameReader, frame
from grader.border.transport import Activity
from grader.sandbox import process_tree
from grader.student.prints import Prints


class SocketProcess(abc.ABC):
    """The part of a `Process` that is the same wherever it runs. Never waits.

    Args:
        pid: its process id here.
        outputs: its prints, its errors, where it writes its stack, and others that are closed with it.
    """

    def __init__(self, pid: int, sock: socket.socket, *outputs: Prints) -> None:
        self.pid = pid
        self._sock = sock
        self._outputs = outputs
        self._prints, self._errors, self._dumps = outputs[:3]
        self._replies = FrameReader()
        self._unsent = bytearray()
        sock.setblocking(False)

    def sources(self) -> list[int]:
        return [self._sock.fileno(), *(one.reader for one in (self._prints, self._errors) if one.reader >= 0)]

    def post(self, request: bytes) -> None:
        self._unsent += frame(request)
        self._send()

    def poll(self) -> bytes | None:
        self._send()
        for source in (self._prints, self._errors):
            source.drain()
        if (reply := self._taken()) is None and select.select([self._sock], [], [], 0)[0]:
            self._read()
            reply = self._taken()
        return reply

    def stacks(self) -> str:
        return self._dumps.seen()

    def activity(self) -> Activity:
        return Activity(*process_tree.activity(self.pid))

    def prints(self) -> tuple[str, str]:
        return self._prints.take(), self._errors.take()

    @abc.abstractmethod
    def _crash(self, reason: str) -> SubmissionCrashed:
        """The crash that the end of the process is, or its bad reply, for the reason given."""

    def _send(self) -> None:
        """Sends as much as is possible now; if nobody reads, `_read` will say so."""
        if self._unsent:
            try:
                sent = self._sock.send(memoryview(self._unsent)[: 1 << 16])
                del self._unsent[:sent]
            except BlockingIOError:
                pass
            except OSError:
                self._unsent.clear()

    def _read(self) -> None:
        try:
            data = self._sock.recv(1 << 18)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            raise self._crash("")
        self._replies.feed(data)

    def _taken(self) -> bytes | None:
        try:
            return self._replies.next()
        except BrokenFrame as error:
            raise self._crash(str(error)) from None
