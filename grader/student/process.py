"""What runs inside the sandbox: imports one topic, then forks one process per exercise to answer calls.

The process that imports the topic is the first of its PID namespace: when it ends, all that it started ends. From
the import on it runs submitted code, so nothing that it sends is trusted. It holds no check and no expected answer.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import importlib.util
import os
import shutil
import signal
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Final

from grader.border import frames, wire
from grader.border.arena import Arena
from grader.border.frames import FrameReader
from grader.border.messages import Ended, Imported, ReadyForCalls, SetUp, StartExercise
from grader.border.output import flush_output, use_output
from grader.border.service import WRONG_ANSWERS, Service

DUMP_SIGNAL: Final = signal.SIGUSR1
"""Makes an exercise's process write where it is to its standard error."""


def serve_topic(control: socket.socket, testkit: Mapping[str, ModuleType], kit: Mapping[str, ModuleType]) -> None:
    """Imports the topic that the judge sends, then serves exercises until the judge hangs up.

    Args:
        testkit: the modules of the test kit whose functions a check may run, by name.
        kit: the modules of the course's kit by name.
    """
    payload, descriptors = frames.receive_with_descriptors(control)
    if payload is None:
        return
    setup: SetUp = wire.unpack(payload, SetUp)
    (output,) = descriptors
    use_output(output, output)
    folder = Path.cwd()
    files = _write(folder, setup)
    _uncover_own_files(kit, set(setup.files))
    modules = {**testkit, **kit}
    reporter = Service(ModuleType(setup.topic), files, modules=modules)
    try:
        module = _import(setup.topic, folder / f"{setup.topic}.py")
        wrong_file = f"{WRONG_ANSWERS}.py"
        wrong = _import(WRONG_ANSWERS, folder / wrong_file) if wrong_file in setup.files else None
    except BaseException as error:
        flush_output()
        frames.send(control, wire.pack(reporter.describe(error)))
        return
    flush_output()
    frames.send(control, wire.pack(Imported()))
    imported = set(os.listdir(folder))
    while True:
        payload, descriptors = frames.receive_with_descriptors(control)
        if payload is None or len(descriptors) != 3:
            return
        start: StartExercise = wire.unpack(payload, StartExercise)
        process = os.fork()
        if not process:
            control.close()
            calls, output, shared = descriptors
            overlay = {name: getattr(wrong, other) for name, other in start.bindings} if wrong else {}
            service = Service(module, files, overlay, modules, Arena.attach(shared))
            _serve_exercise(socket.socket(fileno=calls), output, service)
        for descriptor in descriptors:
            os.close(descriptor)
        code = _wait_for(process)
        _clear(folder, imported)
        frames.send(control, wire.pack(Ended(code)))


def _write(folder: Path, setup: SetUp) -> frozenset[str]:
    """Writes the submission's files, and sets ``sys.path`` and ``sys.argv`` as for a script; returns their paths."""
    for name, content in setup.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(folder))
    sys.argv = [f"{setup.topic}.py"]
    return frozenset(str(folder / name) for name in setup.files)


def _uncover_own_files(kit: Mapping[str, ModuleType], files: set[str]) -> None:
    """Where a student's own file has the kit's name, their ``import`` finds their file."""
    taken = {name.partition(".")[0] for name in kit} & {name.split("/")[0].removesuffix(".py") for name in files}
    for name in list(sys.modules):
        if name.partition(".")[0] in taken:
            del sys.modules[name]


def _serve_exercise(calls: socket.socket, output: int, service: Service) -> None:
    """Answers calls until the judge hangs up. Never returns."""
    try:
        use_output(output, output)
        faulthandler.register(DUMP_SIGNAL, file=2, all_threads=False)
        frames.send(calls, wire.pack(ReadyForCalls()))
        requests = FrameReader()
        while data := calls.recv(1 << 18):
            requests.feed(data)
            while (request := requests.next()) is not None:
                reply = service.answer(request)
                flush_output()
                # One by one: a crash in the next call must not lose this reply.
                frames.send(calls, reply)
    except BaseException:
        os._exit(70)
    os._exit(0)


def _import(name: str, path: Path) -> ModuleType:
    importlib.invalidate_caches()
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _wait_for(process: int) -> int:
    """Reaps until the exercise's process has ended; then ends whatever it left behind."""
    status = 0
    while True:
        try:
            ended, status = os.wait()
        except ChildProcessError:
            break
        if ended == process:
            break
    if os.getpid() == 1:
        try:
            os.kill(-1, signal.SIGKILL)
            while os.waitpid(-1, 0)[0]:
                pass
        except (ProcessLookupError, ChildProcessError):
            pass
    return os.waitstatus_to_exitcode(status)


def _clear(folder: Path, keep: set[str]) -> None:
    """Removes what an exercise left in the work folder: the next one finds the disk as empty as the first."""
    for entry in os.scandir(folder):
        if entry.name in keep:
            continue
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                os.unlink(entry.path)
