"""Two processes that take turns are quickest on one processor: to wake another one takes longer than most calls do."""

import contextlib
import os
from collections.abc import Iterator

from grader.sandbox import kernel


@contextlib.contextmanager
def shared_with(pid: int | None) -> Iterator[None]:
    """Meanwhile this thread runs on the processor that it is on now, and from now on so does another process.

    Which one that is, is decided anew each time: the system has moved this thread to a free one. Without effect where
    a process cannot be tied to a processor, or if there is no process.
    """
    if pid is None or not kernel.LINUX:
        yield
        return
    before = os.sched_getaffinity(0)
    with contextlib.suppress(OSError):  # it has ended, or none of this may be asked here
        here = {kernel.call("sched_getcpu")}
        os.sched_setaffinity(pid, here)
        os.sched_setaffinity(0, here)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # its administrator has taken processors away
            os.sched_setaffinity(0, before)
