"""The cost of late work in a run: the options of its command line, then those of earlier ones, then the course's."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from grader.course.due import LatePolicy, read_due, read_fraction, read_minutes, read_penalty
from grader.errors import UserError

NONE, COURSE = "none", "course"
FILE_TIME, KNOWN = "file-time", "known"
_KINDS: Final = (KNOWN, FILE_TIME)


class LateOptions(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The options about late work; None if an option was not given.

    Attributes:
        due: a time, ``none``, or ``course``: as course.toml says, and all that was kept is forgotten.
        per_day: fraction of the points that is lost a day.
        grace: minutes.
        cap: the largest fraction of the points that is lost.
        until: a time after which nothing counts, or ``none``.
        by: ``file-time``: the times of files say when work came; ``known``: they do not.
    """

    due: str | None = None
    per_day: float | None = None
    grace: float | None = None
    cap: float | None = None
    until: str | None = None
    by: str | None = None

    @property
    def are_said(self) -> bool:
        """Whether any is."""
        return self != LateOptions()


def together(kept: Mapping[str, Any], said: LateOptions) -> dict[str, Any]:
    """The options from now on, to be kept for later runs: the given ones, then those that were kept before."""
    before = {} if said.due == COURSE else {key: kept[key] for key in LateOptions.__struct_fields__ if key in kept}
    return {
        key: value for key, value in {**before, **msgspec.to_builtins(said)}.items() if (key, value) != ("due", COURSE)
    }


def policy_of(course: LatePolicy, given: Mapping[str, Any]) -> LatePolicy:
    """The course's policy, except for the given options.

    Raises:
        UserError: a date or a number that is not valid.
    """
    options = msgspec.convert(dict(given), LateOptions)
    try:
        policy = LatePolicy(
            due=_time(options.due, course.due),
            per_day=course.per_day if options.per_day is None else read_penalty(options.per_day),
            grace_minutes=course.grace_minutes if options.grace is None else read_minutes(options.grace),
            cap=course.cap if options.cap is None else read_fraction(options.cap),
            until=_time(options.until, course.until),
            by_file_time=course.by_file_time if options.by is None else _kind(options.by) == FILE_TIME,
        )
        if policy.due and policy.until and policy.until < policy.due:
            raise ValueError("the last date is before the due date")
    except ValueError as problem:
        raise UserError(f"late work: {problem}", fix="for example: --due 2026-10-31T23:59 --late-penalty 0.1") from None
    return policy


def _time(text: str | None, otherwise: Any) -> Any:
    return otherwise if text is None else None if text == NONE else read_due(text)


def _kind(text: str) -> str:
    if text not in _KINDS:
        raise ValueError(f"{text!r} is neither {' nor '.join(_KINDS)}")
    return text
