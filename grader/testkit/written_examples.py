"""Runs the examples of a docstring in the student process, with the names of the submission's module, and ``torch``.

Decides nothing: it returns what each example printed or raised. Must never hold the output that a docstring expects.
"""

import contextlib
import io
import sys
import traceback
from collections.abc import Sequence
from typing import Any

import torch

from grader.testkit import devices


def run(topic: str, sources: Sequence[str], gpus: int = 0) -> list[list[Any]]:
    """Runs statements one after the other, as at Python's prompt.

    Args:
        topic: the name of the submission's module.
        sources: one statement each, with its line end.
        gpus: how many simulated GPUs there are; 0 means that nothing is simulated.

    Returns:
        For each statement ``[printed, raised]``: its output, and the last line of its traceback or None.
    """
    names = {"torch": torch, **vars(sys.modules[topic])}
    outcomes: list[list[Any]] = []
    with devices.simulated(gpus) if gpus else contextlib.nullcontext():
        for source in sources:
            output, raised = io.StringIO(), None
            with contextlib.redirect_stdout(output):
                try:
                    exec(compile(source, "<example>", "single", dont_inherit=True), names)
                except Exception as error:
                    raised = traceback.format_exception_only(type(error), error)[-1]
            outcomes.append([output.getvalue(), raised])
    return outcomes
