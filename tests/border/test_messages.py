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
    AllEnded,
    CannotFork,
    EndAll,
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
        (EndAll(), Order),
        (Tidy(), Order),
        (Imported(), Imported | Raised),
        (RAISED, Imported | Raised),
        (Ended(-9), FromLeader),
        (Forked(7), FromLeader),
        (CannotFork(), FromLeader),
        (AllEnded(), FromLeader),
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


LINE = ["work.py", 1, "f", ""]


@pytest.mark.parametrize(
    ("kind", "forged"),
    [
        (FROM_STUDENT, ["imported", [[1, 1, None]] * 36_000, []]),
        (FROM_STUDENT, ["imported", [], [["name", 0]] * 36_000]),
        (FROM_STUDENT, ["raise", "ValueError", True, "no", [LINE] * 36_000]),
        (Reply, ["raise", "ValueError", True, "no", [LINE] * 36_000]),
        (FROM_STUDENT, ["imported", [[1, 1, ["raise", "E", True, "", [LINE] * 36_000]]], []]),
    ],
)
def test_a_list_that_is_longer_than_any_of_the_graders_is_refused(kind: Any, forged: list[Any]) -> None:
    with pytest.raises(WireError):
        wire.unpack_untrusted(msgspec.msgpack.encode(forged), kind)


SAME_HASH = [float(2 ** (61 * power)) for power in range(1, 16)]
MAPS = {
    "alone": {"a": 1},
    "deep": ["l", ["l", ["t", {}]]],
    "long": {str(number): number for number in range(70_000)},
    "of one hash": dict.fromkeys(SAME_HASH, 0),
    "after bytes that look like one": ["t", b"\x81\xde\xdf" * 300, "\x7f" * 40_000, -1, 2.5, 1 << 63, {}],
}


@pytest.mark.parametrize("case", MAPS)
def test_no_map_is_taken_from_submitted_code(case: str) -> None:
    data = msgspec.msgpack.encode(["ok", MAPS[case]])
    assert wire.unpack(data, Reply)
    with pytest.raises(WireError):
        wire.unpack_untrusted(data, Reply)


def test_bytes_that_look_like_a_map_are_none() -> None:
    values = [bytes(range(256)) * 300, "\u00df\u00de", 0xDE, -0x20, 1.5]
    message = Returned(["t", *values, msgspec.msgpack.Ext(5, b"\x81")])
    with pytest.raises(WireError, match="type"):  # only now, and not for a map
        wire.unpack_untrusted(msgspec.msgpack.encode(message), Reply)
    plain = Returned(["t", *values])
    assert wire.unpack_untrusted(wire.pack(plain), Reply) == plain


def test_a_dict_of_keys_with_one_hash_is_refused_before_it_is_made() -> None:
    prime = (1 << 61) - 1
    tree = ["d", *(part for number in range(1, 2100) for part in (["i", hex(number * prime + (5 << 64))], 0))]
    with pytest.raises(WireError, match="same hash"):
        wire.decode(tree, repr)
    assert wire.decode(["d", -1, 0, -2, 0, 1.5, 0], repr) == {-1: 0, -2: 0, 1.5: 0}


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
