"""What a file's name says: code, an archive, clutter, and how many bytes are read of it. Opens no file."""

import os
import re
from collections.abc import Iterable
from pathlib import PurePosixPath

FILE_BYTES = 1024 * 1024
NOTEBOOK_BYTES = 8 * FILE_BYTES
WITH_OUTPUTS_BYTES = 64 * FILE_BYTES
"""A notebook with its outputs, which are skipped; without them it may have `NOTEBOOK_BYTES`."""
WORK_BYTES = 8 * FILE_BYTES
ARCHIVE_BYTES = 64 * FILE_BYTES
MAX_DEPTH = 12
STUBS = "exercises"
NOT_WORK = frozenset({"__pycache__", "__MACOSX", "node_modules", "site-packages"})
COURSE_FOLDERS = frozenset({"solutions", "checks"})
"""Folders that a course has, and some students: what is in them is work only if it is not the course's own."""
CODE = (".py", ".ipynb")
SAVED_AS = (".py.txt", ".ipynb.txt", ".ipynb.json")
"""Ends of names that browsers and mail programs give to code."""
_COPY = r"(?:[ _]?\(\d{1,3}\)|-\d{1,3})?"
_SAVED_AS = re.compile(rf"(\.py|\.ipynb){_COPY}\.te?xt$|(\.ipynb){_COPY}\.json$", re.IGNORECASE)
ARCHIVES = (".zip", ".tar.gz", ".tgz", ".tar")
UNSUPPORTED_ARCHIVES = (".rar", ".7z", ".gz", ".bz2", ".xz", ".zst")
_COPY_OF_TAR = re.compile(r"\.tar(?:-\d{1,3}| ?\(\d{1,3}\))\.gz$", re.IGNORECASE)
"""The number that an LMS or a browser puts before the last ending of a second `x.tar.gz`."""
UNSUPPORTED_NOTE = f"not a kind of archive that is read ({', '.join(ARCHIVES)}): left out"


def limit_of(path: str) -> int:
    """How many bytes a file of that name may have."""
    if is_code(path):
        return WITH_OUTPUTS_BYTES if is_notebook(path) else FILE_BYTES
    return ARCHIVE_BYTES if is_archive(path) else WORK_BYTES


def is_code(path: str) -> bool:
    """Whether that is a Python file or a notebook, also one that was saved as text."""
    return code_name(path).lower().endswith(CODE)


def is_notebook(path: str) -> bool:
    """Whether that is a notebook."""
    return code_name(path).lower().endswith(".ipynb")


def code_name(path: str) -> str:
    """The name that code had before a browser or a mail program saved it as ``vectors.py.txt``; else the same."""
    return _SAVED_AS.sub(r"\1\2", path)


def is_archive(path: str) -> bool:
    """Whether that is an archive which is read."""
    return path.lower().endswith(ARCHIVES) or _COPY_OF_TAR.search(path) is not None


def is_work(path: str) -> bool:
    """Whether that is code or an archive, also one that is not read."""
    return is_code(path) or path.lower().endswith((*ARCHIVES, *UNSUPPORTED_ARCHIVES))


def without_ending(name: str) -> str:
    """The name of a file, without what says its kind."""
    copied = _COPY_OF_TAR.search(name)
    stem = name[: copied.start()] if copied else PurePosixPath(code_name(name)).stem
    return stem[:-4] if stem.lower().endswith(".tar") else stem


def has_no_ending(path: str) -> bool:
    """Whether the name of a file says nothing about its kind."""
    return "." not in path.rpartition("/")[2]


def is_clutter(path: str) -> bool:
    """Whether a path is not the student's work: hidden, caches, packages."""
    return any((part.startswith(".") and part != "..") or part in NOT_WORK for part in PurePosixPath(path).parts)


def is_hidden_code(path: str) -> bool:
    """Whether that is code of a hidden name or right inside a folder of clutter, such as a notebook's automatic copy.

    It never counts, but an answer may be in it. The files that macOS puts beside others are none; those that it leaves
    for a file which is only in its cloud are.
    """
    folder = PurePosixPath(path).parent
    is_listed = is_code(path.removesuffix(".icloud")) and not PurePosixPath(path).name.startswith("._")
    return is_listed and is_clutter(path) and not is_clutter(str(folder.parent))


def one_folder(paths: Iterable[str]) -> str:
    """The folder at the top that all files are in, with its slash; empty if there is none."""
    tops = {path[: path.find("/") + 1] for path in paths}
    return tops.pop() if len(tops) == 1 else ""


def as_text(name: str) -> str:
    """A file name as text that every format can hold: bytes that are not UTF-8 become replacement characters."""
    return os.fsencode(name).decode("utf-8", "replace")
