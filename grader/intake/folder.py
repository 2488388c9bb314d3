"""Submissions in folders, single files and archives on disk.

Never follows a symbolic link inside a submission, never opens anything but a regular file, never reads without a bound,
and never leaves something out without a note.
"""

from __future__ import annotations

import datetime
import itertools
import os
from dataclasses import dataclass
from pathlib import Path

import msgspec

from grader.intake.archive import BrokenArchive, Place, open_archive
from grader.intake.assemble import assemble
from grader.intake.bag import (
    LINK,
    MAX_DEPTH,
    MAX_ENTRIES,
    STUBS,
    UNSUPPORTED_NOTE,
    Bag,
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
from grader.intake.submission import UNKNOWN, Arrival, Note, Submission
from grader.intake.topics import Topics


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
            return Submission(self.name, {}, (Note(as_text(self.path.name), LINK),), self.arrival)
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

    @property
    def topic(self) -> str | None:
        """The topic whose file this is; None if it is none or several."""
        found = [name.removesuffix(".py") for name in self.read().files]
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
            if is_code(name) or is_archive(name) or Path(entry.path).is_dir():
                self._bag.note(path, LINK)
        elif entry.is_dir(follow_symlinks=False):
            if is_code(name):
                self._bag.note(path, "a folder, not a file")
            if not Path(entry.path, "pyvenv.cfg").exists():
                self._folder(Path(entry.path), path + "/", depth + 1)
        elif is_code(name):
            self._bag.add(path, read_file(Path(entry.path)), time_of(Path(entry.path)))
        elif is_archive(name):
            self._archives.append((Path(entry.path), path))
        elif is_unsupported_archive(name):
            self._bag.note(path, UNSUPPORTED_NOTE)


def add_archive(bag: Bag, name: str, place: Place, topics: Topics) -> None:
    """Puts the Python files and notebooks of an archive into the bag, and notes what is left out and why."""
    size = len(place) if isinstance(place, bytes) else _size(place)
    if size > limit_of(name):
        bag.note(name, too_large(name))
        return
    try:
        archive = open_archive(name, place)
        for path, reason in archive.problems:
            if not is_clutter(path):
                bag.note(f"{name}/{path}", reason)
        inside = sorted(archive.paths, key=lambda path: reading_order(path, topics))
        if len(inside) > MAX_ENTRIES:
            bag.note(name, f"more than {MAX_ENTRIES:,} files inside: the rest was left out")
        wanted: dict[str, str] = {}
        for path in inside[:MAX_ENTRIES]:
            if is_clutter(path):
                continue
            if path.count("/") > MAX_DEPTH:
                bag.note(f"{name}/{path}", f"nested more than {MAX_DEPTH} folders deep: left out")
            elif is_archive(path) or is_unsupported_archive(path):
                bag.note(f"{name}/{path}", "an archive inside an archive is not opened")
            elif is_code(path) and path in bag.files:
                bag.note(path, f"handed in twice; the file counts, not the one in {name}")
            elif is_code(path):
                wanted[path] = path
        if not wanted and not bag.files:
            bag.note(name, "no Python file and no notebook inside")
        archive.fill(bag, wanted)
    except BrokenArchive as problem:
        bag.note(name, str(problem))


def reading_order(path: str, topics: Topics) -> tuple[bool, bool, str]:
    """A sorting key: topic files come first, so that no bound on the number of files leaves them out."""
    file = path.rpartition("/")[2]
    stem = file.rpartition(".")[0]
    return not (is_code(file) and stem in topics.names), path.partition("/")[0] != STUBS, path


def with_file_time(arrival: Arrival, bag: Bag) -> Arrival:
    """The arrival with the time of the newest file, where nothing else says when it was handed in."""
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
