"""When a worker that gives no sign of life is ended: once it is sure that none lies there unread."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from grader.grading import worker_process
from grader.grading.worker_process import Worker, _Progress
from grader.judge.listener import Place


class Looks:
    """In place of the event that ends the looks: before each, a step is made; after the last one they are over."""

    def __init__(self, *steps: Callable[[], None]) -> None:
        self._steps = list(steps)

    def wait(self, seconds: float) -> bool:
        if self._steps:
            self._steps.pop(0)()
            return False
        return True


@pytest.mark.parametrize(("is_heard", "is_ended"), [(True, False), (False, True)])
def test_a_sign_of_life_that_is_read_late_is_one(
    monkeypatch: pytest.MonkeyPatch, is_heard: bool, is_ended: bool
) -> None:
    progress = _Progress(place=Place("topic"))
    worked = iter([1.0, 100.0, 101.0])
    monkeypatch.setattr(worker_process.process_tree, "activity", lambda pid: (False, next(worked)))
    worker: Any = object.__new__(Worker)
    worker.process, worker._judge_seconds = SimpleNamespace(pid=1), 20.0
    worker._kill_after_dump = lambda over: None

    def nothing() -> None:
        pass

    def hear() -> None:
        progress.signs_of_life += is_heard

    looks: Any = Looks(nothing, nothing, hear)
    worker._supervise(progress, 1e6, looks)
    assert bool(progress.why_ended) == is_ended
