"""Submissions in folders, single files and archives on disk.

Never follows a symbolic link inside a submission, never opens anything but a regular file, never reads without a bound,
and never leaves something out without a note.
"""

import datetime
import itertools
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from grader.intake.archive import TWICE, UNPACKED_BYTES, Archive, BrokenArchive, Place, Taker, open_archive, reopened
from grader.intake.assemble import assemble
from grader.intake.bag import (
    LINK,
    MAX_DEPTH,
    MAX_ENTRIES,
    MAX_NOTES,
    STUBS,
    UNSUPPORTED_NOTE,
    Bag,
    Content,
    as_text,
    is_archive,
    is_clutter,
    is_code,
    is_hidden_code,
    is_unsupported_archive,
    limit_of,
    read_file,
    time_of,
    too_large,
)
from grader.intake.submission import FILE_TIME, UNKNOWN, WORK, Arrival, Note, Submission
from grader.intake.topics import Topics
from grader.intake.unread import unread_topics

MAX_ARCHIVES_DEEP: Final = 3
"""How deep archives may lie in each other."""
_MAX_PATHS: Final = 500_000
_PARTS_OF_VENV: Final = frozenset({"bin", "scripts", "lib", "lib64", "include", "share", "etc"})
MAX_NESTED: Final = 40
"""Archives inside the archives of one submission that are opened at most."""


@dataclass(frozen=True)
class PathSource:
    """A submission at a path; ``link``: a symbolic link in a class folder."""

    name: str
    path: Path
    topics: Topics
    link: bool = False
    arrival: Arrival = UNKNOWN

    def read(self) -> Submission:
        """The files at the path, read now."""
        if self.link:
            note = Note(as_text(self.path.name), LINK, lost=WORK)
            return Submission(self.name, {}, (note,), self.arrival, unread_topics({}, [note], self.topics))
        bag = Bag()
        self._fill(bag)
        return assemble(self.name, bag, self.topics, with_file_time(self.arrival, bag))

    def _fill(self, bag: Bag) -> None:
        raise NotImplementedError

    @property
    def longer_name(self) -> str:
        """The name to use when another submission has the same short one."""
        return f"{as_text(self.path.absolute().parent.name)}/{as_text(self.path.name)}"


class FolderSource(PathSource):
    """A folder with topic modules or notebooks at its root or under ``exercises/``, or with an archive of them."""

    def _fill(self, bag: Bag) -> None:
        folder = Folder(self.path, MAX_ENTRIES)
        for path, reason in sorted(folder.problems, key=lambda one: reading_order(one[0], self.topics)):
            bag.note(path, reason)
        add_files(bag, folder, {path: path for path in folder.paths}, self.topics)


class FileSource(PathSource):
    """A single ``.py`` file or notebook."""

    def _fill(self, bag: Bag) -> None:
        bag.add(as_text(self.path.name), read_file(self.path), time_of(self.path))

    def topic_of(self, submission: Submission) -> str | None:
        """The topic whose file this is; None if it is none or several.

        Args:
            submission: as it was read from here.
        """
        found = [name.removesuffix(".py") for name in submission.files]
        return found[0] if len(found) == 1 and found[0] in self.topics.names else None


class ArchiveSource(PathSource):
    """An archive that holds one submission."""

    def _fill(self, bag: Bag) -> None:
        add_archive(bag, as_text(self.path.name), self.path, self.topics)


class UnsupportedSource(PathSource):
    """A file of a kind that is not read; it gets a result that says so."""

    def _fill(self, bag: Bag) -> None:
        bag.note(as_text(self.path.name), UNSUPPORTED_NOTE)


