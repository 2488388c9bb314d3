"""Plain pytest sessions, each in a process of its own, forked off one that has imported torch: a second, not five.

Run as a script: takes lines of JSON, each ``[[name, folder, [argument, ...]], ...]``, and answers each by a line
``{name: [exit code, output]}``. One such process serves all files of tests that one process runs.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib.metadata
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
Outcome = tuple[int, str]
SECONDS = 300
"""How long a session may take: a limit for one that never ends."""


def plain_pytest(sessions: Iterable[tuple[str, Path, list[str]]]) -> dict[str, Outcome]:
    """Exit code and output of each session: a name, a folder to start in, and pytest's arguments."""
    server = _server()
    assert server.stdin and server.stdout
    print(json.dumps([[name, str(folder), arguments] for name, folder, arguments in sessions]), file=server.stdin)
    server.stdin.flush()
    return {name: (code, output) for name, (code, output) in json.loads(server.stdout.readline()).items()}


@functools.cache
def _server() -> subprocess.Popen[str]:
    """The process that sessions are forked off; it ends with this one."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    server = subprocess.Popen(
        [sys.executable, __file__], cwd=REPO, env={**kept, "PYTHONPATH": str(REPO)}, text=True, **pipes
    )
    atexit.register(server.communicate)  # closes its input, and waits
    return server


def _one(folder: str, arguments: list[str]) -> Outcome:
    import pytest

    with tempfile.TemporaryFile() as output:
        process = os.fork()
        if not process:
            signal.alarm(SECONDS)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            os.chdir(folder)
            imported = ["-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning"]
            code = int(pytest.main(["-p", "no:cacheprovider", *arguments, *imported]))
            sys.stdout.flush()
            os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        output.seek(0)
        return code, output.read().decode()


def main() -> None:
    """Runs the sessions that the lines of standard input name, one after the other."""
    import hypothesis  # noqa: F401
    import torch

    import grader.judge.in_process
    import grader.testkit.probes  # noqa: F401

    for plugin in importlib.metadata.entry_points(group="pytest11"):
        plugin.load()  # else each session compiles all that they import
    torch.set_num_threads(1)
    gc.collect()
    gc.freeze()  # for the collections at the end of each session
    for line in sys.stdin:
        print(json.dumps({name: _one(folder, arguments) for name, folder, arguments in json.loads(line)}), flush=True)


if __name__ == "__main__":
    main()
