"""Runs a script under torch's own launcher, ``torchrun --standalone``, and reports how that ended.

The launcher runs in a process of the submission's sandbox that never imports the submission: only its workers run the
script. They are forked, as torch is loaded already (``--start-method=fork --run-path``): new Pythons would import torch
for seconds on end, as they do where nothing can be forked. Must never wait without a limit, and never leave a process
behind.
"""

import _thread
import os
import runpy
import select
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NoReturn, cast

import msgspec
import torch

from grader.border import wire
from grader.border.bounds import WireError
from grader.border.channel import Channel
from grader.border.failures import SubmissionCrashed
from grader.border.output import flush_output, use_output
from grader.border.service import WRONG_ANSWERS
from grader.border.transport import Starter
from grader.machine import LOOPBACK
from grader.sandbox import kernel, process_tree
from grader.sandbox.clock import LOOK_SECONDS, Deadline, Meter
from grader.sandbox.process_tree import Look, why_not_forked
from grader.testkit._ranks.members import own_lines
from grader.testkit._ranks.rank import keep_what_deadlocks
from grader.testkit._ranks.world import exclusive, request_of, value_outside

SHOWN_CHARACTERS: Final = 4_000
"""How much of what each worker printed is kept."""
PATIENCE_SECONDS: Final = 15.0
"""How long the launcher may take beyond the time that the script has (s); only one that was attacked takes long.

Both count the script's time by looking at it, and on a busy machine the launcher looks less often than the judge.
"""
_RUNNER: Final = f"""import sys

sys.path.insert(0, {str(Path(__file__).resolve().parents[3])!r})
from grader.testkit._ranks.launch import run_script

run_script()
"""
"""What torchrun's workers run; the module is loaded already where they are forked."""
_TORCHRUNS_OWN: Final = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "PYTHONPATH")
"""Environment variables that are torchrun's to set, or would lead to other modules."""
_script_watch: list[tuple[int, Callable[[], object]]] = []
"""A descriptor that scripts keep, and a function that is called before one runs; empty if they are not watched."""


class ScriptOutcome(msgspec.Struct, frozen=True):
    """How a script ended.

    Attributes:
        exit_code: None when it did not end in time.
        printed: standard output and standard error of each worker.
    """

    exit_code: int | None
    printed: list[tuple[str, str]]


def launch(
    channel: Channel, script: str, workers: int, seconds: float, env: Mapping[str, str], in_place_of: str = ""
) -> ScriptOutcome:
    """Has the launcher run a script; the judge's side.

    Args:
        in_place_of: a wrong answer of the course that is run in place of the script: its function's name.

    Raises:
        SubmissionCrashed: the launcher's process was ended.
    """
    with exclusive(channel):
        (agent,) = cast("Starter", channel.transport).processes(1, imports=False)
        try:
            agent.post(wire.pack(request_of(channel, run_launcher, script, workers, seconds, env, in_place_of)))
            deadline: Deadline = getattr(channel.transport, "new_deadline", Deadline)(seconds + PATIENCE_SECONDS)
            while (reply := agent.poll()) is None:
                if deadline.is_over():
                    return ScriptOutcome(None, [("", "")] * workers)
                select.select(agent.sources(), [], [], LOOK_SECONDS)
            outcome = wire.convert(value_outside(channel, reply), ScriptOutcome)
        except WireError as error:
            raise SubmissionCrashed(f"broke the launcher ({error})") from None
        finally:
            agent.end()
        if len(outcome.printed) != workers:
            raise SubmissionCrashed("broke the launcher (not one text for each worker)")
        return outcome


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
            call = (
                f"import sys\nsys.path.insert(0, {folder!r})\nimport {WRONG_ANSWERS}\n{WRONG_ANSWERS}.{in_place_of}()\n"
            )
            path.write_text(call, encoding="utf-8")
        runner, logs = Path(scratch) / "runner.py", Path(scratch) / "logs"
        runner.write_text(_RUNNER, encoding="utf-8")
        options = ["--standalone", f"--nproc-per-node={workers}", "--monitor-interval=0.01", "--redirects=3"]
        options += [] if why_not_forked() else ["--start-method=fork", "--run-path"]
        code = _be_torchrun([*options, f"--log-dir={logs}", str(runner), str(path)], scratch, seconds, env)
        os.chdir(folder)  # a folder in use cannot be removed everywhere
        printed = []
        for worker in range(workers):
            out, err = (own_lines(_read(logs, worker, f"{name}.log")) for name in ("stdout", "stderr"))
            printed.append((out[:SHOWN_CHARACTERS], err[-SHOWN_CHARACTERS:] if code else ""))
    return {"exit_code": code, "printed": printed}


