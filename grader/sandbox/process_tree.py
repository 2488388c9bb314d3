"""Finds, measures and ends the processes below a student process. Runs in the host, or in the judge if there is none.

It reads Linux's /proc, and asks psutil on other systems only: to find the processes below one, psutil looks at all of
the machine (3.6 ms where this takes 0.3 ms, ten times a second), and it does not know the state of a thread. Must never
signal a process outside the tree that it was given. A process that is not there, or may not be looked at, counts
nothing.
"""

import contextlib
import importlib.util
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, TypeVar

from grader.sandbox.limits import SOCKET_BYTES

T = TypeVar("T")
_open: Final = open
"""A test of a suite may put another one in its place while a thread looks."""


class Look(NamedTuple):
    """The work of some processes up to now.

    Attributes:
        worked: their processor time, with that of their children that have ended (s).
        at_rest: whether none of their threads works, or waits for a processor or a disk; None if the system does not
            say.
    """

    worked: float
    at_rest: bool | None


def _has_proc() -> bool:
    with contextlib.suppress(OSError):
        return bool(os.listdir("/proc/self/task"))
    return False


HAS_PROC: Final = _has_proc()
"""True if the system has /proc as Linux has it."""
_END_SECONDS = 20.0
"""How long processes that are killed may take to end, on a busy machine too."""
_PAUSE_SECONDS = 0.002
_SLEEPING: Final = ("sleeping", "disk-sleep", "idle", "stopped", "zombie", "dead")
"""As psutil calls them."""
_EXITING: Final = 0x4
"""The kernel's flag of a process that ends (PF_EXITING)."""
_TICKS: Final = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 1
_BUSY: Final = "RD"
"""The states in /proc of a thread that works, or waits for a processor or a disk."""
_STATE, _FLAGS, _MINOR_FAULTS, _TIMES, _TIMES_OF_CHILDREN, _THREADS = 0, 6, 7, slice(11, 13), slice(13, 15), 17
"""Fields of a ``stat`` file, counted from the state; a minor fault is a page that the process had to be given."""


def why_not_forked() -> str:
    """The first thing that forked processes in a sandbox need and this system has not, found by trying; empty if none.

    macOS counts as a system that cannot fork: there, libraries that torch uses end a process that was forked.
    """
    if sys.platform == "darwin":
        return "on macOS, a process that has loaded torch cannot be forked safely"
    for module, name in (os, "fork"), (os, "pidfd_open"), (os, "waitpid"), (signal, "SIGUSR1"), (socket, "send_fds"):
        if not hasattr(module, name):
            return f"this system has no {module.__name__}.{name}"
    for name in ("fcntl", "resource"):
        if importlib.util.find_spec(name) is None:
            return f"this system has no module {name}"
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError as error:  # a kernel older than Python's
        return f"this system refuses os.pidfd_open ({error.strerror})"
    return "" if HAS_PROC else "this system has no /proc"


def descendants(pid: int) -> list[int]:
    """All processes below `pid`, parents first; without `pid` itself."""
    if not HAS_PROC:
        return _ask(pid, lambda process: [one.pid for one in process.children(recursive=True)], [])
    found = [pid]
    for parent in found:
        found += [child for child in children(parent) if child not in found]
    return found[1:]


def memory_of(pids: Iterable[int], baseline_bytes: int) -> int:
    """Private and shared memory (bytes) that `pids` hold beyond `baseline_bytes` each; ended ones count nothing."""
    return sum(max(0, _resident(pid) - baseline_bytes) for pid in pids)


def memory_of_forks(pids: Iterable[int], baseline_bytes: int, exact_from: int) -> int:
    """Memory (bytes) that processes hold together beyond that of the host that all were forked from.

    It is exact if it may be more than `exact_from`: then a page that several share counts once, and one of the host's
    counts if it was written to. As much as one host holds is overlooked, once for all of them: a process that takes
    too much by itself is stopped by the kernel before that, at the line that asked for it.
    """
    resident = {pid: _resident(pid) for pid in pids}
    if sum(resident.values()) - baseline_bytes <= exact_from:
        return sum(max(0, held - baseline_bytes) for held in resident.values())
    while True:
        held = sum(_share(pid, held, baseline_bytes) for pid, held in resident.items()) - baseline_bytes
        left = {pid: held for pid, held in resident.items() if not is_ending(pid)}
        if len(left) == len(resident):
            return max(0, held)
        resident = left  # what one that ended meanwhile had shared was counted for it, and more for each one after it


