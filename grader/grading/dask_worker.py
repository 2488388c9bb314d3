"""What runs in a Dask worker for `grader grade --dask`: warm grader workers, kept from task to task.

Submitted code never runs in the Dask worker itself, and only bytes that decode to plain data go back.
"""

from __future__ import annotations

import asyncio
import threading
import time
import traceback
from pathlib import Path

import msgspec

from grader.course import Course, content_hash
from grader.errors import UserError
from grader.grading.graders import Graded, GradingStopped
from grader.grading.local_workers import LocalWorkers
from grader.grading.protocol import WorkerOptions
from grader.intake.submission import Ready, Submission
from grader.machine import versions

_SAME_EVERYWHERE = ("torchkata", "torch", "hypothesis")
"""Packages whose versions must be equal: results depend on them."""
_UNUSED_SECONDS = 1800.0


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What a run grades with; ``run`` is unique, so that two runs on one cluster do not end each other's workers."""

    run: str
    course: str
    course_hash: str
    options: WorkerOptions
    versions: dict[str, str]


class Refused(msgspec.Struct, frozen=True, tag=True):
    """The worker has other packages or another course than the client; one line says which."""

    reason: str


class Done(msgspec.Struct, frozen=True, tag=True):
    """A submission's result."""

    graded: Graded


class Broken(msgspec.Struct, frozen=True, tag=True):
    """The grader failed here; the reason is for the submission's result."""

    reason: str


class _WorkersByRun:
    """The grader workers of this process, by run. Those unused for a long time have lost their client, and end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._workers: dict[str, tuple[LocalWorkers, float]] = {}
        self._ended: set[str] = set()

    def get(self, order: Order) -> LocalWorkers:
        now = time.monotonic()
        with self._lock:
            if order.run in self._ended:
                raise GradingStopped
            unused = [run for run, (_, used) in self._workers.items() if now - used > _UNUSED_SECONDS]
            old = [self._workers.pop(run)[0] for run in unused if run != order.run]
            workers = self._workers[order.run][0] if order.run in self._workers else None
            if workers is None:
                course = Course.load(order.options.course and Path(order.options.course))
                workers = LocalWorkers(course, order.options)
            self._workers[order.run] = workers, now
        for one in old:
            _end(one)
        return workers

    def end(self, run: str) -> None:
        with self._lock:
            self._ended.add(run)
            workers, _ = self._workers.pop(run, (None, 0.0))
        if workers is not None:
            _end(workers)


def _end(workers: LocalWorkers) -> None:
    workers.stop()
    workers.close()


_WORKERS = _WorkersByRun()  # Dask offers tasks no other place that outlives them and is gone with the process.


def grade(work: bytes, order: bytes) -> bytes:
    """Grades one submission (msgpack) and gives back a `Refused`, `Broken` or `Done` (msgpack).

    Never raises: not every exception finds its way back through Dask, and the client would wait for ever.
    """
    try:
        return msgspec.msgpack.encode(_graded(work, msgspec.msgpack.decode(order, type=Order)))
    except Exception:  # `GradingStopped` too: then nobody waits for it.
        return msgspec.msgpack.encode(Broken(traceback.format_exc(limit=-5).rstrip()))


def _graded(work: bytes, order: Order) -> Refused | Done:
    reason = unfit(order)
    if reason:
        return Refused(reason)
    return Done(_WORKERS.get(order).grade(Ready(msgspec.msgpack.decode(work, type=Submission))))


async def check(order: bytes) -> str:
    """Why this process cannot grade the order; empty when it can."""
    return await asyncio.to_thread(unfit, msgspec.msgpack.decode(order, type=Order))


async def end(run: str) -> None:
    """Ends the run's grader workers here, whatever they do."""
    await asyncio.to_thread(_WORKERS.end, run)


def unfit(order: Order) -> str:
    """Why this process cannot grade the order, in one line; empty when it can."""
    here = versions()
    for name in _SAME_EVERYWHERE:
        wanted, found = order.versions.get(name), here.get(name)
        if wanted != found:
            return f"it has {name} {found or 'not at all'}, this machine {wanted or 'not at all'}"
    place = order.options.course
    try:
        found = content_hash(Course.load(place and Path(place)))
    except (UserError, OSError) as problem:
        return f"it cannot read the course {order.course}: {problem}"
    return "" if found == order.course_hash else f"its course {order.course} at {place or 'its package'} differs"
