"""Says when a file with code in a student's folder has changed. Opens no file, and never gives up.

Only the folder, and the folders right below it, are watched: a virtual environment in it has thousands of others.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Final

import watchfiles

from grader.intake.kinds import COURSE_FOLDERS, NOT_WORK, is_code

_STEP_MS: Final = 15
"""How often changes are fetched; they are reported once a step brings no new ones."""
_MOST_MS: Final = 200
"""After so long, changes are reported although more are coming."""
_LOOK_MS: Final = 500
"""How often it is looked for changes that were not reported, and for new folders to watch."""
_AGAIN_SECONDS: Final = 1.0
"""How long it waits where the folder is gone, before it looks again."""
_MOST_FOLDERS: Final = 64
_MOST_FILES: Final = 2_000


class Changes:
    """In its ``with`` block, `changed` is called (in another thread) after each change, or a burst of them.

    Args:
        folder: where the student's files are. It may vanish and come back.
    """

    def __init__(self, folder: Path, changed: Callable[[], None]) -> None:
        self._folder = folder
        self._changed = changed
        self._stop = threading.Event()
        self._polls = False
        self._thread = threading.Thread(target=self._run, daemon=True, name="changes")

    def __enter__(self) -> Changes:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            folders = watched_folders(self._folder)
            try:
                if folders:
                    self._watch(folders)
                else:
                    self._stop.wait(_AGAIN_SECONDS)
            except (OSError, RuntimeError):
                # Too many are watched on this machine, or a folder vanished just now.
                self._polls = self._folder.is_dir()
                self._stop.wait(_AGAIN_SECONDS)

    def _watch(self, folders: dict[Path, int]) -> None:
        """Watches some folders until there are others to watch.

        What the system does not report is found by looking: on some network drives nothing is reported, and a folder
        in the place of another is not watched.
        """
        seen: dict[str, tuple[int, int, int]] | None = None
        for found in watchfiles.watch(
            *folders,
            watch_filter=lambda change, path: is_code(path) or Path(path) in folders,
            debounce=_MOST_MS,
            step=_STEP_MS,
            stop_event=self._stop,
            rust_timeout=_LOOK_MS,
            yield_on_timeout=True,
            raise_interrupt=False,
            recursive=False,
            force_polling=self._polls or None,
        ):
            now = _code_files(folders)
            if found or now != seen:  # the first time: what happened before it began to watch
                self._changed()
            seen = now
            is_gone = any(change is watchfiles.Change.deleted and Path(path) in folders for change, path in found)
            if is_gone or watched_folders(self._folder) != folders:
                break


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
