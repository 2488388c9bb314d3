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

from grader.border.output import use_output
from grader.border.service import WRONG_ANSWERS
from grader.sandbox import kernel, process_tree
from grader.testkit._ranks import script as _script  # noqa: F401 - before the fork, for `_RUNNER`
from grader.testkit._ranks.handle import own_lines

SHOWN_BYTES: Final = 4_000
"""How much of what each worker printed is passed on."""
MAX_COUNTED_LINES: Final = 1_000
_RUNNER: Final = "from grader.testkit._ranks.script import run_script\n\nrun_script()\n"
"""What torchrun's workers run: the module is loaded already where they are forked."""


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
            lines.append(len(own[:MAX_COUNTED_LINES]))
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
        os.dup2(null, 0)
        use_output(null, null)
        kernel.close_all_but({0, 1, 2, writer})
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
