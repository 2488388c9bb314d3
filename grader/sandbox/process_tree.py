"""Finds, measures and ends the processes below a student process. Runs in the host.

Must never signal a process outside the tree that it was given.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable

_PASSES = 50
_PAUSE_SECONDS = 0.002


def descendants(pid: int) -> list[int]:
    """All processes below `pid`, parents first; without `pid` itself. Empty where the system has no /proc."""
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


def kill_tree_below(pid: int) -> bool:
    """SIGKILL everything below `pid` but not `pid`; True when none is left alive (zombies are not alive)."""
    for _ in range(_PASSES):
        alive = [child for child in descendants(pid) if is_alive(child)]
        if not alive:
            return True
        for child in alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        time.sleep(_PAUSE_SECONDS)  # the end of a grandchild gives no event to wait for
    return not any(is_alive(child) for child in descendants(pid))


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
    return _status(pid).get("State", "Z")[0] not in "ZX"


def _resident(pid: int) -> int:
    status = _status(pid)
    return sum(int(status.get(name, "0").split()[0]) * 1024 for name in ("RssAnon", "RssShmem"))
