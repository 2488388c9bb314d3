"""Reads submissions from folders and ``.py`` files.

Never follows a symbolic link inside a submission, never opens anything but a regular file, never reads without a bound,
and never leaves something out without a note.
"""

from __future__ import annotations

import itertools
import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from grader.errors import UserError
from grader.intake.submission import Source, Submission

FILE_BYTES = 1024 * 1024
TOTAL_BYTES = 16 * FILE_BYTES
MAX_FILES = 2_000
MAX_ENTRIES = 20_000
MAX_DEPTH = 12
STUBS = "exercises"
_NOT_WORK = frozenset({"__pycache__", STUBS, "solutions", "checks", "node_modules", "site-packages"})


@dataclass(frozen=True)
class FolderSource:
    """A folder with topic modules at its root or under ``exercises/``; ``link``: a symbolic link in a class folder."""

    name: str
    path: Path
    topics: frozenset[str]
    link: bool = False

    def read(self) -> Submission:
        """The Python files of the folder."""
        if self.link:
            return Submission(self.name, {}, (f"{_text(self.path.name)}: a symbolic link is not followed",))
        reader = _Reader(self.topics)
        reader.read(self.path)
        return Submission(self.name, dict(sorted(reader.files.items())), tuple(reader.notes))


@dataclass(frozen=True)
class FileSource:
    """A single ``.py`` file: a submission of one topic."""

    name: str
    path: Path
    topics: frozenset[str]
    link: bool = False

    def read(self) -> Submission:
        """The file, under its topic's name where its own name tells the topic."""
        file_name = _text(self.path.name)
        if self.link:
            return Submission(self.name, {}, (f"{file_name}: a symbolic link is not followed",))
        target, notes = file_name, []
        if self.topic is None:
            example = min(self.topics, default="topic")
            notes.append(f"{file_name}: its name does not say which topic it is; call it {example}.py, for example")
        else:
            target = f"{self.topic}.py"
        content = _content(self.path)
        if isinstance(content, str):
            return Submission(self.name, {}, (*notes, f"{target}: {content}"))
        return Submission(self.name, {target: content}, tuple(notes))

    @property
    def topic(self) -> str | None:
        """The topic that the file's name means, if it means one."""
        stem = self.path.stem
        if stem in self.topics:
            return stem
        if len(self.topics) == 1:
            return next(iter(self.topics))
        inside = [topic for topic in self.topics if topic in stem]
        return max(inside, key=len) if inside else None


class _Reader:
    """Collects the Python files of one folder within the bounds."""

    def __init__(self, topics: frozenset[str]) -> None:
        self.topics = topics
        self.files: dict[str, bytes] = {}
        self.notes: list[str] = []
        self._bytes = 0
        self._entries = 0
        self._full = False

    def read(self, root: Path) -> None:
        below = root / STUBS
        at_root = _has_topic(root, self.topics)
        if at_root or not _has_topic(below, self.topics):
            self._folder(root, "", 0)
        if below.is_symlink():
            self.notes.append(f"{STUBS}: a symbolic link is not followed")
        elif below.is_dir():
            self._folder(below, "", 0)

    def _folder(self, folder: Path, prefix: str, depth: int) -> None:
        where = prefix or "./"
        if depth > MAX_DEPTH:
            self.notes.append(f"{where}: nested more than {MAX_DEPTH} folders deep: left out")
            return
        try:
            with os.scandir(folder) as scan:
                entries = list(itertools.islice(scan, MAX_ENTRIES - self._entries + 1))
        except OSError as problem:
            self.notes.append(f"{where}: cannot be listed ({problem.strerror}): left out")
            return
        self._entries += len(entries)
        # Topic modules first: what counts must not lose its place to a thousand helpers.
        entries.sort(key=lambda entry: (not _is_topic(entry.name, self.topics), entry.name))
        for entry in entries:
            if self._full:
                return
            self._entry(entry, prefix, depth)
        if self._entries > MAX_ENTRIES:
            self._stop(f"more than {MAX_ENTRIES:,} files and folders")

    def _entry(self, entry: os.DirEntry[str], prefix: str, depth: int) -> None:
        if entry.name.startswith(".") or entry.name in _NOT_WORK:
            return
        path = prefix + _text(entry.name)
        python = entry.name.endswith(".py")
        if entry.is_symlink():
            if python or Path(entry.path).is_dir():
                self.notes.append(f"{path}: a symbolic link is not followed")
        elif entry.is_dir(follow_symlinks=False):
            if python:
                self.notes.append(f"{path}: a folder, not a file")
            if not Path(entry.path, "pyvenv.cfg").exists():
                self._folder(Path(entry.path), path + "/", depth + 1)
        elif python:
            self._file(Path(entry.path), path)

    def _file(self, file: Path, path: str) -> None:
        if path in self.files:
            self.notes.append(f"{path}: handed in twice; the one at the top counts, not {STUBS}/{path}")
            return
        content = _content(file)
        if isinstance(content, str):
            self.notes.append(f"{path}: {content}")
        elif len(self.files) >= MAX_FILES:
            self._stop(f"more than {MAX_FILES:,} Python files")
        elif self._bytes + len(content) > TOTAL_BYTES:
            self._stop(f"more than {TOTAL_BYTES >> 20} MiB of Python files")
        else:
            self._bytes += len(content)
            self.files[path] = content

    def _stop(self, reason: str) -> None:
        self._full = True
        self.notes.append(f"./: {reason}: the rest was left out")


