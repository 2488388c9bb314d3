"""torchkata: PyTorch exercises and a grader that never lets submitted code decide its own verdict.

``from grader import Course, grade`` grades from a script; ``from grader import check, hint`` in a notebook.
Importing the package loads neither these nor torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grader.package import __version__

if TYPE_CHECKING:
    from grader.course import Course
    from grader.grading.api import Results, grade
    from grader.notebook.api import check, hint

__all__ = ["Course", "Results", "__version__", "check", "grade", "hint"]

_HOMES = {
    "Course": "grader.course",
    "Results": "grader.grading.api",
    "grade": "grader.grading.api",
    "check": "grader.notebook.api",
    "hint": "grader.notebook.api",
}
"""The public names, by the module that is imported when one is first asked for."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
