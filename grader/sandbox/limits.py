"""The limits of one submission, and the kernel's limits (rlimits) that follow from them.

Must never raise a limit: it only lowers those of the host process.
"""

import contextlib
import math
from pathlib import Path

import msgspec

with contextlib.suppress(ImportError):
    import resource


MAX_SECONDS = 1e6
"""The longest time that can be asked for (s)."""


class InvalidLimit(ValueError):
    """A limit that no submission can be graded with.

    Cause: a time that is not between 0 and `MAX_SECONDS`, a count or size below 1. Remedy: another value.

    Attributes:
        name: the field of `Limits`.
    """

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(reason)
        self.name = name


class Limits(msgspec.Struct, frozen=True):
    """Bounds on one topic of one submission. Sizes are in bytes.

    Times are seconds that the submission works, sleeps or waits. If it waits for a processor because the machine is
    busy, that does not count.

    Attributes:
        check_seconds: the longest that one check may take (s).
        topic_seconds: the longest that a topic may take in all, with its imports and second runs (s); also each
            process's CPU time, plus 5 s.
        memory_bytes: memory that a submission may add to what the warm host already holds (bytes).
        processes: processes and threads of the submission alive at the same time.
        file_bytes: the largest file, and all files in the work folder together (bytes); the same again for shared
            memory.
        print_bytes: how much of what the submission prints is kept (bytes).

    Raises:
        InvalidLimit: a value is out of its range.
    """

    check_seconds: float = 10.0
    topic_seconds: float = 60.0
    memory_bytes: int = 2 << 30
    processes: int = 64
    file_bytes: int = 16 << 20
    print_bytes: int = 64 << 10

    def __post_init__(self) -> None:
        for name in ("check_seconds", "topic_seconds"):
            seconds = getattr(self, name)
            if not seconds > 0:
                raise InvalidLimit(name, "must be more than 0 seconds")
            if seconds >= MAX_SECONDS:
                raise InvalidLimit(name, f"must be less than {MAX_SECONDS:,.0f} seconds")
        for name in ("memory_bytes", "processes", "file_bytes", "print_bytes"):
            if getattr(self, name) < 1:
                raise InvalidLimit(name, "must be at least 1")


OPEN_FILES = 256
CPU_GRACE_SECONDS = 5
ADDRESS_SPACE_SLACK_BYTES = 4 << 30
SOCKET_BYTES = 256 << 10
"""What a socket counts for: as much as its buffers may hold, since the kernel does not say who filled them (bytes)."""
CUDA_BYTES = 4 << 30
"""What CUDA's own libraries and buffers may take in a process that uses a GPU (bytes)."""


def apply(limits: Limits, *, gpus: bool = False) -> None:
    """Lower this process's rlimits, soft and hard, to `limits`; everything forked from here inherits them.

    Args:
        gpus: whether real GPUs are used: CUDA reserves more addresses than there is memory, so they go unlimited.

    Raises:
        OSError, ValueError: the system refused a limit.
    """
    # Without the stack, as the kernel counts it: else a process could hold more than it may before it is refused more.
    own = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text(errors="replace").splitlines())
    data, size = (int(own[name].split()[0]) * 1024 for name in ("VmData", "VmSize"))
    wanted = {
        resource.RLIMIT_DATA: data + limits.memory_bytes + (CUDA_BYTES if gpus else 0),
        resource.RLIMIT_AS: size + 2 * limits.memory_bytes + ADDRESS_SPACE_SLACK_BYTES,
        resource.RLIMIT_NPROC: limits.processes,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_NOFILE: OPEN_FILES,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: math.ceil(limits.topic_seconds) + CPU_GRACE_SECONDS,
        resource.RLIMIT_MSGQUEUE: 0,
    }
    if gpus:
        del wanted[resource.RLIMIT_AS]
    for kind, value in wanted.items():
        _, hard = resource.getrlimit(kind)
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (bound, bound))
    with contextlib.suppress(OSError):  # a container may have a read-only /proc
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")  # before the judge, if memory is short
