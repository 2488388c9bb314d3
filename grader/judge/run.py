"""Runs one check against one submission and decides its verdict: the same way in the judge and under plain pytest.

First the quick run, whose examples are replayed over a shared process. Only when it fails comes the diagnosis, in a
fresh process: the whole record of calls for the misconceptions, and a smaller example for the student.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Protocol, cast

import msgspec
import pytest
from hypothesis.errors import StopTest, UnsatisfiedAssumption

from grader.border.failures import MissingName, NotSimulatedHere, SubmissionCrashed, SubmissionRaised, SubmissionTimeout
from grader.border.messages import Exchange
from grader.border.proxies import Call, Channel, SubmissionProxy
from grader.border.transport import PlanLeft
from grader.judge import examples as generated
from grader.judge import explain
from grader.judge.pipelining import gives_away
from grader.results import CheckResult, VerdictKind

Example = dict[str, Any]

MOST_RIGHT_RECORDS: Final = 32
"""Digests of right records that a check remembers: right answers differ in their last bits only in so many ways."""


class Desk(Protocol):
    """Where a check meets a submission: gives channels to it, and knows what was printed.

    Attributes:
        explains: whether anybody reads the messages; if not, no smaller example is looked for.
        only_records: whether only the trace is wanted, as a fresh process gives it.
    """

    explains: bool
    only_records: bool

    def channel(self) -> Channel:
        """The channel of the exercise at hand, with a new record and a new deadline."""

    def fresh(self) -> Channel:
        """Like `channel`, over a process in which nothing has been called yet."""

    def prime(self, plan: list[bytes]) -> bool:
        """Sends requests ahead where the transport can; whether it did."""

    def discard(self) -> None:
        """Ends the process: the next channel gets a fresh one."""

    def prints(self) -> str:
        """What the submission printed since last asked."""

    def stopped_at(self) -> tuple[Any, ...]:
        """The student's lines, innermost first, where a process was that did not answer in time."""

    def last_call(self) -> Call | None:
        """The last call that was made, for messages."""

    def owes_error(self, check: Check, fixtures: dict[str, Any]) -> bool:
        """Whether the reference solution makes this check raise too: then the check itself is wrong."""


class Trace(msgspec.Struct, frozen=True):
    """What crossed the border in one check, example by example; compared with that of each misconception."""

    verdict: str
    examples: tuple[tuple[Exchange, ...], ...] = ()
    ending: str = ""
    """How the process ended, if it did."""


class Check:
    """One collected check.

    Attributes:
        name: its name without ``test_``, with pytest's parameter id.
        exercise: full name of its exercise.
        sentence: its docstring's first paragraph on one line.
        hidden: whether a failure keeps back what was expected.
        body: its own function, without what Hypothesis wraps round it.
    """

    def __init__(self, item: pytest.Function, exercise: str, hidden: bool, seed: int) -> None:
        self.item = item
        self.name = item.name.removeprefix("test_")
        self.exercise = exercise
        self.hidden = hidden
        self.sentence = " ".join((item.function.__doc__ or "").strip().split("\n\n")[0].split())
        self.seed = seed
        function: Any = item.obj
        # Taken now: while examples are made, something else stands in its place.
        self.body: Callable[..., Any] = function.hypothesis.inner_test if generated.is_property(function) else function
        self.plan: list[bytes] | None = None
        self.right: set[bytes] = set()
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


class CheckFault(Exception):
    """The check itself is wrong: the verdict is ``error``."""


Failure = AssertionError | SubmissionRaised


def run(check: Check, desk: Desk, fixtures: dict[str, Any]) -> tuple[CheckResult, Trace]:
    """The verdict of one check, its message, and its trace (empty when passed).

    Exceptions of pytest's own (skip) pass through.
    """
    try:
        if desk.only_records and check.examples() is not None:
            trace = _record(check, desk, fixtures)
            return CheckResult(name=check.name, verdict=cast("VerdictKind", trace.verdict)), trace
        failure = _quick(check, desk, fixtures)
        if failure is None:
            return CheckResult(name=check.name, verdict="passed"), Trace("passed")
        if isinstance(failure, NotSimulatedHere):
            return _result(check, "skipped", explain.not_simulated(failure)), Trace("skipped")
        if _is_unwritten(failure):
            return _result(check, "failed", explain.unwritten(check, failure)), Trace("failed")
        return _diagnose(check, desk, fixtures, failure)
    except SubmissionTimeout as error:
        where = desk.stopped_at()
        text = explain.timeout(check, desk.last_call(), where, desk.prints(), str(error))
        desk.discard()
        return _result(check, "timeout", text), Trace("timeout", error.examples)
    except SubmissionCrashed as error:
        text = explain.crashed(check, desk.last_call(), str(error), desk.prints())
        desk.discard()
        return _result(check, "crashed", text), Trace("crashed", error.examples, str(error))
    except CheckFault as error:
        desk.discard()
        return _result(check, "error", explain.fault(check, error.__cause__ or error)), Trace("error")


def _result(check: Check, verdict: Any, message: str) -> CheckResult:
    return CheckResult(name=check.name, verdict=verdict, message=message)


def _once(check: Check, desk: Desk, channel: Channel, fixtures: dict[str, Any], example: Example) -> Failure | None:
    """Runs the check's body on one example."""
    try:
        check.body(**{**fixtures, "submission": SubmissionProxy(channel)}, **example)
    except (AssertionError, SubmissionRaised) as failure:
        return failure.with_traceback(None)  # which would keep all that the submission sent
    except pytest.fail.Exception as error:
        return AssertionError(str(error))
    except UnsatisfiedAssumption:
        return None
    except Exception as error:
        # Something that is no comparison broke: on an answer of an unforeseen kind, or in a wrong check.
        if not channel.record or desk.owes_error(check, fixtures):
            raise CheckFault from error
        unusable = AssertionError(f"this answer cannot be used: {type(error).__name__}: {error}")
        unusable.__cause__ = error
        return unusable
    return None


