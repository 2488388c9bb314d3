"""The code in a Dask worker for `grader grade --dask`: it keeps warm grader workers from task to task.

Submitted code never runs in the Dask worker itself, and only bytes that decode to plain data go back.
"""

import asyncio
import threading
import time
import traceback
from pathlib import Path
from typing import Final

import msgspec

from grader.course import Course, content_hash
from grader.errors import UserError
from grader.grading.graders import Graded, GradingStopped
from grader.grading.local_workers import LocalWorkers
from grader.grading.protocol import WorkerOptions
from grader.intake.submission import Submission
from grader.machine import cores, versions, workers_in_memory

_SAME_EVERYWHERE: Final = ("torchkata", "torch", "hypothesis")
"""Packages whose versions must be equal: results depend on them."""
_UNUSED_SECONDS: Final = 1800.0


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


class Reply(msgspec.Struct, frozen=True):
    """The answer about a submission; only one of the attributes is set.

    Attributes:
        refused: how the worker's packages or course differ from the client's, in one line.
        broken: how the grader failed here, for the submission's result.
    """

    graded: Graded | None = None
    refused: str = ""
    broken: str = ""


class _WorkersByRun:
    """The grader workers of this process, by run. Those unused for half an hour have lost their client, and end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._workers: dict[str, LocalWorkers] = {}
        self._used: dict[str, float] = {}
        self._ended: set[str] = set()

    def get(self, settings: RunSettings) -> LocalWorkers:
        with self._lock:
            if settings.run in self._ended:
                raise GradingStopped
            self._used[settings.run] = now = time.monotonic()
            for run in [run for run, used in self._used.items() if now - used > _UNUSED_SECONDS]:
                self._end(run)
            if settings.run not in self._workers:
                course = Course.load(settings.options.course and Path(settings.options.course))
                self._workers[settings.run] = LocalWorkers(course, settings.options, min(cores(), workers_in_memory()))
            return self._workers[settings.run]

    def end(self, run: str) -> None:
        with self._lock:
            self._ended.add(run)
            self._end(run)

    def _end(self, run: str) -> None:
        self._used.pop(run, None)
        if workers := self._workers.pop(run, None):
            workers.stop()
            workers.close()


_WORKERS = _WorkersByRun()  # Global: Dask's tasks have no other place that lasts as long as the process.


def reply_to(work: bytes, settings: bytes) -> bytes:
    """Grades one submission (msgpack) and gives back a `Reply` (msgpack).

    Never raises: Dask cannot send every exception back, and then the client would wait without end.
    """
    try:
        run = msgspec.msgpack.decode(settings, type=RunSettings)
        if reason := why_unfit(run):
            reply = Reply(refused=reason)
        else:
            reply = Reply(_WORKERS.get(run).grade(msgspec.msgpack.decode(work, type=Submission)))
    except Exception:  # `GradingStopped` too: then the client waits for no reply.
        reply = Reply(broken=traceback.format_exc(limit=-5).rstrip())
    return msgspec.msgpack.encode(reply)


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
