"""Names the misconception behind a failing exercise, by comparing records of calls and results.

The course's misconceptions run in a student process like any other submission, check by check and only until one
differs; a student whose record is the same made that mistake. Nothing is guessed: without an equal record, no name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Final

from grader.border import wire
from grader.border.bounds import WireError
from grader.border.channel import answered
from grader.border.messages import Digest, Exchange, Raised, Reply, Returned, RunFailed
from grader.border.service import WRONG_ANSWERS
from grader.course import Course, Exercise, Misconception, misconceptions_of
from grader.judge.check import Trace
from grader.judge.kept_records import KeptRecords, Records
from grader.judge.pipelining import is_run_of_ranks
from grader.results import NOT_ASSESSED
from grader.testkit.compare import Mismatch, assert_close
from grader.testkit.watching import watch, without_spelling

_OBSERVE: Final = wire.pack(["r", watch.__module__, watch.__qualname__])
"""Bytes that only requests of `observe` contain; their replies also say how an answer was written."""

Replacements = tuple[tuple[str, str], ...]
"""Names in a topic's module, each with the function of its misconceptions that takes its place."""
RunChecks = Callable[[str, Replacements, Collection[str]], Iterator[tuple[str, Trace]]]
"""Runs the checks of an exercise (full name) in order on the solutions with replacements, in a process of their own;
gives the name and the trace of each. With names, only those."""
_MOST_COMPARED: Final = 2
"""Failing checks of which one must have a misconception's record before its other checks are run."""
_SOON: Final = 3
"""Where these are among so many first checks, they are run after those before them, as the student's were."""
OpenTopic = Callable[[str], AbstractContextManager[RunChecks]]
"""Makes a topic's misconceptions ready to be run."""


class MisconceptionRecords:
    """The records of a course's misconceptions, each made when it is first needed, as far as it is needed."""

    def __init__(self, course: Course, open_topic: OpenTopic, kept: KeptRecords) -> None:
        self._course = course
        self._open_topic = open_topic
        self._kept = kept
        self._records: dict[str, Records] = {}
        self._ready: dict[str, RunChecks] = {}

    def names(self, exercise: Exercise, traces: Mapping[str, Trace]) -> tuple[str | None, str | None]:
        """The misconception behind what fails, else one that is a part of it; keeps what had to be run for that.

        Args:
            traces: by name of check, of every check that was run, in order.
        """
        records = self._of(exercise.full_name)
        count = records.count()
        name = self.name_of(exercise, traces)
        part = None if name else self.part_of(exercise, traces)
        if records.count() > count:
            self._kept.write(exercise.full_name, records)
        return name, part

    def _of(self, exercise: str) -> Records:
        if exercise not in self._records:
            self._records[exercise] = self._kept.read(exercise)
        return self._records[exercise]

    def name_of(self, exercise: Exercise, traces: Mapping[str, Trace]) -> str | None:
        """The first misconception of the exercise with the same record, else None.

        Args:
            traces: by name of check, of every check that was run, in order.
        """
        failing = [trace for trace in traces.values() if _fails(trace)]
        if not any(map(_shows_an_answer, failing)):
            return None
        with self.topic(exercise.topic) as run_checks:
            for misconception in misconceptions_of(self._course, exercise.topic):
                if misconception.exercise == exercise.full_name and self._is_same(misconception, traces, run_checks):
                    return misconception.name
        return None

    def part_of(self, exercise: Exercise, traces: Mapping[str, Trace]) -> str | None:
        """The misconception that explains some of the failing checks, where a second mistake hides the rest; else None.

        Some failing checks have its record, and no check passes that it fails. Of several, the one that explains most.
        Wrong values alone are compared: an exception of the same kind may have any cause. Checks with ranks are not: to
        run them for every misconception takes longer than a student should wait.
        """
        failing = _values(traces)
        best, most = None, 0
        if not failing:
            return None
        with self.topic(exercise.topic) as run_checks:
            for misconception in misconceptions_of(self._course, exercise.topic):
                if misconception.exercise == exercise.full_name:
                    count = self._count_explained(misconception, traces, failing, run_checks)
                    best, most = (misconception.name, count) if count > most else (best, most)
        return best

    def _count_explained(
        self,
        misconception: Misconception,
        traces: Mapping[str, Trace],
        failing: Mapping[str, Trace],
        run_checks: RunChecks,
    ) -> int:
        """How many failing checks have the misconception's record; 0 if a check contradicts it."""
        records = self._of(misconception.exercise)
        known = records.in_order.setdefault(misconception.name, {})
        if any(_fails(trace) and not _fails(traces[check]) for check, trace in known.items() if check in traces):
            return 0
        replacements = ((misconception.part, misconception.function),)
        # Most misconceptions end here, without a run of all their checks.
        first = dict(list(failing.items())[:_MOST_COMPARED])
        if soon := _soon(traces, failing):
            ran = known
            if not known.keys() >= soon:
                for check, trace in run_checks(misconception.exercise, replacements, ()):
                    known[check] = trace
                    if known.keys() >= soon:
                        break
        else:
            # Of single checks, whose order is not that of a student's: what is in one must not hang on who came before.
            ran = records.alone.setdefault(misconception.name, {})
            if missing := first.keys() - ran.keys():
                ran |= dict(run_checks(misconception.exercise, replacements, missing))
        if not any(same_record(ran[check], trace) for check, trace in first.items() if check in ran):
            return 0
        if not known.keys() >= traces.keys():
            for check, trace in run_checks(misconception.exercise, replacements, ()):
                known[check] = trace
                if check in traces and _fails(trace) and not _fails(traces[check]):
                    return 0
        return sum(check in known and same_record(known[check], trace) for check, trace in failing.items())

    def keep(self, exercise: Exercise, name: str, traces: Mapping[str, Trace]) -> None:
        """Keeps the records of a misconception that the caller has run already."""
        self._of(exercise.full_name).in_order[name] = dict(traces)

    def _is_same(self, misconception: Misconception, traces: Mapping[str, Trace], run_checks: RunChecks) -> bool:
        """Whether a misconception has the same record in every check; only as many are run as it takes to tell.

        And those that `part_of` compares: it would take another process for them.
        """
        known = self._of(misconception.exercise).in_order.setdefault(misconception.name, {})
        if not all(same_record(known[check], trace) for check, trace in traces.items() if check in known):
            return False
        if known.keys() >= traces.keys():
            return True
        # From the first check on, in one process, as the student's were: an answer may depend on earlier calls.
        running = run_checks(misconception.exercise, ((misconception.part, misconception.function),), ())
        soon = _soon(traces, _values(traces))
        differs = False
        for check, trace in running:
            known[check] = trace
            differs = differs or (check in traces and not same_record(trace, traces[check]))
            if differs and known.keys() >= soon:
                return False
        return not differs and known.keys() >= traces.keys()

    @contextmanager
    def topic(self, name: str) -> Iterator[RunChecks]:
        """Gives a function that runs checks. The misconceptions of the topic are made ready when the first is run.

        They stay so until the end: within it, that takes no time for a second exercise.
        """
        if name in self._ready:
            yield self._ready[name]
            return
        with ExitStack() as stack:
            opened: RunChecks | None = None

            def run_checks(
                exercise: str, replacements: Replacements, names: Collection[str]
            ) -> Iterator[tuple[str, Trace]]:
                nonlocal opened
                opened = opened or stack.enter_context(self._open_topic(name))
                return opened(exercise, replacements, names)

            self._ready[name] = run_checks
            try:
                yield run_checks
            finally:
                del self._ready[name]


