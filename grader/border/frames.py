"""Frames: payloads with their length in front, as they travel on sockets and pipes, some with file descriptors.

Every reader of the package is a `FrameReader`, most by way of `receive`; only the zygote's sockets keep messages apart
by themselves (SOCK_SEQPACKET). Must never allocate memory for an announced length, nor read beyond the frame that it is
asked for, as that would take the descriptors of the next one.
"""

import socket
import struct
import time
from collections.abc import Callable, Sequence
from typing import IO, Final

MAX_PAYLOAD: Final = 16 << 20
"""Bytes of one payload at most, unless a reader is made for more."""

MAX_DESCRIPTORS: Final = 8
"""Descriptors that are taken with one frame."""
_HEADER: Final = struct.Struct("<I")
_MAX_READ_BYTES: Final = 1 << 20
# As they were before any submitted code could replace them.
_sendall: Final = socket.socket.sendall
receive_some: Final = socket.socket.recv


class BrokenFrame(Exception):
    """The stream ended inside a frame, or a frame over the limit was announced.

    Cause: the other process died while it wrote, or something else wrote to the stream. Remedy: end that process.
    """


def frame(payload: bytes) -> bytes:
    """A payload with its length in front."""
    return _HEADER.pack(len(payload)) + payload


class FrameReader:
    """Cuts the bytes that arrive on a stream into payloads; holds at most one incomplete frame.

    Args:
        limit: the largest payload (bytes).

    Attributes:
        data: what has come of it.
    """

    def __init__(self, limit: int = MAX_PAYLOAD) -> None:
        self.data = bytearray()
        self._limit = limit

    def feed(self, data: bytes) -> None:
        """Adds bytes that have arrived."""
        self.data += data

    def missing(self) -> int:
        """How many bytes to read next: as many as the current frame is known to need, at most 1 MiB."""
        if len(self.data) < _HEADER.size:
            return _HEADER.size - len(self.data)
        return min(_HEADER.size + int(_HEADER.unpack_from(self.data)[0]) - len(self.data), _MAX_READ_BYTES)

    def next(self) -> bytes | None:
        """The next whole payload, or None until more arrives.

        Raises:
            BrokenFrame: the announced length is over the limit.
        """
        if len(self.data) < _HEADER.size:
            return None
        (length,) = _HEADER.unpack_from(self.data)
        if length > self._limit:
            raise BrokenFrame("a message over the limit was announced")
        end = _HEADER.size + length
        if len(self.data) < end:
            return None
        payload = bytes(self.data[_HEADER.size : end])
        del self.data[:end]
        return payload


def receive(read: Callable[[int], bytes], limit: int = MAX_PAYLOAD) -> bytes | None:
    """One payload; None when the stream ends before it.

    Args:
        read: returns at most that many bytes, none at the end: ``sock.recv``, ``file.read``.

    Raises:
        BrokenFrame: the stream ends inside the frame, or the frame is over the limit.
    """
    reader = FrameReader(limit)
    while (payload := reader.next()) is None:
        data = read(reader.missing())
        if not data:
            if reader.data:
                raise BrokenFrame("the stream ended inside a frame")
            return None
        reader.feed(data)
    return payload


def receive_within(sock: socket.socket, seconds: float | None, limit: int = MAX_PAYLOAD) -> bytes | None:
    """One payload of a socket as `receive` returns it, all of it within this time (s); None waits as long as it takes.

    Raises:
        TimeoutError: it takes longer, also if one byte comes after the other.
    """
    until = None if seconds is None else time.monotonic() + seconds

    def read(size: int) -> bytes:
        if until is not None:
            sock.settimeout(max(until - time.monotonic(), 0.001))
        return sock.recv(size)

    return receive(read, limit)


def receive_with_descriptors(sock: socket.socket) -> tuple[bytes | None, list[int]]:
    """One payload and the descriptors sent with it; ``(None, [])`` at the end of the stream.

    Raises:
        BrokenFrame: as in `receive`; the descriptors are left open.
    """
    descriptors: list[int] = []

    def read(size: int) -> bytes:
        data, more, _, _ = socket.recv_fds(sock, size, MAX_DESCRIPTORS)
        descriptors.extend(more)
        return data

    return receive(read), descriptors


def send(sock: socket.socket, payload: bytes, descriptors: Sequence[int] = ()) -> None:
    """Sends one frame, blocking; descriptors are sent along with its first bytes."""
    data = frame(payload)
    sent = socket.send_fds(sock, [data], list(descriptors)) if descriptors else 0
    _sendall(sock, data[sent:])


def write(stream: IO[bytes], payload: bytes) -> None:
    """Writes one frame and flushes."""
    stream.write(frame(payload))
    stream.flush()
