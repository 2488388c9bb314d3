"""Generated examples of one check: drawn once, replayed as a plain loop, shrunk only when one fails.

Hypothesis takes most of the time of a property check. Its examples are deterministic, so the judge draws them once per
seed and replays the same ones for every submission. Must never time anything: all limits are counts.
"""

import contextlib
import inspect
import zlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import hypothesis
from hypothesis import HealthCheck, Phase
from hypothesis.errors import HypothesisException
from hypothesis.strategies import DataObject

from grader.judge.hypothesis_adapter import changed_settings, no_constants_of_modules, settings_of
from grader.testkit.strategies import varied_by

MOST_SHRINKS: Final = 150
"""Executions while a failure is made smaller."""

Attempt = Callable[[dict[str, Any]], bool]
"""Runs one example; True when it failed, as the failure that is being shrunk if there is one."""


def is_property(test: Callable[..., Any]) -> bool:
    """Whether a check has generated examples."""
    return hasattr(test, "hypothesis")


def may_be_shrunk(test: Callable[..., Any]) -> bool:
    """Whether a smaller example is looked for: not if the check's ``settings(phases=...)`` leave shrinking out."""
    return is_property(test) and Phase.shrink in settings_of(test).phases


def draw(test: Any, seed: int, name: str, at_most: int | None = None) -> list[dict[str, Any]] | None:
    """The check's examples, the same for the same seed and name; None if it draws while it runs (``st.data()``).

    Args:
        at_most: how many are generated beside those that the check spells out; None: as its settings say.
    """
    examples: list[dict[str, Any]] = []
    phases = [Phase.explicit, Phase.generate]
    _run(test, seed, name, lambda kwargs: examples.append(kwargs), phases, {"max_examples": at_most} if at_most else {})
    if any(isinstance(value, DataObject) for kwargs in examples for value in kwargs.values()):
        return None
    return examples


def search(test: Any, seed: int, name: str, attempt: Attempt, *, shrinks: bool) -> None:
    """Runs examples until an attempt fails; with `shrinks`, goes on with smaller ones.

    ``attempt`` remembers the last one that failed. Hypothesis may run it once more, to test whether it draws the same.
    """
    count = 0

    def guarded(kwargs: dict[str, Any]) -> None:
        nonlocal count
        count += 1
        if (count <= MOST_SHRINKS or not shrinks) and attempt(kwargs):
            raise AssertionError("still failing")

    phases = [Phase.explicit, Phase.generate, *([Phase.shrink] if shrinks else [])]
    with contextlib.suppress(AssertionError, HypothesisException):
        _run(test, seed, name, guarded, phases)


def _run(
    test: Any,
    seed: int,
    name: str,
    inner: Callable[[dict[str, Any]], None],
    phases: list[Phase],
    further: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Runs Hypothesis over the check's strategies with another body, and with further settings."""
    not_drawn = list(inspect.signature(test).parameters)  # the submission, pytest's parameters and fixtures

    def replacement(**kwargs: Any) -> None:
        for name in not_drawn:
            kwargs.pop(name, None)
        inner(kwargs)

    handle = test.hypothesis
    body, handle.inner_test = handle.inner_test, replacement
    try:
        with (
            no_constants_of_modules(),
            varied_by(seed),
            changed_settings(
                test,
                database=None,
                deadline=None,
                print_blob=False,
                report_multiple_bugs=False,
                phases=phases,
                suppress_health_check=list(HealthCheck),
                verbosity=hypothesis.Verbosity.quiet,
                **further,
            ),
        ):
            # The seed stays on the test. That is harmless: only this function runs the test, and always sets the seed.
            hypothesis.seed(zlib.crc32(f"{seed}/{name}".encode()))(test)
            test(**dict.fromkeys(not_drawn))
    finally:
        handle.inner_test = body
