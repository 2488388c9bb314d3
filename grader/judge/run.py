"""Runs checks against submissions and decides their verdicts: the same way in the judge and under plain pytest.

`run` runs one check. If a failure counts at the desk, the examples after the first that fails are run too, because
misconceptions are compared with the record of all calls, and then a smaller example is looked for. Else the first
failure is the end.

`CollectedChecks` runs those of a session: not if they are left out, and within the judge's own time limit. Whatever
a run raises becomes the result of its check, except that a crash of the warm host also ends the worker. The pictures
beside the checks are made here, too: they decide no verdict, and one that fails becomes a line of text.
"""

import contextlib
import functools
import itertools
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest
from hypothesis.errors import UnsatisfiedAssumption
from msgspec.structs import replace

from grader.border import failures
from grader.border.channel import MAX_RECEIVED_BYTES, Channel
from grader.border.failures import SubmissionCrashed, SubmissionRaised, SubmissionTimeout
from grader.border.messages import Exchange
from grader.border.proxies import SubmissionProxy
from grader.border.situations import Case
from grader.files import in_folder
from grader.judge import cause as causes
from grader.judge import examples as generated
from grader.judge import explain
from grader.judge.check import Check, CheckFault, Desk, Example, NobodyThere, Trace
from grader.judge.listener import Listener, NotRun, Place, endless, kept_busy, place_of
from grader.judge.right_runs import RightRuns
from grader.judge.situations import facts_of
from grader.judge.time_limit import Overrun, TimeLimit
from grader.pictures import Picture, bounded
from grader.results import VERDICT_OF, Cause, CheckResult
from grader.testkit.compare import Mismatch
from grader.testkit.decorators import EXERCISE_MARK, NEEDS_MARK, PICTURE
from grader.text import one_line, without_addresses

_MOST_CASES: Final = 400
"""Different cases of a check that are kept."""
_MOST_ALIKE: Final = 3
"""Cases in the same situation that are counted."""

Failure: TypeAlias = AssertionError | SubmissionRaised


class CannotBeAssessed(pytest.skip.Exception):  # type: ignore[name-defined,misc]
    """Raised for a test that needs what no judge can give: unlike with other skips, no submission has a part in it."""


def run(check: Check, desk: Desk, fixtures: dict[str, Any]) -> tuple[CheckResult, Trace]:
    """The verdict of one check, its cause, and its trace (empty when passed).

    If a failure does not count, or the desk does not want it explained, there is no cause.
    Exceptions of pytest's own (skip) pass through.
    """
    channel = None
    try:
        examples = check.examples()
        desk.allow(check.seconds)
        channel = desk.channel()
        result, trace = _CheckRun(check, desk, fixtures, channel).result(examples)
        if result.verdict == "passed" and check.changed and _changes_more(check, desk, fixtures):
            desk.end_process()
            check.keeps_arguments = True
            result, trace = _CheckRun(check, desk, fixtures, desk.channel()).result(examples)
        if check.runs_item and result.verdict != "passed":
            desk.end_process()  # what the test has sent to it may be of use in the next
        return result, trace
    except SubmissionTimeout as error:
        if channel is not None and channel.asks_on_and_on and desk.is_final and desk.explains_failures:
            # Raises an `Overrun` if the check's own loop does not end.
            desk.reference_also_fails(check, lambda reference: run(check, reference, fixtures))
        outcome = outcome_of(check, causes.timeout(check, desk, error), error.examples)
    except SubmissionCrashed as error:
        outcome = outcome_of(check, causes.crashed(check, desk, error), error.examples, str(error))
        if reason := _own_fault(check, desk, error, fixtures):
            outcome = outcome_of(check, causes.fault(check, reason))
    except CheckFault as error:
        outcome = outcome_of(check, causes.fault(check, error.__cause__ or error))
    finally:
        check.keeps_arguments = False
    desk.end_process()
    return outcome


