"""Zip and tar archives and folders: their files, read one by one within bounds, without unpacking anything.

Never writes a file, never trusts a size, a name or a count in an archive, opens no archive inside an archive. In
folders, never follows a symbolic link and never opens anything but a regular file.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import io
import os
import re
import stat
import struct
import tarfile
import tempfile
import time
import weakref
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

from grader.intake.kinds import MAX_DEPTH, as_text, is_clutter, is_code, is_hidden_code

Location = Path | bytes
"""A file or a folder on disk, or the bytes of an archive that lay inside another one."""
Content = bytes | str
"""The bytes of a file, or the reason why there are none."""
ReadFile = Callable[[int], Content]
"""Reads at most so many bytes of a file."""

TABLE_BYTES = 8 << 20
UNPACKED_BYTES = 256 << 20
LINK = "a symbolic link is not followed"
_MAX_PATHS = 500_000
_PARTS_OF_VENV = frozenset({"bin", "scripts", "lib", "lib64", "include", "share", "etc"})
_MEMBERS = 200_000
_PATH_CHARACTERS = 1_000
# Of one header of a tar, such as one for a long name. Some Pythons take seconds for a longer one.
_HEADER_BYTES = 16 << 10
TWICE = "more than once in the archive: the last one counts"
_EXTENDED = (
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
)
_IN_MEMORY = 4 << 20
_PIECE_BYTES = 1 << 20
_ROOT = re.compile(r"^(?:[A-Za-z]:)?[/\\]+|^[A-Za-z]:")
_DAMAGED = (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, OSError, ValueError, RuntimeError)


class BrokenArchive(Exception):
    """The archive cannot be opened at all; its text is the reason. Remedy: pack it again as a plain zip."""


class Archive:
    """Files that are read without unpacking them.

    Attributes:
        files: the reader of each file and its time, if that is known, by its safe path.
        problems: paths that are left out, and why.
    """

    def __init__(self, location: Location) -> None:
        self.location = location
        self.files: dict[str, tuple[ReadFile, float | None]] = {}
        self.problems: list[tuple[str, str]] = []
        self._found: list[tuple[str, ReadFile, float | None, str | None]] = []

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (type(self), self.location)

    def content(self, path: str, most: int) -> bytes:
        """At most so many bytes of a file; none if it cannot be read."""
        content = self.files[path][0](most)
        return content if isinstance(content, bytes) else b""

    def _add(
        self, name: str, opened: Callable[[], IO[bytes] | None], time: float | None, problem: str | None = None
    ) -> None:
        """Takes a file, or why it is left out; `_list` has to follow."""

        def read(size: int) -> Content:
            try:
                with opened() or io.BytesIO() as stream:
                    return stream.read(size)
            except _DAMAGED as damage:
                return f"damaged in the archive ({damage}): left out"

        self._found.append((name, read, time, problem))

    def _list(self) -> None:
        """Lists the files, of several with one path the last one, and those with a problem.

        Programs on Windows may write all paths with their drive: what is below the root is then the path.
        """
        found, self._found = self._found, []
        is_absolute = all(_ROOT.match(name) for name, *_ in found)
        for name, read, changed, reason in found:
            path, unsafe = safe_path(_ROOT.sub("", name) if is_absolute else name)
            if problem := unsafe or reason or (TWICE if path in self.files else None):
                self.problems.append((path, problem))
            if problem in (None, TWICE):
                self.files[path] = read, changed


def open_archive(name: str, location: Location) -> Archive:
    """The archive, with its table of contents read.

    Raises:
        BrokenArchive: it is damaged, or its table of contents is too long.
    """
    try:
        return Zip(location) if name.lower().endswith(".zip") else Tar(location)
    except _DAMAGED as problem:
        if isinstance(problem, OSError) and problem.strerror:
            raise BrokenArchive(f"cannot be read ({problem.strerror})") from problem
        raise BrokenArchive(f"damaged, or not an archive of this kind ({problem}): nothing was read") from problem


@functools.lru_cache(maxsize=4)
def _reopened(kind: Callable[[Location], Archive], location: Location) -> Archive:
    """An archive that another process has opened before; a download is opened once for all of its students."""
    return kind(location)


def safe_path(name: str) -> tuple[str, str | None]:
    """The path inside an archive as a plain relative one, and the reason why it cannot be used, if there is one."""
    plain = name.replace("\\", "/")
    if len(plain) > _PATH_CHARACTERS:
        return plain[:_PATH_CHARACTERS], f"a path of more than {_PATH_CHARACTERS:,} characters: left out"
    if _ROOT.match(plain):
        return plain, "an absolute path in an archive: left out"
    parts = PurePosixPath(plain).parts
    if ".." in parts:
        return plain, "a path with .. in an archive: left out"
    return "/".join(parts), None


class Zip(Archive):
    """A zip; may be read by several threads at once."""

    def __init__(self, location: Location) -> None:
        super().__init__(location)
        if _table_bytes(location) > TABLE_BYTES:
            raise BrokenArchive("its table of contents is too long: nothing was read")
        packed = zipfile.ZipFile(io.BytesIO(location) if isinstance(location, bytes) else location)
        for member in packed.infolist():
            if not _name(member).endswith(("/", "\\")):
                self._add(_name(member), functools.partial(packed.open, member), _time(member), _unreadable(member))
        self._list()


class Tar(Archive):
    """A tar or tar.gz, unpacked in a file without a name, or in memory if it is short."""

    def __init__(self, location: Location) -> None:
        super().__init__(location)
        with io.BytesIO(location) if isinstance(location, bytes) else location.open("rb") as packed:
            is_gzip = packed.read(2) == b"\x1f\x8b"
            packed.seek(0)
            stream = cast("IO[bytes]", gzip.GzipFile(fileobj=packed)) if is_gzip else packed
            content = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - open for as long as the archive is
            weakref.finalize(self, content.close)
            while piece := stream.read(_PIECE_BYTES):
                if content.tell() + len(piece) > UNPACKED_BYTES:
                    raise BrokenArchive(f"unpacks to more than {UNPACKED_BYTES >> 20} MiB: nothing was read")
                content.write(piece)
        content.seek(0)
        tar = tarfile.TarFile(fileobj=cast("IO[bytes]", content), tarinfo=_Header)
        for number, member in enumerate(tar):
            if number == _MEMBERS:
                raise BrokenArchive(f"more than {_MEMBERS:,} files and folders inside: nothing was read")
            if not member.isdir():
                changed = float(member.mtime) if 0 < member.mtime < 1 << 40 else None
                problem = None if member.isreg() else "a link or a device in an archive: left out"
                self._add(as_text(member.name), functools.partial(tar.extractfile, member), changed, problem)
        self._list()


class _Header(tarfile.TarInfo):
    """A header of a tar; those that are read as a whole must be short."""

    def _proc_member(self, tar: tarfile.TarFile) -> Any:  # which Python offers to subclasses
        if self.type in _EXTENDED and self.size > _HEADER_BYTES:
            raise BrokenArchive(f"a header of more than {_HEADER_BYTES >> 10} KiB: nothing was read")
        return super()._proc_member(tar)  # type: ignore[misc]


class Folder(Archive):
    """A folder on disk.

    Args:
        most: files that are listed at most.
    """

    def __init__(self, location: Path, most: int = _MAX_PATHS) -> None:
        super().__init__(location)
        self._root = location
        for at, folders, files in os.walk(location, onerror=self._not_listed):
            here = Path(at)
            if "pyvenv.cfg" in files and here != location:
                folders[:] = [name for name in folders if name.lower() not in _PARTS_OF_VENV]
            folders[:] = [] if is_clutter(self._name(here)) else sorted(folders)
            if folders and len(here.relative_to(location).parts) > MAX_DEPTH:
                self.problems.append((f"{self._name(here)}/", f"nested more than {MAX_DEPTH} folders deep: left out"))
                folders.clear()
            for name in (*folders, *sorted(files)):
                file = here / name
                path = self._name(file)
                if is_clutter(path) and (name in folders or not is_hidden_code(path)):
                    continue
                if file.is_symlink():
                    self.problems.append((path, LINK))
                elif name not in folders:
                    self.files[path] = read_file(file), time_of(file)
                elif is_code(name):
                    self.problems.append((path, "a folder, not a file"))
            if len(self.files) > most:
                self.problems.append(("./", f"more than {most:,} files: the rest was left out"))
                return

    def _name(self, file: Path) -> str:
        return as_text(file.relative_to(self._root).as_posix())

    def _not_listed(self, problem: OSError) -> None:
        path = f"{self._name(Path(problem.filename))}/"
        self.problems.append((path, f"cannot be listed ({problem.strerror}): left out"))


def read_file(file: Path) -> ReadFile:
    """A reader of one regular file."""

    def read(size: int) -> Content:
        try:
            # Not blocking: opening a named pipe must not wait for a writer.
            flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
            with os.fdopen(os.open(file, flags | getattr(os, "O_NOFOLLOW", 0)), "rb") as stream:
                status = os.fstat(stream.fileno())
                if not stat.S_ISREG(status.st_mode):
                    return "not a regular file: left out"
                return stream.read(min(size, status.st_size + 1))  # more would be reserved in memory
        except OSError as problem:
            return LINK if file.is_symlink() else f"cannot be read ({problem.strerror}): left out"

    return read


def time_of(file: Path) -> float | None:
    """When the file was last written to."""
    try:
        return file.lstat().st_mtime
    except OSError:
        return None


def _name(member: zipfile.ZipInfo) -> str:
    """The name. If its encoding is not given, zipfile decodes it as CP437, but nearly all programs write UTF-8."""
    if not member.flag_bits & 0x800:
        with contextlib.suppress(UnicodeError):
            return member.orig_filename.encode("cp437").decode("utf-8")
    return as_text(member.filename)


def _unreadable(member: zipfile.ZipInfo) -> str | None:
    mode = member.external_attr >> 16
    if mode and not stat.S_ISREG(mode) and stat.S_IFMT(mode):
        return "a link or a device in an archive: left out"
    if member.flag_bits & 0x1:
        return "encrypted: it cannot be read without its password"
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "packed by a method that is not read; pack it again as a plain zip"
    return None


def _time(member: zipfile.ZipInfo) -> float | None:
    try:
        return time.mktime((*member.date_time, 0, 1, -1)) if member.date_time > (1980, 1, 2) else None
    except (ValueError, OverflowError):
        return None


def _table_bytes(location: Location) -> int:
    """How long the table of contents is, from the record at the end; 0 when there is none."""
    with io.BytesIO(location) if isinstance(location, bytes) else location.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - 66_000))
        tail = stream.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) < at + 22:
        return 0
    length = int(struct.unpack_from("<I", tail, at + 12)[0])
    wide = tail.rfind(b"PK\x06\x06", 0, at)
    if length == 0xFFFFFFFF:
        return int(struct.unpack_from("<Q", tail, wide + 40)[0]) if 0 <= wide <= len(tail) - 48 else TABLE_BYTES + 1
    return length