def memory_of_sockets(pid: int) -> int:
    """What the sockets may hold of all processes in the network namespace of `pid`, also if they are closed (bytes)."""
    match _read(f"/proc/{pid}/net/sockstat").split():
        case ["sockets:", "used", count, *_]:
            return int(count) * SOCKET_BYTES
    return 0


def look(pids: Iterable[int], reaper: int | None = None) -> Look:
    """The work of processes, and whether they rest.

    Args:
        reaper: a process above them. The work of its ended children counts, but not its own; while it has work, they
            do not rest, as they may wait for it.
    """
    if not HAS_PROC:
        return Look(sum(_ask(pid, lambda process: sum(process.cpu_times()[:4]), 0.0) for pid in pids), None)
    ticks, is_at_rest = 0, True
    if reaper is not None and (fields := _stat(f"/proc/{reaper}")):  # first: what ends meanwhile must not count twice
        ticks, is_at_rest = sum(map(int, fields[_TIMES_OF_CHILDREN])), not _is_busy(reaper, fields)
    for pid in pids:
        if fields := _stat(f"/proc/{pid}"):
            ticks += sum(map(int, (*fields[_TIMES], *fields[_TIMES_OF_CHILDREN])))
            is_at_rest = is_at_rest and not _is_busy(pid, fields)
    return Look(ticks / _TICKS, is_at_rest)


def _is_busy(pid: int, fields: list[str]) -> bool:
    """True if a thread of a process works, or waits for a processor or a disk."""
    if fields[_THREADS] == "1":
        return fields[_STATE] in _BUSY
    return any(stat and stat[_STATE] in _BUSY for stat in map(_stat, _tasks(pid)))


def activity(pid: int) -> tuple[bool, float]:
    """True if all threads of a process sleep, and their processor time (s).

    On Windows, which does not say whether they sleep, they always do: then their processor time decides.
    """
    if not HAS_PROC:
        sleeps = _ask(pid, lambda process: sys.platform == "win32" or process.status() in _SLEEPING, True)
        return sleeps, _ask(pid, lambda process: sum(process.cpu_times()[:2]), 0.0)
    states, nanoseconds = [], 0  # in finer steps than `stat` has
    for task in _tasks(pid):
        if (fields := _stat(task)) and (counted := _read(f"{task}/schedstat").split()):
            states.append(fields[_STATE])
            nanoseconds += int(counted[0])
    return bool(states) and all(state not in _BUSY for state in states), nanoseconds / 1e9


def idle_seconds() -> float:
    """For how long the processors of the machine had nothing to do, all together (s); for systems without /proc."""
    import psutil

    return float(psutil.cpu_times().idle)


def count_threads(pid: int) -> int:
    """How many threads a process has; 0 if the system does not say."""
    return len(_tasks(pid)) if HAS_PROC else _ask(pid, lambda process: int(process.num_threads()), 0)


def find_by_inner_id(pids: Iterable[int], inner: int) -> int | None:
    """The process that has the id ``inner`` in its own, innermost PID namespace."""
    ids = {pid: _rows(f"/proc/{pid}/status").get("NSpid", str(pid)).split() for pid in pids}
    return next((pid for pid, own in ids.items() if own[-1:] == [str(inner)]), None)


def kill_all(pids: Iterable[int]) -> None:
    """SIGKILL these, and wait until they have ended; what else starts meanwhile stays."""
    given = list(pids)
    _kill_while(lambda: given)


def kill_tree_below(pid: int) -> None:
    """SIGKILL everything below `pid` but not `pid`, until none is left alive (zombies are not alive)."""
    _kill_while(lambda: descendants(pid))