def _changes_more(check: Check, desk: Desk, fixtures: dict[str, Any]) -> bool:
    """Whether a submission changes arguments of a kind that the course's solution leaves as they are.

    What a test expects may be made of them, and is wrong with them.
    """
    changed = check.changed
    if check.changed_by_solution is None:
        with contextlib.suppress(Overrun):
            desk.reference_also_fails(check, lambda reference: run(check, reference, fixtures))
    return check.changed_by_solution is not None and not changed <= check.changed_by_solution


def _own_fault(check: Check, desk: Desk, error: SubmissionCrashed, fixtures: dict[str, Any]) -> str:
    """The fault of a check that a crash shows, in words; empty if it is the submission's."""
    if isinstance(error, NobodyThere):
        return "it keeps `submission`, or something of it, from an earlier run: ask `submission` for it in each run"
    is_large = isinstance(error, failures.TooMuchTogether) and desk.is_final
    if is_large and desk.reference_also_fails(check, lambda reference: run(check, reference, fixtures)):
        most = MAX_RECEIVED_BYTES >> 20
        return f"the answers to its calls are more than {most} MiB together: ask for less, or make several checks of it"
    return ""


def outcome_of(
    check: Check, cause: Cause, examples: tuple[tuple[Exchange, ...], ...] = (), ending: str = ""
) -> tuple[CheckResult, Trace]:
    """The result and the trace of a check that did not pass, from its cause."""
    return explain.result(check.name, cause), Trace(VERDICT_OF[cause.kind], examples, ending)


