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
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, NamedTuple

import msgspec

from grader.course import Course
from grader.errors import UserError
from grader.grading.dask_worker import Broken, RunSettings, WorkDone, WorkRefused, check, end, grade
from grader.grading.graders import Graded, error_result
from grader.grading.protocol import WorkerOptions
from grader.intake.submission import Submission, digest
from grader.machine import versions

CONNECT_SECONDS = 10.0
_ROUND_TRIP_SECONDS = 30.0
_REFRESH_SECONDS = 2.0
_NO_WORKER_SECONDS = 20.0
_KEPT = "what is graded is kept; run the same command to continue"


class _Sent(NamedTuple):
    """A submission that was sent to the cluster; ``suspect``: a worker died while it graded it."""

    name: str
    work: bytes
    digest: str
    notes: tuple[str, ...]
    suspect: bool = False


class Cluster:
    """`Graders` on a Dask cluster; use it in a ``with`` statement, which ends its workers there.

    Args:
        address: of the scheduler, e.g. ``tcp://10.0.0.1:8786``.
        note: prints a line for the person at the command line.

    Raises:
        UserError: `distributed` is not installed, nothing answers there, or a worker has another grader or course.
    """

    def __init__(
        self, address: str, course: Course, course_hash: str, options: WorkerOptions, note: Callable[[str], None]
    ) -> None:
        try:
            import dask
            from distributed import Client
            from distributed.comm.addressing import resolve_address
        except ImportError:
            raise UserError("--dask needs the package distributed", fix="pip install 'torchkata[dask]'") from None
        self._address = address
        self._course = course
        self._note = note
        self._settings = RunSettings(
            run=uuid.uuid4().hex, course=course.name, course_hash=course_hash, options=options, versions=versions()
        )
        self._run, self._options = self._settings.run, options
        self._run_settings = msgspec.msgpack.encode(self._settings)
        self._arrived: SimpleQueue[Any] = SimpleQueue()
        self.stopped = False
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
            raise UserError(
                f"no Dask scheduler answers at {address}: {first}", fix="start one: dask scheduler; dask worker ADDRESS"
            ) from None
        try:
            self._require_matching_workers()
        except BaseException:
            self._client.close()
            raise

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        """Ends the run's workers on the cluster; the cluster itself stays."""
        # `Client.run` has no timeout, and a worker may hang: a thread waits for it, and this one only for a time.
        ending = threading.Thread(target=self._end_workers, daemon=True, name="end-dask-workers")
        ending.start()
        ending.join(_ROUND_TRIP_SECONDS)
        with contextlib.suppress(Exception):
            self._client.close()

    def use_seed(self, seed: int) -> None:
        """See `Graders.use_seed`."""
        self._options = msgspec.structs.replace(self._options, seed=seed)
        self._run_settings = msgspec.msgpack.encode(msgspec.structs.replace(self._settings, options=self._options))

    def _end_workers(self) -> None:
        with contextlib.suppress(Exception):  # A cluster that is gone has ended them already.
            self._client.run(end, self._run, on_error="ignore")

    def stop(self) -> None:
        """Abandons what is being graded, at once and without waiting; a signal handler may call it."""
        self.stopped = True
        self._arrived.put(None)

    def grade_all(self, submissions: Iterable[Submission]) -> Iterator[Graded]:
        """Yields each submission's result as it comes; takes `submissions` only as fast as the cluster grades.

        After `stop`, the results that came before are still yielded, then it ends.

        Raises:
            UserError: the scheduler is lost, or a new worker has another grader or course.
        """
        feed = iter(submissions)
        waiting: dict[Any, _Sent] = {}
        suspects: deque[_Sent] = deque()
        limit = _InFlightLimit(self._threads, self._note)
        try:
            while True:
                while not self.stopped and len(waiting) < limit.now():
                    submission = next(feed, None)
                    if submission is None:
                        break
                    self._send(submission, waiting)
                # Suspects are sent one at a time: one that was merely graded beside a killer of workers must not fail.
                if not waiting and suspects and not self.stopped:
                    self._submit(suspects.popleft(), waiting)
                if not waiting:
                    return
                future = self._next()
                if future is None:
                    if self.stopped:
                        return
                    limit.ask()
                    continue
                graded = self._received(future, waiting.pop(future), suspects)
                if graded is not None:
                    yield graded
        finally:
            if waiting:
                with contextlib.suppress(Exception):
                    self._client.cancel(list(waiting), force=True)

    def _threads(self) -> int:
        try:
            return sum(self._client.nthreads().values())
        except (OSError, TimeoutError):
            raise self._lost() from None

    def _send(self, submission: Submission, waiting: dict[Any, _Sent]) -> None:
        work = msgspec.msgpack.encode(submission)
        self._submit(_Sent(submission.name, work, digest(submission), submission.note_lines), waiting)

    def _submit(self, sent: _Sent, waiting: dict[Any, _Sent]) -> None:
        future = self._client.submit(grade, sent.work, self._run_settings, pure=False, key=f"grade-{uuid.uuid4().hex}")
        waiting[future] = sent
        future.add_done_callback(self._arrived.put)

    def _next(self) -> Any:
        """The next future that is done; None when none was done for two seconds, or after `stop`."""
        with contextlib.suppress(Empty):
            return self._arrived.get(timeout=_REFRESH_SECONDS)
        return None

    def _received(self, future: Any, sent: _Sent, suspects: deque[_Sent]) -> Graded | None:
        from concurrent.futures import CancelledError

        from distributed import KilledWorker
        from distributed.client import FutureCancelledError

        try:
            reply = msgspec.msgpack.decode(
                future.result(timeout=_ROUND_TRIP_SECONDS), type=Broken | WorkDone | WorkRefused
            )
        except KilledWorker:
            if not sent.suspect:
                suspects.append(sent._replace(suspect=True))
                return None
            return self._fault(sent, "every Dask worker that graded it died, also when it was graded alone")
        except (CancelledError, FutureCancelledError, TimeoutError, OSError):
            raise self._lost() from None
        except Exception as problem:
            return self._fault(sent, f"{type(problem).__name__}: {problem}")
        finally:
            future.release()
        if isinstance(reply, Broken):
            return self._fault(sent, reply.reason)
        if isinstance(reply, WorkRefused):
            raise UserError(f"a Dask worker cannot grade this: {reply.reason}", fix=_KEPT)
        assert isinstance(reply, WorkDone)
        return reply.graded

    def _lost(self) -> UserError:
        return UserError(f"the Dask scheduler at {self._address} is lost", fix=_KEPT)

    def _fault(self, sent: _Sent, reason: str) -> Graded:
        return Graded(error_result(self._course, self._options, sent.name, reason), sent.digest, 0.0, sent.notes)

    def _require_matching_workers(self) -> None:
        answers = self._client.run(check, self._run_settings, on_error="return")
        for worker, answer in answers.items():
            if isinstance(answer, BaseException):
                answer = (
                    "torchkata is not installed there, or another version"
                    if isinstance(answer, (ImportError, AttributeError))
                    else f"{type(answer).__name__}: {answer}"
                )
            if answer:
                raise UserError(
                    f"Dask worker {worker} cannot grade this: {answer}",
                    fix="install the same packages there, and share the course's folder under the same path",
                )
        if not answers:
            self._note(f"no worker at {self._address} yet; waiting for one (dask worker {self._address})")


class _InFlightLimit:
    """How many submissions may be at the cluster at a time: two for each thread of its workers, which come and go."""

    def __init__(self, threads: Callable[[], int], note: Callable[[str], None]) -> None:
        self._threads, self._note = threads, note
        self._asked = self._last_worker = float("-inf")
        self._limit = 2
        self._noted = False

    def now(self) -> int:
        """The number; asks the scheduler again when its last answer is two seconds old."""
        if time.monotonic() - self._asked > _REFRESH_SECONDS:
            self.ask()
        return self._limit

    def ask(self) -> None:
        """Asks the scheduler for its threads; notes once when there has been no worker for 20 seconds."""
        self._asked = time.monotonic()
        threads = self._threads()
        self._limit = max(2, 2 * threads)
        if threads or self._last_worker < 0:
            self._last_worker, self._noted = self._asked, False
        elif self._asked - self._last_worker > _NO_WORKER_SECONDS and not self._noted:
            self._noted = True
            self._note("the cluster has no worker any more; waiting for one (Ctrl-C ends)")
