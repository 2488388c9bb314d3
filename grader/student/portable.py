"""Student processes where nothing can be forked: each is a new Python, and the judge's side does the work of a leader.

There is no sandbox: limits are kept from here, by looking. Must never wait for a submission without a limit.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from grader.border import frames, wire
from grader.border.arena import Arena
from grader.border.failures import SubmissionCrashed
from grader.border.messages import SetUp, Start
from grader.sandbox import process_tree
from grader.sandbox.clock import Deadline, Effort
from grader.sandbox.limits import Limits
from grader.sandbox.workspace import Workspace
from grader.student import audit
from grader.student.endings import HostGone
from grader.student.interfaces import Host
from grader.student.orders import Begin, Prepare
from grader.student.prints import FilePrints
from grader.student.spawning import Spares, SpawnedPython
from grader.student.student_process import DUMP_BYTES, StudentProcess, TopicProcesses
from grader.student.work_folder import WorkFolder

TREE_EVERY: Final = 8
"""Every so many looks, the processes below a student process are looked for too, which takes longer."""
END_SECONDS: Final = 1.0
"""How long a process whose socket has closed may take to end (s)."""
_SEND_SECONDS: Final = 10.0


class PortableHost(Host):
    """A host of spawned processes. Nothing can be hidden from them, and there is no sandbox."""

    def __init__(self, spares: Spares, limits: Limits) -> None:
        super().__init__(limits)
        self._spares = spares
        self._topics: list[PortableTopic] = []

    def _send_settings(self, order: Prepare) -> None:
        self._spares.prepare(order)

    def finish_preparing(self) -> None:
        self._spares.finish_preparing()

    def open_topic(
        self, topic: str, files: Mapping[str, bytes], bindings: Sequence[tuple[str, str]] | None
    ) -> PortableTopic:
        """A work folder for one topic of a submission, and its processes to come."""
        opened = PortableTopic(self, topic, files, bindings)
        self._topics.append(opened)
        self.watch.add(opened)
        return opened

    def take(self) -> SpawnedPython:
        """A process that has run no submitted code.

        Raises:
            HostGone: none can be started.
        """
        return self._spares.take()

    def drop(self, topic: PortableTopic) -> None:
        """A topic that has been closed needs no watching."""
        with contextlib.suppress(ValueError):
            self._topics.remove(topic)
        self.watch.remove(topic)

    def close(self) -> None:
        """Ends every process."""
        self.watch.close()
        for topic in list(self._topics):
            topic.close()
        self._spares.close()


class PortableTopic(TopicProcesses):
    """One topic of one submission: a work folder and spawned processes."""

    def __init__(
        self, host: PortableHost, topic: str, files: Mapping[str, bytes], bindings: Sequence[tuple[str, str]] | None
    ) -> None:
        super().__init__(topic, files, bindings)
        self._host = host
        self._workspace = Workspace()
        self._folder = WorkFolder(self._workspace.work)
        self._processes: dict[int, SpawnedPython] = {}
        self._outputs: dict[int, list[FilePrints]] = {}
        self._looks = 0
        self._starting_seconds = 0.0
        self._reusable: dict[int, int] = {}
        self._idle: list[SpawnedPython] = []

    # ---------------------------------------------------------------- processes

    def start_afresh(self) -> StudentProcess:
        self._end_all()
        self._folder.renew(self._files)
        try:
            return self._start(imports=True, afresh=True)
        except OSError as error:
            raise HostGone(str(error)) from error

    def start(self, *, imports: bool = True) -> StudentProcess:
        try:
            return self._start(imports=imports, afresh=False)
        except OSError as error:
            raise SubmissionCrashed(f"ended the process at its start ({error})") from error

    def _start(self, *, imports: bool, afresh: bool) -> StudentProcess:
        began = time.monotonic()
        spawned = (self._idle_process() if afresh else None) or self._host.take()
        if self.bindings is None:
            spawned.accept_no_more()
        self._starting_seconds += time.monotonic() - began
        self._count += 1
        self._processes[self._count] = spawned
        base, limit = self._workspace.base / "root", self._host.limits.print_bytes
        prints, dumps, events = (
            FilePrints(base / f"{self._count}-{name}", bytes_kept)
            for name, bytes_kept in (("prints", limit), ("dumps", DUMP_BYTES), ("events", audit.MOST_BYTES + 1))
        )
        errors = prints if afresh else FilePrints(base / f"{self._count}-errors", limit)
        self._outputs[self._count] = [prints, errors, dumps, events]
        place = base / f"{self._count}-arena"
        arena = Arena.create(place) if afresh else None
        bindings = None if self.bindings is None else list(self.bindings)
        setup = SetUp(self._topic, dict.fromkeys(self._files, b""), False)
        begin = Begin(
            setup,
            Start(self._count, [], imports, afresh, bindings, self.definitions),
            str(self._folder.path),
            (str(prints.path), str(errors.path), str(dumps.path)),
            str(place) if arena is not None else "",
            str(events.path) if afresh and self.bindings is None else "",
        )
        assert spawned.calls is not None
        spawned.calls.settimeout(_SEND_SECONDS)
        frames.send(spawned.calls, wire.pack(begin))
        if afresh and self.bindings is not None:
            self._reusable[self._count] = process_tree.count_threads(spawned.pid)
        return StudentProcess(self, self._count, spawned.pid, spawned.calls, prints, errors, dumps, events, arena)

    def stop(self, process: StudentProcess) -> None:
        """Ends a process; but one that runs the course's own answers, and is as it was, waits for the next ones."""
        threads = self._reusable.pop(process.number, None)
        if threads is not None and not self.has_left_something(process, threads):
            self._idle.append(self._processes.pop(process.number))
        self._end(process.number)

    def _idle_process(self) -> SpawnedPython | None:
        while self._idle:
            one = self._idle.pop()
            if one.start_again():
                return one
            one.end()
        return None

    def ask_where(self, process: StudentProcess) -> None:
        self._processes[process.number].ask_where()

    def exit_code(self, number: int) -> int | None:
        spawned = self._processes.get(number)
        return None if spawned is None else spawned.exit_code(END_SECONDS)

    def close(self) -> None:
        self._host.drop(self)
        self._end_all()
        for spawned in self._idle:
            spawned.end()
        self._workspace.close()

    def _end_all(self) -> None:
        for number in list(self._processes):
            self._end(number)
        self._held_too_much = 0

    def _end(self, number: int) -> None:
        if (spawned := self._processes.pop(number, None)) is not None:
            spawned.end()
        self._outputs.pop(number, None)
        for file in (self._workspace.base / "root").glob(f"{number}-*"):
            with contextlib.suppress(OSError):
                file.unlink()

    # ---------------------------------------------------------------- the work folder

    def keep_files(self) -> None:
        self._folder.keep()

    def tidy(self) -> None:
        self._folder.tidy()

    def has_left_something(self, main: StudentProcess, threads: int) -> bool:
        return self._has_children(main) or process_tree.count_threads(main.pid) > threads

    def _has_children(self, main: StudentProcess) -> bool:
        return any(process_tree.is_alive(pid) for pid in process_tree.descendants(main.pid))

    # ---------------------------------------------------------------- limits

    def deadline(self, seconds: float) -> Deadline:
        """So many seconds of the processes' own time, from now on; that new ones take to start is not theirs."""
        return Deadline(seconds, self._effort(), lambda: self._starting_seconds)

    def _effort(self) -> Callable[[], Effort]:
        """Gives the work of the processes from now on; of the time that they waited, the most that it can be."""
        if process_tree.HAS_PROC:
            before = process_tree.effort(one.pid for one in self._running())

            def since() -> Effort:
                now = process_tree.effort(self._all_processes())
                return Effort(now.worked - before.worked, max(0.0, now.waited - before.waited))

            return since
        begun, idle, started = time.monotonic(), process_tree.idle_seconds(), self._processor_time()

        def at_most() -> Effort:
            worked = self._processor_time() - started
            all_busy = time.monotonic() - begun - (process_tree.idle_seconds() - idle)  # else nobody waits
            return Effort(worked, max(0.0, min(all_busy, time.monotonic() - begun - worked)))

        return at_most

    def _processor_time(self) -> float:
        """Their processor time for the submission (s)."""
        return sum(process_tree.effort([one.pid]).worked - one.worked_before for one in self._running())

    def _running(self) -> list[SpawnedPython]:
        return list(self._processes.values())

    def _all_processes(self) -> list[int]:
        return [pid for one in self._running() for pid in (one.pid, *process_tree.descendants(one.pid))]

    def watch(self) -> None:
        """Ends the processes if they hold too much memory; keeps their prints short. `MemoryWatch` calls it."""
        self._looks += 1
        for outputs in list(self._outputs.values()):
            for output in outputs:
                output.cut()
        running = self._running()
        used = sum(process_tree.memory_of([one.pid], one.baseline) for one in running)
        if self._looks % TREE_EVERY == 0:
            used += sum(process_tree.memory_of(process_tree.descendants(one.pid), 0) for one in running)
        if used > self._host.most_bytes:
            self._held_too_much = used
            for one in running:
                for pid in (*process_tree.descendants(one.pid), one.pid):
                    process_tree.kill(pid)
