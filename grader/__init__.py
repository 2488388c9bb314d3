"""torchkata: PyTorch exercises and a grader that never lets submitted code decide its own verdict.

``from grader import Course, grade`` grades from a script; nothing of that is loaded before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.course import Course
    from grader.grading.api import Results, grade

__all__ = ["Course", "Results", "grade"]
__version__ = "0.1.0"

_HOMES = {"Course": "grader.course", "Results": "grader.grading.api", "grade": "grader.grading.api"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
