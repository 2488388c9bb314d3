"""The prints of a submission: reading them never blocks."""

import contextlib
import os
import select
import threading
import time
from pathlib import Path


class Prints:
    """The prints of a submission: read as they come, kept up to a limit; the rest is dropped.

    Attributes:
        reader: the end of the pipe that the judge reads; -1 once no process may write any more.
        writer: the other end, for the student process; -1 once it is closed here.
        has_ended: whether every process that could write has closed its end; never for a file.
    """

    has_ended = False

    def __init__(self, limit: int) -> None:
        self._begin(limit)
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.reader, False)

    def _begin(self, limit: int) -> None:
        self._limit = limit
        self._kept = bytearray()
        self._is_cut = False

    def _keep(self, data: bytes, size: int) -> None:
        """Keeps what there is room for, of `size` bytes that have come."""
        room = max(self._limit - len(self._kept), 0)
        self._kept += data[:room]
        self._is_cut = self._is_cut or size > room

    def drain(self) -> None:
        """Takes the prints that are there now; bounded, so that endless prints cannot keep the judge here."""
        with contextlib.suppress(OSError):  # nothing is there now, or the pipe is closed
            for _ in range(64):
                data = os.read(self.reader, 1 << 16)
                self._keep(data, len(data))
                if not data:
                    self.has_ended = True
                    self._close_reader()

    def seen(self) -> str:
        """All prints since the last `take`; the next one returns them again."""
        self.drain()
        return self._kept.decode("utf-8", "replace")

    def take(self) -> str:
        """All prints since the last `take`."""
        text = self.seen() + ("\n(cut here: too much was printed)" if self._is_cut else "")
        self._kept.clear()
        self._is_cut = False
        return text

    def cut(self) -> None:
        """Keeps a file short, whether anybody reads it or not."""

    def close_writer(self) -> None:
        """Closes the writing end here, once the student process has it."""
        if self.writer >= 0:
            os.close(self.writer)
            self.writer = -1

    def close(self) -> None:
        """Closes both ends; does nothing the second time."""
        self.close_writer()
        self._close_reader()

    def _close_reader(self) -> None:
        if self.reader >= 0:
            os.close(self.reader)
            self.reader = -1

    def wait(self, seconds: float) -> bool:
        """Waits until there may be more, or for this timeout (s); True if a process may still write."""
        if self.reader >= 0:
            select.select([self.reader], [], [], seconds)
        return self.reader >= 0


class FilePrints(Prints):
    """The same by way of a file, where pipes cannot be waited for. Whoever writes opens it to append.

    Args:
        path: the file, which does not exist yet.
    """

    POLL_SECONDS = 0.01
    TOO_LONG_BYTES = 8 << 20
    """A file that is longer than this is cut to nothing."""

    def __init__(self, path: Path, limit: int) -> None:
        self._begin(limit)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        self.reader = self.writer = -1
        self._at = 0
        self._lock = threading.RLock()

    def drain(self) -> None:
        """Takes the prints that are there, up to the limit; cuts a file that is too long. Any thread may call this."""
        with self._lock:
            size = os.fstat(self._file).st_size if self._file >= 0 else 0
            if size > self._at:
                os.lseek(self._file, self._at, os.SEEK_SET)
                self._keep(os.read(self._file, min(self._limit, size - self._at)), size - self._at)
                self._at = size
            if size > self.TOO_LONG_BYTES:
                os.ftruncate(self._file, 0)
                self._at = 0

    def cut(self) -> None:
        with self._lock:
            if self._file >= 0 and os.fstat(self._file).st_size > self.TOO_LONG_BYTES:
                self.drain()

    def wait(self, seconds: float) -> bool:
        time.sleep(min(seconds, self.POLL_SECONDS))
        return self._file >= 0

    def close(self) -> None:
        """Closes the file here; the folder that it is in removes it."""
        with self._lock:
            if self._file >= 0:
                os.close(self._file)
                self._file = -1
