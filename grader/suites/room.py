"""The folder in which a suite runs: a copy of its own for each process that judges.

A test may write beside itself, or in the current folder: a cache, a model that it loads again. Another student's tests
must not find that, neither later nor in the process beside this one, and the course stays as it is.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from grader.sandbox.workspace import folder_in_use
from grader.suites.honesty import rooms

_CLUTTER: Final = ("__pycache__", ".git", ".venv", ".hypothesis", ".pytest_cache")
_OF_STUDENTS: Final = ("solutions", "exercises")
_MOST_BYTES: Final = 64 << 20
"""Of a file or a folder beside the suite: a larger one is a link, and no test may write to it."""


class Room:
    """The copy.

    Args:
        course: the folder of the course.
        suite: the name of the suite's folder in it.

    Attributes:
        root: the copy's.
        temporary: a folder for `tmp_path`.
    """

    def __init__(self, course: Path, suite: str, root: Path) -> None:
        self.root, self.temporary = root, root.parent / "temporary"
        self._course = course
        ignored = shutil.ignore_patterns(*_CLUTTER)
        for one in course.iterdir():
            place = root / one.name
            if one.name.startswith(".") or one.name in (*_CLUTTER, *_OF_STUDENTS):
                continue
            if one.is_dir() and (one.name in Path(suite).parts[:1] or _is_small(one)):
                shutil.copytree(one, place, ignore=ignored, ignore_dangling_symlinks=True)
            elif one.is_file() and one.stat().st_size <= _MOST_BYTES:
                shutil.copy2(one, place)
            elif one.exists():
                place.symlink_to(one.resolve())
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
                    shutil.copy2(self._course / file.relative_to(self.root), file)
        return changed

    def put(self, changed: dict[Path, bytes]) -> None:
        """Writes files as they were before `put_back`."""
        for file, content in changed.items():
            with contextlib.suppress(OSError):
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)


def _is_small(folder: Path) -> bool:
    """Whether a folder may be copied: it has no gradebook in it, and is not large."""
    files = [one for one in folder.rglob("*") if one.is_file()]
    return sum(one.stat().st_size for one in files) <= _MOST_BYTES and all(one.suffix != ".sqlite" for one in files)


@contextlib.contextmanager
def own_room(course: Path, suite: str) -> Iterator[Room]:
    """A copy of a course, with its suite in this folder, while the context lasts."""
    with folder_in_use("torchkata-suite-") as folder:
        root = folder / "course"
        root.mkdir()
        rooms[root] = course
        try:
            yield Room(course, suite, root)
        finally:
            del rooms[root]
