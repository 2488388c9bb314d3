"""When two records of calls are those of one mistake, so that its name is true: here, exceptions and numbers."""

from __future__ import annotations

import numpy as np
import pytest

from grader.border import wire
from grader.border.messages import Exchange, Raised, Returned, SentLine
from grader.judge.check import Trace
from grader.judge.misconceptions import same_record, tried_first

CALL = "y = f(x)"


def record(message: str, line: str = CALL, kind: str = "ValueError") -> Trace:
    """The record of a check whose one call raises an exception at this line."""
    reply = wire.pack(Raised(kind, True, message, (SentLine("ddp.py", 4, "f", line),)))
    return Trace("failed", ((Exchange(b"request", reply),),))


def test_an_exception_that_a_check_asks_for_may_say_anything() -> None:
    passed = [Trace("passed", record(message).examples) for message in ("one", "two")]
    assert same_record(*passed)
    returned = wire.pack(Returned(1))
    later = [Trace("failed", ((*record(m).examples[0], Exchange(b"r", returned)),)) for m in ("one", "two")]
    assert same_record(*later)


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (record("sampler is mutually exclusive"), record("sampler is mutually exclusive"), True),
        (record("sampler is mutually exclusive"), record("there is no process group"), False),
        (record("'Mine' object has no x"), record("'Theirs' object has no x"), True),
        (record("room for 3 graphs, not for 12"), record("room for 3 graphs, not for 6"), True),
        (
            record("too few", "raise ValueError('too few')"),
            record("at least 2", "raise ValueError('at least 2')"),
            True,
        ),
        (record("too few", "raise ValueError('too few')"), record("negative"), True),
        (record("", "assert x", "AssertionError"), record("x", "assert y, 'x'", "AssertionError"), True),
        (record("x", kind="TypeError"), record("x"), False),
    ],
)
def test_exceptions_are_one_mistake_only_if_they_say_the_same(one: Trace, other: Trace, is_same: bool) -> None:
    assert same_record(one, other) == is_same == same_record(other, one)


def test_a_number_of_numpy_and_a_changed_argument_are_mistakes_of_their_own() -> None:
    def returned(value: object, *, is_mismatch: bool = True) -> Trace:
        reply = wire.pack(Returned(wire.encode(value, lambda *_: None)))
        return Trace("failed", ((Exchange(b"request", reply),),), is_mismatch=is_mismatch)

    for one, other in ((0.0, np.float64(0.0)), (np.float64(0.0), 0.0)):
        assert not same_record(returned(one), returned(other))
    assert same_record(returned(0.1 + 0.2), returned(0.3))
    assert not same_record(returned(0.0), returned(0.0, is_mismatch=False))  # right, but an argument was changed


def test_the_check_that_is_compared_first_depends_on_no_clock() -> None:
    calls = {"passes": 1, "long": 5, "short": 2, "as_short": 2}
    traces = {
        name: Trace("failed" if count > 1 else "passed", record("x").examples * count) for name, count in calls.items()
    }
    assert tried_first(traces) == "short"
    assert tried_first({"endless": Trace("timeout", ()), "long": traces["long"]}) == "long"
    assert not {"seconds", "time"} & {*Trace.__struct_fields__}