def _be_torchrun(arguments: list[str], scratch: str, seconds: float, env: Mapping[str, str]) -> int | None:
    """Runs torch's launcher in this process, which does nothing else in its life. None: the time was over."""
    null = os.open(os.devnull, os.O_RDWR)
    use_output(null, null)
    os.chdir(scratch)
    for name in _TORCHRUNS_OWN:
        os.environ.pop(name, None)
    of_system = {"GLOO_SOCKET_IFNAME": LOOPBACK} if LOOPBACK else {}
    if sys.platform == "win32":
        of_system["USE_LIBUV"] = "0"
    os.environ.update({**of_system, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "TMPDIR": scratch, **env})
    tempfile.tempdir = None
    from torch.distributed.run import main

    below: list[int] = []
    has_ended, is_late = threading.Event(), threading.Event()
    deadline = Deadline(seconds, Meter(_look_at_script))

    def stop_late() -> None:
        while not deadline.is_over():
            if has_ended.wait(LOOK_SECONDS):
                return
        is_late.set()
        # Torch's launcher ends its workers at this signal, as it does for a user who stops it. A script may outlive
        # its worker and is then no longer below this process, so it is noted before.
        below.extend(process_tree.descendants(os.getpid()))
        _thread.interrupt_main(signal.SIGTERM)

    threading.Thread(target=stop_late, daemon=True).start()
    try:
        main(arguments)
        return 0
    except BaseException:
        return None if is_late.is_set() else 1
    finally:
        has_ended.set()
        process_tree.kill_all(below)
        process_tree.kill_tree_below(os.getpid())


def _look_at_script() -> Look:
    """The work of all below this process, and whether they rest: not before it has started them.

    Whether this process rests does not count: it works whenever it looks.
    """
    launcher = os.getpid()
    below = process_tree.descendants(launcher)
    return Look(process_tree.look(below, launcher).worked, process_tree.look(below).at_rest if below else False)


def _read(logs: Path, worker: int, name: str) -> str:
    for path in sorted(logs.glob(f"*/attempt_0/{worker}/{name}")):
        with open(path, "rb") as file:
            return file.read(1 << 18).decode("utf-8", "replace")
    return ""


# ---------------------------------------------------------------- in a worker of torchrun


def watch_scripts(notes: int, watch: Callable[[], object]) -> None:
    """Says how scripts that are forked below this process are watched.

    Args:
        notes: a descriptor that they keep.
        watch: is called before a script runs.
    """
    _script_watch[:] = [(notes, watch)]


def run_script() -> None:
    """Runs the script that ``sys.argv[1]`` names as ``python SCRIPT`` does, without torch's own clean-up at the end.

    Taking process groups apart can hang or abort, so the script runs in a process that ends without it; it may end in
    any way. A forked worker of torchrun returns when all went well, and so it waits for a process of the script's own.
    """
    for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"):
        if hasattr(signal, name):  # the launcher's handlers would run late, or never amid a collective
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    torch.set_num_threads(1)  # the threads of the process that this one was forked from are not here
    keep_what_deadlocks([])
    sys.argv = sys.argv[1:]
    sys.path[0] = os.path.dirname(sys.argv[0])
    if why_not_forked():
        _run(sys.argv[0])
    worker = os.getpid()
    script = os.fork()
    if not script:
        kernel.close_all_but({0, 1, 2, *(notes for notes, _ in _script_watch)})  # the launcher's own
        kernel.die_with_parent()
        if os.getppid() != worker:
            os._exit(1)
        for _, watch in _script_watch:
            watch()
        _run(sys.argv[0])
    code = os.waitstatus_to_exitcode(os.waitpid(script, 0)[1])
    if code < 0:
        os.kill(worker, -code)
    if code:
        os._exit(code)


def _run(script: str) -> NoReturn:
    code = 0
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        code = end.code if type(end.code) is int else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    flush_output()
    os._exit(code)
