"""The undocumented names of Hypothesis that the grader uses are there; a missing one is reported."""

from __future__ import annotations

from typing import Any

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.internal.conjecture import providers

from grader.judge import examples


@given(number=st.integers())
def check_of_a_number(submission: Any, number: int) -> None: ...


def test_every_name_is_there_in_the_installed_version() -> None:
    assert examples.missing_names() == [], (
        f"Hypothesis {hypothesis.__version__} differs from {examples.SEEN_ON}, on which the grader was seen"
    )


def test_a_missing_name_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(providers, "_get_local_constants")
    assert examples.missing_names() == ["providers._get_local_constants"]


def test_settings_that_are_kept_elsewhere_end_in_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(check_of_a_number, "_hypothesis_internal_use_settings")
    with pytest.raises(examples.HypothesisChanged, match=examples.SEEN_ON):
        examples.draw(check_of_a_number, 0, "a number")


def test_a_test_has_its_own_settings_again_afterwards() -> None:
    own = check_of_a_number._hypothesis_internal_use_settings  # type: ignore[attr-defined]
    body = check_of_a_number.hypothesis.inner_test  # type: ignore[attr-defined]
    assert len(examples.draw(check_of_a_number, 0, "a number") or []) == own.max_examples
    assert check_of_a_number._hypothesis_internal_use_settings is own  # type: ignore[attr-defined]
    assert check_of_a_number.hypothesis.inner_test is body  # type: ignore[attr-defined]
