"""The watch over the memory of a topic's processes: its last resort against forks that are faster than its kills."""

from __future__ import annotations

import os
import select
import signal
from types import SimpleNamespace
from typing import Any

import pytest

from grader.sandbox import process_tree
from grader.sandbox.process_tree import why_not_forked

pytestmark = pytest.mark.skipif(bool(why_not_forked()), reason="nothing can be forked here")


@pytest.mark.parametrize(("rounds", "lives"), [(3, True), (10_000, False)])
def test_the_leader_ends_only_if_new_processes_keep_holding_too_much(
    monkeypatch: pytest.MonkeyPatch, rounds: int, lives: bool
) -> None:
    from grader.student.forked import LeaderClient

    leader = os.fork()
    if not leader:
        signal.pause()
    topic: Any = object.__new__(LeaderClient)
    topic.process, topic.layers, topic._held_too_much = leader, ("pid-namespace",), 0
    topic._host = SimpleNamespace(baseline=0, most_bytes=1000)
    topic._handle = os.pidfd_open(leader)
    held = iter([2000] * rounds)
    monkeypatch.setattr(process_tree, "memory_of", lambda pids, baseline: next(held, 0))
    try:
        topic.watch()
        assert topic._held_too_much == 2000
        ended = select.select([topic._handle], [], [], 0 if lives else 10)[0]
        assert (not ended) == lives
    finally:
        os.kill(leader, signal.SIGKILL)
        os.waitpid(leader, 0)
        os.close(topic._handle)
