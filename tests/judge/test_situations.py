"""The situation in which an exercise breaks: what failed and passed cases have in common, and never a guess."""

from __future__ import annotations

import pytest
import torch

from grader.border.situations import Case, Cases, in_words
from grader.judge.check import Trace
from grader.judge.explain import result
from grader.judge.situations import facts_of, with_situations
from grader.results import Cause, CheckResult

SHORT, EVEN, ONE = "with a last batch that is shorter", "with equal batches", "with one batch"


def failed(*phrases: str, facts: tuple[str, ...] = ()) -> Case:
    return Case(phrases, False, facts)


def passed(*phrases: str, facts: tuple[str, ...] = ()) -> Case:
    return Case(phrases, True, facts)


def first_sentence(*checks: tuple[Case, ...], other: str = "", reason: str = "2 where 1 was expected") -> str:
    """That of the first of some checks with these cases; `other` is the verdict of one more check."""
    results: list[CheckResult] = []
    traces = {}
    for number, cases in enumerate(checks):
        is_failed = any(not case.passed for case in cases)
        name = str(number)
        cause = Cause(kind="assertion", reason=reason)
        results.append(result(name, cause) if is_failed else CheckResult(name=name, verdict="passed"))
        traces[name] = Trace("failed" if is_failed else "passed", cases=cases, is_mismatch=is_failed)
    if other:
        traces["other"] = Trace(other)
    return with_situations(results, traces)[0].message.splitlines()[0]


def sentence_of(check: str, cases: dict[str, tuple[Case, ...]]) -> str:
    """The first sentence of one of some checks with these cases."""
    verdicts = {name: "passed" if all(case.passed for case in own) else "failed" for name, own in cases.items()}
    traces = {
        name: Trace(verdicts[name], cases=own, is_mismatch=verdicts[name] == "failed") for name, own in cases.items()
    }
    return with_situations([result(check, Cause(kind="assertion", reason=NUMBERS))], traces)[0].message.splitlines()[0]


NUMBERS = "2 where 1 was expected"


@pytest.mark.parametrize(
    ("checks", "sentence"),
    [
        ([(failed(SHORT), passed(EVEN), failed(SHORT))], f"wrong only {SHORT}: {NUMBERS}"),
        ([(failed(SHORT),), (passed(EVEN),)], f"wrong only {SHORT}: {NUMBERS}"),
        ([(failed(SHORT, ONE), passed(SHORT), passed(ONE))], f"wrong only {SHORT} and {ONE}: {NUMBERS}"),
        ([(failed(SHORT), failed(EVEN), passed(ONE))], NUMBERS),
        ([(failed(SHORT), passed(SHORT))], NUMBERS),
        ([(failed(SHORT),), (failed(EVEN),)], f"wrong in every example: {NUMBERS}"),
        ([(failed(SHORT),), (failed(EVEN), passed(ONE))], f"wrong {SHORT}: {NUMBERS}"),
        ([(failed(SHORT), passed(SHORT), passed(EVEN), passed(ONE))], f"wrong only {SHORT}: {NUMBERS}"),
    ],
    ids=["by example", "by check", "two together", "no common one", "no difference", "everywhere", "others", "few"],
)
def test_the_smallest_situation_is_found(checks: list[tuple[Case, ...]], sentence: str) -> None:
    assert first_sentence(*checks) == sentence


def test_only_is_not_said_if_another_check_fails_in_another_way() -> None:
    assert first_sentence((failed(SHORT), passed(EVEN)), other="failed") == f"wrong {SHORT}: {NUMBERS}"


def test_what_a_recipe_says_counts_only_beside_passed_cases_of_the_same_check() -> None:
    made = Case((SHORT,), False, made=(SHORT,))
    assert first_sentence((made,), (passed(EVEN),)) == NUMBERS
    assert first_sentence((made, passed(EVEN)), (passed(EVEN),)) == f"wrong only {SHORT}: {NUMBERS}"


def test_a_check_that_fails_under_all_parameters_does_not_blame_one_of_them() -> None:
    others = (passed(ONE),)
    traces = {"check[0]": (failed(SHORT),), "check[1]": (failed(EVEN),), "more": others}
    assert sentence_of("check[0]", traces) == NUMBERS
    assert sentence_of("check[0]", traces | {"check[2]": others}) == f"wrong {SHORT}: {NUMBERS}"


def test_facts_of_tensors_count_only_beside_passed_cases_of_the_same_check() -> None:
    one = failed(facts=("when `x` has negative numbers",))
    assert first_sentence((one, one), (passed(), passed(), passed())) == NUMBERS


def test_facts_of_tensors_come_last_and_need_more_than_one_case() -> None:
    fact = ("when `x` is float64",)
    once = (failed(facts=fact), passed(), passed(), passed())
    assert first_sentence(once) == NUMBERS
    assert first_sentence((*once, failed(facts=fact))) == f"wrong only when `x` is float64: {NUMBERS}"


def test_a_shape_that_is_wrong_everywhere_says_enough() -> None:
    shape = "shape (2,) where (3,) was expected"
    assert first_sentence((failed(),), reason=shape) == shape


def test_facts_say_how_a_tensor_differs_from_a_plain_one() -> None:
    facts = set(facts_of({"x": torch.ones(2, 3, dtype=torch.float64).T, "y": torch.zeros(0), "n": 3}))
    assert {"when `x` does not lie contiguous in memory", "when `x` is float64", "when `y` has no elements"} <= facts
    assert not any("`n`" in fact for fact in facts)


def test_a_case_ends_when_the_same_is_made_or_named_again() -> None:
    @in_words(lambda kind: {f"with {kind}": True, "never": False})
    def model(kind: str) -> None: ...

    cases = Cases()
    cases.make(model, ("dropout",), {})
    cases.name({SHORT: True, EVEN: 0})
    assert cases.current() == ((SHORT, "with dropout"), ("with dropout",)) and not cases.passed
    cases.make(model, ("hooks",), {})
    assert cases.passed == [((SHORT, "with dropout"), ("with dropout",))]
    assert cases.current() == (("with hooks",), ("with hooks",))
    cases.name({})
    cases.name({EVEN: True})
    assert len(cases.passed) == 2 and cases.current() == ((EVEN,), ())
