"""Writing a report's file: all of it or none. Never leaves half a file behind, nor touches one that is not meant."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path


def write_atomically(path: Path, chunks: Iterable[bytes], *, durable: bool = True) -> None:
    """Writes the file in one step; `durable` waits until it is on the disk.

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
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(stream.name, 0o666 & ~mask)
            stream.close()
            os.replace(stream.name, path)
        except BaseException:
            stream.close()
            os.unlink(stream.name)
            raise
