"""Reads single keys from the terminal while something else goes on. Leaves the terminal as it was."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import threading
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Final

QUIT: Final = "q"
_END_OF_FILE: Final = "\x04"
_POLL_SECONDS: Final = 0.05


def can_read_keys() -> bool:
    """Whether standard input is a terminal that belongs to this process now."""
    try:
        if not sys.stdin.isatty():
            return False
        if sys.platform == "win32":
            return True
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()  # not in a shell's background
    except (OSError, ValueError, AttributeError):
        return False


class Keys:
    """In its ``with`` block, `pressed` is called (in another thread) with each key; `QUIT` when the input ends.

    Does nothing where no keys can be read.

    Args:
        wanted: False: read none in any case.
    """

    def __init__(self, pressed: Callable[[str], None], wanted: bool = True) -> None:
        self._pressed = pressed
        self._wanted = wanted
        self._thread: threading.Thread | None = None
        self._before: list[Any] | None = None
        self._stop = threading.Event()
        self._wake = (-1, -1)

    def __enter__(self) -> Keys:
        self._start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self._end()

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Leaves the terminal to another program meanwhile."""
        self._end()
        try:
            yield
        finally:
            self._start()

    def _start(self) -> None:
        if not self._wanted or not can_read_keys():
            return
        self._stop.clear()
        if sys.platform == "win32":
            read = self._read_console
        else:
            import termios
            import tty

            terminal = sys.stdin.fileno()
            self._before = termios.tcgetattr(terminal)
            tty.setcbreak(terminal)
            self._wake = os.pipe()
            read = self._read_terminal
        self._thread = threading.Thread(target=read, daemon=True, name="keys")
        self._thread.start()

    def _end(self) -> None:
        if self._thread is None:
            return
        self._stop.set()
        if sys.platform != "win32":
            os.write(self._wake[1], b".")
        self._thread.join()
        self._thread = None
        if sys.platform != "win32":
            import termios

            for end in self._wake:
                os.close(end)
            if not can_read_keys():  # it is gone, or belongs to another program now
                return
            with contextlib.suppress(termios.error, OSError, ValueError):
                termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, self._before or [])

    def _read_terminal(self) -> None:
        terminal = sys.stdin.fileno()
        while True:
            ready, _, _ = select.select([terminal, self._wake[0]], [], [])
            if self._wake[0] in ready:
                return
            try:
                read = os.read(terminal, 64)
            except OSError:
                read = b""
            if not read:
                self._pressed(QUIT)
                return
            if not read.startswith(b"\x1b"):  # an arrow or function key is several characters
                for key in read.decode("utf-8", "replace"):
                    self._pressed(QUIT if key == _END_OF_FILE else key.lower())

    def _read_console(self) -> None:
        import msvcrt

        console: Any = msvcrt  # its functions are known on Windows only
        while not self._stop.wait(_POLL_SECONDS):
            while console.kbhit():
                key = console.getwch()
                if key in "\x00\xe0":
                    console.getwch()
                elif key == "\x03":
                    import _thread

                    _thread.interrupt_main()
                else:
                    self._pressed(key.lower())
