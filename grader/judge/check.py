"""One collected check, its trace, and the interface through which it calls a submission. Runs nothing itself."""

from __future__ import annotations

import contextlib
import copy
from collections import defaultdict
from collections.abc import Callable, Collection
from types import GeneratorType
from typing import Any, Final, Literal, TypeAlias

import msgspec
import pytest
import torch

from grader.border.channel import Channel
from grader.border.failures import SubmissionCrashed
from grader.border.messages import Exchange
from grader.border.proxies import Call
from grader.border.situations import Case
from grader.judge import examples as generated
from grader.judge.right_runs import RightRuns
from grader.judge.time_limit import TimeLimit
from grader.results import CheckResult, Frame, SpentTime
from grader.testkit import devices
from grader.testkit.decorators import NEEDS, NEEDS_MARK

Example = dict[str, Any]
_UNCHANGING: Final = frozenset(
    {type(None), bool, int, float, complex, str, bytes, torch.dtype, torch.device, torch.Size}
)


class Trace(msgspec.Struct, frozen=True):
    """The requests and replies of one check, example by example, to compare with those of misconceptions."""

    verdict: str
    examples: tuple[tuple[Exchange, ...], ...] = ()
    ending: str = ""
    """How the process ended, if it did."""
    cases: tuple[Case, ...] = ()
    """The situations of the check that were judged; they are no part of the record that is compared."""
    is_mismatch: bool = False
    """Whether it failed by a comparison."""


class CheckFault(Exception):
    """The check itself is wrong: the verdict is ``error``."""


class Check:
    """One collected check.

    Args:
        number: which one it is of the checks that a function makes with its parameters, from 1.
        limit: gives each run of its body the full time; None means no limit.

    Attributes:
        name: its name without ``test_``, with pytest's parameter id. A hidden check has a number instead of the id, in
            which an expected value may be.
        exercise: full name of its exercise.
        topic: the name of its topic.
        sentence: its docstring's first paragraph on one line.
        hidden: whether a failure must show nothing but the call and what came back.
        is_secret: whether students see neither its name nor its sentence.
        weight: its part of the exercise's points, beside those of the exercise's other checks; 0 for a bonus.
        bonus: points on top of those of the exercise.
        when: the situation that it is about, in words; may be empty.
        may_change: whether a submission may change the tensors that the check passes to it.
        is_example: whether it is the example of the stub's docstring: it has no part of the points.
        body: the check's own function, without Hypothesis's wrapper.
        on_reference: the outcome on the reference solution: "overruns" if the check exceeds the judge's time limit,
            "unclear" if the solution crashes or times out; None until it was run, or if there is no solution.
        right_runs: of each example, the runs that passed.
        runs_item: whether its body is the whole run of its test by pytest, with fixtures and Hypothesis.
        seconds: how long it may take; 0 means as long as the limits say.
        changed: kinds of arguments that the submission has changed in its last run, if it may change any.
        changed_by_solution: those that the course's solution changes; None until that was run.
        keeps_arguments: whether its runs go on with the arguments as they were passed.
    """

    runs_item = False
    changed: frozenset[str] = frozenset()
    changed_by_solution: frozenset[str] | None = None
    keeps_arguments = False

    def __init__(
        self,
        item: pytest.Function,
        exercise: str,
        seed: int,
        *,
        number: int = 0,
        hidden: bool | str = False,
        may_change: bool = False,
        points: float | None = None,
        bonus: float = 0.0,
        when: str = "",
        seconds: float = 0.0,
        limit: TimeLimit | None = None,
        is_example: bool = False,
    ) -> None:
        self.is_example = is_example
        self.item = item
        self.name = item.name.removeprefix("test_")
        if hidden and hasattr(item, "callspec"):
            self.name = f"{self.name.partition('[')[0]}[{number}]"
        self.exercise = exercise
        self.topic = exercise.partition(".")[0]
        self.hidden = bool(hidden)
        self.is_secret = hidden == "all"
        self.bonus = bonus
        self.weight = 0.0 if bonus or is_example else 1.0 if points is None else points
        self.sentence = " ".join((item.function.__doc__ or "").strip().split("\n\n")[0].split())
        self.seed = seed
        self.when = when
        self.seconds = seconds
        self.may_change = may_change
        function: Any = item.obj
        # Read now: while examples are made, Hypothesis runs another function in its place.
        body: Callable[..., Any] = function.hypothesis.inner_test if generated.is_property(function) else function
        self.body = limit.timed(body) if limit else body
        self.on_reference: Literal["passes", "fails", "overruns", "unclear"] | None = None
        self.right_runs: defaultdict[int, RightRuns] = defaultdict(RightRuns)
        self._parameters = frozenset(getattr(getattr(item, "callspec", None), "params", ()))
        self._examples: list[Example] | None = [{}]
        self._is_drawn = not generated.is_property(function)

    def examples(self) -> list[Example] | None:
        """Its examples, drawn once; ``[{}]`` for a check without any; None for one that draws while it runs.

        Examples that cannot be copied are drawn for each run anew, because nobody may get what another has changed.

        Raises:
            CheckFault: from the exception of the check's own code that makes them.
        """
        examples = self._examples
        if not self._is_drawn:
            try:
                examples = generated.draw(self.item.obj, self.seed, self.name)
            except Exception as error:
                raise CheckFault from error
            self._is_drawn = examples is None or all(own_copies(example) is not None for example in examples)
            self._examples = examples if self._is_drawn else None
        return examples

    def arguments(self, fixtures: dict[str, Any], example: Example) -> dict[str, Any]:
        """The values for one run of its body: copies of those that other runs get, too.

        Args:
            fixtures: the values of its fixtures, which pytest makes for each run, and of its parameters.
        """
        parameters = {name: value for name, value in fixtures.items() if name in self._parameters}
        shared = {name: value for name, value in (parameters | example).items() if not generated.draws_more(value)}
        if any(isinstance(value, GeneratorType) for value in parameters.values()):
            raise TypeError("a generator gives its items once, to the first submission: make it in the check's body")
        return fixtures | example | (own_copies(shared) or {})

    def with_first_example(self) -> Check:
        """The same check with its first example alone, unless all are drawn: that takes less than half of the time."""
        # The run of the whole check reports any error in it, or why it skips itself.
        with contextlib.suppress(Exception, pytest.skip.Exception, pytest.fail.Exception):
            if not self._is_drawn and (first := generated.draw(self.item.obj, self.seed, self.name, at_most=1)):
                found = copy.copy(self)
                found._examples, found._is_drawn = first[:1], True
                return found
        return self

    def unmet(self, layers: Collection[str] = ()) -> str:
        """Why this machine does not meet the check's `needs` mark; empty if it does.

        Args:
            layers: the layers of the sandbox; none if nothing is sandboxed.
        """
        mark = self.item.get_closest_marker(NEEDS_MARK)
        is_met = {"gpu": lambda: devices.real(1), "ranks": lambda: "seccomp" not in layers or "net-namespace" in layers}
        return next((NEEDS[need] for need in (mark.args if mark else ()) if not is_met[need]()), "")


