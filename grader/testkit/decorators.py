"""The decorators that tie code to the course: `exercise` and `needs` on a check, `picture`, `misconception`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

if TYPE_CHECKING:
    from pytest import MarkDecorator

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

EXERCISE_MARK: Final = "grader_exercise"
NEEDS_MARK: Final = "grader_needs"
"""The names of pytest's marks that the decorators put on a check; other projects have marks with shorter names."""
PICTURE: Final = "_grader_picture"
"""The attribute of a function that makes a picture: its exercise and its title."""
EXAMPLES: Final = 25
"""Generated examples per property, unless the check says otherwise."""
NEEDS: Final[Mapping[str, str]] = {
    "gpu": "needs a CUDA device",
    "ranks": "needs a network namespace in the sandbox (see `grader doctor`)",
}
"""The things that a check can need of the machine, and the message if the machine does not have one."""


def exercise(
    name: str,
    *,
    hidden: bool | Literal["all"] = False,
    may_change: bool = False,
    points: float | None = None,
    bonus: float = 0,
    when: str = "",
    seconds: float = 0.0,
) -> Callable[[F], F]:
    """Ties a check to its exercise. Put it above ``@given``.

    Args:
        name: ``"topic.exercise"``, as in course.toml.
        hidden: whether a failure keeps back the expected value; ``"all"``: students do not see its name, the call and
            the message either, until the course's ``hidden_until``, and do not get the check with the course.
        may_change: whether it is the exercise's job to change the tensors that it is given. Else the check fails when
            a tensor that it passed to the submission is changed in place.
        points: its weight among the checks of its exercise, 1 when left out: if the exercise has the credit
            ``per-check``, its points are shared out in this proportion.
        bonus: points on top of those of its exercise, which it is no part of then.
        when: the situation that it is about, in words that complete "wrong only": ``for scores of ±10,000``. If this
            check fails and those of other situations pass, the student reads it first; see `situations`.
        seconds: how long one run of it may take, longer or shorter than others; 0 means as long as any check may.
    """

    def decorate(check: F) -> F:
        import pytest

        if hasattr(check, "hypothesis") and not hasattr(check, "_hypothesis_internal_settings_applied"):
            from hypothesis import settings

            check = settings(max_examples=EXAMPLES)(check)
        options = {"hidden": hidden, "may_change": may_change, "points": points, "bonus": bonus, "when": when}
        options["seconds"] = seconds
        return getattr(pytest.mark, EXERCISE_MARK)(name, **options)(check)  # type: ignore[no-any-return]

    return decorate


def picture(of: str, *, title: str) -> Callable[[F], F]:
    """Names a function that makes a picture of an exercise, beside its checks. It decides no verdict.

    The function gets ``submission`` as a check does, asks it for numbers, and returns `Lines`, `Points`, a `Grid` or a
    `Diagram`. It runs when all checks of the exercise have passed, in a fresh student process; its failure costs
    nothing. The arguments must be literals: the course reads them without running the file. An exercise may have
    several pictures.

    Args:
        of: ``"topic.exercise"``, as in course.toml.
        title: the picture's title; best is a sentence that says what to look for.
    """

    def decorate(function: F) -> F:
        function.__dict__[PICTURE] = (of, title)
        return function

    return decorate


def needs(*what: str) -> MarkDecorator:
    """Names the things that a check needs of the machine. If one is missing, the check is not assessed for
    any submission.

    Also for all checks of a file: ``pytestmark = needs("ranks")``. The mark of a check counts before that of its file,
    so ``@needs()`` takes one out. A check may also use pytest's own ``skipif``, or call ``pytest.skip`` before it has
    asked the submission anything; to skip after that is a fault of the check.

    Args:
        what: ``"gpu"``, a real CUDA device; ``"ranks"``, sockets between the processes of a submission.

    Raises:
        ValueError: there is no such need.
    """
    import pytest

    for name in what:
        if name not in NEEDS:
            raise ValueError(f"a check can need {' or '.join(map(repr, NEEDS))}, not {name!r}")
    return getattr(pytest.mark, NEEDS_MARK)(*what)  # type: ignore[no-any-return]


def misconception(
    of: str, *, tell: str, name: str | None = None, part: str | None = None, seen: str = ""
) -> Callable[[T], T]:
    """Names a classic wrong answer. The arguments must be literals: the course reads them without running the file.

    Args:
        of: the exercise that it answers wrongly.
        tell: the message to a student with this answer.
        name: the misconception's name; the function's own when left out.
        part: the function that it takes the place of, if the exercise has several; the one that the exercise is
            named for when left out.
        seen: how the mistake is seen in the text of an answer: the name of a matcher, or a call of one with literals,
            such as ``"calls('forward')"``.
    """

    def decorate(answer: T) -> T:
        return answer

    return decorate
