"""The messages of a student process: the same bytes both ways, and nothing else is taken for one."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from grader.border import bounds, wire
from grader.border.bounds import WireError
from grader.border.failures import exception_of, raised_error
from grader.border.messages import (
    FORGET,
    Ended,
    Forked,
    FromLeader,
    HowEnded,
    Imported,
    Missing,
    Order,
    Raised,
    Reply,
    Request,
    Returned,
    SentLine,
    SetUp,
    Start,
    Tidied,
    Tidy,
    TooLarge,
)

RAISED = Raised("ValueError", True, "no", (SentLine("work.py", 3, "f", "raise ValueError('no')"),))
FROM_STUDENT = Reply | Imported | FromLeader


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (Request("call", [["f", "gram"], 1.5], [("scale", ["t", 1, 2])]), Request),
        (FORGET, Request),
        (Returned(["l", 1, b"x"]), Reply),
        (RAISED, Reply),
        (Missing("gram"), Reply),
        (TooLarge("nested"), Reply),
        (SetUp("tensor_ops", {"tensor_ops.py": b"import torch\n"}, True), SetUp),
        (Start(3, bindings=[("gram", "columns")]), Order),
        (HowEnded(3, 1.0), Order),
        (Tidy(), Order),
        (Imported(), Imported | Raised),
        (RAISED, Imported | Raised),
        (Ended(-9), FromLeader),
        (Forked(7), FromLeader),
        (Tidied(), FromLeader),
    ],
)
def test_a_message_comes_back_as_it_was(message: Any, kind: Any) -> None:
    assert wire.unpack(wire.pack(message), kind) == message


@pytest.mark.parametrize(
    "forged",
    [
        None,
        [],
        ["ok"],
        ["ok", None, None],
        ["OK", None],
        {"type": "ok", "value": None},
        ["raise", "ValueError", 1, "no", []],
        ["raise", "ValueError", True, "no", [["work.py", "3", "f", ""]]],
        ["raise", "ValueError", True, b"no", []],
        ["raise", "ValueError", True, "no", "frames"],
        ["missing", None],
        ["imported", True],
        ["ready", 0],
        ["ended", 1.5],
        ["ended", "0"],
        [["ok", None]],
    ],
)
def test_what_a_submission_forges_is_no_message(forged: Any) -> None:
    with pytest.raises(WireError):
        wire.unpack(msgspec.msgpack.encode(forged), FROM_STUDENT)


def test_a_message_of_too_many_parts_is_refused_before_it_is_made() -> None:
    line = ["", 0, "", ""]
    forged = ["raise", "ValueError", True, "no", [line] * (bounds.MAX_NODES // 4)]
    with pytest.raises(WireError, match="parts"):
        wire.unpack(msgspec.msgpack.encode(forged), Reply)


def test_what_a_submission_says_of_its_exception_is_bounded_and_printable() -> None:
    lines = tuple(SentLine("f" * 1000, 1, "g\x1b[31m", "t" * 1000) for _ in range(100))
    failure = raised_error(Raised("K\n" * 100, False, "m" * 10_000, lines))
    error: Any = exception_of(Raised("K\n" * 100, False, "m" * 10_000, lines))
    assert (failure.kind, failure.message, failure.frames) == (error.kind, error.message, error.frames)
    assert len(failure.kind) == 100 and failure.kind.isprintable()
    assert len(failure.message) == 2_000
    assert len(failure.frames) == 16
    assert (len(failure.frames[0].file), failure.frames[0].function, len(failure.frames[0].text)) == (
        100,
        "g\ufffd[31m",
        200,
    )
