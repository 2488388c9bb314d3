"""The tools that checks are written with. The public face: import from here, not from the modules behind it.

Two sides, which never mix:

- in the judge, where checks run: `compare` (``assert_close`` ...), `strategies` (``tensors`` ...), `decorators`
  (``exercise``, ``misconception``, ``picture``), `observation` (``observe``, ``load_weights`` ...), `reference`,
  `show`;
- in the student process, through ``submission.there`` and ``ranks.call``: `recipes`, `models`, `probes`, `watching`,
  `devices`, and the functions that `ranks` starts. These hold no expected answer, and load neither pytest nor
  Hypothesis.

A course adds recipes and probes of its own in its kit; see docs/kit.md. Names are loaded when first used, so that a
student process can hold one side without the other.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.border.failures import SubmissionRaised
    from grader.border.proxies import Remote
    from grader.border.proxies import SubmissionProxy as Submission
    from grader.pictures import Diagram, Grid, Lines, Points, Spot
    from grader.testkit import devices, probes, ranks, recipes, reference
    from grader.testkit.cases import situations
    from grader.testkit.compare import Mismatch, assert_close, assert_equal, assert_that, raises
    from grader.testkit.decorators import exercise, misconception, needs, picture
    from grader.testkit.observation import (
        assert_calls,
        assert_global_numbers,
        load_weights,
        observe,
        printed,
        value_and_grad,
    )
    from grader.testkit.strategies import labels, seeds, shapes, tensors
    from grader.text import counted

__all__ = [
    "Diagram", "Grid", "Lines", "Mismatch", "Points", "Remote", "Spot", "Submission", "SubmissionRaised",
    "assert_calls", "assert_close", "assert_equal", "assert_global_numbers", "assert_that", "counted", "devices",
    "exercise", "labels", "load_weights", "misconception", "needs", "observe", "picture", "printed", "probes",
    "raises", "ranks", "recipes", "reference", "seeds", "shapes", "situations", "tensors", "value_and_grad",
]  # fmt: skip

_MODULES = ("devices", "probes", "ranks", "recipes", "reference")
_NAMES = {
    "grader.border.failures": "SubmissionRaised",
    "grader.border.proxies": "Remote Submission",
    "grader.pictures": "Diagram Grid Lines Points Spot",
    "grader.testkit.compare": "Mismatch assert_close assert_equal assert_that raises",
    "grader.testkit.decorators": "exercise misconception needs picture",
    "grader.testkit.observation": "assert_calls assert_global_numbers load_weights observe printed value_and_grad",
    "grader.testkit.cases": "situations",
    "grader.testkit.strategies": "labels seeds shapes tensors",
    "grader.text": "counted",
}
"""The modules that are imported when one of their public names is first asked for."""
_RENAMED = {"Submission": "SubmissionProxy"}
"""The name that it has in its own module: `grader.intake` has another class `Submission`."""


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return importlib.import_module(f"grader.testkit.{name}")
    for module, names in _NAMES.items():
        if name in names.split():
            return getattr(importlib.import_module(module), _RENAMED.get(name, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
