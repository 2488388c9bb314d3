"""Zip and tar archives, read in memory and within bounds.

Never writes a file, never trusts a size, a name or a count in an archive, opens no archive inside an archive.
"""

from __future__ import annotations

import functools
import gzip
import io
import os
import re
import stat
import struct
import tarfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, Protocol, cast

from grader.intake.bag import Content, as_text

if TYPE_CHECKING:
    from typing_extensions import Self

Place = Path | bytes
"""A file on disk, or the bytes of an archive that lay inside an LMS's."""

TABLE_BYTES = 8 << 20
UNPACKED_BYTES = 256 << 20
_MEMBERS = 200_000
_PATH_CHARACTERS = 1_000
_EXTENDED = (
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
)
"""Types of headers that tarfile reads as a whole."""
_HEADER_BYTES = 16 << 10
"""Of one header of a tar, such as one for a long name. Some Pythons take seconds for a longer one."""
TWICE = "more than once in the archive: the last one counts"
_DRIVE = re.compile(r"^[A-Za-z]:")
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError)


class BrokenArchive(Exception):
    """The archive cannot be opened at all; its text is the reason. Remedy: pack it again as a plain zip."""


class Taker(Protocol):
    """The receiver of files: a `Bag`, for example."""

    def add(self, path: str, read: Callable[[int], Content], time: float | None = None) -> None:
        """Takes a file; `read` gives at most as many bytes as it is asked for, or a reason."""


class Archive(Protocol):
    """Files that are read without unpacking them: of an archive, or of a folder."""

    paths: dict[str, float | None]
    """Safe paths of the files inside, with their times."""
    problems: list[tuple[str, str]]
    """Entries that are left out, and why."""

    def fill(self, bag: Taker, wanted: dict[str, str]) -> None:
        """Puts files into the bag; `wanted` maps paths in the archive to paths in the bag."""


def open_archive(name: str, place: Place) -> Archive:
    """The archive, with its table of contents read.

    Raises:
        BrokenArchive: it is damaged, or its table of contents is too long.
    """
    try:
        return Zip(place) if name.lower().endswith(".zip") else Tar(place)
    except (*_DAMAGED, tarfile.TarError, RecursionError) as problem:
        if isinstance(problem, OSError) and problem.strerror:
            raise BrokenArchive(f"cannot be read ({problem.strerror})") from problem
        raise BrokenArchive(f"damaged, or not an archive of this kind ({problem}): nothing was read") from problem


@functools.lru_cache(maxsize=4)
def reopened(kind: Callable[[Place], Archive], place: Place) -> Archive:
    """An archive that another process has opened before; a download is opened once for all of its students."""
    return kind(place)


def safe_path(name: str) -> tuple[str, str | None]:
    """The path inside an archive as a plain relative one, and the reason why it cannot be used, if there is one."""
    plain = name.replace("\\", "/")
    if len(plain) > _PATH_CHARACTERS:
        return plain[:_PATH_CHARACTERS], f"a path of more than {_PATH_CHARACTERS:,} characters: left out"
    if plain.startswith("/") or _DRIVE.match(plain):
        return plain, "an absolute path in an archive: left out"
    parts = PurePosixPath(plain).parts
    if ".." in parts:
        return plain, "a path with .. in an archive: left out"
    return "/".join(parts), None


class Zip:
    """A zip; may be read by several threads at once."""

    def __init__(self, place: Place) -> None:
        self._place = place
        if _table_bytes(place) > TABLE_BYTES:
            raise BrokenArchive("its table of contents is too long: nothing was read")
        self._zip = zipfile.ZipFile(io.BytesIO(place) if isinstance(place, bytes) else place)
        self.paths: dict[str, float | None] = {}
        self.problems: list[tuple[str, str]] = []
        self._members: dict[str, zipfile.ZipInfo] = {}
        for member in self._zip.infolist():
            if member.is_dir():
                continue
            path, reason = safe_path(_name(member))
            reason = reason or _unreadable(member)
            if reason is None and path in self._members:
                self.problems.append((path, TWICE))
            if reason is None:
                self._members[path] = member
                self.paths[path] = _time(member)
            else:
                self.problems.append((path, reason))

    def __reduce__(self) -> tuple[Any, ...]:
        return reopened, (Zip, self._place)

    def fill(self, bag: Taker, wanted: dict[str, str]) -> None:
        """Puts files into the bag; `wanted` maps paths in the archive to paths in the bag."""
        for path, target in wanted.items():
            bag.add(target, self._reader(self._members[path]), self.paths[path])

    def _reader(self, member: zipfile.ZipInfo) -> Callable[[int], Content]:
        def read(size: int) -> Content:
            try:
                with self._zip.open(member) as stream:
                    return stream.read(size)
            except _DAMAGED as problem:
                return f"damaged in the archive ({problem}): left out"

        return read


