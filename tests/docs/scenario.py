"""Runs the commands of pages as a reader would: in a shell, one block after another, in one folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
from pages import Block
from shared import REPO

MAY_EXIT_WITH_1 = ("grader check", "grader debug", "grader grade", "pytest ")
"""Commands that exit with 1 when somebody's answers are wrong, as some of these are."""


def _on_one_core() -> None:
    """For a process: `grade` starts a worker for each core, and what several do is shown where they are tested."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[os.getpid() % len(cores)]})


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
        self.ran.append(Ran(line, done.returncode, done.stdout))
        allowed = (0, 1) if line.startswith(MAY_EXIT_WITH_1) else (0,)
        assert done.returncode in allowed, f"{place}: `{line}` exits with {done.returncode}:\n{done.stdout}"
        assert "Traceback" not in done.stdout, f"{place}: `{line}`:\n{done.stdout}"

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