def _quick(check: Check, desk: Desk, fixtures: dict[str, Any]) -> Failure | None:
    channel = desk.channel()
    try:
        examples = check.examples()
    except Exception as error:
        raise CheckFault from error
    if examples is None:
        found: list[Failure] = []
        stop: list[BaseException] = []

        def one(example: Example) -> None:
            try:
                failure = _once(check, desk, channel, fixtures, example)
            except StopTest:
                raise
            except BaseException as error:
                stop.append(error)
                raise
            if failure is not None:
                found.append(failure)
                raise failure

        generated.walk(check.item.obj, check.seed, check.name, one)
        if stop:
            raise stop[0]
        return found[0] if found else None
    try:
        if check.plan and desk.prime(check.plan) and _known_right(check, channel):
            return None
        starts = []
        for example in examples:
            starts.append(len(channel.record))
            failure = _once(check, desk, channel, fixtures, example)
            if failure is not None:
                return failure
    except PlanLeft:
        # The check's calls depend on the answers: from now on it is run without a plan.
        check.plan = []
        desk.discard()
        return _quick(check, desk, fixtures)
    requests = [exchange.request for exchange in channel.record]
    if check.plan is None:
        ends = [*starts[1:], len(channel.record)]
        told = any(gives_away(channel.record[start:end]) for start, end in zip(starts, ends, strict=True))
        check.plan = [] if told else requests
    if requests == check.plan and len(check.right) < MOST_RIGHT_RECORDS:
        check.right.add(_digest(exchange.reply for exchange in channel.record))
    return None


def _known_right(check: Check, channel: Channel) -> bool:
    """Whether the replies are bit for bit those of a run that passed.

    A check decides by its inputs and the replies alone, so it need not be run again on the same ones. Otherwise the
    replies wait in the channel's transport, and the check is run on them.
    """
    replies = channel.transport.take_ahead()
    if not replies or _digest(replies) not in check.right:
        return False
    channel.transport.drop_ahead()
    return True


def _digest(replies: Iterable[bytes]) -> bytes:
    total = hashlib.sha256()
    for reply in replies:
        total.update(len(reply).to_bytes(4, "little"))
        total.update(reply)
    return total.digest()


def _replay(
    check: Check, desk: Desk, channel: Channel, fixtures: dict[str, Any], traces: list[tuple[Exchange, ...]]
) -> Iterator[Failure]:
    """Runs all examples and notes the exchanges of each; yields the failures as they come."""
    for example in check.examples() or []:
        seen = len(channel.record)
        failure = _once(check, desk, channel, fixtures, example)
        traces.append(tuple(channel.record[seen:]))
        if failure is not None:
            yield failure


def _record(check: Check, desk: Desk, fixtures: dict[str, Any]) -> Trace:
    traces: list[tuple[Exchange, ...]] = []
    failures = list(_replay(check, desk, desk.fresh(), fixtures, traces))
    if any(isinstance(failure, NotSimulatedHere) for failure in failures):
        return Trace("skipped")
    if not failures:
        return Trace("passed")
    return Trace("failed", () if _is_unwritten(failures[0]) else tuple(traces))


def _diagnose(check: Check, desk: Desk, fixtures: dict[str, Any], quick: Failure) -> tuple[CheckResult, Trace]:
    """Records all examples in a fresh process, then looks for the smallest that fails alike."""
    quick_text = explain.failed(check, desk.last_call(), quick, desk.prints())
    desk.discard()
    channel = desk.fresh()
    traces: list[tuple[Exchange, ...]] = []
    best: tuple[str, Failure] | None = None
    try:
        for failure in _replay(check, desk, channel, fixtures, traces):
            best = best or (explain.failed(check, channel.last, failure, desk.prints()), failure)
        if desk.explains and generated.is_property(check.item.obj):
            kind = _kind((best or ("", quick))[1])

            def attempt(example: Example) -> bool:
                nonlocal best
                channel.last = None
                failure = _once(check, desk, channel, fixtures, example)
                if failure is None or _kind(failure) != kind:
                    return False
                best = explain.failed(check, channel.last, failure, desk.prints()), failure
                return True

            _shrink(check, attempt)
    except (SubmissionTimeout, SubmissionCrashed):
        # The verdict stands; only the better message is lost.
        pass
    desk.discard()
    text = (
        best[0]
        if best
        else f"{quick_text}\n(asked alone, the same call was right: the answer depends on earlier calls)"
    )
    return _result(check, "failed", text), Trace("failed", tuple(traces))


def _shrink(check: Check, attempt: generated.Attempt) -> None:
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

    with contextlib.suppress(pytest.skip.Exception):
        generated.shrink(check.item.obj, check.seed, check.name, guarded)
    if stop and isinstance(stop[0], (SubmissionTimeout, SubmissionCrashed)):
        raise stop[0]


def _is_unwritten(failure: Failure) -> bool:
    """Whether there is no answer yet: no such name, or a stub as it was handed out.

    For the latter the student's own line must say so: torch raises the same exception for what it cannot do.
    """
    if isinstance(failure, MissingName):
        return True
    if not isinstance(failure, SubmissionRaised) or failure.kind != "NotImplementedError" or not failure.frames:
        return False
    return "NotImplementedError" in failure.frames[-1].text


def _kind(failure: Failure) -> str:
    return failure.kind if isinstance(failure, SubmissionRaised) else "assertion"
