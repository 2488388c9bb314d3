"""Whatever bytes a student process sends, they are a value or refused: no decoder raises anything else.

24,000 messages here, 100,000 in the slow test.
"""

from __future__ import annotations

import contextlib
import time
import tracemalloc
from collections.abc import Iterable
from typing import Any

import pytest
from fuzz import PARTS, damaged, real_messages
from hypothesis import given
from hypothesis import strategies as st

from grader.border import labels, wire
from grader.border.bounds import WireError
from grader.border.channel import Channel
from grader.border.failures import BadReply, NoAnswer, SubmissionRaised, raised_error
from grader.border.frames import BrokenFrame, FrameReader, frame
from grader.border.messages import Exchange, FromLeader, Imported, Order, Raised, Request, SetUp
from grader.border.proxies import SubmissionProxy
from grader.judge import cause
from grader.judge.check import Trace
from grader.judge.misconceptions import same_record
from grader.testkit import Mismatch, assert_close, observe, value_and_grad
from grader.testkit._ranks.launch import ScriptOutcome
from grader.testkit.show import show

STRUCTS: tuple[Any, ...] = (Request, Imported | Raised, FromLeader, Order, SetUp)


class Replies:
    """A transport that answers every call with the next of some messages."""

    def __init__(self, *replies: bytes) -> None:
        self.replies = list(replies)
        self.kept: dict[str, object] = {}

    def call(self, request: bytes) -> bytes:
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]

    call_outside = call


def survive(messages: Iterable[bytes]) -> tuple[int, int]:
    """What the judge does with replies; how many there were, and how many of them were values."""
    count = values = 0
    before = Trace("failed", ((Exchange(b"", wire.pack(["ok", 1])),),))
    for data in messages:
        count += 1
        submission = SubmissionProxy(Channel(Replies(data)))
        try:
            value = submission.f(1)
        except (SubmissionRaised, NoAnswer) as error:
            assert "cannot be read" not in str(error), "no decoder raises anything but WireError"
        else:
            values += 1
            line = show(value)
            assert len(line) < 1_000
            with contextlib.suppress(Mismatch):
                assert_close(value, [line])
        same_record(before, Trace("failed", ((Exchange(b"", data),),)))
        for kind in STRUCTS:
            with contextlib.suppress(WireError):
                if isinstance(message := wire.unpack(data, kind), Raised):
                    cause.import_failed("work.py", raised_error(message), "")
    return count, values


def test_24_000_damaged_messages() -> None:
    count, values = survive(damaged(real_messages(), 24_000, seed=1))
    assert count == 24_000
    assert 4_000 < values < 16_000, "neither all harmless nor all refused at the door"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 4))
def test_100_000_damaged_messages(seed: int) -> None:
    assert survive(damaged(real_messages(), 50_000, seed))[0] == 50_000


@pytest.mark.parametrize("part", PARTS, ids=lambda part: repr(part)[:30])
def test_each_part_in_each_place(part: Any) -> None:
    survive(
        [wire.pack(part), wire.pack(["ok", part]), wire.pack(["ok", ["l", part]]), wire.pack(["report", "x", part])]
    )
    survive(
        wire.pack(["raise", *[part if at == place else other for at, other in enumerate(RAISED)]]) for place in range(4)
    )
    for place in range(1, 8):
        survive([wire.pack(["ok", [*TENSOR[:place], part, *TENSOR[place + 1 :]]])])


RAISED = ("ValueError", True, "text", [["work.py", 1, "f", "x"]])
TENSOR = ["T", "float32", [2], None, b"\0" * 8, False, 0, None]


@given(name=st.one_of(st.text(max_size=12), st.from_regex(r"\A(cpu|cuda|mps)(:\w{0,3})?", fullmatch=False)))
def test_a_device_is_a_name_that_torch_knows_or_refused(name: str) -> None:
    import torch

    try:
        placed = labels.place(torch.ones(1), name)
    except ValueError:
        return
    assert labels.name_of(placed) == name


