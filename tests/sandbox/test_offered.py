"""What forked processes need is found by trying it."""

from __future__ import annotations

import errno
import os

import pytest

from grader.sandbox.process_tree import why_not_forked
from grader.student import engine


@pytest.mark.skipif(bool(why_not_forked()), reason="nothing can be forked here")
def test_a_kernel_older_than_python_gets_spawned_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(process: int) -> int:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(os, "pidfd_open", refused)
    monkeypatch.delenv(engine.VARIABLE, raising=False)
    assert engine.choose() == ("portable", "this system refuses os.pidfd_open (Function not implemented)")
