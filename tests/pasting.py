"""Pastes the calls of failures into Python, after the lines that the student's page says to begin with."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping

from shared import REPO

_PASTE = """
import contextlib
import errno
for topic, (lines, calls) in pages.items():
    pasted = {}
    exec(lines, pasted)
    for call in calls:
        try:
            with contextlib.redirect_stdout(None):
                eval(call, pasted)
        except (ValueError, IndexError, FileNotFoundError):  # as the exercise says
            pass
        except Exception as problem:
            if getattr(problem, "errno", 0) != errno.ENOSPC:  # a disk that is full, as the exercise says
                print(f"{topic}: {call}: {problem!r}")
"""


def code_among(topic: str, calls: Iterable[str]) -> set[str]:
    """The lines that look like code and can run on one CPU: none that wants a GPU."""
    return {call for call in calls if _is_code(call) and (topic == "ddp" or "cuda" not in call)}


def complaints(calls: Mapping[str, Iterable[str]]) -> str:
    """What goes wrong if the lines of each topic are pasted one after the other; empty if nothing does.

    Each topic begins anew with the lines of the page, all of them in one process: torch is imported once.
    """
    page = (REPO / "docs" / "student.md").read_text()
    block = page[page.index("To paste a call") :].split("```")[1].removeprefix("python\n")
    assert "import kit.tensor_ops\nfrom tensor_ops import *" in block
    kits = [file.stem for file in (REPO / "grader" / "checks" / "kit").glob("[a-z]*.py")]
    imports = "\n".join(f"import kit.{name}" for name in kits)
    pages = {
        topic: (block.replace("import kit.tensor_ops\nfrom tensor_ops", f"{imports}\nfrom {topic}"), sorted(lines))
        for topic, lines in calls.items()
    }
    done = subprocess.run(
        [sys.executable, "-c", f"pages = {pages!r}\n{_PASTE}"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(REPO), str(REPO / "solutions")))},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.stdout + (done.stderr[-2000:] if done.returncode else "")


def _is_code(line: str) -> bool:
    try:
        return bool(ast.parse(line, mode="eval"))
    except SyntaxError:
        return False
