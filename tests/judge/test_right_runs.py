"""Equal replies to equal requests mean an equal verdict; nothing is asked before the reply to what comes before it."""

from __future__ import annotations

import sys

import pytest

from grader.border import wire
from grader.border.channel import Channel
from grader.border.messages import RUN_OF_RANKS, Exchange, Request, Returned
from grader.border.proxies import RemoteFunction
from grader.judge.right_runs import RightRuns

FIRST, SECOND, OTHER = (wire.pack(Request("call", [["f", name]], [])) for name in ("first", "second", "other"))
ONE, TWO = wire.pack(Returned(1)), wire.pack(Returned(2))


class Answers:
    """A transport that answers what it is told to, and notes what it was asked."""

    def __init__(self, *replies: bytes) -> None:
        self.replies = list(replies)
        self.asked: list[bytes] = []
        self.kept: dict[str, object] = {}

    def call(self, request: bytes) -> bytes:
        self.asked.append(request)
        return self.replies.pop(0)

    call_outside = call


def known(*runs: tuple[tuple[bytes, bytes], ...]) -> RightRuns:
    right = RightRuns()
    for run in runs:
        right.add([Exchange(request, reply) for request, reply in run])
    return right


def test_the_same_replies_pass_without_the_body() -> None:
    answers = Answers(ONE, TWO)
    assert known(((FIRST, ONE), (SECOND, TWO))).are_repeated(Channel(answers))
    assert answers.asked == [FIRST, SECOND]


def test_nothing_is_asked_after_a_reply_that_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "pandas", raising=False)  # a request says whether this process has it
    answers = Answers(TWO, TWO)
    channel = Channel(answers)
    assert not known(((FIRST, ONE), (SECOND, TWO))).are_repeated(channel)
    assert answers.asked == [FIRST]
    # The body takes the reply that has come, and then asks for itself.
    first, second = (RemoteFunction(channel, name) for name in ("first", "second"))
    assert (first(), second()) == (2, 2)
    assert answers.asked == [FIRST, SECOND]


def test_what_follows_depends_on_the_reply() -> None:
    right = known(((FIRST, ONE), (SECOND, ONE)), ((FIRST, TWO), (OTHER, ONE)))
    for first, second in ((ONE, SECOND), (TWO, OTHER)):
        answers = Answers(first, ONE)
        assert right.are_repeated(Channel(answers))
        assert answers.asked == [FIRST, second]


def test_a_run_with_ranks_is_never_repeated() -> None:
    right = known(((wire.pack(Request(RUN_OF_RANKS, [], [])), ONE),))
    assert not right.are_repeated(Channel(Answers()))


def test_a_check_that_asks_something_else_for_the_same_replies_is_not_learned_from_twice() -> None:
    right = known(((FIRST, ONE),), ((OTHER, ONE),))
    answers = Answers(ONE)
    assert right.are_repeated(Channel(answers)) and answers.asked == [FIRST]
