"""One exercise of a submission, whose checks run until their verdicts count.

A process is reused while its answers are right, and only a fresh one may fail anybody: `Attempt` is that rule.
"""

import enum
from collections.abc import Callable
from dataclasses import dataclass, field

from grader.judge import cause as causes
from grader.judge import explain
from grader.judge.assessment import Assessment
from grader.judge.check import Check, Trace
from grader.judge.situations import RIGHT, with_situations
from grader.judge.topic_desk import TopicDesk
from grader.results import Cause, CheckResult


class AttemptState(enum.Enum):
    """The process that an attempt is in, and whether its failures count."""

    USED = "earlier exercises were asked in it, and all was right: a failure decides nothing"
    FRESH = "nothing but this exercise is asked in it: every verdict counts"


@dataclass
class Attempt:
    """The checks of one exercise (full name), run against a submission.

    An attempt begins in the state `USED` if the exercises before it have left a process. As soon as a check does not
    pass there, nothing that it found counts: it goes on in the state `FRESH`, from the first check on. The next
    exercise may use the process if everything was right. The exceptions:

    - A check that is not assessed on this machine is not run.
    - The example in the docstring is asked when all checks have passed, which say better what is wrong. It is one more
      check if it fails, and else is not spoken of.
    - If the topic's time is used up, no further check runs: the others get the same cause. So it is after a timeout,
      unless each check gives points of its own.
    - If the file has the stub as it was handed out, only the first check runs, and the others reuse its cause. If that
      says that nothing is written, it counts in any process, and the next exercise may use the process all the same.

    Attributes:
        is_untouched: whether the file has the stub as it was handed out.
        is_program: whether that stub is a program with a bug to find.
        is_shared: whether each check earns its own part of the points.
        did_run: is called when a check has run, while the desk has the exchanges of its run.
        with_example: whether the example in the docstring is asked.
        checks: those that have a result.
        results: of all checks, in their order.
        traces: by name, of the checks that were run.
    """

    exercise: str
    desk: TopicDesk
    assessment: Assessment
    is_untouched: bool = False
    is_program: bool = False
    is_shared: bool = False
    did_run: Callable[[Check, CheckResult], None] = lambda check, result: None
    with_example: bool = True
    state: AttemptState = AttemptState.FRESH
    checks: list[Check] = field(default_factory=list)
    results: list[CheckResult] = field(default_factory=list)
    traces: dict[str, Trace] = field(default_factory=dict)

    def run(self) -> None:
        """Runs the checks, in one process or two."""
        self.desk.begin(self.exercise)
        self.state = AttemptState.FRESH if self.desk.is_final else AttemptState.USED
        if not self._run_in_order():
            self.desk.use_fresh_process()
            self.state = AttemptState.FRESH
            self._run_in_order()
        if not self.is_program:  # its first failure is the symptom, for all checks
            hidden = {check.name for check in self.checks if check.hidden or check.runs_item}
            self.results = with_situations(self.results, self.traces, hidden)
        self.desk.finish(is_right=all(one.verdict in RIGHT or self._is_stub(one) for one in self.results))

    def _run_in_order(self) -> bool:
        """Runs the checks; False as soon as one does not pass and that does not count."""
        self.checks = list(self.assessment.checks.of(self.exercise))
        self.results.clear()
        self.traces.clear()
        shared: Cause | None = None  # of the checks that are left
        for check in self.checks:
            shared = shared or self._no_time_left()
            if reason := self.assessment.reason(check, is_run=shared is None):
                result = explain.result(check.name, causes.not_assessed(reason))
            elif shared:
                result = explain.result(check.name, shared)
            else:
                result, trace = self.assessment.checks.run(check, self.desk)
                if reason := self.assessment.reason_after(check, result):
                    result = explain.result(check.name, causes.not_assessed(reason))
                else:
                    self.traces[check.name] = trace
                    self.did_run(check, result)
                if result.verdict not in RIGHT:
                    is_stub = self._is_stub(result)
                    if self.state is AttemptState.USED and not is_stub:
                        return False
                    is_slow = result.verdict == "timeout" and not self.is_shared
                    if is_stub or is_slow or (self.is_untouched and self.is_program):
                        shared = result.cause
            self.results.append(result)
        return self._run_example()

    def _run_example(self) -> bool:
        """Asks the example if all else is right, and something of it was assessed; False as `_run_in_order`."""
        verdicts = [one.verdict for one in self.results]
        example = self.assessment.checks.example_of(self.exercise) if self.with_example else None
        if example is None or "passed" not in verdicts or any(one not in RIGHT for one in verdicts):
            return True
        if self._no_time_left():
            return True
        result, trace = self.assessment.checks.run(example, self.desk)
        if result.verdict in RIGHT:
            return True
        if self.state is AttemptState.USED:
            return False
        self.checks.append(example)
        self.results.append(result)
        self.traces[example.name] = trace
        return True

    def _no_time_left(self) -> Cause | None:
        limit = self.desk.time
        return causes.topic_timeout(limit.used_up()) if limit.left() <= 0 else None

    def _is_stub(self, result: CheckResult) -> bool:
        return self.is_untouched and result.cause is not None and result.cause.kind == "unwritten"
