"""A lock among the graders of one user: submissions choose fixed ports, and may share a network."""

import contextlib
import os
import tempfile
from collections.abc import Iterator

from grader.locks import lock


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """Only one process of this user is in here at a time, where the system has locks."""
    with contextlib.ExitStack() as stack:
        user = os.getuid() if hasattr(os, "getuid") else ""  # on Windows, each user has a folder for temporary files
        path = os.path.join(tempfile.gettempdir(), f"torchkata-ranks-{user}.lock")
        with contextlib.suppress(OSError):
            fd = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
            stack.callback(os.close, fd)
            lock(fd)
        yield
