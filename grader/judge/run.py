"""Runs one check against one submission and decides its verdict: the same way in the judge and under plain pytest.

If a failure counts at the desk, the examples after the first that fails are run too, because misconceptions are
compared with the record of all calls, and then a smaller example is looked for. Else the first failure is the end.
"""

import contextlib
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
from grader.judge.check import Check, CheckFault, Example, Trace
from grader.judge.desk import Desk
from grader.judge.right_runs import RightRuns
from grader.results import CheckResult

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
        if examples is None:
            failure = _run_drawing_check(check, desk, channel, fixtures)
            return _result(check, desk, channel, fixtures, failure, [], iter(()))
        exchanges: list[tuple[Exchange, ...]] = []
        running = _run_examples(check, channel, desk, fixtures, exchanges)
        failure = next(running, None)
        return _result(check, desk, channel, fixtures, failure, exchanges, running)
    except SubmissionTimeout as error:
        if channel is not None and channel.asks_on_and_on and desk.is_final and not desk.wants_trace_only:
            # Raises an `Overrun` if the check's own loop does not end.
            desk.reference_also_fails(check, lambda reference: run(check, reference, fixtures))
        where, spent = desk.stopped_at(), desk.spent_time()
        cause = causes.timeout(check, desk.last_call(), where, desk.take_prints(), str(error), spent)
        trace = Trace("timeout", error.examples)
    except SubmissionCrashed as error:
        cause = causes.crashed(check, desk.last_call(), error, desk.take_prints(), desk.memory_limit)
        trace = Trace("crashed", error.examples, str(error))
    except CheckFault as error:
        cause = causes.fault(check, error.__cause__ or error)
        trace = Trace("error")
    desk.end_process()
    return explain.result(check.name, cause), trace


def _result(
    check: Check,
    desk: Desk,
    channel: Channel,
    fixtures: dict[str, Any],
    failure: Failure | None,
    exchanges: list[tuple[Exchange, ...]],
    running: Iterator[Failure],
) -> tuple[CheckResult, Trace]:
    """The result and the trace that follow from the first failure.

    Args:
        exchanges: of each example that was run.
        running: runs the examples after it.
    """
    if failure is None:
        return CheckResult(name=check.name, verdict="passed"), Trace("passed")
    if _is_unwritten(failure):
        return explain.result(check.name, causes.unwritten(check, failure)), Trace("failed")
    if not desk.is_final:
        return CheckResult(name=check.name, verdict="failed"), Trace("failed")
    if isinstance(failure, NotSimulatedHere):
        return explain.result(check.name, causes.not_simulated(failure)), Trace("failed")
    return _diagnose(check, desk, channel, fixtures, failure, exchanges, running)


def _run_example(
    check: Check,
    desk: Desk,
    channel: Channel,
    fixtures: dict[str, Any],
    example: Example,
    right: RightRuns | None = None,
) -> Failure | None:
    """Runs the check's body on one example, unless its replies are those of a run that passed.

    Args:
        right: such runs; None if the messages of a failure are wanted.
    """
    try:
        channel.before_call = desk.take_prints if desk.is_final else None  # a failure shows those of its own call
        channel.begin_example(check.may_change)
        if right is None or not right.are_repeated(channel):
            check.body(**{**fixtures, "submission": SubmissionProxy(channel)}, **example)
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
        traceback.clear_frames(
            error.__traceback__
        )  # The values of the check may fill all the memory that the judge may use.
        if not channel.record or desk.reference_also_fails(check, lambda reference: run(check, reference, fixtures)):
            raise CheckFault from error
        unusable = AssertionError(f"this answer cannot be used: {type(error).__name__}: {error}")
        unusable.__cause__ = error
        return unusable
    return None


def _run_drawing_check(check: Check, desk: Desk, channel: Channel, fixtures: dict[str, Any]) -> Failure | None:
    """The first failure of a check that draws values while it runs (``st.data()``)."""
    found: list[Failure] = []

    def attempt(example: Example) -> bool:
        failure = _run_example(check, desk, channel, fixtures, example)
        found.extend([failure] if failure is not None else [])
        return failure is not None

    if (stop := _search(check, attempt, shrinks=False)) is not None:
        raise stop
    return found[0] if found else None


def _run_examples(
    check: Check, channel: Channel, desk: Desk, fixtures: dict[str, Any], traces: list[tuple[Exchange, ...]]
) -> Iterator[Failure]:
    """Runs all examples, adds the exchanges of each to `traces`, and yields the failures as they come."""
    for number, example in enumerate(check.examples() or []):
        seen = len(channel.record)
        right = check.right_runs[number] if not desk.is_final else None
        failure = _run_example(check, desk, channel, fixtures, example, right)
        if failure is None:
            check.right_runs[number].add(channel.record[seen:])
        traces.append(tuple(channel.record[seen:]))
        if failure is not None:
            yield failure


def _diagnose(
    check: Check,
    desk: Desk,
    channel: Channel,
    fixtures: dict[str, Any],
    first: Failure,
    traces: list[tuple[Exchange, ...]],
    running: Iterator[Failure],
) -> tuple[CheckResult, Trace]:
    """Records the other examples, then looks for the smallest that fails in the same way."""
    found = None
    if not desk.wants_trace_only:
        found = causes.failed(check, desk.last_call(), first, desk.take_prints())
    kind = _failure_kind(first)
    try:
        desk.renew_time()
        for failure in running:
            if isinstance(failure, NotSimulatedHere):
                return explain.result(check.name, causes.not_simulated(failure)), Trace("failed")
        if found is not None and desk.shrinks_failures and generated.may_be_shrunk(check.item.obj):

            def attempt(example: Example) -> bool:
                nonlocal found
                channel.last = None
                failure = _run_example(check, desk, channel, fixtures, example)
                if failure is None or _failure_kind(failure) != kind:
                    return False
                found = causes.failed(check, channel.last, failure, desk.take_prints())
                return True

            with contextlib.suppress(pytest.skip.Exception):
                if isinstance(stop := _search(check, attempt, shrinks=True), SubmissionTimeout | SubmissionCrashed):
                    raise stop
    except (SubmissionTimeout, SubmissionCrashed):
        desk.end_process()  # the verdict stays *failed*; only a better message is lost
    desk.end_worlds()
    trace = Trace("failed", tuple(traces))
    if found is None:
        return CheckResult(name=check.name, verdict="failed"), trace
    return explain.result(check.name, found), trace


def _search(check: Check, attempt: generated.Attempt, *, shrinks: bool) -> BaseException | None:
    """Runs `examples.search`; the exception that an attempt has raised, after which no other one is run."""
    stop: list[BaseException] = []

    def guarded(example: Example) -> bool:
        if stop:
            return False
        try:
            return attempt(example)
        except StopTest:
            raise
        except BaseException as error:
            stop.append(error)
            return False

    generated.search(check.item.obj, check.seed, check.name, guarded, shrinks=shrinks)
    return stop[0] if stop else None


def _is_unwritten(failure: Failure) -> bool:
    """Whether there is no answer yet: no such name, or a stub as it was handed out.

    For the latter the student's own line must say so: torch raises the same exception for things that it cannot do.
    """
    if isinstance(failure, MissingName):
        return True
    if not isinstance(failure, SubmissionRaised) or failure.kind != "NotImplementedError" or not failure.frames:
        return False
    return "NotImplementedError" in failure.frames[-1].text


def _failure_kind(failure: Failure) -> str:
    return failure.kind if isinstance(failure, SubmissionRaised) else "assertion"
