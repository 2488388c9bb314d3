"""Names the misconception behind a failing exercise, by comparing records of calls and results.

The course's wrong answers run in a student process like any other, check by check and only until one differs; a
student whose record is the same made that mistake. Nothing is guessed: no equal record, no name.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any

from grader.border import wire
from grader.border.bounds import WireError
from grader.border.messages import Exchange, Raised, Reply, Reported, Returned
from grader.border.service import WRONG_ANSWERS
from grader.course import Course, Exercise, misconceptions_of
from grader.judge.run import Trace
from grader.results import NOT_ASSESSED
from grader.testkit.compare import Mismatch, assert_close
from grader.testkit.observation import watch, without_spelling

_WATCH = wire.pack(["r", watch.__module__, watch.__qualname__])
"""Opens the requests of `observe`, whose replies also say how an answer was spelled."""

Traces = dict[str, Trace]
Bind = tuple[tuple[str, str], ...]
Recorder = Callable[[str, str, Bind], Trace]
"""Gives the trace of one check (exercise, check) with names of the module bound to other functions."""
Opener = Callable[[str], AbstractContextManager[Recorder]]
"""Imports a topic's wrong answers in a student process and gives a recorder over it."""


class WrongAnswers:
    """The misconceptions of a course and their records, each made when it is first needed."""

    def __init__(self, course: Course, open_recorder: Opener) -> None:
        self._course = course
        self._open = open_recorder
        self._records: dict[tuple[str, str, str], Trace] = {}

    def name_of(self, exercise: Exercise, traces: Traces) -> str | None:
        """The first misconception of the exercise with the same record, else None.

        Args:
            traces: of every check that was run, in order.
        """
        wrong = {name: trace for name, trace in traces.items() if trace.verdict not in ("passed", *NOT_ASSESSED)}
        if not any(trace.ending or any(map(_replied, trace.examples)) for trace in wrong.values()):
            return None
        # Those that failed first: their records differ most.
        ordered = {**wrong, **{name: trace for name, trace in traces.items() if trace.verdict == "passed"}}
        with ExitStack() as stack:
            recorder: Recorder | None = None
            for m in misconceptions_of(self._course, exercise.topic):
                if m.exercise != exercise.full_name:
                    continue
                for check, trace in ordered.items():
                    key = (exercise.full_name, m.name, check)
                    if key not in self._records:
                        recorder = recorder or stack.enter_context(self._open(exercise.topic))
                        self._records[key] = recorder(exercise.full_name, check, ((m.part, m.function),))
                    if not alike(self._records[key], trace):
                        break
                else:
                    return m.name
        return None

    def note(self, exercise: Exercise, name: str, traces: Traces) -> None:
        """Keeps the records of a misconception that was run by itself."""
        for check, trace in traces.items():
            self._records[exercise.full_name, name, check] = trace


def wrong_files(course: Course, topic: str) -> dict[str, bytes]:
    """The solutions, and beside them the topic's misconceptions under the name that student processes know."""
    solutions = course.solutions_dir
    files = {path.name: path.read_bytes() for path in sorted(solutions.glob("*.py"))}
    files[f"{WRONG_ANSWERS}.py"] = (solutions / "misconceptions" / f"{topic}.py").read_bytes()
    return files


def alike(one: Trace, other: Trace) -> bool:
    """Whether two records of a check are equal: the same verdict, the same calls, and the same results of each.

    Results are equal when they are alike in type, dtype and shape, and their numbers within rounding. A check that
    could not be assessed is like one that passed.
    """
    return (
        _outcome(one) == _outcome(other)
        and one.ending == other.ending
        and len(one.examples) == len(other.examples)
        and all(
            len(a) == len(b) and all(map(_alike_exchanges, a, b))
            for a, b in zip(one.examples, other.examples, strict=True)
        )
    )


def _replied(example: tuple[Exchange, ...]) -> bool:
    return any(exchange.reply for exchange in example)


def _outcome(trace: Trace) -> str:
    return "passed" if trace.verdict in NOT_ASSESSED else trace.verdict


def _alike_exchanges(one: Exchange, other: Exchange) -> bool:
    if one.request != other.request:
        return False
    if one.reply == other.reply:
        return True
    try:
        match wire.unpack(one.reply, Reply), wire.unpack(other.reply, Reply):
            case Returned(one_tree), Returned(other_tree):
                one_value, other_value = wire.decode(one_tree, _opaque), wire.decode(other_tree, _opaque)
            case Raised(one_kind, one_built_in), Raised(other_kind, other_built_in):
                return (one_kind, one_built_in) == (other_kind, other_built_in)
            case Reported(one_summary), Reported(other_summary):
                return one_summary == other_summary
            case _:
                return False
        if _WATCH in one.request and isinstance(one_value, tuple) and isinstance(other_value, tuple):
            one_value, other_value = without_spelling(one_value), without_spelling(other_value)
        assert_close(one_value, other_value)
    except (Mismatch, WireError, LookupError, TypeError):
        return False
    return True


def _opaque(tree: list[Any]) -> object:
    """Handles are alike when they have the same number; their type names may differ."""
    return ("handle", tree[1]) if tree and tree[0] == "h" and len(tree) == 3 else tuple(map(str, tree))


__all__ = ["WrongAnswers", "alike", "wrong_files"]
