"""Runs the commands of pages as a reader would: one block after another, in one folder.

A line that needs a shell is run in one, and so is the first `grader` of each scenario. The others run in this
process, whose zygote has imported torch: they get the same arguments, variables and folder.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import msgspec
from command_here import run_here
from pages import Block
from shared import REPO

from grader.grading.starting import start_early

MAY_EXIT_WITH_1 = ("grader check", "grader debug", "grader grade", "pytest ")
"""Commands that exit with 1 when somebody's answers are wrong, as some of these are."""


NEEDS_A_SHELL = re.compile(r"[|&;<>$`*?~\\]|^(?!grader\b)|^grader debug\b")
"""Parts of a line beside a command and its arguments. `debug` starts pytest, which prints for itself."""


def _on_one_core() -> None:
    """For a process: `grade` starts a worker for each core, and what several do is shown where they are tested."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[os.getpid() % len(cores)]})


@contextlib.contextmanager
def _here_on_one_core() -> Iterator[None]:
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    start_early()  # on all cores: the tests that come later use it too
    cores = os.sched_getaffinity(0)
    _on_one_core()
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


class Ran(msgspec.Struct, frozen=True):
    """One command line, and what it printed to stdout and stderr."""

    command: str
    code: int
    printed: str


class Scenario:
    """A folder in which blocks are run one after another; ``cd`` in one block holds for the next."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ran: list[Ran] = []
        self._now = folder

    def play(self, block: Block) -> None:
        """Runs a block's commands, writes its file, or looks for its output."""
        if block.kind == "file":
            (self._now / block.value).write_text(block.text, encoding="utf-8")
        elif block.kind == "output":
            self.require_printed(block)
        else:
            for line in block.text.splitlines():
                if line and not line.startswith("#"):
                    self.run(line, str(block))

    def run(self, line: str, place: str) -> None:
        """Runs one command line; `place` is for messages."""
        is_first = not any(ran.command.startswith("grader") for ran in self.ran)
        done = self._in_shell(line) if is_first or NEEDS_A_SHELL.search(line) else self._here(line)
        self.ran.append(Ran(line, done.returncode, done.stdout))
        allowed = (0, 1) if line.startswith(MAY_EXIT_WITH_1) else (0,)
        assert done.returncode in allowed, f"{place}: `{line}` exits with {done.returncode}:\n{done.stdout}"
        assert "Traceback" not in done.stdout, f"{place}: `{line}`:\n{done.stdout}"

    def _here(self, line: str) -> subprocess.CompletedProcess[str]:
        _, *arguments = shlex.split(line, comments=True)
        with mock.patch.dict(os.environ, self._environment(), clear=True), _here_on_one_core():
            done = run_here(*arguments, cwd=self._now)
        return subprocess.CompletedProcess(line, done.returncode, done.stdout + done.stderr)

    def _in_shell(self, line: str) -> subprocess.CompletedProcess[str]:
        after = self.folder / ".now"
        done = subprocess.run(
            ["bash", "-c", f"{line}\ncode=$?\ndeclare -p > {self.folder}/.variables\npwd > {after}\nexit $code"],
            cwd=self._now,
            env=self._environment(),
            preexec_fn=_on_one_core,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=400,
            check=False,
        )
        self._now = Path(after.read_text().strip())
        return done

    def require_printed(self, block: Block) -> None:
        """Each line of the block is one that was printed, but for spaces."""
        printed = {" ".join(line.split()) for ran in self.ran for line in ran.printed.splitlines()}
        for line in block.text.splitlines():
            assert not line.strip() or " ".join(line.split()) in printed, f"{block}: nothing printed {line!r}"

    def printed(self, start: str) -> str:
        """What the commands that begin so have printed."""
        return "".join(ran.printed for ran in self.ran if ran.command.startswith(start))

    def _environment(self) -> dict[str, str]:
        paths = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(REPO),
            "PYTHONDONTWRITEBYTECODE": "1",
            "COLUMNS": "100",
        }
        return {**os.environ, **paths, **self._variables()}

    def _variables(self) -> dict[str, str]:
        """What earlier lines have set, as ``checks=...``."""
        file = self.folder / ".variables"
        if not file.is_file():
            return {}
        found = (line.removeprefix("declare -- ").partition("=") for line in file.read_text().splitlines())
        return {name: value.strip('"') for name, _, value in found if name.isidentifier() and name.islower()}