@dataclass
class _CheckRun:
    """One run of a check through a channel of a desk, with the values of its fixtures and parameters.

    Attributes:
        exchanges: of each example that was run.
        cause: of the failure that is reported.
        cases: the situations of the examples that were run.
    """

    check: Check
    desk: Desk
    fixtures: dict[str, Any]
    channel: Channel
    exchanges: list[tuple[Exchange, ...]] = field(default_factory=list)
    cause: Cause | None = None
    cases: dict[Case, int] = field(default_factory=dict)

    def result(self, examples: list[Example] | None) -> tuple[CheckResult, Trace]:
        """The result and the trace that follow from the first failure."""
        check = self.check
        running = self._failures(examples)
        first = next(running, None)
        if first is None:
            return CheckResult(name=check.name, verdict="passed"), Trace("passed", cases=self._cases())
        if _is_unwritten(first):
            return outcome_of(check, causes.unwritten(check, first))
        if not self.desk.is_final:
            return CheckResult(name=check.name, verdict="failed"), Trace("failed")
        if self.desk.explains_failures:
            self.cause = self._cause_of(first)()
        try:
            self.desk.renew_time()
            for failure in itertools.chain([first], running):
                if isinstance(failure, failures.NotSimulatedHere):
                    return outcome_of(check, causes.not_simulated(failure))
            if self.cause and not check.runs_item and generated.may_be_shrunk(check.item.obj):
                self._shrink(_failure_kind(first))
        except (SubmissionTimeout, SubmissionCrashed):
            self.desk.end_process()  # the verdict stays *failed*; only a better message is lost
        self.desk.end_worlds()
        exchanges = tuple(self.exchanges)
        is_mismatch = isinstance(first, Mismatch)
        if self.cause is None:
            return CheckResult(name=check.name, verdict="failed"), Trace("failed", exchanges, is_mismatch=is_mismatch)
        result, trace = outcome_of(check, self.cause, exchanges)
        return result, replace(trace, cases=self._cases(), is_mismatch=is_mismatch)

    def _cases(self) -> tuple[Case, ...]:
        return tuple(case for case, count in self.cases.items() for _ in range(count))

    def _failures(self, examples: list[Example] | None) -> Iterator[Failure]:
        """Runs all examples, keeps the exchanges of each, and yields the failures as they come.

        Of a check that draws values while it runs (``st.data()``), only the first failure.
        """
        if examples is None:
            yield from self._first_drawn_failure()
            return
        for number, example in enumerate(examples):
            seen = len(self.channel.record)
            right = self.check.right_runs[number]
            is_run = self.desk.is_final or self.check.runs_item  # a suite's test may look at the clock
            failure = self._run_example(example, None if is_run else right)
            exchanges = tuple(self.channel.record[seen:])
            self.exchanges.append(exchanges)
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

        self._search(attempt, shrinks=False)
        return found[:1]

    def _shrink(self, kind: str) -> None:
        """Keeps the cause of the smallest example that fails in the same way."""
        smallest: list[Callable[[], Cause]] = []

        def attempt(example: Example) -> bool:
            self.channel.last = None
            failure = self._run_example(example)
            if failure is None or _failure_kind(failure) != kind:
                return False
            smallest[:] = [self._cause_of(failure)]
            return True

        with contextlib.suppress(Exception, Overrun, pytest.skip.Exception):  # only a smaller example is lost
            try:
                self._search(attempt, shrinks=True)
            finally:
                self.cause = smallest[0]() if smallest else self.cause

    def _search(self, attempt: generated.RunExample, *, shrinks: bool) -> None:
        generated.search(self.check.item.obj, self.check.seed, self.check.name, attempt, shrinks=shrinks)

    def _cause_of(self, failure: Failure) -> Callable[[], Cause]:
        """Makes its cause, if it is called: to show values takes longer than most examples."""
        channel, prints = self.channel, self.desk.take_prints()
        return functools.partial(causes.failed, self.check, channel.last, failure, prints, list(channel.recent))

    def _run_example(self, example: Example, right: RightRuns | None = None) -> Failure | None:
        """Runs the check's body on one example, unless its replies are those of a run that passed.

        Args:
            right: such runs; None if the messages of a failure are wanted.
        """
        failure = self._judge_example(example, right)
        if self.desk.is_final and self.desk.explains_failures:
            self._note_cases(example, failure)
        return failure

    def _note_cases(self, example: Example, failure: Failure | None) -> None:
        cases, when = self.channel.cases, self.check.when
        facts = tuple(facts_of(self.fixtures | example))
        noted = [(one, True) for one in cases.passed]
        if not cases.is_forgotten and (failure is None or isinstance(failure, Mismatch)):
            noted.append((cases.current(), failure is None))
        for (phrases, made), passed in noted:
            case = Case((*filter(None, [when]), *phrases), passed, facts, made)
            if case in self.cases or len(self.cases) < _MOST_CASES:
                self.cases[case] = min(self.cases.get(case, 0) + 1, _MOST_ALIKE)

    def _judge_example(self, example: Example, right: RightRuns | None) -> Failure | None:
        channel, check, desk = self.channel, self.check, self.desk
        try:
            channel.before_call = desk.take_prints if desk.is_final else None  # a failure shows those of its own call
            channel.begin_example(check.may_change)
            if right is None or not right.are_repeated(channel):
                check.body(**check.arguments(self.fixtures, example) | {"submission": SubmissionProxy(channel)})
            channel.check_arguments()
        except (AssertionError, SubmissionRaised) as failure:
            return failure.with_traceback(None)  # a traceback would keep all that the submission sent in memory
        except pytest.fail.Exception as error:
            return AssertionError(str(error))
        except UnsatisfiedAssumption:
            channel.cases.forget()
            return None
        except (Exception, pytest.skip.Exception) as error:
            if isinstance(error, CannotBeAssessed) or (isinstance(error, pytest.skip.Exception) and not channel.record):
                raise
            # A skip after that could be the wish of the submission.
            # Either the answer is of a kind that the check does not expect, or the check itself is wrong.
            traceback.clear_frames(error.__traceback__)  # the check's values may fill all the memory of the judge
            if not channel.record or desk.reference_also_fails(check, lambda other: run(check, other, self.fixtures)):
                raise CheckFault from error
            if isinstance(error.__cause__, Mismatch):  # a suite's comparison that raises
                return error.__cause__
            unusable = AssertionError(f"this answer cannot be used: {type(error).__name__}: {error}")
            unusable.__cause__ = error
            return unusable
        return None


