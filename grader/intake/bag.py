"""The files found of one submission, within bounds, and a note for each that was left out.

Never takes more than the bounds, never follows a symbolic link, never opens anything but a regular file.
"""

import os
import stat
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from grader.intake.submission import WORK, Note

FILE_BYTES = 1024 * 1024
TEXT_BYTES = FILE_BYTES // 4
NOTEBOOK_BYTES = 8 * FILE_BYTES
WORK_BYTES = 8 * FILE_BYTES
ARCHIVE_BYTES = 64 * FILE_BYTES
TOTAL_BYTES = 16 * FILE_BYTES
MAX_FILES = 2_000
MAX_ENTRIES = 20_000
MAX_DEPTH = 12
MAX_NOTES = 50
STUBS = "exercises"
NOT_WORK = frozenset({"__pycache__", "__MACOSX", "node_modules", "site-packages"})
COURSE_FOLDERS = frozenset({"solutions", "checks"})
"""Folders that a course has, and some students: what is in them is work only if it is not the course's own."""
CODE = (".py", ".ipynb")
ARCHIVES = (".zip", ".tar.gz", ".tgz", ".tar")
UNSUPPORTED_ARCHIVES = (".rar", ".7z", ".gz", ".bz2", ".xz", ".zst")
UNSUPPORTED_NOTE = f"not a kind of archive that is read ({', '.join(ARCHIVES)}): left out"
LINK = "a symbolic link is not followed"

Content = bytes | str
"""The bytes of a file, or the reason why there are none."""


class Bag:
    """Files and notes of one submission.

    Attributes:
        files: modules and notebooks, by path.
        work: other files that a person marks, by path.
        twice: files of archives that are there without the archive, too: their path without it, and the archive.
        newest: the latest time of a file in it, in seconds since 1970.
        others: the first files that are no code and no archive, such as a PDF, or hidden code, with their text; a null
            byte for one that is no text, or a long one.
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.work: dict[str, bytes] = {}
        self.notes: list[Note] = []
        self.twice: dict[str, tuple[str, str]] = {}
        self.newest: float | None = None
        self.others: dict[str, bytes] = {}
        self.full = False
        self._bytes = 0
        self._dropped = 0

    def add(self, path: str, read: Callable[[int], Content], time: float | None = None) -> None:
        """Takes a file if there is room; `read` gives at most as many bytes as it is asked for, or a reason."""
        if self.full:
            return
        limit = limit_of(path)
        content = read(limit + 1)
        if isinstance(content, str):
            self.note(path, content)
        elif len(content) > limit:
            self.note(path, too_large(path))
        elif len(self.files) + len(self.work) >= MAX_FILES:
            self.stop(f"more than {MAX_FILES:,} Python files")
        elif self._bytes + len(content) > TOTAL_BYTES:
            self.stop(f"more than {TOTAL_BYTES >> 20} MiB of Python files")
        else:
            self._bytes += len(content)
            (self.files if is_code(path) else self.work)[path] = content
            if time is not None:
                self.newest = max(time, self.newest or time)

    def note(self, path: str, reason: str, lost: str = WORK) -> None:
        """Notes why something was left out; beyond a bound such notes are only counted.

        Args:
            lost: whether work may be lost with it; see `Note`.
        """
        if len(self.notes) < MAX_NOTES:
            self.notes.append(Note(path, reason, lost=lost))
        else:
            self._dropped += 1

    def other(self, path: str, read: Callable[[int], Content]) -> None:
        """Remembers a file that is neither code that counts nor an archive: an answer may be in it."""
        if len(self.others) < MAX_NOTES:
            most = limit_of(path) if is_code(path) else TEXT_BYTES
            content = read(most + 1)
            is_text = isinstance(content, bytes) and len(content) <= most and b"\0" not in content
            self.others[path] = content if isinstance(content, bytes) and is_text else b"\0"

    def stop(self, reason: str) -> None:
        """Takes no more files from now on, and notes why."""
        if not self.full:
            self.full = True
            self.notes.append(Note("./", f"{reason}: the rest was left out", lost=WORK))

    @property
    def has_work(self) -> bool:
        """Whether any file was taken."""
        return bool(self.files or self.work)

    def all_notes(self) -> list[Note]:
        """The notes, and at the end the number of those beyond the bound."""
        more = [Note("./", f"{self._dropped:,} more notes like these")] if self._dropped else []
        return [*self.notes, *more]


def limit_of(path: str) -> int:
    """How many bytes a file of that name may have."""
    if path.lower().endswith(".py"):
        return FILE_BYTES
    return NOTEBOOK_BYTES if is_code(path) else ARCHIVE_BYTES if is_archive(path) else WORK_BYTES


def too_large(path: str) -> str:
    """The reason why a file above its limit is left out."""
    fix = "; clear its outputs" if path.lower().endswith(".ipynb") else ""
    return f"larger than {limit_of(path) >> 20} MiB: not read{fix}"


def is_code(path: str) -> bool:
    """Whether that is a Python file or a notebook, by its name."""
    return path.lower().endswith(CODE)


def is_archive(path: str) -> bool:
    """Whether that is an archive which is read, by its name."""
    return path.lower().endswith(ARCHIVES)


def is_unsupported_archive(path: str) -> bool:
    """Whether that is an archive of a kind that is not read, by its name."""
    return path.lower().endswith(UNSUPPORTED_ARCHIVES) and not is_archive(path)


def is_clutter(path: str) -> bool:
    """Whether a path is not the student's work: hidden, caches, packages."""
    return any((part.startswith(".") and part != "..") or part in NOT_WORK for part in PurePosixPath(path).parts)


def is_hidden_code(path: str) -> bool:
    """Whether that is code of a hidden name or right inside a folder of clutter, such as a notebook's automatic copy.

    It never counts, but an answer may be in it. The files that macOS puts beside others are none.
    """
    folder = PurePosixPath(path).parent
    is_listed = is_code(path) and not PurePosixPath(path).name.startswith("._")
    return is_listed and is_clutter(path) and not is_clutter(str(folder.parent))


def read_file(file: Path) -> Callable[[int], Content]:
    """A reader of one regular file."""

    def read(size: int) -> Content:
        try:
            # Not blocking: opening a named pipe must not wait for a writer.
            flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
            with os.fdopen(os.open(file, flags | getattr(os, "O_NOFOLLOW", 0)), "rb") as stream:
                if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                    return "not a regular file: left out"
                return stream.read(size)
        except OSError as problem:
            return LINK if file.is_symlink() else f"cannot be read ({problem.strerror}): left out"

    return read


def time_of(file: Path) -> float | None:
    """When the file was last written to."""
    try:
        return file.lstat().st_mtime
    except OSError:
        return None


def as_text(name: str) -> str:
    """A file name as text that every format can hold: bytes that are not UTF-8 become replacement characters."""
    return os.fsencode(name).decode("utf-8", "replace")