def files_with_misconceptions(course: Course, topic: str) -> dict[str, bytes]:
    """The solutions, and beside them the topic's misconceptions under the name that student processes know."""
    files = {path.name: path.read_bytes() for path in sorted(course.solutions_dir.glob("*.py"))}
    files[f"{WRONG_ANSWERS}.py"] = course.misconceptions_file(topic).read_bytes()
    return files


def same_record(one: Trace, other: Trace) -> bool:
    """Whether two records of a check are equal: the same verdict, the same calls, and the same results of each.

    Results are equal when type, dtype and shape are, and their numbers within rounding. A check that could not be
    assessed counts as passed.
    """
    return (
        _outcome(one) == _outcome(other)
        and one.ending == other.ending
        and len(one.examples) == len(other.examples)
        and all(map(_same_example, one.examples, other.examples))
    )


def _outcome(trace: Trace) -> str:
    return "passed" if trace.verdict in NOT_ASSESSED else trace.verdict


def _fails(trace: Trace) -> bool:
    return trace.verdict not in ("passed", *NOT_ASSESSED)


def _gives_values(trace: Trace) -> bool:
    replies = [exchange.reply for example in trace.examples for exchange in example]
    return bool(replies) and all(map(answered, replies))


def _has_ranks(trace: Trace) -> bool:
    return any(map(is_run_of_ranks, (exchange for example in trace.examples for exchange in example)))


def _values(traces: Mapping[str, Trace]) -> dict[str, Trace]:
    """The checks that fail by a wrong value, and without ranks."""
    found = ((name, trace) for name, trace in traces.items() if _fails(trace))
    return {name: trace for name, trace in found if _gives_values(trace) and not _has_ranks(trace)}


def _soon(traces: Mapping[str, Trace], failing: Mapping[str, Trace]) -> set[str]:
    """The checks up to the last of the first failing ones, if these are among the very first; else none."""
    first = list(failing)[:_MOST_COMPARED]
    early = list(traces)[:_SOON]
    return set(early[: early.index(first[-1]) + 1]) if first and first[-1] in early else set()


def _shows_an_answer(trace: Trace) -> bool:
    return bool(trace.ending) or any(exchange.reply for example in trace.examples for exchange in example)


def _same_example(one: tuple[Exchange, ...], other: tuple[Exchange, ...]) -> bool:
    return len(one) == len(other) and all(map(_same_exchange, one, other))


def _same_exchange(one: Exchange, other: Exchange) -> bool:
    return one.request == other.request and (one.reply == other.reply or _same_reply(one, other))


def _same_reply(one: Exchange, other: Exchange) -> bool:
    """Whether the replies to one request are equal as values, or the same exception with the same message."""
    if isinstance(one.reply, Digest) or isinstance(other.reply, Digest):
        return False
    try:
        match wire.unpack(one.reply, Reply | RunFailed), wire.unpack(other.reply, Reply | RunFailed):
            case Returned(one_tree), Returned(other_tree):
                one_value, other_value = wire.decode(one_tree, _handle), wire.decode(other_tree, _handle)
            case Raised(one_kind, one_built_in), Raised(other_kind, other_built_in):
                return (one_kind, one_built_in) == (other_kind, other_built_in)
            case RunFailed(one_summary), RunFailed(other_summary):
                return one_summary == other_summary
            case _:
                return False
        if _OBSERVE in one.request and isinstance(one_value, tuple) and isinstance(other_value, tuple):
            one_value, other_value = without_spelling(one_value), without_spelling(other_value)
        assert_close(one_value, other_value)
    except (Mismatch, WireError, LookupError, TypeError):
        return False
    return True


def _handle(tree: list[Any]) -> object:
    """A handle as a value: equal when the number is; the type names may differ."""
    return ("handle", tree[1]) if tree and tree[0] == "h" and len(tree) == 3 else tuple(map(str, tree))
