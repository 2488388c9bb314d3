"""New Pythons of the portable engine: those that cannot start, and who else may connect in their place."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest

from grader.sandbox.limits import Limits
from grader.student import portable
from grader.student.student_process import HostGone


class NeverReady:
    """Stands for a new Python that ends at its start."""

    def finish_start(self) -> None:
        raise HostGone("it ended")

    def end(self) -> None:
        pass


def test_a_system_that_starts_no_process_any_more_is_said_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(order: object) -> None:
        raise OSError("no more processes")

    monkeypatch.setattr(portable, "SpawnedPython", refuse)
    first: Any = NeverReady()
    host = portable.PortableHost(first, Limits())
    try:
        for _ in range(2):
            with pytest.raises(HostGone, match="no more processes"):
                host.take()
        assert host._spares == deque()
    finally:
        host.close()