class Desk:
    """Through a desk a check calls a submission, and reads its prints and the lines at which it stopped.

    The submission is in a sandboxed process, or is a module of this process. Here: a desk without limits, prints or
    further processes.

    Attributes:
        explains_failures: whether a failure gets its cause and a smaller example, which only readers of messages need.
        is_final: whether a failure counts now; if not, only whether the check passes is wanted.
        memory_limit: the memory that a submission may use (bytes); 0 if there is no limit.
    """

    explains_failures = True
    is_final = True
    memory_limit = 0

    def channel(self) -> Channel:
        """The channel to the current exercise's process, with an empty record and a new deadline.

        Raises:
            SubmissionCrashed: no process can be started for the exercise.
        """
        raise NotImplementedError

    def allow(self, seconds: float) -> None:
        """The next check may take this long; 0 means as long as the limits say."""

    def renew_time(self) -> None:
        """Gives the running check its full time again."""

    def end_process(self) -> None:
        """Ends the process; the next `channel` starts a new one."""

    def use_fresh_process(self) -> None:
        """Ends the process: what is asked next is asked in a fresh one, and its failures count."""
        self.end_process()

    def end_worlds(self) -> None:
        """Ends the further processes that the check has started."""

    def take_prints(self) -> str:
        """The text that the submission printed since this was last called."""
        return ""

    def stopped_at(self) -> Frame | None:
        """After a timeout: the line of the topic's file that was running, or its loop; None if that is not known."""
        return None

    def spent_time(self) -> SpentTime | None:
        """After a timeout: the time limit, and how the time was spent; None if that is not known."""
        return None

    def last_call(self) -> Call | None:
        """The last call that the check made, for messages; None before the first."""
        return None

    def reference_also_fails(self, check: Check, run: RunOn) -> bool:
        """Whether the reference solution does not pass the check either; if so, the check itself is wrong.

        Args:
            run: runs the check with another desk, that of the reference solution.
        """
        return True


RunOn: TypeAlias = Callable[[Desk], tuple[CheckResult, Trace]]


class NobodyThere(SubmissionCrashed):
    """A check asks where no submission is, to see whether it skips itself, or keeps what it got there."""


class _Nobody:
    """A `Transport` whose process has ended."""

    def __init__(self) -> None:
        self.kept: dict[str, object] = {}

    def call(self, request: bytes) -> bytes:
        raise NobodyThere

    call_outside = call


class NobodysDesk(Desk):
    """A desk at which nobody answers: a check gets as far as its first request."""

    explains_failures = False

    def channel(self) -> Channel:
        return Channel(_Nobody())


# ---------------------------------------------------------------- inputs that are the same for everybody


def own_copies(values: dict[str, Any]) -> dict[str, Any] | None:
    """Copies that share nothing that can change with these values; None if something in them cannot be copied.

    Tensors keep their strides and whether they require grad; what shares memory among the values does so in the copies.
    """
    changing = {name: value for name, value in values.items() if type(value) not in _UNCHANGING}
    try:
        return values | (_clones(changing) or copy.deepcopy(changing))
    except Exception:  # an object has a way of its own to be copied, or none
        return None


def _clones(values: dict[str, Any]) -> dict[str, Any]:
    """Clones of plain tensors, which take a tenth of the time of deep copies; empty if a clone could lack something."""
    if not all(type(one) is torch.Tensor and _is_data_alone(one) for one in values.values()):
        return {}
    if len(values) > 1 and len({one.untyped_storage().data_ptr() for one in values.values()}) < len(values):
        return {}
    clones = {name: one.clone() for name, one in values.items()}
    return clones if all(clones[name].stride() == one.stride() for name, one in values.items()) else {}


def _is_data_alone(tensor: torch.Tensor) -> bool:
    return tensor.layout is torch.strided and not tensor.requires_grad and tensor.grad is None and not vars(tensor)