class Tar:
    """A tar or tar.gz, read as a stream: once for its table of contents, once for its files."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self.paths: dict[str, float | None] = {}
        self.problems: list[tuple[str, str]] = []
        self._index: dict[str, int] = {}
        for index, (member, _) in enumerate(self._members()):
            if index == _MEMBERS:
                raise BrokenArchive(f"more than {_MEMBERS:,} files and folders inside: nothing was read")
            path, reason = safe_path(as_text(member.name))
            if member.isdir():
                continue
            if not member.isreg():
                reason = reason or "a link or a device in an archive: left out"
            if reason is not None:
                self.problems.append((path, reason))
                continue
            if path in self._index:
                self.problems.append((path, TWICE))
            self._index[path] = index
            self.paths[path] = float(member.mtime) if 0 < member.mtime < 1 << 40 else None

    def __reduce__(self) -> tuple[Any, ...]:
        return reopened, (Tar, self._place)

    def fill(self, bag: Taker, wanted: dict[str, str]) -> None:
        """Puts files into the bag; `wanted` maps paths in the archive to paths in the bag."""
        at = {self._index[path]: path for path in wanted}
        for index, (member, tar) in enumerate(self._members()):
            if index in at:
                bag.add(wanted[at[index]], _tar_reader(tar, member), self.paths[at[index]])

    def _members(self) -> Iterator[tuple[tarfile.TarInfo, tarfile.TarFile]]:
        raw: IO[bytes] = io.BytesIO(self._place) if isinstance(self._place, bytes) else self._place.open("rb")
        with raw:
            head = raw.read(2)
            raw.seek(0)
            stream = cast("IO[bytes]", gzip.GzipFile(fileobj=raw)) if head == b"\x1f\x8b" else raw
            bounded = cast("IO[bytes]", _Bounded(stream))
            with tarfile.open(fileobj=bounded, mode="r|", tarinfo=_Header) as tar:
                for member in tar:
                    yield member, tar
                    tar.members.clear()  # type: ignore[attr-defined]  # tarfile would keep every member in memory.


class _Header(tarfile.TarInfo):
    """A header of a tar; those that are read as a whole must be short."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        found = super().frombuf(buf, encoding, errors)
        if found.type in _EXTENDED and found.size > _HEADER_BYTES:
            raise BrokenArchive(f"a header of more than {_HEADER_BYTES >> 10} KiB: nothing was read")
        return found


class _Bounded:
    """A stream that ends with an error when more was unpacked than a submission may have."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._left = UNPACKED_BYTES

    def read(self, size: int) -> bytes:
        data = self._stream.read(min(size, self._left + 1))
        self._left -= len(data)
        if self._left < 0:
            raise BrokenArchive(f"unpacks to more than {UNPACKED_BYTES >> 20} MiB: nothing was read")
        return data


def _tar_reader(tar: tarfile.TarFile, member: tarfile.TarInfo) -> Callable[[int], Content]:
    def read(size: int) -> Content:
        try:
            stream = tar.extractfile(member)
            return b"" if stream is None else stream.read(size)
        except (*_DAMAGED, tarfile.TarError) as problem:
            return f"damaged in the archive ({problem}): left out"

    return read


def _name(member: zipfile.ZipInfo) -> str:
    """The name. If its encoding is not given, zipfile decodes it as CP437, but nearly all programs write UTF-8."""
    if not member.flag_bits & 0x800:
        try:
            return member.orig_filename.encode("cp437").decode("utf-8")
        except UnicodeError:
            pass
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


def _table_bytes(place: Place) -> int:
    """How long the table of contents is, from the record at the end; 0 when there is none."""
    with io.BytesIO(place) if isinstance(place, bytes) else place.open("rb") as stream:
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
