"""Finds, measures and ends the processes below a student process. Runs in the host, or in the judge where is none.

It reads Linux's /proc; on other systems `any_system.py` asks psutil. Must never signal a process outside the tree that
it was given.
"""

import contextlib
import os
import signal
import time
from collections.abc import Iterable, Iterator
from typing import Final

from grader.sandbox import any_system
from grader.sandbox.clock import Effort


def _has_proc() -> bool:
    try:
        return bool(os.listdir("/proc/self/task"))
    except OSError:
        return False


HAS_PROC: Final = _has_proc()
"""Whether the system has /proc as Linux has it."""
_END_SECONDS = 20.0
"""How long processes that are killed may take to end, on a busy machine too."""
_PAUSE_SECONDS = 0.002


def descendants(pid: int) -> list[int]:
    """All processes below `pid`, parents first; without `pid` itself."""
    if not HAS_PROC:
        return any_system.descendants(pid)
    found: list[int] = []
    seen = {pid}
    waiting = [pid]
    while waiting:
        for child in _children(waiting.pop()):
            if child not in seen:
                seen.add(child)
                found.append(child)
                waiting.append(child)
    return found


def memory_of(pids: Iterable[int], baseline_bytes: int) -> int:
    """Private and shared memory (bytes) that `pids` hold beyond `baseline_bytes` each; ended ones count nothing."""
    return sum(max(0, _resident(pid) - baseline_bytes) for pid in pids)


def effort(pids: Iterable[int]) -> Effort:
    """What the threads of `pids` have worked, and waited for a processor; 0 waited where the system does not say."""
    done = [activity(pid) for pid in pids]
    return Effort(sum(worked for _, worked, _ in done), sum(waited for _, _, waited in done))


def activity(pid: int) -> tuple[bool, float, float]:
    """Whether all threads of a process sleep, their processor time, and how long they waited for a processor (s).

    Where the system does not say whether they sleep, they always do: then their processor time decides.
    """
    if not HAS_PROC:
        return any_system.sleeps(pid), any_system.processor_time(pid), 0.0
    threads = list(_threads(pid))
    return (
        bool(threads) and all(state in "SZX" for state, _, _ in threads),
        sum(worked for _, worked, _ in threads),
        sum(waited for _, _, waited in threads),
    )


def count_threads(pid: int) -> int:
    """How many threads a process has; 0 where the system does not say."""
    if not HAS_PROC:
        return any_system.count_threads(pid)
    try:
        return len(os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return 0


def find_by_inner_id(pids: Iterable[int], inner: int) -> int | None:
    """The process that has the id ``inner`` in its own, innermost PID namespace."""
    for pid in pids:
        ids = _status(pid).get("NSpid", str(pid)).split()
        if ids and int(ids[-1]) == inner:
            return pid
    return None


def _threads(pid: int) -> Iterator[tuple[str, float, float]]:
    """Of each thread of a process: its state, its processor time, and the time that it waited for a processor (s)."""
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/stat", encoding="utf-8", errors="replace") as stat:
                state = stat.read().rpartition(")")[2].split()[0]
            with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="utf-8") as counted:
                worked, waited = counted.read().split()[:2]
            yield state, int(worked) / 1e9, int(waited) / 1e9
    except (OSError, IndexError, ValueError):
        return


def kill_all(pids: Iterable[int]) -> None:
    """SIGKILL these, and wait until they have ended; what else starts meanwhile stays."""
    alive = list(pids)
    until = time.monotonic() + _END_SECONDS
    while alive and time.monotonic() < until:
        for pid in alive:
            kill(pid)
        time.sleep(_PAUSE_SECONDS)
        alive = [pid for pid in alive if is_alive(pid)]


def kill_tree_below(pid: int) -> None:
    """SIGKILL everything below `pid` but not `pid`, until none is left alive (zombies are not alive)."""
    until = time.monotonic() + _END_SECONDS
    while (alive := [child for child in descendants(pid) if is_alive(child)]) and time.monotonic() < until:
        for child in alive:
            kill(child)
        time.sleep(_PAUSE_SECONDS)  # the end of a grandchild gives no event to wait for


def kill(pid: int) -> None:
    """Ends a process at once, if it is there."""
    if not HAS_PROC:
        any_system.kill(pid)
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def processor_time(pids: Iterable[int]) -> float:
    """The processor time of `pids` together (s), of those that have not ended."""
    return sum(activity(pid)[1] for pid in pids)


def _children(pid: int) -> list[int]:
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    found: list[int] = []
    for task in tasks:
        try:
            with open(f"/proc/{pid}/task/{task}/children", encoding="utf-8") as children:
                found += [int(word) for word in children.read().split()]
        except OSError:
            continue
    return found


def _status(pid: int) -> dict[str, str]:
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as status:
            return dict(line.rstrip("\n").split(":\t", 1) for line in status if ":\t" in line)
    except OSError:
        return {}


def is_alive(pid: int) -> bool:
    """Whether a process exists and has not ended; a zombie has."""
    if not HAS_PROC:
        return any_system.is_alive(pid)
    return _status(pid).get("State", "Z")[0] not in "ZX"


def _resident(pid: int) -> int:
    if not HAS_PROC:
        return any_system.memory(pid)
    status = _status(pid)
    return sum(int(status.get(name, "0").split()[0]) * 1024 for name in ("RssAnon", "RssShmem"))
