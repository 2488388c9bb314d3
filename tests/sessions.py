"""Plain pytest sessions, each in a process of its own, forked off one that has imported torch: a second, not five.

Run as a script: takes ``[[name, folder, [argument, ...]], ...]`` as JSON, prints ``{name: [exit code, output]}``.
"""

from __future__ import annotations

import gc
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
Outcome = tuple[int, str]


def plain_pytest(sessions: Iterable[tuple[str, Path, list[str]]]) -> dict[str, Outcome]:
    """Exit code and output of each session: a name, a folder to start in, and pytest's arguments."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, __file__],
        input=json.dumps([[name, str(folder), arguments] for name, folder, arguments in sessions]),
        env={**environment, "PYTHONPATH": str(REPO)},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return {name: (code, output) for name, (code, output) in json.loads(done.stdout).items()}


def _one(folder: str, arguments: list[str]) -> Outcome:
    import pytest

    with tempfile.TemporaryFile() as output:
        process = os.fork()
        if not process:
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
    """Runs the sessions that standard input names, one after the other."""
    import hypothesis  # noqa: F401
    import torch

    import grader.judge.in_process
    import grader.testkit.probes  # noqa: F401

    for plugin in importlib.metadata.entry_points(group="pytest11"):
        plugin.load()  # else each session compiles all that they import
    torch.set_num_threads(1)
    gc.collect()
    gc.freeze()  # for the collections at the end of each session
    sessions = json.load(sys.stdin)
    print(json.dumps({name: _one(folder, arguments) for name, folder, arguments in sessions}))


if __name__ == "__main__":
    main()