def find_submissions(paths: Iterable[Path], topics: Iterable[str], skip: Path | None = None) -> list[Source]:
    """The submissions at the paths: each is a submission, or a folder of them; sorted, with unique names, not read yet.

    `skip` is the one folder inside them that is none: where the results go.

    Raises:
        UserError: a path is not there, or holds no submission.
    """
    names = frozenset(topics)
    left_out = None if skip is None else skip.resolve()
    found = [source for path in paths for source in _sources(path, names, left_out)]
    return sorted(_unique(found), key=lambda source: source.name)


def open_submission(path: Path, topics: Iterable[str]) -> FolderSource | FileSource:
    """The one submission at a path.

    Raises:
        UserError: there is none, or the path is a folder of submissions.
    """
    names = frozenset(topics)
    _require(path)
    if path.is_file() or _is_submission(path, names):
        return _source(path, names)
    modules = ", ".join(f"{topic}.py" for topic in sorted(names)[:3])
    raise UserError(
        f"no topic module ({modules}, …) in {path} or its {STUBS} folder",
        fix="go to the folder with your work, name it with --submission DIR, or make one with: grader init DIR",
    )


def _sources(path: Path, topics: frozenset[str], skip: Path | None) -> Iterator[FolderSource | FileSource]:
    _require(path)
    if path.is_file() or _is_submission(path, topics):
        yield _source(path, topics)
        return
    empty = True
    for child in sorted(path.iterdir()):
        if child.name.startswith(".") or child.name in _NOT_WORK or child.resolve() == skip:
            continue
        if child.is_dir() or child.suffix == ".py":
            empty = False
            yield replace(_source(child, topics), link=child.is_symlink())
    if empty:
        raise UserError(
            f"no submission in {path}", fix="give a folder with topic modules, a folder of such folders, or a .py file"
        )


def _require(path: Path) -> None:
    try:
        if path.is_dir() or (path.is_file() and path.suffix == ".py"):
            return
        reason = "is neither a folder nor a .py file" if path.exists() else "is not there"
    except OSError as problem:
        reason = f"cannot be read ({problem.strerror})"
    raise UserError(f"{path} {reason}", fix="give a folder with topic modules, a folder of such folders, or a .py file")


def _source(path: Path, topics: frozenset[str]) -> FolderSource | FileSource:
    whole = path if path.name not in ("", "..") else path.resolve()
    if path.is_dir():
        return FolderSource(_text(whole.name) or "submission", _wrapped(path, topics), topics)
    return FileSource(_text(path.stem), path, topics)


def _wrapped(folder: Path, topics: frozenset[str]) -> Path:
    """The folder, or the only folder inside it where that holds the work (as unpacking an archive makes them)."""
    if folder.is_symlink() or _is_submission(folder, topics):
        return folder
    try:
        inside = [child for child in itertools.islice(folder.iterdir(), 100) if not child.name.startswith((".", "__"))]
    except OSError:
        return folder
    if len(inside) == 1 and not inside[0].is_symlink() and _is_submission(inside[0], topics):
        return inside[0]
    return folder


def _is_submission(folder: Path, topics: frozenset[str]) -> bool:
    return _has_topic(folder, topics) or _has_topic(folder / STUBS, topics)


def _has_topic(folder: Path, topics: frozenset[str]) -> bool:
    return any(os.path.lexists(folder / f"{topic}.py") for topic in topics)


def _is_topic(name: str, topics: frozenset[str]) -> bool:
    return name.endswith(".py") and name[:-3] in topics


def _unique(found: Sequence[FolderSource | FileSource]) -> Iterator[Source]:
    """Tells equal names apart by the parent folder, then by a number."""
    count = Counter(source.name for source in found)
    taken = {name for name, times in count.items() if times == 1}
    for source in found:
        if count[source.name] > 1:
            parent = _text(source.path.absolute().parent.name)
            full = f"{parent}/{_text(source.path.name)}"
            names = itertools.chain([full], (f"{full} ({number})" for number in itertools.count(2)))
            source = replace(source, name=next(name for name in names if name not in taken))
            taken.add(source.name)
        yield source


def _content(file: Path) -> bytes | str:
    """The bytes of a regular file within the bound, or why there are none."""
    try:
        # Not blocking: opening a named pipe must not wait for a writer.
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(descriptor, "rb") as stream:
            facts = os.fstat(stream.fileno())
            if not stat.S_ISREG(facts.st_mode):
                return "not a regular file: left out"
            content = stream.read(FILE_BYTES + 1)
    except OSError as problem:
        return f"cannot be read ({problem.strerror}): left out"
    if len(content) > FILE_BYTES:
        return f"larger than {FILE_BYTES >> 20} MiB: not read"
    return content


def _text(name: str) -> str:
    """A file name as text that every format can hold: bytes that are not UTF-8 become replacement characters."""
    return os.fsencode(name).decode("utf-8", "replace")
