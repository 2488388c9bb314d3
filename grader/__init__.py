"""torchkata: PyTorch exercises and a grader that never lets submitted code decide its own verdict.

``from grader import Course, grade`` grades from a script; ``from grader import check, hint, show`` in a notebook.
Importing the package loads neither these nor torch.
"""

# The map of the package, from the top down. A folder imports only from those below it.
#
# cli/                  the command `grader`: parses its arguments, calls the others, prints
# watch/, notebook/     the same for a student who writes code: in an editor, and in a notebook
# grading/              one submission, a class, worker processes, a Dask cluster; `verify`. Begin with worker.py
# exports/, similar/, marking/, reports/   what becomes of the results, for programs and for people
# judge/                trusted: runs the checks, decides the verdicts, explains failures. Begin with judge.py
# student/              the processes that run submitted code, and the judge's side of each
# testkit/, checks/     what checks are written with, and those of the shipped course
# intake/, gradebook/, course/   read uploads, keep results, read a course and its manifest
# border/, sandbox/     what may cross between judge and student process; what the kernel lets submitted code do
#
# docs/architecture.md follows a submission through them, and says in which file each rule is.

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from grader.package import __version__

if TYPE_CHECKING:
    from grader.course import Course
    from grader.errors import CourseError, UserError
    from grader.grading.api import Results, grade
    from grader.notebook.commands import ask, check, hint, show
    from grader.pictures import Compared, Picture, RankStep, Stair
    from grader.results import (
        Cause,
        CheckResult,
        ExerciseResult,
        Flag,
        Frame,
        Manual,
        SpentTime,
        SubmissionResult,
        TooMuchMemory,
        Unread,
    )
    from grader.sandbox.limits import Limits

__all__ = ["Cause", "CheckResult", "Compared", "Course", "CourseError", "ExerciseResult", "Flag", "Frame", "Limits"]
__all__ += ["Manual", "Picture", "RankStep", "Results", "SpentTime", "Stair", "SubmissionResult", "TooMuchMemory"]
__all__ += ["Unread", "UserError", "__version__", "ask", "check", "grade", "hint", "show"]

_MODULES = {
    "grader.course": "Course",
    "grader.errors": "CourseError UserError",
    "grader.grading.api": "Results grade",
    "grader.notebook.commands": "ask check hint show",
    "grader.pictures": "Compared Picture RankStep Stair",
    "grader.results": "Cause CheckResult ExerciseResult Flag Frame Manual SpentTime SubmissionResult TooMuchMemory"
    " Unread",
    "grader.sandbox.limits": "Limits",
}
"""The modules that are imported when one of their public names is first asked for."""


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names.split():
            return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
