"""Writing a file: all of it or none. Never leaves half a file behind, nor touches any other file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path


def write_atomically(path: Path, chunks: Iterable[bytes], *, durable: bool = True) -> None:
    """Writes the file in one step: a reader sees the old content or the new, never a part.

    Args:
        path: a file that exists keeps its permissions.
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


def _permissions(path: Path) -> int:
    """Those of the file, or of a new one."""
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
