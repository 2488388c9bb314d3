"""What a check is written with. The public face: import from here, not from the modules behind it.

Names are loaded when first used, so that a student process can hold the recipes without pytest or Hypothesis.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.border.failures import SubmissionRaised
    from grader.border.proxies import Remote, RemoteFunction
    from grader.border.proxies import SubmissionProxy as Submission
    from grader.testkit import data, devices, probes, recipes, reference
    from grader.testkit.compare import Mismatch, assert_close, assert_equal, assert_that, raises
    from grader.testkit.marking import exercise, misconception
    from grader.testkit.observation import Observation, ValueAndGrad, observe, value_and_grad
    from grader.testkit.strategies import labels, shapes, tensors

__all__ = [
    "Mismatch",
    "Observation",
    "Remote",
    "RemoteFunction",
    "Submission",
    "SubmissionRaised",
    "ValueAndGrad",
    "assert_close",
    "assert_equal",
    "assert_that",
    "data",
    "devices",
    "exercise",
    "labels",
    "misconception",
    "observe",
    "probes",
    "raises",
    "recipes",
    "reference",
    "shapes",
    "tensors",
    "value_and_grad",
]

_HOME = {
    "Mismatch": "grader.testkit.compare",
    "Observation": "grader.testkit.observation",
    "Remote": "grader.border.proxies",
    "RemoteFunction": "grader.border.proxies",
    "Submission": "grader.border.proxies",
    "SubmissionRaised": "grader.border.failures",
    "ValueAndGrad": "grader.testkit.observation",
    "assert_close": "grader.testkit.compare",
    "assert_equal": "grader.testkit.compare",
    "assert_that": "grader.testkit.compare",
    "exercise": "grader.testkit.marking",
    "labels": "grader.testkit.strategies",
    "misconception": "grader.testkit.marking",
    "observe": "grader.testkit.observation",
    "raises": "grader.testkit.compare",
    "shapes": "grader.testkit.strategies",
    "tensors": "grader.testkit.strategies",
    "value_and_grad": "grader.testkit.observation",
}

_RENAMED = {"Submission": "SubmissionProxy"}
"""What a name is called where it comes from: `grader.intake` has a submission of its own."""


def __getattr__(name: str) -> object:
    if name in ("data", "devices", "probes", "recipes", "reference"):
        return importlib.import_module(f"grader.testkit.{name}")
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), _RENAMED.get(name, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
