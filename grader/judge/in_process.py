"""Topics that are modules of this process: under plain pytest, and the reference solution in the judge.

Isolates nothing: submitted code shares memory with the checks here, and ranks are forked from this process. Only plain
``pytest`` runs use it for a student's files; the judge uses it only for the course's own solutions.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import socket
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import pytest

from grader.border.arena import Arena
from grader.border.failures import ImportFailure, raised_error
from grader.border.labels import surroundings
from grader.border.messages import Bindings, Raised, SetUp, Start
from grader.border.output import flush_output
from grader.border.service import Service
from grader.files import python_files
from grader.judge.time_limit import Overrun
from grader.kit import Kit, load
from grader.sandbox import process_tree
from grader.sandbox.clock import Deadline
from grader.sandbox.limits import Limits
from grader.sandbox.process_tree import Look
from grader.student.prints import Prints
from grader.student.process import DUMP_SIGNAL, Prepare, StudentTask, live, load_submission
from grader.student.socket_process import StudentProcess, TopicProcess
from grader.student.statements import NothingLoaded
from grader.student.student_process import Host, TopicProcesses
from grader.suites.modules import stood_down
from grader.testkit._ranks.world import RunningWorld
from grader.testkit.in_student_process import MODULES


class LocalHost(Host):
    """A host whose topics are files of one folder, which are used where they are.

    Attributes:
        modules: those whose functions a check may run, by name.
        kit: those of them that are the course's own.
    """

    def __init__(self, folder: Path, kit: Kit | None = None) -> None:
        super().__init__(Limits())
        self.folder = folder.resolve()
        self.kit = load(kit)
        self.modules = {**MODULES, **self.kit}

    def _send_settings(self, order: Prepare) -> None:
        """There is no other process."""

    def finish_preparing(self) -> None:
        """It is ready from the start."""

    def open_topic(self, topic: str, files: Mapping[str, bytes], bindings: Bindings) -> LocalTopic:
        return LocalTopic(self, topic, files, bindings)


class LocalTopic(TopicProcesses):
    """A topic of a folder: its main process is this one, and further ones are forked from it.

    Attributes:
        folder: with the files of the submission; the current one of further processes.
    """

    _host: LocalHost

    def __init__(self, host: LocalHost, topic: str, files: Mapping[str, bytes], bindings: Bindings) -> None:
        super().__init__(host, topic, files, bindings)
        self.folder = host.folder
        self._running: dict[int, int] = {}
        self._codes: dict[int, int] = {}

    def look(self) -> Look:
        running = list(self._running.values())
        return process_tree.look([*running, *(pid for one in running for pid in process_tree.descendants(one))])

    def start_afresh(self) -> ModuleProcess:
        return ModuleProcess(self, self._host, self._topic)

    def start(self, *, imports: bool = True) -> StudentProcess:
        if not hasattr(os, "fork"):
            pytest.skip("needs further processes of the submission, which cannot be forked here")
        # The modules that ranks need first, because each rank would pay more than a second for them.
        import torch._dynamo
        import torch.distributed.run
        import torch.nn.parallel
        import torch.optim  # noqa: F401

        return self._start(imports=imports, afresh=False)

    def _launch(self, order: Start, outputs: Sequence[Prints], arena: Arena) -> tuple[int, socket.socket]:
        ours, theirs = socket.socketpair()
        flush_output()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn if the caller has threads
            pid = os.fork()
        if not pid:
            self._live(order, [theirs.fileno(), *(output.writer for output in outputs), arena.descriptor])
        theirs.close()
        for output in outputs:
            output.close_writer()
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
        self._running[order.number] = pid
        return pid, ours

    def _live(self, order: Start, descriptors: Sequence[int]) -> NoReturn:
        """The whole life of a forked process."""
        try:
            with contextlib.suppress(OSError):
                os.setpgid(0, 0)
            if DUMP_SIGNAL is not None:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, [DUMP_SIGNAL])
            os.chdir(self.folder)
            sys.dont_write_bytecode = True
            warnings.simplefilter("default")  # pytest may make them errors
            setup = SetUp(self._topic, dict.fromkeys(self._files, b""), False)
            task = StudentTask(order, setup, self.folder, self._host.modules, self._host.kit)
            live(task, descriptors)
        finally:
            os._exit(70)

    def ask_where(self, process: StudentProcess) -> None:
        if process.number in self._running and DUMP_SIGNAL is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, DUMP_SIGNAL)

    def end(self, process: StudentProcess) -> None:
        self._end(process.number)

    def _end(self, number: int) -> None:
        if (pid := self._running.pop(number, None)) is not None:
            for kill in (os.killpg, os.kill):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    kill(pid, signal.SIGKILL)
            self._codes[number] = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def exit_code(self, number: int) -> int | None:
        self._end(number)  # one that has only closed its socket is killed
        return self._codes.get(number)

    def tidy(self, main: TopicProcess, threads: int) -> bool:
        """Nothing is removed from the folder."""
        return True

    def watch(self) -> None:
        """Nobody calls it."""

    def close(self) -> None:
        """All processes have ended with the main one."""


class ModuleProcess(TopicProcess):
    """A topic as a module of this process, which answers here."""

    def __init__(self, team: LocalTopic, host: LocalHost, topic: str) -> None:
        super().__init__(team, os.getpid(), Arena.local())
        self._folder = team.folder
        self._modules = host.modules
        self._topic = topic
        self._imported: dict[str, ModuleType] = {}
        self._service: Service | None = None

    def finish_import(self, deadline: Deadline) -> ImportFailure | None:
        files = frozenset(str(self._folder / name) for name in python_files(self._folder))
        reporter = Service(ModuleType(self._topic), files, modules=self._modules)

        def describe(error: BaseException) -> Raised:
            if isinstance(error, KeyboardInterrupt | Overrun):
                raise error  # not of the file
            return reporter.describe(error)

        self.alive = False
        try:
            with importable(self._folder, self._imported):
                module, self.imported = load_submission(
                    self._folder, self._topic, self._team.load_order, self._team.bindings, describe
                )
        except NothingLoaded as nothing:
            return raised_error(nothing.raised)
        except BaseException as error:
            return raised_error(describe(error))
        self.alive = True
        self._service = Service(module, files, self._modules, self.arena)
        return None

    def call(self, request: bytes) -> bytes:
        assert self._service is not None
        with importable(self._folder, self._imported):  # the topic may import others of its folder now
            return self._service.answer(request)

    def call_outside(self, request: bytes) -> bytes:
        return self.call(request)  # there is no other process

    def take_prints(self) -> str:
        return ""

    def add_prints(self, text: str) -> None:
        print(text, end="")

    def end(self) -> None:
        self.end_others()
        surroundings.clear()  # of this process, which may be the judge: what arrives next is of a student's
        self.alive = False

    def end_others(self) -> None:
        for kept in self.kept.values():
            if isinstance(kept, RunningWorld):
                kept.end()  # it has a folder
        super().end_others()


@functools.lru_cache(maxsize=16)
def _top_names(folder: Path, _changed: int) -> tuple[frozenset[str], frozenset[str]]:
    """The names of the modules and of the packages in a folder."""
    modules = frozenset(file.stem for file in folder.glob("*.py"))
    return modules, frozenset(file.parent.name for file in folder.glob("*/__init__.py"))


@contextlib.contextmanager
def importable(folder: Path, imported: dict[str, ModuleType]) -> Iterator[None]:
    """Names of a folder's files mean its modules meanwhile; those that are imported are kept for the next time."""
    names, packages = _top_names(folder, folder.stat().st_mtime_ns)

    def taken(known: Iterable[str] | None = None) -> dict[str, ModuleType]:
        if known is None:  # a module of a package is not there without it
            tops = packages if any(name in sys.modules for name in packages) else ()
            inside = [name for name in sys.modules if name.partition(".")[0] in tops] if tops else ()
            known = [*names, *inside]
        return {name: sys.modules.pop(name) for name in known if name in sys.modules}

    before = taken()
    sys.modules.update(imported)
    count = len(sys.modules)
    dont_write, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    sys.path.insert(0, str(folder))
    try:
        with stood_down():
            yield
    finally:
        sys.path.remove(str(folder))
        sys.dont_write_bytecode = dont_write
        imported.update(taken(imported if len(sys.modules) == count else None))  # to look at all takes long
        sys.modules.update(before)