class Folder:
    """A folder on disk, with the interface of an archive.

    Args:
        most: files that are listed at most.
    """

    def __init__(self, root: Path, most: int = _MAX_PATHS) -> None:
        self._root = root
        self._most = most
        self.paths: dict[str, float | None] = {}
        self.problems: list[tuple[str, str]] = []
        self._files: dict[str, Path] = {}
        for at, folders, files in os.walk(root, onerror=self._not_listed):
            here = Path(at)
            if "pyvenv.cfg" in files and here != root:
                folders[:] = [name for name in folders if name.lower() not in _PARTS_OF_VENV]
            is_below_clutter = is_clutter(self._name(here))
            folders[:] = [] if is_below_clutter else sorted(folders)
            if folders and len(here.relative_to(root).parts) > MAX_DEPTH:
                self._problem(here, f"nested more than {MAX_DEPTH} folders deep: left out", "/")
                folders.clear()
            for name in (*folders, *sorted(files)):
                file = here / name
                if is_clutter(self._name(file)) and (name in folders or not is_hidden_code(self._name(file))):
                    continue
                if file.is_symlink():
                    self._problem(file, LINK)
                elif name not in folders:
                    path = self._name(file)
                    self._files[path], self.paths[path] = file, None
                elif is_code(name):
                    self._problem(file, "a folder, not a file")
            if len(self.paths) > most:
                self.problems.append(("./", f"more than {most:,} files: the rest was left out"))
                return

    def __reduce__(self) -> tuple[Any, ...]:
        return reopened, (Folder, self._root)

    def fill(self, bag: Taker, wanted: dict[str, str]) -> None:
        """Puts files into the bag; `wanted` maps paths in the folder to paths in the bag."""
        for path, target in wanted.items():
            bag.add(target, read_file(self._files[path]), time_of(self._files[path]))

    def location(self, path: str) -> Path:
        """The place of a file on disk."""
        return self._files[path]

    def _name(self, file: Path) -> str:
        return as_text(file.relative_to(self._root).as_posix())

    def _problem(self, file: Path, reason: str, end: str = "") -> None:
        self.problems.append((self._name(file) + end, reason))

    def _not_listed(self, problem: OSError) -> None:
        self._problem(Path(problem.filename), f"cannot be listed ({problem.strerror}): left out", "/")


@dataclass
class _Nested:
    """How many archives inside archives may still be opened, and how much may be unpacked for that."""

    archives: int = MAX_NESTED
    left: int = UNPACKED_BYTES


class OtherFiles:
    """Takes files that are no code and no archive."""

    def __init__(self, bag: Bag) -> None:
        self._bag = bag

    def add(self, path: str, read: Callable[[int], Content], time: float | None = None) -> None:
        self._bag.other(path, read)


class OneFile:
    """Takes one file, within the bound of its kind or another one (bytes)."""

    def __init__(self, most: int = 0) -> None:
        self._most = most
        self.content: Content = "not there any more: left out"

    def add(self, path: str, read: Callable[[int], Content], time: float | None = None) -> None:
        self.content = read(self._most or limit_of(path) + 1)


def add_archive(
    bag: Bag, name: str, place: Place, topics: Topics, prefix: str = "", depth: int = 1, nested: _Nested | None = None
) -> None:
    """Puts the Python files and notebooks of an archive into the bag, with a note on each file that is left out.

    Args:
        prefix: the folder of the submission that its files are in.
        depth: the archives that are open, this one too.
        nested: the bounds for archives inside this one.
    """
    size = len(place) if isinstance(place, bytes) else _size(place)
    if size > limit_of(name):
        bag.note(name, too_large(name))
        return
    try:
        archive = open_archive(name, place)
        for path, reason in archive.problems:
            if not is_clutter(path):
                bag.note(f"{name}/{path}", reason, lost="" if reason == TWICE else WORK)
        paths = {path: path for path in archive.paths}
        if not add_files(bag, archive, paths, topics, name, prefix, depth, nested or _Nested()) and not bag.has_work:
            bag.note(name, "no Python file and no notebook inside")
    except BrokenArchive as problem:
        bag.note(name, str(problem))


