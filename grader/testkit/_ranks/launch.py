"""Runs a script under torch's own launcher, ``torchrun --standalone``, and reports how that ended.

The launcher runs in a process of the submission's sandbox that never imports the submission: only its workers run the
script. It is forked, as torch is loaded already, and so are its workers (``--start-method=fork --run-path``): two new
Pythons would import torch for seconds on end, as they do where nothing can be forked. Must never wait without a limit,
and never leave a process behind.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

import msgspec

from grader.border import wire
from grader.border.bounds import WireError
from grader.border.failures import SubmissionCrashed
from grader.border.messages import Reply, Returned
from grader.border.output import use_output
from grader.border.service import WRONG_ANSWERS
from grader.border.transport import Starter
from grader.machine import LOOPBACK
from grader.sandbox import kernel, process_tree
from grader.sandbox.process_tree import why_not_forked
from grader.testkit._ranks import script as _script  # noqa: F401 - before the fork, for `_RUNNER`
from grader.testkit._ranks.members import own_lines
from grader.testkit._ranks.world import request_of

if TYPE_CHECKING:
    from grader.border.channel import Channel

SHOWN_CHARACTERS: Final = 4_000
"""How much of what each worker printed is kept."""
PATIENCE_SECONDS: Final = 3.0
"""How long the launcher may take beyond the time that the script has (s)."""
_RUNNER: Final = "from grader.testkit._ranks.script import run_script\n\nrun_script()\n"
"""What torchrun's workers run: the module is loaded already where they are forked."""
_ROOT: Final = str(Path(__file__).resolve().parents[3])
_NEW_RUNNER: Final = f"""import sys

sys.path[0] = {_ROOT!r}
from grader.testkit._ranks.script import run_script_here

run_script_here()
"""
"""The same where each worker is a new Python."""


_TORCHRUNS_OWN: Final = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "PYTHONPATH")
"""Environment variables that are torchrun's to set, or would lead to other modules."""


class Order(msgspec.Struct, frozen=True):
    """The script to run, and how.

    Attributes:
        in_place_of: a wrong answer of the course that is run in place of the script: its function's name, or empty.
    """

    script: str
    workers: int
    seconds: float
    env: Mapping[str, str]
    in_place_of: str


class ScriptOutcome(msgspec.Struct, frozen=True):
    """How a script ended.

    Attributes:
        exit_code: None when it did not end in time.
        prints: the standard output of each worker.
        errors: the same for its standard error.
    """

    exit_code: int | None
    prints: list[str]
    errors: list[str]

    def shown(self) -> str:
        """The lines that the student is shown."""
        return "".join(
            f"rank {worker}: {line}\n"
            for worker, texts in enumerate(zip(self.prints, self.errors, strict=True))
            for text in texts
            for line in text.splitlines()
        )


def launch(channel: Channel, order: Order) -> ScriptOutcome:
    """Has the launcher run the script; the judge's side.

    Raises:
        SubmissionCrashed: the launcher's process was ended.
    """
    (agent,) = cast("Starter", channel.transport).processes(1, imports=False)
    try:
        agent.post(wire.pack(request_of(channel, run_launcher, *msgspec.structs.astuple(order))))
        until = time.monotonic() + order.seconds + PATIENCE_SECONDS
        while (reply := agent.poll()) is None:
            if time.monotonic() >= until:
                return ScriptOutcome(None, [""] * order.workers, [""] * order.workers)
            select.select(agent.sources(), [], [], max(0.0, until - time.monotonic()))
        try:
            match wire.unpack(reply, Reply):
                case Returned(tree):
                    return wire.convert(wire.decode(tree, lambda _: None), ScriptOutcome)
                case other:
                    raise SubmissionCrashed(f"broke the launcher ({other})")
        except WireError as error:
            raise SubmissionCrashed(f"broke the launcher ({error})") from None
    finally:
        agent.end()


# ---------------------------------------------------------------- in the student process


def in_place_of_script(function: Callable[..., Any]) -> str:
    """The name of a wrong answer of the course, which is no part of the script; empty for the script's own function."""
    return str(function.__qualname__) if function.__module__ == WRONG_ANSWERS else ""


# ---------------------------------------------------------------- in the process beside the submission


