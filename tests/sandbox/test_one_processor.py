"""A judge and a student process that take turns on one processor."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from grader.sandbox import kernel
from grader.sandbox.one_processor import shared_with

pytestmark = pytest.mark.skipif(not kernel.LINUX, reason="no process can be tied to a processor here")


def test_both_are_on_one_processor_meanwhile() -> None:
    before = os.sched_getaffinity(0)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        with shared_with(other.pid):
            here = os.sched_getaffinity(0)
            assert os.sched_getaffinity(other.pid) == here and len(here) == 1 and here <= before
        assert os.sched_getaffinity(0) == before
        other.communicate(b"\n")


@pytest.mark.parametrize("pid", [None, int(Path("/proc/sys/kernel/pid_max").read_text()) if kernel.LINUX else 0])
def test_nothing_changes_without_another_process(pid: int | None) -> None:
    before = os.sched_getaffinity(0)
    with shared_with(pid):
        assert os.sched_getaffinity(0) == before
    assert os.sched_getaffinity(0) == before