@given(data=st.binary(max_size=64), limit=st.integers(1, 40))
def test_frames_give_payloads_within_the_limit_or_break(data: bytes, limit: int) -> None:
    reader = FrameReader(limit)
    reader.feed(data)
    with contextlib.suppress(BrokenFrame):
        while (payload := reader.next()) is not None:
            assert len(payload) <= limit
    whole = FrameReader(limit)
    whole.feed(frame(data[:limit]))
    assert whole.next() == data[:limit]


@given(tree=st.recursive(st.sampled_from(PARTS), lambda inner: st.lists(inner, max_size=4), max_leaves=8))
def test_how_a_launch_ended_is_data_of_its_struct_or_refused(tree: Any) -> None:
    with contextlib.suppress(WireError):
        assert isinstance(wire.convert(tree, ScriptOutcome), ScriptOutcome)


@given(fields=st.lists(st.sampled_from(PARTS), max_size=10))
def test_observations_and_gradients_are_data_or_refused(fields: list[Any]) -> None:
    reply = wire.pack(["ok", ["t", *[part if not isinstance(part, list | dict) else ["t"] for part in fields]]])
    for look in (observe, value_and_grad):
        with contextlib.suppress(SubmissionRaised, NoAnswer):
            look(SubmissionProxy(Channel(Replies(reply))).f, 1)


# ---------------------------------------------------------------- what decoded values cost


def expanded(elements: int, dtype: str, size: int) -> list[Any]:
    return ["T", dtype, [elements], [0], b"\0" * size, False, 0, None]


@pytest.mark.parametrize(
    "tree",
    [
        ["l", *[expanded(1 << 21, "uint8", 1)] * 3],
        ["l", *[expanded(1 << 20, "float64", 8)] * 3],
        ["l", *[["l", *[0] * 160_000]] * 4],
        ["d", *[part for key in range(4_000) for part in (key, ["l", *[0] * 160])]],
    ],
    ids=["numbers", "bytes", "items", "dicts"],
)
def test_a_reply_is_counted_after_it_is_expanded(tree: Any) -> None:
    with pytest.raises(BadReply, match="larger than"):
        SubmissionProxy(Channel(Replies(wire.pack(["ok", tree])))).f()


@pytest.mark.parametrize("tree", [expanded(1 << 22, "uint8", 1), ["l", *[0] * 590_000]], ids=["numbers", "items"])
def test_many_replies_just_below_the_limit_are_too_many_for_one_check(tree: Any) -> None:
    channel = Channel(Replies(wire.pack(["ok", tree])))
    submission = SubmissionProxy(channel)
    for _ in range(4):
        submission.f()
    with pytest.raises(BadReply, match="larger than"):
        submission.f()
    channel._budget = type(channel._budget)(4)
    submission.f()


def test_the_most_that_a_reply_may_hold_is_shown_and_compared_in_bounded_memory_and_work() -> None:
    tree = ["l", *[expanded(1 << 19, "float16", 2)] * 8]
    started = time.process_time()
    tracemalloc.start()
    value = SubmissionProxy(Channel(Replies(wire.pack(["ok", tree])))).f()
    show(value)
    with pytest.raises(Mismatch):
        assert_close(value, [*value[:-1], value[-1] + 1])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64 << 20
    assert time.process_time() - started < 30, "a limit for what never ends, no measurement"


def test_a_long_reply_is_kept_as_a_digest_and_never_read_as_a_reply() -> None:
    long = wire.pack(["ok", b"x" * (2 << 20)])
    channel = Channel(Replies(long))
    SubmissionProxy(channel).f()
    (exchange,) = channel.record
    assert not isinstance(exchange.reply, bytes)
    one = Trace("failed", ((exchange,),))
    assert same_record(one, one)
    other = Trace("failed", ((Exchange(exchange.request, wire.pack(["ok", 1])),),))
    assert not same_record(one, other) and not same_record(other, one)
