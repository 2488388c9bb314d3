"""Names the misconception behind a failing exercise, by comparing records of calls and results.

The course's misconceptions run in a student process like any other submission, check by check and only until one
differs; a student whose record is the same made that mistake. Nothing is guessed: without equal records, no name.
"""

import functools
import importlib.util
import marshal
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass, field
from typing import Any, Final

from grader.border import wire
from grader.border.bounds import WireError
from grader.border.messages import MAX_MESSAGE, Digest, Exchange, Raised, Reply, Returned, RunFailed
from grader.border.service import WRONG_ANSWERS
from grader.course import Course, Exercise, Misconception, misconceptions_of
from grader.files import python_files
from grader.judge.check import Trace
from grader.judge.run import CollectedChecks
from grader.judge.topic_desk import TopicDesk
from grader.results import NOT_ASSESSED
from grader.testkit.compare import Mismatch, assert_close
from grader.testkit.watching import watch, without_spelling

_OBSERVE: Final = wire.pack(["r", watch.__module__, watch.__qualname__])
"""Bytes that only requests of `observe` contain; their replies also say how an answer was written."""

_NAMES: Final = re.compile(r"'[^']*'|\[[^\[\]]*\]|0x\w+|\b\w+\(\)|\d+")
"""Names, numbers and sizes in the message of an exception, which differ if the mistake is the same; in linear time."""


@dataclass
class MisconceptionRecords:
    """The records of a course's misconceptions, each made when it is first needed, as far as it is needed.

    Attributes:
        open_desk: opens a desk for a topic's solutions, whose functions can be replaced by misconceptions.
        records: by full name of the exercise and name of the misconception, those of the checks that were run.
    """

    course: Course
    checks: CollectedChecks
    open_desk: Callable[[str], AbstractContextManager[TopicDesk]]
    records: dict[tuple[str, str], dict[str, Trace]] = field(default_factory=dict)

    def recognised(
        self, topic: str, failing: Iterable[tuple[Exercise, Mapping[str, Trace]]]
    ) -> Iterator[tuple[Exercise, Misconception | None]]:
        """For each failing exercise of a topic, the first of its misconceptions with the same record, or None.

        Args:
            failing: each with its traces, by name of check, of every check that was run, in order.
        """
        with ExitStack() as stack:
            desk = functools.cache(lambda: stack.enter_context(self.open_desk(topic)))  # opened if it is needed
            for exercise, traces in failing:
                known = self._of(exercise) if self.may_name(exercise, traces) else ()
                yield exercise, next((one for one in known if self._is(one, traces, desk)), None)

    def may_name(self, exercise: Exercise, traces: Mapping[str, Trace]) -> bool:
        """Whether the exercise has misconceptions, and a check failed that saw something of the answer."""
        failing = [trace for trace in traces.values() if _outcome(trace) != "passed"]
        is_seen = any(trace.ending or any(one.reply for one in _exchanges(trace)) for trace in failing)
        return is_seen and bool(self._of(exercise))

    def _of(self, exercise: Exercise) -> list[Misconception]:
        known = misconceptions_of(self.course, exercise.topic)
        return [one for one in known if one.exercise == exercise.full_name]

    def keep(self, exercise: Exercise, name: str, traces: Mapping[str, Trace]) -> None:
        """Keeps the records of a misconception that the caller has run already."""
        self.records[exercise.full_name, name] = dict(traces)

    def _is(self, misconception: Misconception, traces: Mapping[str, Trace], desk: Callable[[], TopicDesk]) -> bool:
        """Whether its record is equal in every check; runs no more of its checks than it takes."""
        known = self.records.setdefault((misconception.exercise, misconception.name), {})
        if not all(same_record(known[check], trace) for check, trace in traces.items() if check in known):
            return False
        if known.keys() >= traces.keys():
            return True
        first = tried_first(traces)
        is_tried = first not in known and first != next(iter(traces))
        tried = self._run(misconception, desk(), [first]) if is_tried else iter(())
        if not all(same_record(one, traces[first]) for _, one in tried):
            return False
        # From the first check on, in one process, as the student's were: an answer may depend on earlier calls.
        asked = [one.name for one in self.checks.of(misconception.exercise)]
        for check, trace in self._run(misconception, desk(), [*asked, *traces]):
            known[check] = trace
            if check in traces and not same_record(trace, traces[check]):
                return False
        return known.keys() >= traces.keys()

    def _run(
        self, misconception: Misconception, desk: TopicDesk, asked: Collection[str]
    ) -> Iterator[tuple[str, Trace]]:
        """Runs the checks of its exercise that have these names, in a process of its own: name and trace of each."""
        desk.replace_functions(((misconception.part, misconception.function),))
        desk.use_fresh_process()
        example = self.checks.example_of(misconception.exercise)
        for check in [*self.checks.of(misconception.exercise), *([example] if example else [])]:
            if check.name in asked:
                yield check.name, self.checks.run(check, desk)[1]


