"""Runs one check against one submission and decides its verdict: the same way in the judge and under plain pytest.

If a failure counts at the desk, the examples after the first that fails are run too, because misconceptions are
compared with the record of all calls, and then a smaller example is looked for. Else the first failure is the end.
"""

import contextlib
import itertools
import traceback
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis.errors import StopTest, UnsatisfiedAssumption

from grader.border.channel import Channel
from grader.border.failures import MissingName, NotSimulatedHere, SubmissionCrashed, SubmissionRaised, SubmissionTimeout
from grader.border.messages import Exchange
from grader.border.proxies import SubmissionProxy
from grader.judge import cause as causes
from grader.judge import examples as generated
from grader.judge import explain
from grader.judge.check import Check, CheckFault, Desk, Example, Trace
from grader.judge.right_runs import RightRuns
from grader.results import Cause, CheckResult

Failure = AssertionError | SubmissionRaised


def run(check: Check, desk: Desk, fixtures: dict[str, Any]) -> tuple[CheckResult, Trace]:
    """The verdict of one check, its cause, and its trace (empty when passed).

    If a failure does not count, or only the trace is wanted, there is no cause.
    Exceptions of pytest's own (skip) pass through.
    """
    channel = None
    try:
        try:
            examples = check.examples()
        except Exception as error:
            raise CheckFault from error
        channel = desk.channel()
        return _Run(check, desk, fixtures, channel).result(examples)
    except SubmissionTimeout as error:
        if channel is not None and channel.asks_on_and_on and desk.is_final and not desk.wants_trace_only:
            # Raises an `Overrun` if the check's own loop does not end.
            desk.reference_also_fails(check, lambda reference: run(check, reference, fixtures))
        cause = causes.timeout(check, desk, str(error))
        trace = Trace("timeout", error.examples)
    except SubmissionCrashed as error:
        cause = causes.crashed(check, desk, error)
        trace = Trace("crashed", error.examples, str(error))
    except CheckFault as error:
        cause = causes.fault(check, error.__cause__ or error)
        trace = Trace("error")
    desk.end_process()
    return explain.result(check.name, cause), trace


