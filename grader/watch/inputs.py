"""Calls a function, often in another thread, at each key, each change of a file with code, and at signals.

Leaves the terminal as it was. Opens no file, and never gives up because a folder is gone.
"""

import contextlib
import itertools
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import watchfiles

from grader.intake.kinds import COURSE_FOLDERS, NOT_WORK, is_code

QUIT: Final = "q"
_END_OF_FILE: Final = "\x04"
_POLL_SECONDS: Final = 0.05
_STEP_MS: Final = 15
"""How often changes are fetched; they are reported once a step brings no new ones."""
_MOST_MS: Final = 200
"""After so long, changes are reported although more are coming."""
_LOOK_MS: Final = 500
"""How often it is looked for changes that were not reported, and for new folders to watch."""
_AGAIN_SECONDS: Final = 1.0
"""How long it waits before it watches again, if something cannot be watched."""
_MOST_FOLDERS: Final = 64
_MOST_FILES: Final = 2_000


@contextlib.contextmanager
def signals(calls: Mapping[str, Callable[[], None]], put: Callable[[Callable[[], None]], None]) -> Iterator[None]:
    """In its block, puts a call at each of these signals, by their names, that the system has."""
    numbers = [number for number in signal.Signals if number.name in calls]
    before = {number: signal.signal(number, lambda *_, call=calls[number.name]: put(call)) for number in numbers}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


@contextlib.contextmanager
def _in_thread(function: Callable[..., None], *arguments: object) -> Iterator[None]:
    """Runs a function in a thread, with an event, as its last argument, that is set at the end of the block."""
    stop = threading.Event()
    thread = threading.Thread(target=function, args=(*arguments, stop), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


# ---------------------------------------------------------------- keys


def can_read_keys() -> bool:
    """Whether standard input is a terminal that belongs to this process now."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        if sys.stdin.isatty():  # and not in a shell's background
            return sys.platform == "win32" or os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    return False


@contextlib.contextmanager
def keys(pressed: Callable[[str], None]) -> Iterator[None]:
    """In its block, `pressed` is called with each key; with `QUIT` when the input ends. Not if no keys can be read."""
    if not can_read_keys():
        yield
        return
    if sys.platform == "win32":
        with _in_thread(_read, pressed, _console_keys):
            yield
        return
    import termios
    import tty

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    tty.setcbreak(terminal)
    try:
        with _in_thread(_read, pressed, _terminal_keys):
            yield
    finally:
        if can_read_keys():  # else it is gone, or belongs to another program now
            with contextlib.suppress(termios.error, OSError, ValueError):
                termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _read(pressed: Callable[[str], None], next_keys: Callable[[], str], stop: threading.Event) -> None:
    while not stop.is_set():
        for key in next_keys():
            pressed(key)
            if key == QUIT:
                return


def _terminal_keys() -> str:
    """The keys that are pressed in a moment."""
    terminal = sys.stdin.fileno()
    if not select.select([terminal], [], [], _POLL_SECONDS)[0]:
        return ""
    read = b""
    with contextlib.suppress(OSError):
        read = os.read(terminal, 64)
    if read.startswith(b"\x1b"):  # an arrow or function key is several characters
        return ""
    return read.decode("utf-8", "replace").lower().replace(_END_OF_FILE, QUIT) or QUIT


def _console_keys() -> str:
    """The same on Windows."""
    import msvcrt

    console: Any = msvcrt  # its functions are known on Windows only
    time.sleep(_POLL_SECONDS)
    found = ""
    while console.kbhit():
        key = console.getwch()
        if key in "\x00\xe0":
            console.getwch()
        elif key == "\x03":
            signal.raise_signal(signal.SIGINT)
        else:
            found += key.lower()
    return found


# ---------------------------------------------------------------- changes


def changes(folder: Path, changed: Callable[[], None]) -> contextlib.AbstractContextManager[None]:
    """In its block, `changed` is called after each change of a file with code, or a burst of them.

    Only the folder, and the folders right below it, are watched: a virtual environment in it has thousands of others.

    Args:
        folder: the folder with the student's files. It may vanish and come back.
    """
    return _in_thread(_watch, folder, changed)


def _watch(folder: Path, changed: Callable[[], None], stop: threading.Event) -> None:
    """Watches the folders that there are, until there are others.

    What the system does not report is found by looking: on some network drives nothing is reported, and a folder
    in the place of another is not watched.
    """
    polls = False
    while not stop.is_set():
        folders = watched_folders(folder)
        seen: dict[str, tuple[int, int, int]] | None = None
        try:
            for found in watchfiles.watch(
                *folders,
                watch_filter=lambda change, path: is_code(path) or change is watchfiles.Change.deleted,
                debounce=_MOST_MS,
                step=_STEP_MS,
                stop_event=stop,
                rust_timeout=_LOOK_MS,
                yield_on_timeout=True,
                raise_interrupt=False,
                recursive=False,
                force_polling=polls or None,
            ):
                now = _code_files(folders)
                if found or now != seen:  # the first time: what happened before it began to watch
                    changed()
                seen = now
                is_gone = any(change is watchfiles.Change.deleted and Path(path) in folders for change, path in found)
                if is_gone or watched_folders(folder) != folders:
                    break
        except (OSError, RuntimeError):
            # Too many are watched on this machine, or a folder vanished just now.
            polls = folder.is_dir()
            stop.wait(_AGAIN_SECONDS)


def _code_files(folders: Iterable[Path]) -> dict[str, tuple[int, int, int]]:
    """The files with code in some folders, with what differs after a save."""
    found: dict[str, tuple[int, int, int]] = {}
    for folder in folders:
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in itertools.islice(entries, _MOST_FILES):
                if is_code(entry.name):
                    with contextlib.suppress(OSError):
                        about = entry.stat()
                        found[entry.path] = (about.st_mtime_ns, about.st_size, about.st_ino)
    return found


def watched_folders(folder: Path) -> dict[Path, int]:
    """A folder and those right below it that may hold work, with what tells each from a later one of its name.

    Empty where the folder is gone.
    """
    found: dict[Path, int] = {}
    with contextlib.suppress(OSError):
        found[folder] = folder.stat().st_ino
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            is_work = not entry.name.startswith(".") and entry.name not in NOT_WORK | COURSE_FOLDERS
            if is_work and entry.is_dir(follow_symlinks=False) and not Path(entry.path, "pyvenv.cfg").exists():
                found[Path(entry.path)] = entry.inode()
    return dict(itertools.islice(found.items(), _MOST_FOLDERS))
