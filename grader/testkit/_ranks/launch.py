"""Runs a script under torch's own launcher, ``torchrun --standalone``, and reports how that ended.

It runs in the student process. The launcher is forked, as torch is loaded here already, and so are its workers
(``--start-method=fork --run-path``): two new Pythons would import torch for seconds on end. Must never wait without a
limit, and never leave a process behind.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NoReturn

from grader.border.service import WRONG_ANSWERS
from grader.sandbox import process_tree
from grader.testkit._ranks.handle import own_lines

SHOWN_BYTES: Final = 4_000
"""How much of what each worker printed is passed on."""
MOST_LINES: Final = 1_000
_RUNNER: Final = """\
import contextlib, ctypes, os, runpy, signal, sys, traceback
import torch.nn.parallel
from torch.distributed import distributed_c10d as c10d

for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    signal.signal(number, signal.SIG_DFL)  # the launcher's handlers would run late, or never amid a collective
kept, make, wrap = [], c10d._new_process_group_helper, torch.nn.parallel.DistributedDataParallel.__init__

def keeping(*args, **kwargs):
    kept.append(make(*args, **kwargs))
    return kept[-1]

def keeping_module(self, *args, **kwargs):
    wrap(self, *args, **kwargs)
    kept.append(self)

def run():
    code = 0
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        code = end.code if type(end.code) is int else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)

c10d._new_process_group_helper = keeping
torch.nn.parallel.DistributedDataParallel.__init__ = keeping_module
sys.argv = sys.argv[1:]
sys.path.insert(0, os.path.dirname(sys.argv[0]))
worker = os.getpid()
script = os.fork()
if not script:
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
    if os.getppid() != worker:
        os._exit(1)
    run()
code = os.waitstatus_to_exitcode(os.waitpid(script, 0)[1])
if code < 0:
    os.kill(worker, -code)
if code:
    os._exit(code)
"""
"""Runs a script as ``python SCRIPT`` does, but for torch's own end: taking process groups apart can hang or abort.

The script has a process of its own, which may end in any way: torchrun's worker has to return when all went well.
"""


def launch(function: Callable[..., Any], folder: str, script: str, workers: int, seconds: float) -> dict[str, Any]:
    """``torchrun --standalone --nproc-per-node=WORKERS SCRIPT``.

    Returns:
        ``exit``: the exit code, None when it did not end within ``seconds``; ``lines``: for each worker how many
        lines that are not blank it wrote to its standard output. The text itself is printed.
    """
    with tempfile.TemporaryDirectory(prefix="torchrun-") as scratch:
        path = Path(folder) / script
        if function.__module__ == WRONG_ANSWERS:
            path = Path(scratch) / script
            path.write_text(_call_of(function, folder), encoding="utf-8")
        runner = Path(scratch) / "runner.py"
        runner.write_text(_RUNNER, encoding="utf-8")
        logs = Path(scratch) / "logs"
        arguments = [
            "--standalone",
            f"--nproc-per-node={workers}",
            "--start-method=fork",
            "--run-path",
            "--redirects=3",
            f"--log-dir={logs}",
            str(runner),
            str(path),
        ]
        code = _run(arguments, scratch, seconds)
        lines = []
        for worker in range(workers):
            out, err = (_read(logs, worker, f"{name}.log") for name in ("stdout", "stderr"))
            own = [line for line in own_lines(out).splitlines() if line.strip()]
            lines.append(len(own[:MOST_LINES]))
            _show(worker, "\n".join(own), own_lines(err) if code else "")
    return {"exit": code, "lines": lines}


def _call_of(function: Callable[..., Any], folder: str) -> str:
    return (
        f"import sys\nsys.path.insert(0, {folder!r})\n"
        f"import {function.__module__} as module\nmodule.{function.__qualname__}()\n"
    )


def _run(arguments: list[str], scratch: str, seconds: float) -> int | None:
    import torch.distributed.run  # noqa: F401 - before the fork

    sys.stdout.flush()
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        agent = os.fork()
    if not agent:
        _be_torchrun(arguments, scratch, writer)
    os.close(writer)
    try:
        return _wait(agent, reader, seconds)
    finally:
        os.close(reader)


def _be_torchrun(arguments: list[str], scratch: str, writer: int) -> NoReturn:
    code = 1
    try:
        os.setpgid(0, 0)
        null = os.open(os.devnull, os.O_RDWR)
        for target in (0, 1, 2):
            os.dup2(null, target)
        sys.stdout = open(1, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
        for low, high in ((2, writer), (writer, 4096)):
            os.closerange(low + 1, high)
        os.chdir(scratch)
        os.environ.update(GLOO_SOCKET_IFNAME="lo", OMP_NUM_THREADS="1", CUDA_VISIBLE_DEVICES="", TMPDIR=scratch)
        for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "PYTHONPATH"):
            os.environ.pop(name, None)
        tempfile.tempdir = None
        sys.argv = ["torchrun", *arguments]
        from torch.distributed.run import main

        main(arguments)
        code = 0
    finally:
        with contextlib.suppress(OSError):
            os.write(writer, b"1" if code else b"0")
        os._exit(code)


def _wait(agent: int, reader: int, seconds: float) -> int | None:
    """The exit code; everything below the launcher is dead afterwards."""
    until = time.monotonic() + seconds
    while not select.select([reader], [], [], max(0.0, until - time.monotonic()))[0]:
        if time.monotonic() >= until:
            _kill([agent, *process_tree.descendants(agent)])
            os.waitpid(agent, 0)
            return None
    left = process_tree.descendants(agent)
    _, status = os.waitpid(agent, 0)
    _kill(left)
    return os.waitstatus_to_exitcode(status)


def _kill(processes: list[int]) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, signal.SIGKILL)


def _read(logs: Path, worker: int, name: str) -> bytes:
    for path in sorted(logs.glob(f"*/attempt_0/{worker}/{name}")):
        with open(path, "rb") as file:
            return file.read(1 << 18)
    return b""


def _show(worker: int, out: str, err: str) -> None:
    for text in (out[:SHOWN_BYTES], err[-SHOWN_BYTES:]):
        for line in text.splitlines():
            print(f"rank {worker}: {line}")
