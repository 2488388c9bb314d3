"""Names the misconception behind a failing exercise, by comparing records of calls and results.

Each of the course's wrong answers is run once, in a student process like any other; a student whose record is the
same made that mistake. Nothing is guessed: no equal record, no name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from grader.bench import Trace
from grader.course import Course, Exercise, Misconception, misconceptions_of
from grader.isolation import wire
from grader.isolation.proxies import Exchange
from grader.isolation.student import WRONG_ANSWERS
from grader.testkit.compare import Mismatch, assert_close
from grader.testkit.observation import watch, without_spelling

_WATCH = wire.pack(["r", watch.__module__, watch.__qualname__])
"""Opens the requests of `observe`, whose replies also say how an answer was spelled."""

Traces = dict[str, Trace]
Bind = tuple[tuple[str, str], ...]
Runner = Callable[[str, dict[str, bytes], list[tuple[str, Bind]]], list[Traces]]


class WrongAnswers:
    """The misconceptions of a course and their records, made when first needed."""

    def __init__(self, course: Course, run: Runner) -> None:
        self._course = course
        self._run = run
        self._records: dict[str, list[tuple[str, Traces]]] = {}

    def name_of(self, exercise: Exercise, traces: Traces) -> str | None:
        """The first misconception of the exercise with the same record, else None."""
        if not any(
            exchange.reply for trace in traces.values() for example in trace.examples for exchange in example
        ) and all(trace.verdict == "failed" for trace in traces.values()):
            return None
        for name, wrong in self.records(exercise):
            if alike(wrong, traces):
                return name
        return None

    def records(self, exercise: Exercise) -> list[tuple[str, Traces]]:
        """Name and record of each misconception of an exercise."""
        if exercise.full_name not in self._records:
            found = [m for m in misconceptions_of(self._course, exercise.topic) if m.exercise == exercise.full_name]
            answers: list[tuple[str, Bind]] = [(exercise.full_name, ((m.part, m.function),)) for m in found]
            records = self._run(exercise.topic, self._files(exercise.topic), answers) if found else []
            self._records[exercise.full_name] = [(m.name, record) for m, record in zip(found, records, strict=True)]
        return self._records[exercise.full_name]

    def _files(self, topic: str) -> dict[str, bytes]:
        solutions = self._course.solutions_dir
        files = {path.name: path.read_bytes() for path in sorted(solutions.glob("*.py"))}
        files[f"{WRONG_ANSWERS}.py"] = (solutions / "misconceptions" / f"{topic}.py").read_bytes()
        return files


def alike(one: Traces, other: Traces) -> bool:
    """Whether two records are equal: the same checks failed, with the same calls and results in each.

    Results are equal when they are alike in type, dtype and shape, and their numbers within rounding.
    """
    return one.keys() == other.keys() and all(_alike_traces(one[name], other[name]) for name in one)


def _alike_traces(one: Trace, other: Trace) -> bool:
    return (
        one.verdict == other.verdict
        and len(one.examples) == len(other.examples)
        and all(
            len(a) == len(b) and all(map(_alike_exchanges, a, b))
            for a, b in zip(one.examples, other.examples, strict=True)
        )
    )


def _alike_exchanges(one: Exchange, other: Exchange) -> bool:
    if one.request != other.request:
        return False
    if one.reply == other.reply:
        return True
    try:
        a, b = wire.unpack(one.reply), wire.unpack(other.reply)
        if a[0] != b[0] or a[0] != "ok":
            return bool(a[0] == b[0] == "raise" and a[1:3] == b[1:3])
        one_value, other_value = wire.decode(a[1], _opaque), wire.decode(b[1], _opaque)
        if _WATCH in one.request and isinstance(one_value, tuple) and isinstance(other_value, tuple):
            one_value, other_value = without_spelling(one_value), without_spelling(other_value)
        assert_close(one_value, other_value)
    except (Mismatch, wire.WireError, LookupError, TypeError):
        return False
    return True


def _opaque(tree: list[Any]) -> object:
    """Handles are alike when they have the same number; their type names may differ."""
    return ("handle", tree[1]) if tree and tree[0] == "h" and len(tree) == 3 else tuple(map(str, tree))


__all__ = ["Misconception", "WrongAnswers", "alike"]
