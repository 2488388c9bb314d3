"""Writing a file completely or not at all. Never leaves half a file behind, and never changes any other file."""

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from grader.errors import UserError


def write_atomically(path: Path, chunks: Iterable[bytes], *, durable: bool = True) -> None:
    """Writes the file in one step: a reader sees the old content or the new content, never a part.

    Args:
        path: the file; if it exists, it keeps its permissions.
        chunks: the content, piece by piece.
        durable: wait until the content is on the disk.

    Raises:
        OSError: it cannot be written.
    """
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name[:50]}.", delete=False) as stream:
        try:
            for chunk in chunks:
                stream.write(chunk)
            stream.flush()
            if durable:
                os.fsync(stream.fileno())
            os.chmod(stream.name, _permissions(path))
            stream.close()
            os.replace(stream.name, path)
        except BaseException:
            stream.close()
            os.unlink(stream.name)
            raise


def write_named_file(
    path: Path, chunks: Iterable[bytes], *, fix: str = "name another file: --to FILE", durable: bool = True
) -> None:
    """Writes a file that a user named, as `write_atomically` does, and makes its folder.

    Raises:
        UserError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, chunks, durable=durable)
    except OSError as problem:
        raise UserError(f"{path}: {problem.strerror}", fix=fix) from problem


def _permissions(path: Path) -> int:
    """The permissions of the file, or those that a new file gets."""
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def python_files(folder: Path) -> dict[str, bytes]:
    """The Python files at the top of a folder, and those of the packages in it, by their path in it."""
    packages = [one.parent for one in folder.glob("*/__init__.py")]
    files = [*folder.glob("*.py"), *(file for package in packages for file in package.rglob("*.py"))]
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in sorted(files)}


@contextlib.contextmanager
def in_folder(folder: Path | None) -> Iterator[None]:
    """This folder is the current one meanwhile; None changes nothing."""
    before = os.getcwd() if folder is not None else ""
    if folder is not None:
        os.chdir(folder)
    try:
        yield
    finally:
        if folder is not None:
            os.chdir(before)
