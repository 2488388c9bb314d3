"""What a notebook imports: `check`, `hint` and `show`. Everything is graded in another process, in the sandbox.

Importing it imports nothing slow: the worker process imports torch, this one never does.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from grader.notebook.desk import NotebookDesk
from grader.results import SubmissionResult

Named = str | Callable[..., object]
"""The name of a topic or an exercise; or an exercise's function or class itself."""


def check(*names: Named) -> SubmissionResult:
    """Grades what the cells of this notebook define, and shows the result below the cell.

    Definitions and imports of all cells that were run are taken; of two definitions of one name the last counts, and
    a cell that failed does no harm.

    Args:
        names: topics or exercises, such as ``"tensor_ops.gram"`` or ``"gram"``, which are graded with what they need;
            an exercise's function itself will do. None: all of the topics that the notebook has begun.

    Returns:
        The result, as in ``results.jsonl``.

    Raises:
        NotebookError: there is no such name, or nothing to grade, or no notebook.
    """
    return _desk().check([_name_of(one) for one in names])


def show(*names: Named) -> None:
    """Shows the pictures of exercises below the cell: what your code does, such as a loss while it trains.

    Args:
        names: as for `check`; of a topic, all pictures. None: those of the topics that the notebook has begun.

    Raises:
        NotebookError: there is no such name, there are no pictures of it, or it has not passed.
    """
    _desk().show([_name_of(one) for one in names])


def hint(name: Named, level: int | None = None) -> None:
    """Shows a hint for an exercise; each further call for the same one says more.

    Args:
        name: of the exercise.
        level: which hint, from 1. None: the next one.

    Raises:
        NotebookError: there is no such exercise or level.
    """
    _desk().hint(_name_of(name), level)


def _name_of(given: Named) -> str:
    """The name to look for; of a function, its own, whatever else it is."""
    return given if isinstance(given, str) else str(getattr(given, "__name__", given))


@functools.cache
def _desk() -> NotebookDesk:
    return NotebookDesk()
