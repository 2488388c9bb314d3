"""The course ``courses/odd``, with odd checks: skipped, hidden, buggy, drawing as they go. And submissions to it."""

from __future__ import annotations

import shutil
from pathlib import Path

ODD = Path(__file__).resolve().parent / "courses" / "odd"
SOLUTION = (ODD / "solutions" / "odd.py").read_text(encoding="utf-8")
RIGHT = SOLUTION.replace("# solution:", "").replace("# end", "")


def write_odd_course(root: Path) -> Path:
    """Copies the course into a folder, where a test may change it, and returns that."""
    return Path(shutil.copytree(ODD, root, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True))


def with_own(**functions: str) -> str:
    """The right module with some functions defined anew: ``double="return x"``."""
    text = RIGHT
    for name, body in functions.items():
        head = next(line for line in RIGHT.splitlines() if line.startswith(f"def {name}("))
        text += f"\n{head}\n    {body}\n"
    return text
