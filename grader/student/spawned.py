"""A spawned student process, from its start to the import of the submission: the portable engine's.

Where a system cannot fork, a new Python loads the modules that the warm host loads elsewhere, and waits until it is
needed. No layer of a sandbox is around it. From the import on nothing that it sends is trusted.
"""

import contextlib
import functools
import gc
import os
import signal
import socket
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NoReturn

from grader import machine
from grader.border.output import use_output
from grader.sandbox import kernel

KEPT_VARIABLES: Final = ("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "NUMBER_OF_PROCESSORS")
"""Variables that programs on Windows need."""
_MOST_FRAMES: Final = 100
"""Frames of a stack dump: as many as `faulthandler` writes."""


def main() -> NoReturn:
    """The whole life of the process."""
    try:
        _live()
    except BaseException:
        traceback.print_exc()
        os._exit(70)
    os._exit(0)


def _live() -> None:
    kernel.adopt_orphans()  # so that all that a submission starts stays below this process
    gc.disable()  # the collector takes a tenth of the time of the imports below, and frees nothing
    questions, progress = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)

    import torch

    torch.set_num_threads(1)
    from grader.border import frames, wire
    from grader.border.arena import Arena
    from grader.student import process

    if (payload := frames.receive(functools.partial(os.read, questions))) is None:
        return
    connect: process.Connect = wire.unpack(payload, process.Connect)
    answer: process.Answer = process.Ready(process=os.getpid())

    @contextlib.contextmanager
    def loading(what: str) -> Iterator[None]:
        os.write(progress, f"{what}\n".encode())
        yield
        os.write(progress, b"\n")

    try:
        modules, kit = process.load_modules(connect.order, loading)
    except process.CannotLoad as error:
        answer = process.Refused(str(error))
    os.close(progress)
    gc.freeze()
    gc.enable()
    dumps = [-1]
    threading.Thread(target=_listener(questions, dumps), daemon=True).start()
    while True:
        with socket.create_connection(("127.0.0.1", connect.port)) as calls:
            calls.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            frames.send(calls, wire.pack(process.Hello(connect.token, answer)))
            if isinstance(answer, process.Refused) or (payload := frames.receive(calls.recv)) is None:
                return
            begin: process.Begin = wire.unpack(payload, process.Begin)
            *outputs, arena = begin.files
            to_append = os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0)
            prints, errors, dumps[0], events = (os.open(path, to_append) for path in outputs)
            use_output(prints, errors)
            _enter(begin.folder, machine.gpu_environment(connect.order.devices))
            task = process.StudentTask(begin.start, begin.setup, Path(begin.folder), modules, kit)
            try:
                process.import_and_serve(task, calls, Arena.attach(Path(arena)), events)
            except BaseException:  # the prints are the submission's: nothing is added to them
                os._exit(70)
        if begin.start.bindings is None:  # only the course's own answers come one after the other
            return


def _enter(folder: str, variables: dict[str, str]) -> None:
    """Takes on the environment of a submission: of whoever grades no variable is left but ``variables``."""
    kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    is_windows = sys.platform == "win32"
    path = os.environ.get("PATH", "") if is_windows else "/usr/local/bin:/usr/bin:/bin"
    homes = ("HOME", "TMPDIR", "TEMP", "TMP", "USERPROFILE") if is_windows else ("HOME", "TMPDIR")
    os.environ.clear()
    os.environ.update(
        {**kept, **variables, **dict.fromkeys(homes, folder)},
        PATH=path,
        LANG="C.UTF-8",
        USER="student",
        PYTHONDONTWRITEBYTECODE="1",
        OMP_NUM_THREADS="1",
    )
    if machine.LOOPBACK is not None:
        os.environ["GLOO_SOCKET_IFNAME"] = machine.LOOPBACK
    sys.dont_write_bytecode = True
    tempfile.tempdir = None
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.umask(0o077)
    os.chdir(folder)


def _listener(questions: int, dumps: list[int]) -> Callable[[], None]:
    """A function that writes where this process is when the judge asks, and ends the process when the judge has gone.

    Args:
        dumps: holds the descriptor that the answers go to.
    """
    main_thread, current_frames = threading.get_ident(), sys._current_frames
    read, write, end = os.read, os.write, os._exit

    def listen() -> None:
        while True:
            try:
                if not read(questions, 1):
                    end(0)
            except OSError:
                end(0)
            frame = current_frames().get(main_thread)
            lines = ["Current thread (most recent call first):\n"]
            while frame is not None and len(lines) <= _MOST_FRAMES:
                code = frame.f_code
                lines.append(f'  File "{code.co_filename}", line {frame.f_lineno} in {code.co_name}\n')
                frame = frame.f_back
            with contextlib.suppress(OSError):
                write(dumps[0], "".join(lines).encode("ascii", "backslashreplace"))

    return listen