def run_launcher(script: str, workers: int, seconds: float, env: Mapping[str, str], in_place_of: str) -> dict[str, Any]:
    """``torchrun --standalone --nproc-per-node=WORKERS SCRIPT``: the fields of an `ScriptOutcome`."""
    folder = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="torchrun-", ignore_cleanup_errors=True) as scratch:
        path = Path(folder) / script
        if in_place_of:
            path = Path(scratch) / script
            path.write_text(_call_of(in_place_of, folder), encoding="utf-8")
        runner = Path(scratch) / "runner.py"
        forks = not why_not_forked()
        runner.write_text(_RUNNER if forks else _NEW_RUNNER, encoding="utf-8")
        logs = Path(scratch) / "logs"
        arguments = [
            "--standalone",
            f"--nproc-per-node={workers}",
            "--monitor-interval=0.01",
            *(("--start-method=fork", "--run-path") if forks else ()),
            "--redirects=3",
            f"--log-dir={logs}",
            str(runner),
            str(path),
        ]
        code = (_run if forks else _run_new)(arguments, scratch, seconds, env)
        prints, errors = [], []
        for worker in range(workers):
            out, err = (own_lines(_read(logs, worker, f"{name}.log")) for name in ("stdout", "stderr"))
            prints.append(out[:SHOWN_CHARACTERS])
            errors.append(err[-SHOWN_CHARACTERS:] if code else "")
    return {"exit_code": code, "prints": prints, "errors": errors}


def _call_of(function: str, folder: str) -> str:
    return f"import sys\nsys.path.insert(0, {folder!r})\nimport {WRONG_ANSWERS} as module\nmodule.{function}()\n"


def _run(arguments: list[str], scratch: str, seconds: float, env: Mapping[str, str]) -> int | None:
    import torch.distributed.run  # noqa: F401 - before the fork

    sys.stdout.flush()
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        launcher = os.fork()
    if not launcher:
        _be_torchrun(arguments, scratch, writer, env)
    os.close(writer)
    try:
        return _wait(launcher, reader, seconds)
    finally:
        os.close(reader)


def _run_new(arguments: list[str], scratch: str, seconds: float, env: Mapping[str, str]) -> int | None:
    """`_run` where nothing can be forked."""
    variables = {name: value for name, value in os.environ.items() if name not in _TORCHRUNS_OWN}
    launcher = subprocess.Popen(
        [sys.executable, "-m", "torch.distributed.run", *arguments],
        cwd=scratch,
        env={**variables, **_settings(scratch), "USE_LIBUV": "0" if sys.platform == "win32" else "1", **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        return launcher.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        left = process_tree.descendants(launcher.pid)
        launcher.kill()
        launcher.wait()
        _kill(left)


def _settings(scratch: str) -> dict[str, str]:
    loopback = {} if LOOPBACK is None else {"GLOO_SOCKET_IFNAME": LOOPBACK}
    return {**loopback, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "TMPDIR": scratch}


def _be_torchrun(arguments: list[str], scratch: str, writer: int, env: Mapping[str, str]) -> NoReturn:
    code = 1
    try:
        os.setpgid(0, 0)
        kernel.die_with_parent()
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        use_output(null, null)
        kernel.close_all_but({0, 1, 2, writer})
        os.set_inheritable(writer, False)
        os.chdir(scratch)
        for name in _TORCHRUNS_OWN:
            os.environ.pop(name, None)
        os.environ.update(_settings(scratch))
        os.environ.update(env)
        tempfile.tempdir = None
        sys.argv = ["torchrun", *arguments]
        from torch.distributed.run import main

        main(arguments)
        code = 0
    finally:
        with contextlib.suppress(OSError):
            os.write(writer, b"1" if code else b"0")
        os._exit(code)


def _wait(launcher: int, reader: int, seconds: float) -> int | None:
    """The exit code; everything below the launcher is dead afterwards."""
    until = time.monotonic() + seconds
    while not select.select([reader], [], [], max(0.0, until - time.monotonic()))[0]:
        if time.monotonic() >= until:
            _kill([launcher, *process_tree.descendants(launcher)])
            os.waitpid(launcher, 0)
            return None
    left = process_tree.descendants(launcher)
    _, status = os.waitpid(launcher, 0)
    _kill(left)
    return os.waitstatus_to_exitcode(status)


def _kill(processes: list[int]) -> None:
    for process in processes:
        with contextlib.suppress(PermissionError):
            process_tree.kill(process)


def _read(logs: Path, worker: int, name: str) -> str:
    for path in sorted(logs.glob(f"*/attempt_0/{worker}/{name}")):
        with open(path, "rb") as file:
            return file.read(1 << 18).decode("utf-8", "replace")
    return ""