def _kill_while(found: Callable[[], list[int]]) -> None:
    until = time.monotonic() + _END_SECONDS
    while (alive := [pid for pid in found() if is_alive(pid)]) and time.monotonic() < until:
        for pid in alive:
            kill(pid)
        time.sleep(_PAUSE_SECONDS)  # the end of a grandchild gives no event to wait for


def kill(pid: int) -> None:
    """Ends a process at once, if it is there."""
    if not HAS_PROC:
        _ask(pid, lambda process: process.kill(), None)
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def is_alive(pid: int) -> bool:
    """True if a process exists and has not ended; a zombie has, unless only its first thread is one."""
    if not HAS_PROC:
        return _ask(pid, lambda process: process.status() != "zombie", False)
    fields = _stat(f"/proc/{pid}")
    return bool(fields) and (fields[_STATE] not in "ZX" or int(fields[_THREADS]) > 1)


def is_ending(pid: int) -> bool:
    """True if all of a process has ended or begun to: from then on its descriptors close one after the other."""
    threads = [fields for task in _tasks(pid) if (fields := _stat(task))]
    return all(fields[_STATE] in "ZX" or int(fields[_FLAGS]) & _EXITING for fields in threads)


def _ask(pid: int, question: Callable[[Any], T], otherwise: T) -> T:
    """The answer of psutil's object of a process; another one if it is not there, or may not be looked at."""
    import psutil

    try:
        return question(psutil.Process(pid))
    except (psutil.Error, ValueError):
        return otherwise


def _tasks(pid: int) -> list[str]:
    """The folders of a process's threads."""
    with contextlib.suppress(OSError):
        return [f"/proc/{pid}/task/{thread}" for thread in os.listdir(f"/proc/{pid}/task")]
    return []


def _read(path: str) -> str:
    """The text of a file of /proc; empty if the process or thread has gone."""
    with contextlib.suppress(OSError), _open(path, encoding="utf-8", errors="replace") as file:
        return file.read()
    return ""


def _stat(folder: str) -> list[str]:
    """The fields of a ``stat`` file from the state on; none if the process or thread has gone."""
    return _read(f"{folder}/stat").rpartition(")")[2].split()


def children(pid: int) -> list[int]:
    """The processes that a process has started or adopted, those that have ended too until it takes note of that."""
    return [int(child) for task in _tasks(pid) for child in _read(f"{task}/children").split()]


def _rows(path: str) -> dict[str, str]:
    return dict(line.split(":", 1) for line in _read(path).split("\n") if ":" in line)


def _rows_of_memory(pid: int, file: str, row: str) -> dict[str, str]:
    """The rows of a file about the memory of a process: another thread has them once the first one has ended."""
    rows = _rows(f"/proc/{pid}/{file}")
    if row in rows:
        return rows
    return next((found for task in _tasks(pid) if row in (found := _rows(f"{task}/{file}"))), {})


def _resident(pid: int) -> int:
    if not HAS_PROC:
        return _ask(pid, lambda process: int(process.memory_info().rss), 0)
    rows = _rows_of_memory(pid, "status", "RssAnon")
    return _kilobytes(rows, "RssAnon", "RssShmem", "VmSwap", "HugetlbPages", "VmPTE")


def _share(pid: int, resident: int, baseline: int) -> int:
    """The memory of a process, with its share of what it shares with others (bytes).

    A user who is not root may not see that: then all counts that is more than the host has, or that it has touched.
    """
    if rows := _rows_of_memory(pid, "smaps_rollup", "Pss_Anon"):
        in_status = _kilobytes(_rows_of_memory(pid, "status", "RssAnon"), "HugetlbPages", "VmPTE")
        return _kilobytes(rows, "Pss_Anon", "Pss_Shmem", "SwapPss") + in_status
    if fields := _stat(f"/proc/{pid}"):
        touched = int(fields[_MINOR_FAULTS]) * os.sysconf("SC_PAGE_SIZE")
        return max(resident - baseline, min(resident, touched))
    return 0


def _kilobytes(rows: dict[str, str], *names: str) -> int:
    """The sum of some rows of a file of /proc, in bytes; those that are not there count nothing."""
    return sum(int(rows.get(name, "0").split()[0]) * 1024 for name in names)
