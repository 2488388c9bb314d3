"""The folder on disk of one sandbox: a mount point for a root, and the work folder.

Must never remove a folder that another sandbox, of any process, still uses.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
import time
from pathlib import Path

from grader import locks

_PREFIX = "torchkata-"
_YOUNG_SECONDS = 60.0


class Workspace:
    """The folder of one sandbox, in the system's folder for temporary files.

    It is locked while it is in use, so that folders of killed hosts can be recognised and removed.
    """

    def __init__(self) -> None:
        self.base = Path(tempfile.mkdtemp(prefix=_PREFIX)).resolve()
        self._maker = os.getpid()
        self._lock = _locked(self.base)
        self.base.chmod(0o711)
        self.work = self.base / "work"
        self.root = self.base / "root"
        self.work.mkdir(mode=0o700)
        self.root.mkdir(mode=0o700)
        _remove_leftovers(self.base)

    def empty_work(self, owner: tuple[int, int]) -> None:
        """A new, empty work folder that belongs to `owner` (uid, gid)."""
        _remove(self.work)
        self.work.mkdir(mode=0o700)
        if owner != (os.geteuid(), os.getegid()):
            os.chown(self.work, *owner)

    def close(self) -> None:
        """Remove everything. Does nothing the second time, nor in a process forked from the one that made it."""
        if os.getpid() != self._maker:
            return
        _remove(self.base)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _locked(folder: Path) -> int | None:
    """A descriptor that holds the folder's lock; None where another process holds it, or folders have no locks."""
    if not locks.OFFERED or not hasattr(os, "O_DIRECTORY"):
        return None
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    if locks.lock(fd, wait=False):
        return fd
    os.close(fd)
    return None


def _remove_leftovers(new: Path) -> None:
    """Remove what sandboxes of killed hosts of this user left behind."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    for folder in new.parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            seen = folder.lstat()
            young = time.time() - seen.st_mtime < _YOUNG_SECONDS  # its maker may not have locked it yet
            if folder == new or young or seen.st_uid != os.geteuid() or not stat.S_ISDIR(seen.st_mode):
                continue
            if (lock := _locked(folder)) is not None:
                _remove(folder)
                os.close(lock)


def _remove(folder: Path) -> None:
    """Remove a folder, whatever permissions its content has; nothing outside it is touched."""
    if hasattr(os, "O_PATH") and os.geteuid() != 0:  # root needs no permission to remove
        _make_folders_writable(folder)
    shutil.rmtree(folder, ignore_errors=True)


def _make_folders_writable(folder: Path) -> None:
    """Gives the owner all rights in every folder of a tree; by descriptor, so that no symbolic link is followed."""
    for path, folders, _ in os.walk(folder):
        for name in folders:
            with contextlib.suppress(OSError):
                fd = os.open(os.path.join(path, name), os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    if stat.S_ISDIR(os.fstat(fd).st_mode):
                        os.chmod(f"/proc/self/fd/{fd}", stat.S_IRWXU)
                finally:
                    os.close(fd)
