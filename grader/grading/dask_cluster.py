"""`grader grade --dask ADDRESS`: submissions go to a Dask cluster as bytes, results come back as data.

Only the client reads submissions and writes the gradebook. A submission whose Dask worker dies is graded elsewhere; no
row is lost, and none comes twice. Everything that reaches the cluster's port is trusted: that is how Dask works.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any, Final

import msgspec

from grader.course import Course, content_hash
from grader.errors import UserError
from grader.grading.dask_worker import Reply, RunSettings, check, end, reply_to
from grader.grading.graders import REFRESH_SECONDS, Graded, Graders
from grader.grading.protocol import WorkerOptions
from grader.intake.submission import Submission, digest
from grader.machine import versions

CONNECT_SECONDS = 10.0
_ROUND_TRIP_SECONDS: Final = 30.0
_NO_WORKER_SECONDS: Final = 20.0
_KEPT: Final = "what is graded is kept; run the same command to continue"


class Cluster(Graders):
    """`Graders` on a Dask cluster; use it in a ``with`` statement, which ends its workers there.

    Args:
        address: of the scheduler, e.g. ``tcp://10.0.0.1:8786``.
        note: prints a line for the person at the command line.

    Raises:
        UserError: `distributed` is not installed, nothing answers there, or a worker has another grader or course; as
            well from `results_of`, if the scheduler is lost.
    """

    def __init__(self, address: str, course: Course, options: WorkerOptions, note: Callable[[str], None]) -> None:
        try:
            import dask
            from distributed import Client
            from distributed.comm.addressing import resolve_address
        except ImportError:
            raise UserError("--dask needs the package distributed", fix="pip install 'torchkata[dask]'") from None
        super().__init__(course, options)
        self._address = address
        self._note = note
        self._settings = RunSettings(
            run=uuid.uuid4().hex,
            course=course.name,
            course_hash=content_hash(course),
            options=options,
            versions=versions(),
        )
        self._places = 2
        self._asked = float("-inf")
        self._last_worker = time.monotonic()
        # Dask would log lost connections between the grader's lines, and warn of submissions larger than 10 MB.
        for name in ("distributed", "distributed.client", "distributed.core", "distributed.comm"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"})
        untyped_client: Any = Client
        try:
            resolve_address(address)
            self._client: Any = untyped_client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TypeError) as problem:
            first = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
            fix = "start one: dask scheduler; dask worker ADDRESS"
            raise UserError(f"no Dask scheduler answers at {address}: {first}", fix=fix) from None
        try:
            self._require_matching_workers()
        except BaseException:
            self._client.close()
            raise

    def _require_matching_workers(self) -> None:
        answers = self._client.run(check, msgspec.msgpack.encode(self._settings), on_error="return")
        for worker, answer in answers.items():
            if isinstance(answer, (ImportError, AttributeError)):
                answer = "torchkata is not installed there, or another version"
            elif isinstance(answer, BaseException):
                answer = f"{type(answer).__name__}: {answer}"
            if answer:
                fix = "install the same packages there, and share the course's folder under the same path"
                raise UserError(f"Dask worker {worker} cannot grade this: {answer}", fix=fix)
        if not answers:
            self._note(f"no worker at {self._address} yet; waiting for one (dask worker {self._address})")

    def close(self) -> None:
        """Ends the run's workers on the cluster; the cluster itself stays."""

        def end_workers() -> None:
            with contextlib.suppress(Exception):  # A cluster that is gone has ended them already.
                self._client.run(end, self._settings.run, on_error="ignore")

        # `Client.run` has no timeout, and a worker may hang: a thread waits for it, and this one only for a time.
        ending = threading.Thread(target=end_workers, daemon=True, name="end-dask-workers")
        ending.start()
        ending.join(_ROUND_TRIP_SECONDS)
        with contextlib.suppress(Exception):
            self._client.close()

    def _limit(self) -> int:
        """Two for each thread of the cluster's workers, which come and go."""
        now = time.monotonic()
        if now - self._asked >= REFRESH_SECONDS:
            self._asked = now
            try:
                threads = sum(self._client.nthreads().values())
            except (OSError, TimeoutError):
                raise self._lost() from None
            self._places = max(2, 2 * threads)
            if threads:
                self._last_worker = now
            elif now - self._last_worker > _NO_WORKER_SECONDS:
                self._last_worker = float("inf")  # says so once
                self._note("the cluster has no worker any more; waiting for one (Ctrl-C ends)")
        return self._places

    def _submit(self, submission: Submission, is_alone: bool) -> Any:
        settings = msgspec.structs.replace(self._settings, options=self._options)
        work, run = msgspec.msgpack.encode(submission), msgspec.msgpack.encode(settings)
        future = self._client.submit(reply_to, work, run, pure=False, key=f"grade-{uuid.uuid4().hex}")
        future.add_done_callback(self._arrived.put)
        return future

    def _received(self, future: Any, submission: Submission, is_alone: bool) -> Graded | None:
        from concurrent.futures import CancelledError

        from distributed import KilledWorker

        try:
            reply = msgspec.msgpack.decode(future.result(timeout=_ROUND_TRIP_SECONDS), type=Reply)
        except KilledWorker:
            if not is_alone:  # perhaps it was only graded beside one that kills workers
                return None
            reply = Reply(broken="every Dask worker that graded it died, also when it was graded alone")
        except (CancelledError, TimeoutError, OSError):
            raise self._lost() from None
        except Exception as problem:
            reply = Reply(broken=f"{type(problem).__name__}: {problem}")
        finally:
            future.release()
        if reply.refused:
            raise UserError(f"a Dask worker cannot grade this: {reply.refused}", fix=_KEPT)
        if reply.graded:
            return reply.graded
        failed = self._failed(submission.name, reply.broken)
        return Graded(failed, digest(submission), 0.0, submission.note_lines)

    def _lost(self) -> UserError:
        return UserError(f"the Dask scheduler at {self._address} is lost", fix=_KEPT)
