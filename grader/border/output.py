"""Standard output and standard error of a process that runs submitted code: sent to descriptors of the grader."""

import contextlib
import io
import os
import sys
from typing import Any, Final, TextIO

_BY_LINES: Final = 64 << 10
"""Bytes of a call's prints that are sent line by line."""
_BLOCK: Final = 64 << 10
"""Bytes of the rest that are sent together: to send thousands of lines one by one takes longer than to print them."""


class Output(io.BufferedIOBase):
    """Sends what a call prints line by line, so that the last line says where a loop or a crash was; later in blocks.

    Args:
        descriptor: the standard output or the standard error of this process.
    """

    def __init__(self, descriptor: int) -> None:
        self.name = descriptor
        self._waiting: list[bytes] = []
        self._size = 0
        self._sent = 0

    def fileno(self) -> int:
        return self.name

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        """Takes bytes, and sends those before them if there are enough."""
        own = bytes(data)
        self._waiting.append(own)
        self._size += len(own)
        if self._size >= _BLOCK:
            self._send()
        return len(own)

    def flush(self) -> None:
        """Sends what was written, unless the call has printed so much already that only blocks are sent."""
        if self._sent < _BY_LINES:
            self._send()

    def end_call(self) -> None:
        """Sends everything; the next call is sent line by line again."""
        self._send()
        self._sent = 0

    def _send(self) -> None:
        waiting, self._waiting, self._size = self._waiting, [], 0
        left = memoryview(b"".join(waiting))
        self._sent += len(left)
        while left:
            left = left[os.write(self.name, left) :]


_outputs: Final[list[Output]] = []


def use_output(output: int, errors: int) -> None:
    """Makes two descriptors, which may be one, the process's standard output and standard error, and closes them."""
    os.dup2(output, 1)
    os.dup2(errors, 2)
    for descriptor in {output, errors}:
        if descriptor > 2:
            os.close(descriptor)
    sys.stdout, sys.stderr = _stream(1), _stream(2)


def _stream(descriptor: int) -> TextIO:
    _outputs.append(Output(descriptor))
    return io.TextIOWrapper(_outputs[-1], encoding="utf-8", errors="replace", line_buffering=True)


def flush_output() -> None:
    """Sends the prints of a call, if that is possible: submitted code may have put anything in place of a stream."""
    with contextlib.suppress(BaseException):
        sys.stdout.flush()
        sys.stderr.flush()
    with contextlib.suppress(BaseException):
        for one in _outputs:
            one.end_call()
