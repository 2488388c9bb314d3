"""Two seeds share no generated example of the shipped course, but for edge cases: small shapes, plain contents."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from hypothesis import given, settings

from grader import kit
from grader.course import Course
from grader.judge import examples
from grader.judge.session import collected_checks
from grader.testkit import exercise, seeds, tensors

SECRET = 1_234_567


@pytest.fixture(scope="module")
def batteries() -> dict[str, dict[str, tuple[set[str], set[str]]]]:
    """By exercise and check: the examples of seed 0 and of a secret one, as texts."""
    course = Course.load(None)
    kit.load(course.kit)

    found: dict[str, dict[str, tuple[set[str], set[str]]]] = {}
    files = [course.check_file(topic.name) for topic in course.topics]
    with collected_checks(files, course.checks_dir, 0) as checks:
        for one in course.exercises:
            for check in checks.of(one.full_name):
                if not examples.is_property(check.item.obj):
                    continue
                public, secret = (examples.draw(check.item.obj, seed, check.name) for seed in (0, SECRET))
                if public is not None and secret is not None:
                    both = set(map(text_of, public)), set(map(text_of, secret))
                    found.setdefault(one.full_name, {})[check.name] = both
    return found


def text_of(value: object) -> str:
    if isinstance(value, torch.Tensor):
        return f"{value.dtype} {tuple(value.shape)} {value.tolist()}"
    if isinstance(value, dict):
        return str({name: text_of(one) for name, one in value.items()})
    return str([text_of(one) for one in value]) if isinstance(value, list | tuple) else repr(value)


@pytest.mark.slow
def test_most_examples_of_a_secret_seed_are_in_no_battery_of_seed_0(
    batteries: dict[str, dict[str, tuple[set[str], set[str]]]],
) -> None:
    assert len(batteries) > 30
    for name, checks in batteries.items():
        fresh = [len(secret - public) / len(secret) for public, secret in checks.values()]
        assert max(fresh) >= 0.5, f"{name}: a table of answers to seed 0 knows most of {SECRET}'s"


@pytest.mark.slow
def test_no_example_with_many_numbers_is_in_both(batteries: dict[str, dict[str, tuple[set[str], set[str]]]]) -> None:
    shared = [
        (name, check, example)
        for name, checks in batteries.items()
        for check, (public, secret) in checks.items()
        for example in public & secret
        if len(set(re.findall(r"-?\b\d+\.\d{5,}\b", example))) >= 3
    ]
    assert shared == []


@exercise("some.check")
@settings(max_examples=200)
@given(x=tensors((3,), kind="normal", contiguous=True), seed=seeds())
def check_of_contents(submission: Any, x: torch.Tensor, seed: int) -> None: ...


def test_contents_and_seeds_of_another_seed_are_others() -> None:
    def drawn(seed: int) -> tuple[set[str], set[int]]:
        found = examples.draw(check_of_contents, seed, "contents")
        assert found is not None
        return {text_of(one["x"]) for one in found}, {one["seed"] for one in found}

    for public, secret in zip(drawn(0), drawn(SECRET), strict=True):
        assert len(secret) > 100 and not public & secret  # type: ignore[operator]
    assert drawn(SECRET) == drawn(SECRET)
    assert 0 in drawn(0)[1]  # what `grader check` draws is what Hypothesis draws
