"""Submissions in folders, single files and archives on disk.

Never follows a symbolic link inside a submission, never opens anything but a regular file, never reads without a bound,
and never leaves something out without a note.
"""

from __future__ import annotations

import datetime
import itertools
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from grader.intake.archive import TWICE, UNPACKED_BYTES, Archive, BrokenArchive, Place, open_archive
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
    is_unsupported_archive,
    limit_of,
    read_file,
    time_of,
    too_large,
)
from grader.intake.submission import UNKNOWN, WORK, Arrival, Note, Submission
from grader.intake.topics import Topics
from grader.intake.unread import unread_topics

MAX_ARCHIVES_DEEP: Final = 3
"""How deep archives may lie in each other."""
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
        FolderReader(bag, self.topics).read(self.path)


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


class FolderReader:
    """Puts the files of one folder into a bag, within the bounds."""

    def __init__(self, bag: Bag, topics: Topics) -> None:
        self._bag = bag
        self._topics = topics
        self._entries = 0
        self._archives: list[tuple[Path, str]] = []

    def read(self, root: Path, prefix: str = "") -> None:
        """Reads all files below `root`; archives last, because a file counts before the same one in an archive."""
        self._folder(root, prefix, 0)
        for path, name in self._archives:
            add_archive(self._bag, name, path, self._topics)

    def _folder(self, folder: Path, prefix: str, depth: int) -> None:
        where = prefix or "./"
        if depth > MAX_DEPTH:
            self._bag.note(where, f"nested more than {MAX_DEPTH} folders deep: left out")
            return
        try:
            with os.scandir(folder) as scan:
                entries = list(itertools.islice(scan, MAX_ENTRIES - self._entries + 1))
        except OSError as problem:
            self._bag.note(where, f"cannot be listed ({problem.strerror}): left out")
            return
        self._entries += len(entries)
        for entry in sorted(entries, key=lambda entry: reading_order(entry.name, self._topics)):
            if self._bag.full:
                return
            self._entry(entry, prefix, depth)
        if self._entries > MAX_ENTRIES:
            self._bag.stop(f"more than {MAX_ENTRIES:,} files and folders")

    def _entry(self, entry: os.DirEntry[str], prefix: str, depth: int) -> None:
        if is_clutter(entry.name):
            return
        name = as_text(entry.name)
        path = prefix + name
        if entry.is_symlink():
            is_work = is_code(name) or self._topics.is_wanted(name)
            if is_work or is_archive(name) or Path(entry.path).is_dir():
                self._bag.note(path, LINK)
        elif entry.is_dir(follow_symlinks=False):
            if is_code(name):
                self._bag.note(path, "a folder, not a file")
            if not Path(entry.path, "pyvenv.cfg").exists():
                self._folder(Path(entry.path), path + "/", depth + 1)
        elif is_code(name) or self._topics.is_wanted(name):
            self._bag.add(path, read_file(Path(entry.path)), time_of(Path(entry.path)))
        elif is_archive(name):
            self._archives.append((Path(entry.path), path))
        elif is_unsupported_archive(name):
            self._bag.note(path, UNSUPPORTED_NOTE)
        else:
            self._bag.other(path, read_file(Path(entry.path)))


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
    nested = nested or _Nested()
    size = len(place) if isinstance(place, bytes) else _size(place)
    if size > limit_of(name):
        bag.note(name, too_large(name))
        return
    try:
        archive = open_archive(name, place)
        for path, reason in archive.problems:
            if not is_clutter(path):
                bag.note(f"{name}/{path}", reason, lost="" if reason == TWICE else WORK)
        inside = sorted(archive.paths, key=lambda path: reading_order(path, topics))
        if len(inside) > MAX_ENTRIES:
            bag.note(name, f"more than {MAX_ENTRIES:,} files inside: the rest was left out")
        wanted: dict[str, str] = {}
        others: dict[str, str] = {}
        archives: list[str] = []
        for path in inside[:MAX_ENTRIES]:
            if is_clutter(path):
                continue
            target = prefix + path
            if path.count("/") > MAX_DEPTH:
                bag.note(f"{name}/{path}", f"nested more than {MAX_DEPTH} folders deep: left out")
            elif is_archive(path):
                archives.append(path)
            elif is_unsupported_archive(path):
                bag.note(f"{name}/{path}", UNSUPPORTED_NOTE)
            elif (is_code(path) or topics.is_wanted(path)) and (target in bag.files or target in bag.work):
                if is_code(path):
                    wanted[path] = f"{name}/{path}"
                    bag.twice[wanted[path]] = (target, name)
                else:
                    bag.note(target, f"handed in twice; the file counts, not the one in {name}", lost="")
            elif is_code(path) or topics.is_wanted(path):
                wanted[path] = target
            else:
                others[path] = f"{name}/{path}"
        if not wanted and not archives and not bag.files and not bag.work:
            bag.note(name, "no Python file and no notebook inside")
        archive.fill(bag, wanted)
        archive.fill(OtherFiles(bag), dict(itertools.islice(others.items(), MAX_NOTES)))
        for path in archives:
            folder = prefix + path[: path.rfind("/") + 1]
            _add_inner(bag, f"{name}/{path}", folder, archive, path, topics, depth, nested)
    except BrokenArchive as problem:
        bag.note(name, str(problem))


def _add_inner(
    bag: Bag, name: str, prefix: str, archive: Archive, path: str, topics: Topics, depth: int, nested: _Nested
) -> None:
    """The same for an archive that lies in an archive."""
    if depth >= MAX_ARCHIVES_DEEP:
        bag.note(name, f"archives more than {MAX_ARCHIVES_DEEP} deep are not opened")
        return
    if nested.archives <= 0 or nested.left <= 0:
        bag.note(name, "too many archives inside archives: not opened")
        return
    taken = OneFile()
    archive.fill(taken, {path: path})
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
    return msgspec.structs.replace(arrival, submitted=when.isoformat(timespec="seconds"), by="file time")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
