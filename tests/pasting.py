"""Pastes the calls of failures into Python, after the lines that the student's page says to begin with."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterable

from shared import REPO

_PASTE = """
    try:
        with contextlib.redirect_stdout(None):
            eval(call)
    except (ValueError, IndexError, FileNotFoundError):  # as the exercise says
        pass
    except Exception as problem:
        print(f"{call}: {problem!r}")
"""


def code_among(topic: str, calls: Iterable[str]) -> set[str]:
    """The lines that look like code and can run on one CPU: none that wants a GPU."""
    return {call for call in calls if _is_code(call) and (topic == "ddp" or "cuda" not in call)}


def complaints(topic: str, calls: Iterable[str]) -> str:
    """What goes wrong if these lines are pasted one after the other; empty if nothing does."""
    page = (REPO / "docs" / "student.md").read_text()
    block = page[page.index("To paste a call") :].split("```")[1].removeprefix("python\n")
    assert "import kit.tensor_ops\nfrom tensor_ops import *" in block
    kits = [file.stem for file in (REPO / "grader" / "checks" / "kit").glob("[a-z]*.py")]
    imports = "\n".join(f"import kit.{name}" for name in kits)
    lines = block.replace("import kit.tensor_ops\nfrom tensor_ops", f"{imports}\nfrom {topic}")
    done = subprocess.run(
        [sys.executable, "-c", f"import contextlib\n{lines}\nfor call in {sorted(calls)!r}:\n{_PASTE}"],
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
