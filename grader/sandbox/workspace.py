"""The folder on disk of one sandbox: a mount point for a root, and the work folder; and shared memory that is left.

Must never remove a folder that another sandbox, of any process, still uses, nor one that is no sandbox's.
"""

import contextlib
import ctypes
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from grader import locks

_PREFIX: Final = "torchkata-sandbox-"
_LOCK: Final = "in-use"
"""The file in a folder that is locked as long as somebody uses the folder; without it, nobody removes the folder."""
_SYSTEM_V: Final = (("shm", "shmid", "shmctl", ()), ("sem", "semid", "semctl", (0,)), ("msg", "msqid", "msgctl", ()))
"""A file of /proc/sysvipc, its column with an object's number, the function that removes it, its further argument."""
_IPC_RMID: Final = 0
_OFFERED: Final = locks.OFFERED and hasattr(os, "O_NOFOLLOW")


class Workspace:
    """The folder of one sandbox, in the system's folder for temporary files.

    It is locked while it is in use, so that folders of killed hosts can be recognised and removed.
    """

    def __init__(self) -> None:
        self._maker = os.getpid()
        self.base, self._lock = _make(_PREFIX)
        self.base.chmod(0o711)
        self.work = self.base / "work"
        self.root = self.base / "root"
        self.work.mkdir(mode=0o700)
        self.root.mkdir(mode=0o700)
        _remove_leftovers(self.base, _PREFIX)

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


@contextlib.contextmanager
def folder_in_use(prefix: str) -> Iterator[Path]:
    """A new temporary folder, removed at the end, or by the next with this prefix if its process was killed."""
    folder, lock = _make(prefix)
    try:
        _remove_leftovers(folder, prefix)
        yield folder
    finally:
        _remove(folder)
        if lock is not None:
            os.close(lock)


def _make(prefix: str) -> tuple[Path, int | None]:
    """A new folder and the descriptor that holds its lock; None where there are no locks."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix)).resolve()
        if not _OFFERED:
            return folder, None
        fd = _open_lock(folder, os.O_CREAT)
        if not locks.lock(fd):  # a file system without locks
            (folder / _LOCK).unlink()
            os.close(fd)
            return folder, None
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(fd), (folder / _LOCK).lstat()):
                return folder, fd
        os.close(fd)  # before it was locked, somebody else did so, and removed it


def _open_lock(folder: Path, flags: int = 0) -> int:
    return os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | flags, 0o600)


def _remove_leftovers(new: Path, prefix: str) -> None:
    """Remove the folders of this user's processes that were killed."""
    if not _OFFERED:
        return
    for folder in new.parent.glob(f"{prefix}*"):
        with contextlib.suppress(OSError):
            seen = folder.lstat()
            if folder == new or seen.st_uid != os.geteuid() or not stat.S_ISDIR(seen.st_mode):
                continue
            fd = _open_lock(folder)
            if locks.lock(fd, wait=False):
                _remove(folder)
            os.close(fd)


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


def remove_shared_memory(uid: int) -> None:
    """Removes the shared memory, semaphores and message queues that a submission's user has left.

    With a mount and an IPC namespace nothing can be left. It must be a user id that nobody else uses.

    Raises:
        ValueError: it is this process's own user, or root.
    """
    if uid in (0, os.geteuid()):
        raise ValueError(f"user {uid} may have things of its own")
    with contextlib.suppress(OSError):
        for entry in os.scandir("/dev/shm"):
            with contextlib.suppress(OSError):
                if entry.stat(follow_symlinks=False).st_uid == uid:
                    os.unlink(entry.path)
    libc = ctypes.CDLL(None)
    for table, column, remove, further in _SYSTEM_V:
        for number in _numbers_of(uid, Path("/proc/sysvipc", table), column):
            libc[remove](number, *further, _IPC_RMID, None)


def _numbers_of(uid: int, table: Path, column: str) -> list[int]:
    """The numbers of a user's objects in a table of the kernel; none if there is no such table."""
    with contextlib.suppress(OSError, ValueError):
        head, *rows = map(str.split, table.read_text(encoding="ascii").splitlines())
        return [int(row[head.index(column)]) for row in rows if row[head.index("uid")] == str(uid)]
    return []