class _Run:
    """One run of a check through a channel of a desk, with the values of its fixtures and parameters."""

    def __init__(self, check: Check, desk: Desk, fixtures: dict[str, Any], channel: Channel) -> None:
        self._check = check
        self._desk = desk
        self._fixtures = fixtures
        self._channel = channel
        self._exchanges: list[tuple[Exchange, ...]] = []  # of each example that was run
        self._cause: Cause | None = None

    def result(self, examples: list[Example] | None) -> tuple[CheckResult, Trace]:
        """The result and the trace that follow from the first failure."""
        check = self._check
        running = self._failures(examples)
        first = next(running, None)
        if first is None:
            return CheckResult(name=check.name, verdict="passed"), Trace("passed")
        if _is_unwritten(first):
            return explain.result(check.name, causes.unwritten(check, first)), Trace("failed")
        if not self._desk.is_final:
            return CheckResult(name=check.name, verdict="failed"), Trace("failed")
        if not self._desk.wants_trace_only:
            self._cause = self._cause_of(first)
        try:
            self._desk.renew_time()
            for failure in itertools.chain([first], running):
                if isinstance(failure, NotSimulatedHere):
                    return explain.result(check.name, causes.not_simulated(failure)), Trace("failed")
            if self._cause and self._desk.shrinks_failures and generated.may_be_shrunk(check.item.obj):
                self._shrink(_failure_kind(first))
        except (SubmissionTimeout, SubmissionCrashed):
            self._desk.end_process()  # the verdict stays *failed*; only a better message is lost
        self._desk.end_worlds()
        trace = Trace("failed", tuple(self._exchanges))
        if self._cause is None:
            return CheckResult(name=check.name, verdict="failed"), trace
        return explain.result(check.name, self._cause), trace

    def _failures(self, examples: list[Example] | None) -> Iterator[Failure]:
        """Runs all examples, keeps the exchanges of each, and yields the failures as they come.

        Of a check that draws values while it runs (``st.data()``), only the first failure.
        """
        if examples is None:
            yield from self._first_drawn_failure()
            return
        for number, example in enumerate(examples):
            seen = len(self._channel.record)
            right = self._check.right_runs[number]
            failure = self._run_example(example, None if self._desk.is_final else right)
            exchanges = tuple(self._channel.record[seen:])
            self._exchanges.append(exchanges)
            if failure is None:
                right.add(exchanges)
            else:
                yield failure

    def _first_drawn_failure(self) -> list[Failure]:
        found: list[Failure] = []

        def attempt(example: Example) -> bool:
            failure = self._run_example(example)
            found.extend([failure] if failure is not None else [])
            return failure is not None

        if (stop := self._search(attempt, shrinks=False)) is not None:
            raise stop
        return found[:1]

    def _shrink(self, kind: str) -> None:
        """Keeps the cause of the smallest example that fails in the same way."""

        def attempt(example: Example) -> bool:
            self._channel.last = None
            failure = self._run_example(example)
            if failure is None or _failure_kind(failure) != kind:
                return False
            self._cause = self._cause_of(failure)
            return True

        with contextlib.suppress(pytest.skip.Exception):
            if isinstance(stop := self._search(attempt, shrinks=True), SubmissionTimeout | SubmissionCrashed):
                raise stop

    def _search(self, attempt: generated.Attempt, *, shrinks: bool) -> BaseException | None:
        """Runs `examples.search`; the exception that an attempt has raised, after which no other one is run."""
        stop: BaseException | None = None

        def guarded(example: Example) -> bool:
            nonlocal stop
            try:
                return stop is None and attempt(example)
            except StopTest:
                raise
            except BaseException as error:
                stop = error
                return False

        generated.search(self._check.item.obj, self._check.seed, self._check.name, guarded, shrinks=shrinks)
        return stop

    def _cause_of(self, failure: Failure) -> Cause:
        return causes.failed(self._check, self._channel.last, failure, self._desk.take_prints())

    def _run_example(self, example: Example, right: RightRuns | None = None) -> Failure | None:
        """Runs the check's body on one example, unless its replies are those of a run that passed.

        Args:
            right: such runs; None if the messages of a failure are wanted.
        """
        channel, check, desk = self._channel, self._check, self._desk
        try:
            channel.before_call = desk.take_prints if desk.is_final else None  # a failure shows those of its own call
            channel.begin_example(check.may_change)
            if right is None or not right.are_repeated(channel):
                check.body(**{**self._fixtures, "submission": SubmissionProxy(channel)}, **example)
            channel.check_arguments()
        except (AssertionError, SubmissionRaised) as failure:
            return failure.with_traceback(None)  # a traceback would keep all that the submission sent in memory
        except pytest.fail.Exception as error:
            return AssertionError(str(error))
        except UnsatisfiedAssumption:
            return None
        except (Exception, pytest.skip.Exception) as error:
            if isinstance(error, pytest.skip.Exception) and not channel.record:
                raise
            # A skip after that could be the wish of the submission.
            # Either the answer is of a kind that the check does not expect, or the check itself is wrong.
            traceback.clear_frames(error.__traceback__)  # the check's values may fill all the memory of the judge
            if not channel.record or desk.reference_also_fails(check, lambda other: run(check, other, self._fixtures)):
                raise CheckFault from error
            unusable = AssertionError(f"this answer cannot be used: {type(error).__name__}: {error}")
            unusable.__cause__ = error
            return unusable
        return None


def _is_unwritten(failure: Failure) -> bool:
    """Whether there is no answer yet: no such name, or a stub as it was handed out.

    For the latter the student's own line must say so: torch raises the same exception for things that it cannot do.
    """
    if isinstance(failure, MissingName):
        return True
    if not isinstance(failure, SubmissionRaised) or failure.kind != "NotImplementedError":
        return False
    return any("NotImplementedError" in frame.text for frame in failure.frames[-1:])


def _failure_kind(failure: Failure) -> str:
    return failure.kind if isinstance(failure, SubmissionRaised) else "assertion"