def _is_unwritten(failure: Failure) -> bool:
    """Whether there is no answer yet: no such name, or a stub as it was handed out.

    For the latter the student's own line must say so: torch raises the same exception for things that it cannot do.
    """
    if isinstance(failure, failures.MissingName | failures.UnwrittenValue):
        return True
    if not isinstance(failure, SubmissionRaised) or failure.kind != "NotImplementedError":
        return False
    return any("NotImplementedError" in frame.text for frame in failure.frames[-1:])


def _failure_kind(failure: Failure) -> str:
    return failure.kind if isinstance(failure, SubmissionRaised) else "assertion"


class CollectedChecks:
    """The checks of some topics.

    Args:
        run_in_session: runs one by pytest's own protocol, with its fixtures.
        limit: ends every check that takes too much of the judge's own time.
        listener: gets each check before it runs.
        folder: the current folder of every check, with the course's data; None leaves it as it is.
    """

    def __init__(
        self,
        checks: Iterable[Check],
        run_in_session: Callable[[Check, Desk], tuple[CheckResult, Trace]],
        limit: TimeLimit,
        listener: Listener,
        folder: Path | None = None,
    ) -> None:
        self.listener = listener
        self._folder = folder
        self._left_out: Sequence[NotRun] = ()
        self._time_limit = limit
        self._endless: list[NotRun] = []
        self._run_in_session = run_in_session
        self._checks: dict[str, list[Check]] = {}
        self._examples: dict[str, Check] = {}
        for check in checks:
            if check.is_example:
                self._examples[check.exercise] = check
            else:
                self._checks.setdefault(check.exercise, []).append(check)

    @contextlib.contextmanager
    def leaving_out(self, not_run: Sequence[NotRun]) -> Iterator[None]:
        """Does not run these places on a submission while it lasts."""
        before, self._left_out = self._left_out, not_run
        try:
            yield
        finally:
            self._left_out = before

    def _reason_not_to_run(self, place: Place) -> NotRun | None:
        """The reason why a place is not run; None if it is."""
        return next((one for one in (*self._endless, *self._left_out) if one.place.covers(place)), None)

    def of(self, exercise: str) -> list[Check]:
        """The checks of an exercise, in their files' order."""
        return self._checks.get(exercise, [])

    def example_of(self, exercise: str) -> Check | None:
        """The check that the example in an exercise's docstring is true, which is none of the others; None without."""
        return self._examples.get(exercise)

    def not_to_run(self) -> tuple[NotRun, ...]:
        """The checks that did not end on the reference solution either, up to now."""
        return tuple(self._endless)

    def run(self, check: Check, desk: Desk) -> tuple[CheckResult, Trace]:
        """Runs one check against a submission, with pytest's own set-up and tear-down of its fixtures."""
        with in_folder(self._folder):
            return self._run(check, desk)

    def _run(self, check: Check, desk: Desk) -> tuple[CheckResult, Trace]:
        if reason := check.unmet():
            return outcome_of(check, causes.not_assessed(reason))
        place = place_of(check.exercise, check.name)
        not_run = self._reason_not_to_run(place)
        if not_run is not None and not_run.cause is not None:
            return outcome_of(check, not_run.cause)
        self.listener.began(place)
        if not_run is not None:  # its answer is not waited for a second time
            return self._ended(check, desk, place, Overrun(self._time_limit.seconds, None))
        result = None
        try:
            with contextlib.suppress(Overrun), self._time_limit.counting(check.item.path):
                result = self._run_on(check, desk)
        except Exception as error:  # while replies were handled, not in the check's body
            desk.end_process()
            traceback.clear_frames(error.__traceback__)
            if desk.reference_also_fails(check, lambda reference: self._run_on(check, reference)):
                return outcome_of(check, causes.fault(check, error))
            return outcome_of(check, causes.unusable(check, error))
        overrun = self._time_limit.overrun
        verdict = result[0].verdict if result is not None else ""
        if result is not None and (overrun is None or verdict not in ("error", "timeout")):
            return result  # What was ended was only the search for a smaller example.
        assert overrun is not None
        if verdict == "timeout":  # there the solution's code may have taken the overrun for its own exception
            check.on_reference = "overruns"
        return self._ended(check, desk, place, overrun)

    def _run_on(self, check: Check, desk: Desk) -> tuple[CheckResult, Trace]:
        """Runs a check without fixtures directly: pytest's set-up takes longer than most checks."""
        parameters: dict[str, Any] = {}
        if not check.runs_item:
            parameters = getattr(getattr(check.item, "callspec", None), "params", {})
            marks = {mark.name for mark in check.item.iter_markers()}
            has_fixtures = set(check.item.fixturenames) - {"submission", *parameters}
            if has_fixtures or marks - {EXERCISE_MARK, NEEDS_MARK, "parametrize", "hypothesis"}:
                return self._run_in_session(check, desk)
        try:
            return run(check, desk, dict(parameters))
        except pytest.skip.Exception as skipped:
            return outcome_of(check, causes.not_assessed(str(skipped)))

    def _ended(self, check: Check, desk: Desk, place: Place, overrun: Overrun) -> tuple[CheckResult, Trace]:
        """The result of a check over the time limit: a failure if the reference solution passes, else an error.

        One that exceeds it there too is not run again.
        """
        desk.end_process()
        with contextlib.suppress(Overrun), self._time_limit.counting(check.item.path):
            desk.reference_also_fails(check, lambda reference: self._run_on(check, reference))
        if self._time_limit.overrun is not None:  # pytest's own protocol has kept it from getting here
            check.on_reference = "overruns"
        if check.on_reference == "passes":
            return outcome_of(check, kept_busy(overrun.seconds, check.sentence))
        cause = endless(overrun.seconds, overrun.line)
        if check.on_reference in ("overruns", "unclear"):
            self._endless.append(NotRun(place, cause))
        return outcome_of(check, cause)

    def make_pictures(self, exercise: str, desk: Desk) -> Iterator[Picture]:
        """The pictures of an exercise, each made in a fresh process, and within the time of a check.

        The functions that make them are beside its checks, in their order.
        """
        checks = self.of(exercise)
        modules = {check.item.path: check.item.module for check in checks}
        # A picture may add names to its module, as a first warning does: collect before any is made.
        for path, function in [(path, one) for path, module in modules.items() for one in vars(module).values()]:
            of, title = getattr(function, "__dict__", {}).get(PICTURE, ("", ""))
            if of != exercise or function.__module__ != modules[path].__name__:
                continue
            place = place_of(exercise, f"picture {function.__name__}")
            title = one_line(title)
            if self._reason_not_to_run(place):  # it ended a worker, or an exercise without checks is left out
                yield Picture(title, problem="it cannot be made of this answer")
                continue
            self.listener.began(place)
            desk.use_fresh_process()
            made = Picture(title, problem="it takes too long to make of this answer")
            with contextlib.suppress(Overrun), self._time_limit.counting(path), in_folder(self._folder):
                made = _picture(title, function, desk)
            desk.end_process()
            yield made


def _picture(title: str, function: Callable[..., Any], desk: Desk) -> Picture:
    """The picture that a function makes, or one line about why there is none."""
    try:
        channel = desk.channel()
        channel.begin_example(may_change=True)
        return Picture(title, bounded(function(SubmissionProxy(channel))))
    except failures.MissingName as error:
        problem = f"there is no `{error.message}`"
    except SubmissionRaised as error:
        problem = f"your code raised {error.kind}: {error.message}"
    except SubmissionTimeout:
        problem = "your code gave no answer in time"
    except SubmissionCrashed as error:
        problem = f"the process of your code {error}"
    except (ValueError, AssertionError, pytest.skip.Exception) as error:
        problem = str(error)
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    return Picture(title, problem=one_line(without_addresses(problem.split("\n", 1)[0]), 200))
