"""Student processes where nothing can be forked: each is a new Python, and the judge's side does the work of a leader.

There is no sandbox: limits are kept from here, by looking. Must never wait for a submission without a limit. New
Pythons are loaded and waiting: one at least is always on its way, so that few are waited for. None that has run
submitted code is used for another submission.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
import signal
import socket
import subprocess
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from grader import machine, new_python
from grader.border import frames, wire
from grader.border.arena import Arena
from grader.border.bounds import WireError
from grader.border.failures import SubmissionCrashed
from grader.border.frames import BrokenFrame
from grader.border.messages import Bindings, SetUp, Start
from grader.errors import UserError
from grader.sandbox import process_tree
from grader.sandbox.limits import Limits
from grader.sandbox.process_tree import Look
from grader.sandbox.workspace import Workspace
from grader.student import student_process
from grader.student.prints import FilePrints, Prints
from grader.student.process import Begin, Connect, Hello, Prepare, Ready, Refused
from grader.student.socket_process import StudentProcess, TopicProcess
from grader.student.student_process import Host, HostGone, TopicProcesses
from grader.student.work_folder import WorkFolder

TREE_EVERY: Final = 8
"""The processes below a student process are measured at every eighth look, because finding them takes longer."""
START_SECONDS: Final = 600.0
"""How long a new process may take until it is ready (s): on a slow disk, importing torch takes minutes."""
_SEND_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 0.2
_CONNECTING_SECONDS: Final = 5.0
"""Timeout for the whole first message of whoever has connected (s)."""
_TOKEN_BYTES: Final = 32
_MOST_HELLO_BYTES: Final = 1 << 16
_MOST_SPARES: Final = 2


class SpawnedPython:
    """A new Python: starts at once, and takes a while until it is ready.

    Attributes:
        listener: where it connects to the judge.
        popen: the process that was started; on Windows, `pid` is another one.
        questions: makes it write where it is, for each byte.
        calls: the socket for its calls, once it is ready.
        pid: the process that runs submitted code, once it is ready.
        baseline: the memory that it held when it was ready (bytes).
        before: the work that it had done then (s).
        outputs: the files that it writes to.
        threads: how many it had when it was given a task after which it may get another one; else 0.
    """

    def __init__(self, order: Prepare | None = None) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(_LOOK_SECONDS)
        self._token = secrets.token_bytes(_TOKEN_BYTES)
        program, seed = "from grader.student.spawned import main; main()", os.environ.get("PYTHONHASHSEED", 0)
        pipes = dict.fromkeys(("stdin", "stdout"), subprocess.PIPE)  # what it is loading is said on its output
        self.popen = new_python.start(program, hash_seed=seed, bufsize=0, **pipes)
        assert self.popen.stdin is not None and self.popen.stdout is not None
        self.questions, self._loading = self.popen.stdin, self.popen.stdout
        if order is not None:
            self.prepare(order)
        self.calls: socket.socket | None = None
        self.pid = self.popen.pid
        self.baseline = 0
        self.before = 0.0
        self.outputs: Sequence[Prints] = []
        self.threads = 0

    def prepare(self, order: Prepare) -> None:
        """Sends the list of modules that it must load, and where the judge waits; needed once."""
        with contextlib.suppress(OSError):  # `finish_start` raises for it
            frames.write(self.questions, wire.pack(Connect(self.listener.getsockname()[1], self._token, order)))

    def finish_start(self) -> None:
        """Waits until it is ready.

        Raises:
            UserError: a module of the course cannot be loaded.
            HostGone: it has ended, or takes too long.
        """
        until = time.monotonic() + START_SECONDS
        while self.calls is None:
            if self.popen.poll() is not None:
                end = f"code {self.popen.returncode}"
                if (lines := self._loading.read().decode("utf-8", "replace").splitlines()) and lines[-1]:
                    raise UserError(f"course.toml: {lines[-1]} ends the process that loads it ({end})")
                raise HostGone(f"a student process ended at its start with {end}")
            if time.monotonic() > until:
                raise HostGone(f"a student process was not ready within {START_SECONDS:g} s")
            with contextlib.suppress(TimeoutError):
                sock, _ = self.listener.accept()
                self._take(sock, min(until - time.monotonic(), _CONNECTING_SECONDS))

    def _take(self, sock: socket.socket, seconds: float) -> None:
        """Takes a connection, if it is that of the new process: any other process can connect too.

        Args:
            seconds: for all that is received, since a stranger may send one byte after the other.
        """
        with contextlib.ExitStack() as unless_taken:
            unless_taken.callback(sock.close)
            try:
                payload = frames.receive_within(sock, seconds, _MOST_HELLO_BYTES)
                hello: Hello = wire.unpack(payload or b"", Hello)
            except (OSError, BrokenFrame, WireError):
                return
            if not hmac.compare_digest(hello.token, self._token):
                return
            match hello.answer:
                case Refused(reason):
                    raise UserError(f"course.toml: {reason}")
                case Ready(process=process):
                    self.pid = process
            unless_taken.pop_all()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.calls = sock
        self.baseline = process_tree.memory_of([self.pid], 0)
        self.before = process_tree.look([self.pid]).worked

    def tree(self) -> list[int]:
        """The process that runs submitted code, and all below it."""
        return [self.pid, *process_tree.descendants(self.pid)]

    def end(self) -> None:
        """Ends it, and the processes that it has started as far as they can be found."""
        if self.popen.returncode is None:
            if hasattr(signal, "SIGSTOP"):  # it starts no further ones meanwhile
                with contextlib.suppress(OSError):
                    self.popen.send_signal(signal.SIGSTOP)
            process_tree.kill_tree_below(self.popen.pid)
            if hasattr(os, "killpg"):
                with contextlib.suppress(OSError):
                    os.killpg(self.popen.pid, signal.SIGKILL)
            with contextlib.suppress(OSError):
                self.popen.kill()
            self.popen.wait()
        self.listener.close()
        if self.calls is not None:
            self.calls.close()
        for pipe in (self.questions, self._loading):
            with contextlib.suppress(OSError):
                pipe.close()


class PortableHost(Host):
    """A host of spawned processes. Nothing can be hidden from them, and there is no sandbox.

    Args:
        first: a new process, which was started before the judge had any answers.
    """

    def __init__(self, first: SpawnedPython, limits: Limits) -> None:
        super().__init__(limits)
        self._order: Prepare | None = None
        self._spares = deque([first])

    def _send_settings(self, order: Prepare) -> None:
        self._order = order
        for one in self._spares:
            one.prepare(order)

    def finish_preparing(self) -> None:
        """Waits until the first of those that wait is ready."""
        for tries_left in (2, 1, 0):
            if not self._spares:
                self._start_spare()
            try:
                self._spares[0].finish_start()
                return
            except HostGone:
                self._spares.popleft().end()
                if not tries_left:
                    raise

    def _start_spare(self) -> None:
        try:
            self._spares.append(SpawnedPython(self._order))
        except OSError as error:
            raise HostGone(f"no student process can be started: {error}") from error

    def take(self) -> SpawnedPython:
        """A process that is ready and has run no submitted code; another one starts in its place.

        Raises:
            HostGone: none can be started.
        """
        self.finish_preparing()
        while len(self._spares) <= min(_MOST_SPARES, machine.cores()):
            self._start_spare()
        return self._spares.popleft()

    def open_topic(self, topic: str, files: Mapping[str, bytes], bindings: Bindings) -> PortableTopic:
        """A work folder for one topic of a submission, and its processes to come."""
        return PortableTopic(self, topic, files, bindings)

    def close(self) -> None:
        """Ends every process."""
        super().close()
        for topic in list(self.topics):
            topic.close()
        while self._spares:
            self._spares.pop().end()


class PortableTopic(TopicProcesses):
    """One topic of one submission: a work folder and spawned processes."""

    _host: PortableHost

    def __init__(self, host: PortableHost, topic: str, files: Mapping[str, bytes], bindings: Bindings) -> None:
        super().__init__(host, topic, files, bindings)
        self._workspace = Workspace()
        self._folder = WorkFolder(self._workspace.work)
        self._processes: dict[int, SpawnedPython] = {}
        self._looks = 0
        self._idle: list[SpawnedPython] = []
        self._ended_work = 0.0
        host.topics.add(self)

    # ---------------------------------------------------------------- processes

    def start_afresh(self) -> StudentProcess:
        self._end_all()
        self._clear_counters()
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

    def _path(self, name: str) -> Path:
        return self._workspace.root / f"{self._count}-{name}"

    def _output(self, name: str, limit: int) -> FilePrints:
        return FilePrints(self._path(name), limit)

    def _arena(self) -> Arena:
        return Arena.create(self._path("arena"))

    def _launch(self, order: Start, outputs: Sequence[Prints], arena: Arena) -> tuple[int, socket.socket]:
        spawned = (self._idle_process() if order.afresh else None) or self._host.take()
        if self.bindings is None:
            spawned.listener.close()  # from now on it may run submitted code
        self._processes[self._count] = spawned
        spawned.outputs = outputs
        names = ("prints", "prints" if order.afresh else "errors", "dumps", "events", "arena")
        setup = SetUp(self._topic, dict.fromkeys(self._files, b""), False)
        begin = Begin(setup, order, str(self._folder.path), [str(self._path(name)) for name in names])
        assert spawned.calls is not None
        spawned.calls.settimeout(_SEND_SECONDS)
        frames.send(spawned.calls, wire.pack(begin))
        if order.afresh and self.bindings is not None:
            spawned.threads = process_tree.count_threads(spawned.pid)
        return spawned.pid, spawned.calls

    def end(self, process: StudentProcess) -> None:
        spawned = self._processes.get(process.number)
        if process.alive and spawned is not None and spawned.threads and self.tidy(process, spawned.threads):
            self._idle.append(self._processes.pop(process.number))  # it is as it was
        if process.is_main:
            self._end_all()
        else:
            self._end(process.number)

    def _idle_process(self) -> SpawnedPython | None:
        while self._idle:
            one = self._idle.pop()
            one.calls = None
            try:
                one.finish_start()
                return one
            except (HostGone, UserError):
                one.end()
        return None

    def ask_where(self, process: StudentProcess) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._processes[process.number].questions.write(b"?")

    def exit_code(self, number: int) -> int | None:
        if (spawned := self._processes.get(number)) is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return spawned.popen.wait(student_process.END_SECONDS)
        return None

    def close(self) -> None:
        self._host.topics.discard(self)
        self._end_all()
        for spawned in self._idle:
            spawned.end()
        self._workspace.close()

    def _end_all(self) -> None:
        for number in list(self._processes):
            self._end(number)

    def _end(self, number: int) -> None:
        if (spawned := self._processes.pop(number, None)) is not None:
            self._ended_work += self._work_of(spawned).worked
            spawned.end()
        for file in self._workspace.root.glob(f"{number}-*"):
            with contextlib.suppress(OSError):
                file.unlink()

    def tidy(self, main: TopicProcess, threads: int) -> bool:
        self._folder.tidy()
        left = process_tree.descendants(main.pid)
        return not any(map(process_tree.is_alive, left)) and process_tree.count_threads(main.pid) <= threads

    # ---------------------------------------------------------------- limits

    def look(self) -> Look:
        done = [self._work_of(one) for one in list(self._processes.values())]
        rest = [one.at_rest for one in done]
        return Look(self._ended_work + sum(one.worked for one in done), None if None in rest else all(rest))

    def _work_of(self, spawned: SpawnedPython) -> Look:
        worked, at_rest = process_tree.look(spawned.tree())
        return Look(worked - spawned.before, at_rest)

    def watch(self) -> None:
        """Ends the processes if they hold too much memory; keeps their prints short."""
        self._looks += 1
        running = list(self._processes.values())
        for output in (output for one in running for output in one.outputs):
            output.cut()
        used = sum(process_tree.memory_of([one.pid], one.baseline) for one in running)
        if self._looks % TREE_EVERY == 0:
            used += sum(process_tree.memory_of(process_tree.descendants(one.pid), 0) for one in running)
        if self._memory.is_too_much(used):
            for process in [pid for one in running for pid in reversed(one.tree())]:
                process_tree.kill(process)
