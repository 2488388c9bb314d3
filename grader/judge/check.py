"""One collected check. Runs nothing itself."""

from __future__ import annotations

import contextlib
import copy
from collections import defaultdict
from collections.abc import Callable
from typing import Any, Literal

import msgspec
import pytest

from grader.border.messages import Exchange
from grader.judge import examples as generated
from grader.judge.right_runs import RightRuns
from grader.judge.time_limit import TimeLimit

Example = dict[str, Any]


class Trace(msgspec.Struct, frozen=True):
    """The requests and replies of one check, example by example, to compare with those of misconceptions."""

    verdict: str
    examples: tuple[tuple[Exchange, ...], ...] = ()
    ending: str = ""
    """How the process ended, if it did."""


class Check:
    """One collected check.

    Args:
        limit: gives each run of its body the full time; None means no limit.

    Attributes:
        name: its name without ``test_``, with pytest's parameter id.
        exercise: full name of its exercise.
        sentence: its docstring's first paragraph on one line.
        hidden: whether a failure must not show the expected value.
        is_secret: whether students see neither its name nor its sentence.
        weight: its part of the exercise's points, beside those of the exercise's other checks; 0 for a bonus.
        bonus: points that it gives above the exercise's.
        may_change: whether a submission may change the tensors that the check passes to it.
        body: the check's own function, without Hypothesis's wrapper.
        on_reference: how it ends on the reference solution; "unclear" if the solution gave no answer; None until that
            is asked for, or if there is no solution.
    """

    def __init__(
        self,
        item: pytest.Function,
        exercise: str,
        seed: int,
        *,
        hidden: bool | str = False,
        may_change: bool = False,
        points: float | None = None,
        bonus: float = 0.0,
        limit: TimeLimit | None = None,
    ) -> None:
        self.item = item
        self.name = item.name.removeprefix("test_")
        self.exercise = exercise
        self.hidden = bool(hidden)
        self.is_secret = hidden == "all"
        self.bonus = bonus
        self.weight = 0.0 if bonus else 1.0 if points is None else points
        self.sentence = " ".join((item.function.__doc__ or "").strip().split("\n\n")[0].split())
        self.seed = seed
        self.may_change = may_change
        function: Any = item.obj
        # Read now: while examples are made, Hypothesis runs another function in its place.
        body: Callable[..., Any] = function.hypothesis.inner_test if generated.is_property(function) else function
        self.body = limit.timed(body) if limit else body
        self.on_reference: Literal["passes", "fails", "overruns", "unclear"] | None = None
        self.right_runs: defaultdict[int, RightRuns] = defaultdict(RightRuns)
        self._examples: list[Example] | None = None
        self._drawn = False

    def examples(self) -> list[Example] | None:
        """Its examples, drawn once; ``[{}]`` for a check without any; None for one that draws while it runs."""
        if not generated.is_property(self.item.obj):
            return [{}]
        if not self._drawn:
            self._examples = generated.draw(self.item.obj, self.seed, self.name)
            self._drawn = True
        return self._examples

    def with_first_example(self) -> Check:
        """The same check with its first example alone, unless all are drawn: that takes less than half of the time."""
        if self._drawn or not generated.is_property(self.item.obj):
            return self
        # The run of the whole check reports any error in it, or why it skips itself.
        with contextlib.suppress(Exception, pytest.skip.Exception, pytest.fail.Exception):
            if first := generated.draw(self.item.obj, self.seed, self.name, at_most=1):
                found = copy.copy(self)
                found._examples, found._drawn = first[:1], True
                return found
        return self


class CheckFault(Exception):
    """The check itself is wrong: the verdict is ``error``."""
