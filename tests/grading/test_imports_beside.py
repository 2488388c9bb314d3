"""What a topic needs loaded is imported by a thread beside the judge, where two threads may parse at once."""

from __future__ import annotations

import subprocess
import sys

import pytest
from shared import REPO

from grader.grading import worker
from grader.sandbox import kernel

PROGRAM = """
import sys, threading
from grader.grading import worker
from grader.grading.protocol import WorkerOptions
from grader.student import engine

MODULE = "torch.distributed.run"
began = []
start = threading.Thread.start
threading.Thread.start = lambda self: (began.append(self._target), start(self))[1]

def serve(judge):
    print("a thread" if worker._load in began else "no thread", MODULE in sys.modules)
    judge.before_topic("team")
    return 0

for beside in (False, True):  # in this order: nothing can be unloaded
    worker.MAY_IMPORT_BESIDE = beside
    hosts = engine.start_pair()(WorkerOptions().limits)
    worker._with_judge(hosts, WorkerOptions(course="tests/courses/team"), serve)
    hosts.close()
    print(MODULE in sys.modules)
"""


@pytest.mark.slow
@pytest.mark.skipif(not kernel.SUPPORTED, reason="the sandbox needs Linux on x86_64 or aarch64")
def test_modules_are_loaded_before_the_topic_or_beside() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=REPO, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    before, loaded, beside, _ = done.stdout.splitlines()
    assert (before, loaded) == ("no thread False", "True")
    assert beside.startswith("a thread")


def test_no_thread_imports_where_two_cannot_parse_at_once() -> None:
    """Python 3.11 before 3.11.8: https://github.com/python/cpython/issues/106905."""
    assert worker.MAY_IMPORT_BESIDE is not ((3, 11) <= sys.version_info < (3, 11, 8))
