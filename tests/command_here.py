"""The command ``grader`` in the test's own process, whose zygote has imported torch: seconds less than a new one takes.

For what a command prints, writes and ends with. Its environment, its signals and its start are tested in a new process.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import subprocess
from pathlib import Path
from unittest import mock

import typer.main
from shared import REPO

from grader.cli.app import main

COMMANDS = functools.cache(typer.main.get_command)
"""Makes the commands, which takes longer than many of them, once for all runs."""


def run_here(*arguments: str | Path, cwd: Path = REPO) -> subprocess.CompletedProcess[str]:
    """What `shared.run_grader` gives."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    words = list(map(str, arguments))
    before = Path.cwd()
    os.chdir(cwd)
    try:
        commands = mock.patch.object(typer.main, "get_command", COMMANDS)
        with commands, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main(words)
    except SystemExit as end:
        code = end.code
    finally:
        os.chdir(before)
    assert isinstance(code, int)
    texts = [one.buffer.getvalue().decode() for one in (out, err)]  # type: ignore[attr-defined]
    return subprocess.CompletedProcess(words, code, *texts)
