"""Which situation breaks: what the cases that failed have in common, and no case that passed has.

Looks at all cases of the exercise, so that a special check that fails is told from the simple ones that pass. Nothing
is guessed: if no phrase, and no two together, tell them apart, nothing is said. Other checks may pass because they look
at something else. So a fact of a tensor, or a phrase of a recipe, counts only if cases of the check that fails have
passed, too; and if none has, under any of its parameters, only a phrase that all of them share is said.
"""

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import torch
from msgspec.structs import replace
from torch import Tensor

from grader.border.situations import Case
from grader.judge import explain
from grader.judge.check import Trace
from grader.results import CheckResult

RIGHT: Final = ("passed", "skipped")
"""Verdicts of checks that do not speak against an answer."""

EVERYWHERE: Final = "in every example"
_MOST_PHRASES: Final = 12
"""Phrases of a check that are combined by two."""
_FEWEST: Final = 2, 3
"""Failed and passed cases without which the facts of a tensor may fit by chance."""
_FEW: Final = 1 / 3
"""The part of the passed cases that may be in the situation, too, if none tells them apart."""


def with_situations(
    results: Sequence[CheckResult], traces: Mapping[str, Trace], hidden: Collection[str] = ()
) -> list[CheckResult]:
    """The same results of an exercise's checks, whose comparisons say in which situation they failed.

    Args:
        hidden: the names of the checks that say nothing of their own, or are one case each.
    """
    return [result if result.name in hidden else _with_situation(result, traces) for result in results]


def _with_situation(result: CheckResult, traces: Mapping[str, Trace]) -> CheckResult:
    trace = traces.get(result.name)
    if result.cause is None or trace is None or not trace.is_mismatch:
        return result
    cause, cases = result.cause, [case for one in traces.values() for case in one.cases]
    passed = [case for case in cases if case.passed]
    if not passed:  # a shape or a type that is wrong everywhere says enough
        situation = "" if cause.is_of_another_type or "shape (" in cause.reason else EVERYWHERE
    else:
        failed = [case for case in cases if not case.passed]
        alike = _cases_of_function(result.name, traces)
        is_compared = any(case.passed for case in alike)
        own = [case for case in (trace.cases if is_compared else alike) if not case.passed]
        phrases = (
            _exact(failed, passed, is_compared) or _exact(own, passed, is_compared) or _likely(own, passed, is_compared)
        )
        are_known = all(one.is_mismatch for one in traces.values() if one.verdict not in RIGHT)
        is_all = are_known and all(_is_true(phrases, case) for case in failed)
        situation = f"{'only ' if is_all else ''}{' and '.join(phrases)}" if phrases else ""
    return explain.with_cause(result, replace(cause, situation=situation, advice="")) if situation else result


def _cases_of_function(check: str, traces: Mapping[str, Trace]) -> list[Case]:
    """The cases of a check under all of its parameters."""
    function = check.partition("[")[0]
    return [case for name, trace in traces.items() if name.partition("[")[0] == function for case in trace.cases]


def _exact(failed: Sequence[Case], passed: Sequence[Case], is_compared: bool) -> tuple[str, ...]:
    """The words that are true of all failed cases and of no passed one; empty if none are.

    A phrase that a person has written comes before a fact of a tensor, and one phrase before two.
    """
    phrases = _common(failed, is_compared)
    facts = [(fact,) for fact in failed[0].facts if all(fact in case.facts for case in failed)] if failed else []
    fewest_failed, fewest_passed = _FEWEST
    if len(failed) < fewest_failed or len(passed) < fewest_passed or not is_compared:
        facts = []
    pairs = [(*one, *other) for one, other in itertools.combinations(phrases[:_MOST_PHRASES], 2)]
    found = (some for some in (*phrases, *facts, *pairs) if not any(_is_true(some, case) for case in passed))
    return next(found, ())


def _likely(failed: Sequence[Case], passed: Sequence[Case], is_compared: bool) -> tuple[str, ...]:
    """The phrase that is true of all failed cases and of few passed ones; empty if there is none."""
    best = min(_common(failed, is_compared), key=lambda some: sum(_is_true(some, case) for case in passed), default=())
    return best if sum(_is_true(best, case) for case in passed) <= _FEW * len(passed) else ()


def _common(failed: Sequence[Case], is_compared: bool) -> list[tuple[str]]:
    """The phrases that are true of all failed cases, without those of recipes if nothing is compared with them."""
    first = failed[0].phrases if failed else ()
    common = [phrase for phrase in first if all(phrase in case.phrases for case in failed)]
    return [(phrase,) for phrase in common if is_compared or all(phrase not in case.made for case in failed)]


def _is_true(phrases: Sequence[str], case: Case) -> bool:
    return all(phrase in case.phrases or phrase in case.facts for phrase in phrases)


def facts_of(example: Mapping[str, Any]) -> Iterator[str]:
    """The facts about the tensors among the arguments of a check, in words."""
    for name, value in example.items():
        if isinstance(value, torch.dtype) and value is not torch.float32:
            yield f"for {str(value).removeprefix('torch.')}"
        if not isinstance(value, Tensor):
            continue
        if not value.is_contiguous():
            yield f"when `{name}` does not lie contiguous in memory"
        if value.dtype is not torch.float32:
            yield f"when `{name}` is {str(value.dtype).removeprefix('torch.')}"
        if not value.numel():
            yield f"when `{name}` has no elements"
            continue
        if value.dim() > 2:
            yield f"when `{name}` has more than two dims"
        if value.dim() == 2:
            rows, columns = value.shape
            yield f"when `{name}` has {'one row' if rows == 1 else 'more than one row'}"
            yield f"when `{name}` has {'one column' if columns == 1 else 'more than one column'}"
        if value.dtype is not torch.bool and not value.is_complex() and bool((value < 0).any()):
            yield f"when `{name}` has negative numbers"
