"""What a notebook imports: `check` and `hint`. Everything is graded in another process, in the sandbox.

Importing it imports nothing slow: the worker process imports torch, this one never does.
"""

from __future__ import annotations

import functools

from grader.notebook.desk import NotebookDesk
from grader.results import SubmissionResult


def check(*names: str) -> SubmissionResult:
    """Grades what the cells of this notebook define, and shows the result below the cell.

    Definitions and imports of all cells that were run are taken; of two definitions of one name the last counts, and
    a cell that failed does no harm.

    Args:
        names: topics or exercises, such as ``"tensor_ops.gram"`` or ``"gram"``, which are graded with what they need.
            None: all of the topics that the notebook has begun.

    Returns:
        The result, as in ``results.jsonl``.

    Raises:
        NotebookError: there is no such name, or nothing to grade, or no notebook.
    """
    return _desk().check(names)


def hint(name: str, level: int | None = None) -> None:
    """Shows a hint for an exercise; each further call for the same one says more.

    Args:
        name: of the exercise.
        level: which hint, from 1. None: the next one.

    Raises:
        NotebookError: there is no such exercise or level.
    """
    _desk().hint(name, level)


@functools.cache
def _desk() -> NotebookDesk:
    return NotebookDesk()