def files_with_misconceptions(course: Course, topic: str) -> dict[str, bytes]:
    """The solutions, and beside them the topic's misconceptions under the name that student processes know.

    The compiled code of the two files that each process imports lies beside them: every misconception runs in a process
    of its own, and to compile all of them again took a third to a half of its start.
    """
    files = python_files(course.solutions_dir)
    files[f"{WRONG_ANSWERS}.py"] = course.misconceptions_file(topic).read_bytes()
    for module in (topic, WRONG_ANSWERS):
        source = files.get(f"{module}.py", b"")
        with suppress(SyntaxError, ValueError):  # its import says why
            code = marshal.dumps(compile(source, f"{module}.py", "exec", dont_inherit=True))
            # The header says: found by a hash of the source, which nobody needs to compare.
            header = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + importlib.util.source_hash(source)
            files[f"__pycache__/{module}.{sys.implementation.cache_tag}.pyc"] = header + code
    return files


def tried_first(traces: Mapping[str, Trace]) -> str:
    """The failing check with the fewest calls, where most misconceptions differ already, and others may take long.

    A trace has no time in it, and so no name depends on how busy the machine is: an answer may depend on earlier calls.
    """
    failing = {check: trace for check, trace in traces.items() if _outcome(trace) != "passed"}
    return min(failing, key=lambda check: (failing[check].verdict == "timeout", len([*_exchanges(failing[check])])))


def same_record(one: Trace, other: Trace) -> bool:
    """Whether two records of a check are equal: the same verdict and kind of failure, the same calls and results.

    Results are equal when type, dtype and shape are, and their numbers within rounding. A check that could not be
    assessed counts as passed.
    """
    return (
        _outcome(one) == _outcome(other)
        and (one.ending, one.is_mismatch) == (other.ending, other.is_mismatch)
        and [len(example) for example in one.examples] == [len(example) for example in other.examples]
        and all(map(_same_exchange, _exchanges(one), _exchanges(other)))
        and (_outcome(one) == "passed" or _same_last_error(one, other))
    )


def _outcome(trace: Trace) -> str:
    return "passed" if trace.verdict in NOT_ASSESSED else trace.verdict


def _exchanges(trace: Trace) -> Iterator[Exchange]:
    return (exchange for example in trace.examples for exchange in example)


def _same_exchange(one: Exchange, other: Exchange) -> bool:
    return one.request == other.request and (one.reply == other.reply or _same_reply(one, other))


def _same_reply(one: Exchange, other: Exchange) -> bool:
    """Whether the replies to one request are equal as values, or the same type of exception."""
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
        assert_close(other_value, one_value)  # a Python number may be given for one of NumPy's, not the other way round
    except (Mismatch, WireError, LookupError, TypeError):
        return False
    return True


def _same_last_error(one: Trace, other: Trace) -> bool:
    """Whether exceptions that end a failing check say the same, if torch or Python wrote the messages of both.

    Names in them may differ. An exception that a check asks for is not the end of it.
    """
    errors = [error for trace in (one, other) if (error := _last_error(trace)) is not None]
    lines = [error.frames[-1].text if error.frames else "raise" for error in errors]
    if len(errors) < 2 or any(line.startswith(("raise", "assert")) for line in lines):
        return True
    return len({_NAMES.sub("", error.message[:MAX_MESSAGE]) for error in errors}) == 1


def _last_error(trace: Trace) -> Raised | None:
    last = trace.examples[-1][-1].reply if trace.examples and trace.examples[-1] else b""
    try:
        reply = None if isinstance(last, Digest) else wire.unpack(last, Reply | RunFailed)
    except (WireError, TypeError):
        return None
    return reply if isinstance(reply, Raised) else None


def _handle(tree: list[Any]) -> object:
    """A handle as a value: equal when the number is; the type names may differ."""
    return ("handle", tree[1]) if tree and tree[0] == "h" and len(tree) == 3 else tuple(map(str, tree))