def add_files(
    bag: Bag,
    archive: Archive,
    names: Mapping[str, str],
    topics: Topics,
    outer: str = "",
    prefix: str = "",
    depth: int = 0,
    nested: _Nested | None = None,
) -> bool:
    """Puts files of an archive, a folder or a download into the bag; whether there is code or an archive among them.

    Args:
        names: the name in the submission of each file that is asked for, by its path.
        outer: the archive's own name; empty if it is none.
    """
    start = f"{outer}/" if outer else ""
    in_order = sorted(names.items(), key=lambda item: reading_order(item[1], topics))
    if len(in_order) > MAX_ENTRIES:
        bag.note(outer or "./", f"more than {MAX_ENTRIES:,} files inside: the rest was left out")
    wanted: dict[str, str] = {}
    others: dict[str, str] = {}
    archives: dict[str, str] = {}
    for path, name in in_order[:MAX_ENTRIES]:
        target = prefix + name
        is_work = is_code(name) or topics.is_wanted(name)
        if is_clutter(name):
            if is_hidden_code(name):
                others[path] = start + name
        elif name.count("/") > MAX_DEPTH:
            bag.note(start + name, f"nested more than {MAX_DEPTH} folders deep: left out")
        elif is_work and (target in bag.files or target in bag.work):
            if is_code(name):
                wanted[path] = start + name
                bag.twice[start + name] = (target, outer)
            else:
                bag.note(target, f"handed in twice; the file counts, not the one in {outer}", lost="")
        elif is_work:
            wanted[path] = target
        elif is_archive(name):
            archives[path] = name
        elif is_unsupported_archive(name):
            bag.note(start + name, UNSUPPORTED_NOTE)
        else:
            others[path] = start + name
    archive.fill(bag, wanted)
    archive.fill(OtherFiles(bag), dict(itertools.islice(others.items(), MAX_NOTES)))
    for path, name in archives.items():
        folder = prefix + name[: name.rfind("/") + 1] if outer else ""
        if isinstance(archive, Folder):
            add_archive(bag, name, archive.location(path), topics)
        else:
            _add_inner(bag, start + name, folder, archive, path, topics, depth, nested or _Nested(MAX_NESTED + 1))
    return bool(wanted or archives)


def _add_inner(
    bag: Bag, name: str, prefix: str, archive: Archive, path: str, topics: Topics, depth: int, nested: _Nested
) -> None:
    """The same for an archive that lies in an archive or a folder."""
    if depth >= MAX_ARCHIVES_DEEP:
        bag.note(name, f"archives more than {MAX_ARCHIVES_DEEP} deep are not opened")
        return
    if nested.archives <= 0 or nested.left <= 0:
        bag.note(name, "too many archives inside archives: not opened")
        return
    taken = OneFile()
    archive.fill(taken, {path: name})
    nested.archives -= 1
    if isinstance(taken.content, str):
        bag.note(name, taken.content)
        return
    nested.left -= len(taken.content)
    add_archive(bag, name, taken.content, topics, prefix, depth + 1, nested)


def reading_order(path: str, topics: Topics) -> tuple[bool, bool, str]:
    """A sorting key: topic files come first, so that no bound on the number of files leaves them out."""
    file = path.rpartition("/")[2]
    stem = file.rpartition(".")[0]
    is_first = (is_code(file) and stem in topics.names) or topics.is_wanted(file)
    return not is_first, path.partition("/")[0] != STUBS, path


def with_file_time(arrival: Arrival, bag: Bag) -> Arrival:
    """The arrival, with the time of the newest file if nothing else says when the work was handed in."""
    if arrival.submitted or bag.newest is None or arrival.lms == "canvas":
        return arrival  # Canvas packs the files itself: their times are those of the download.
    try:
        when = datetime.datetime.fromtimestamp(bag.newest).astimezone()
    except (ValueError, OverflowError, OSError):
        return arrival
    return msgspec.structs.replace(arrival, submitted=when.isoformat(timespec="seconds"), by=FILE_TIME)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
