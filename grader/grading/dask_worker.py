"""The code in a Dask worker for `grader grade --dask`: it keeps warm grader workers from task to task.

Submitted code never runs in the Dask worker itself, and only bytes that decode to plain data go back.
"""

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
from grader.intake.submission import Submission
from grader.machine import cores, versions, workers_in_memory

_SAME_EVERYWHERE = ("torchkata", "torch", "hypothesis")
"""Packages whose versions must be equal: results depend on them."""
_UNUSED_SECONDS = 1800.0


class RunSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a run.

    Attributes:
        run: a unique name, so that two runs on one cluster do not end each other's workers.
        course: the course's name; `options` have its folder.
        course_hash: as `content_hash` gives it.
        versions: of the packages that results depend on.
    """

    run: str
    course: str
    course_hash: str
    options: WorkerOptions
    versions: dict[str, str]


class WorkRefused(msgspec.Struct, frozen=True, tag=True):
    """The worker has other packages or another course than the client; one line says which."""

    reason: str


class WorkDone(msgspec.Struct, frozen=True, tag=True):
    """A submission's result."""

    graded: Graded


class Broken(msgspec.Struct, frozen=True, tag=True):
    """The grader failed here; the reason is for the submission's result."""

    reason: str


class _WorkersByRun:
    """The grader workers of this process, by run. Those unused for half an hour have lost their client, and end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._workers: dict[str, tuple[LocalWorkers, float]] = {}
        self._ended: set[str] = set()

    def get(self, settings: RunSettings) -> LocalWorkers:
        now = time.monotonic()
        with self._lock:
            if settings.run in self._ended:
                raise GradingStopped
            unused = [run for run, (_, used) in self._workers.items() if now - used > _UNUSED_SECONDS]
            old = [self._workers.pop(run)[0] for run in unused if run != settings.run]
            workers = self._workers[settings.run][0] if settings.run in self._workers else None
            if workers is None:
                course = Course.load(settings.options.course and Path(settings.options.course))
                workers = LocalWorkers(course, settings.options, min(cores(), workers_in_memory()))
            self._workers[settings.run] = workers, now
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


_WORKERS = _WorkersByRun()  # Global: Dask's tasks have no other place that lasts as long as the process.


def grade(work: bytes, settings: bytes) -> bytes:
    """Grades one submission (msgpack) and gives back a `WorkRefused`, `Broken` or `WorkDone` (msgpack).

    Never raises: Dask cannot send every exception back, and then the client would wait without end.
    """
    try:
        return msgspec.msgpack.encode(_graded(work, msgspec.msgpack.decode(settings, type=RunSettings)))
    except Exception:  # `GradingStopped` too: then the client waits for no reply.
        return msgspec.msgpack.encode(Broken(traceback.format_exc(limit=-5).rstrip()))


def _graded(work: bytes, settings: RunSettings) -> WorkRefused | WorkDone:
    reason = why_unfit(settings)
    if reason:
        return WorkRefused(reason)
    return WorkDone(_WORKERS.get(settings).grade(msgspec.msgpack.decode(work, type=Submission)))


async def check(settings: bytes) -> str:
    """Why this process cannot grade with the settings; empty when it can."""
    return await asyncio.to_thread(why_unfit, msgspec.msgpack.decode(settings, type=RunSettings))


async def end(run: str) -> None:
    """Ends the run's grader workers in this process, even while they grade."""
    await asyncio.to_thread(_WORKERS.end, run)


def why_unfit(settings: RunSettings) -> str:
    """Why this process cannot grade with the settings, in one line; empty when it can."""
    here = versions()
    for name in _SAME_EVERYWHERE:
        wanted, found = settings.versions.get(name), here.get(name)
        if wanted != found:
            return f"it has {name} {found or 'not at all'}, this machine {wanted or 'not at all'}"
    place = settings.options.course
    try:
        found = content_hash(Course.load(place and Path(place)))
    except (UserError, OSError) as problem:
        return f"it cannot read the course {settings.course}: {problem}"
    return "" if found == settings.course_hash else f"its course {settings.course} at {place or 'its package'} differs"
