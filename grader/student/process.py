"""What runs inside the sandbox: imports one topic, then forks one process per exercise to answer calls.

The process that imports the topic is the first of its PID namespace: when it ends, all that it started ends. From
the import on it runs submitted code, so nobody relies on anything that it says; it holds no check and no answer.
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

from grader.border import wire
from grader.border.service import WRONG_ANSWERS, Service
from grader.border.wire import Tree

DUMP_SIGNAL: Final = signal.SIGUSR1
"""Makes an exercise's process write where it is to its standard error."""


def receive_with_fds(sock: socket.socket, most: int = 3) -> tuple[Tree, list[int]]:
    """One message and the descriptors that ride on it; ``(None, [])`` at the end of the stream."""
    head, fds, _, _ = socket.recv_fds(sock, 4, most)
    while head and len(head) < 4:
        more = sock.recv(4 - len(head))
        if not more:
            return None, fds
        head += more
    if not head:
        return None, fds
    inbox = wire.Inbox()
    inbox.feed(head)
    while (payload := inbox.next()) is None:
        data = sock.recv(inbox.missing())
        if not data:
            return None, fds
        inbox.feed(data)
    return wire.unpack(payload), fds


def send_with_fds(sock: socket.socket, tree: Tree, fds: list[int]) -> None:
    """Sends one message with descriptors riding on its first byte."""
    data = wire.frame(wire.pack(tree))
    sent = socket.send_fds(sock, [data], fds) if fds else sock.send(data)
    if sent < len(data):
        sock.sendall(data[sent:])


def serve_topic(control: socket.socket, kit: Mapping[str, ModuleType]) -> None:
    """Imports the topic that the judge sends, then serves exercises until the judge hangs up.

    Args:
        kit: the modules of the course's kit by name.
    """
    setup, fds = receive_with_fds(control)
    if setup is None:
        return
    topic, files = setup
    _use_output(fds.pop())
    folder = Path.cwd()
    names = {str(folder / name) for name, _ in files}
    for name, content in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(folder))
    sys.argv = [f"{topic}.py"]
    _make_way(kit, {name for name, _ in files})
    reporter = Service(ModuleType(topic), frozenset(names), kit=kit)
    try:
        module = _import(topic, folder / f"{topic}.py")
        extra = _import(WRONG_ANSWERS, folder / f"{WRONG_ANSWERS}.py") if f"{WRONG_ANSWERS}.py" in dict(files) else None
    except BaseException as error:
        _flush()
        send_with_fds(control, reporter.describe(error), [])
        return
    _flush()
    send_with_fds(control, ["ok", None], [])
    imported = set(os.listdir(folder))
    while True:
        order, fds = receive_with_fds(control)
        if order is None or len(fds) != 2:
            return
        process = os.fork()
        if not process:
            control.close()
            overlay = {name: getattr(extra, attribute) for name, attribute in order} if extra else {}
            _serve_exercise(socket.socket(fileno=fds[0]), fds[1], Service(module, frozenset(names), overlay, kit))
        for fd in fds:
            os.close(fd)
        status = _wait_for(process)
        _clear(folder, imported)
        send_with_fds(control, ["ended", status], [])


def _make_way(kit: Mapping[str, ModuleType], files: set[str]) -> None:
    """Where a student's own file has the kit's name, their ``import`` finds their file."""
    taken = {name.partition(".")[0] for name in kit} & {name.split("/")[0].removesuffix(".py") for name in files}
    for name in list(sys.modules):
        if name.partition(".")[0] in taken:
            del sys.modules[name]


def _serve_exercise(calls: socket.socket, output: int, service: Service) -> None:
    """Answers calls until the judge hangs up. Never returns."""
    try:
        _use_output(output)
        faulthandler.register(DUMP_SIGNAL, file=2, all_threads=False)
        wire.send_frame(calls, wire.pack(["ready"]))
        inbox = wire.Inbox()
        while data := calls.recv(1 << 18):
            inbox.feed(data)
            while (request := inbox.next()) is not None:
                reply = service.answer(request)
                _flush()
                # Each at once: a crash in the next call must not take this one's answer along.
                wire.send_frame(calls, reply)
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


def _use_output(fd: int) -> None:
    os.dup2(fd, 1)
    os.dup2(fd, 2)
    if fd > 2:
        os.close(fd)
    sys.stdout = open(1, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="replace", closefd=False, buffering=1)  # noqa: SIM115


def _flush() -> None:
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        return
