"""The folder in which a suite runs: a copy of its own for each process that judges.

A test may write beside itself, or in the current folder: a cache, a model that it loads again. Another student's tests
must not find that, neither later nor in the process beside this one, and the course stays as it is.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from grader.suites.honesty import rooms

_CLUTTER: Final = ("__pycache__", ".git", ".venv", ".hypothesis", ".pytest_cache")
_MOST_BYTES: Final = 1 << 20


class Room:
    """The copy.

    Args:
        course: the folder of the course.
        folders: those in it that are copied: of the suite, and of data.

    Attributes:
        root: the copy's.
    """

    def __init__(self, course: Path, folders: tuple[str, ...], root: Path) -> None:
        self.root = root
        self._course = course
        for name in folders:
            if (course / name).is_dir():
                ignored = shutil.ignore_patterns(*_CLUTTER)
                shutil.copytree(course / name, root / name, ignore=ignored, ignore_dangling_symlinks=True)
        for file in course.iterdir():  # a conftest.py, words that a test reads
            if file.is_file() and file.name[0] != "." and file.stat().st_size <= _MOST_BYTES:
                shutil.copy2(file, root / file.name)
        self._known = self._files()

    def _files(self) -> dict[Path, tuple[int, int]]:
        found = {}
        for place, folders, names in os.walk(self.root):
            folders[:] = [one for one in folders if one not in _CLUTTER]
            for file in (Path(place, name) for name in names):
                with contextlib.suppress(OSError):
                    known = file.lstat()
                    found[file] = known.st_mtime_ns, known.st_size
        return found

    def original(self, file: Path) -> Path:
        """The course's file of which this is a copy."""
        return self._course / file.relative_to(self.root)

    def put_back(self) -> dict[Path, bytes]:
        """Gives the files their content back, and takes away what is new; the content of both until now."""
        now, changed = self._files(), {}
        for file in {**now, **self._known}:
            if now.get(file) == self._known.get(file):
                continue
            with contextlib.suppress(OSError):
                if file in now:
                    changed[file] = file.read_bytes()
                    file.unlink()
                if file in self._known:
                    file.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(self.original(file), file)
        return changed

    def put(self, changed: dict[Path, bytes]) -> None:
        """Writes files as they were before `put_back`."""
        for file, content in changed.items():
            with contextlib.suppress(OSError):
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)


@contextlib.contextmanager
def own_room(course: Path, *folders: str) -> Iterator[Room]:
    """A copy of these folders of a course while the context lasts."""
    with tempfile.TemporaryDirectory(prefix="torchkata-suite-", ignore_cleanup_errors=True) as folder:
        root = Path(folder).resolve()
        rooms[root] = course
        try:
            yield Room(course, folders, root)
        finally:
            del rooms[root]
