"""The two decorators that tie code to the course: `exercise` on a check, `misconception` on a wrong answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

EXAMPLES: Final = 25
"""Generated examples per property, where the check does not say otherwise."""


def exercise(name: str, *, hidden: bool = False, may_change: bool = False) -> Callable[[F], F]:
    """Ties a check to its exercise. Put it above ``@given``.

    Args:
        name: ``"topic.exercise"``, as in course.toml.
        hidden: whether a failure keeps back what was expected.
        may_change: whether it is the exercise's job to change the tensors that it is given. Else the check fails when
            a tensor that it passed to the submission is changed in place.
    """

    def mark(check: F) -> F:
        import pytest

        if hasattr(check, "hypothesis") and not hasattr(check, "_hypothesis_internal_settings_applied"):
            from hypothesis import settings

            check = settings(max_examples=EXAMPLES)(check)
        return pytest.mark.exercise(name, hidden=hidden, may_change=may_change)(check)  # type: ignore[no-any-return]

    return mark


def misconception(of: str, *, tell: str, name: str | None = None, part: str | None = None) -> Callable[[T], T]:
    """Marks a classic wrong answer. The arguments must be literals: the course reads them without running the file.

    Args:
        of: the exercise that it answers wrongly.
        tell: what the student who gives this answer reads.
        name: the misconception's name; the function's own when left out.
        part: the function that it takes the place of, where the exercise has several; the one that the exercise is
            named for when left out.
    """

    def mark(answer: T) -> T:
        return answer

    return mark
