"""What a class costs that is graded by a suite of tests, beside the same tests under plain pytest, both warm.

    python benchmarks/suites.py [--rounds 7]

The suite is that of ``examples/adopted``. Plain pytest is warm, too: a fork of a process that has imported torch runs
all tests on the solution, without any isolation. The two take turns, and the medians are compared.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from common import finish

from grader.adopt.suite import adopt_suite
from grader.course.model import files_below
from grader.grading.protocol import WorkerOptions
from grader.grading.worker_process import Worker
from grader.intake.submission import Submission

ROOT = Path(__file__).resolve().parent.parent
SUITE = ROOT / "examples" / "adopted" / "suite"


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def plain() -> None:
    """All tests on the solution, in a fork of this process."""
    import pytest

    if not (child := os.fork()):
        os.chdir(SUITE)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.path.insert(0, str(SUITE))
        sys.dont_write_bytecode = True
        os._exit(pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:torchkata", "-c", os.devnull, "tests"]))
    _, status = os.waitpid(child, 0)
    assert status == 0, "the suite fails on its solution"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as temporary:
        course = Path(temporary) / "course"
        adopting = seconds(lambda: adopt_suite(SUITE / "tests", ["adapters", "training"], course))
        files = files_below(course / "solutions", "")
        right = Submission("right", {label.partition("/")[2]: file.read_bytes() for label, file in files})
        worker = Worker()
        worker.configure(WorkerOptions(course=str(course)))
        worker.grade(right, 600)

        import torch._dynamo  # the first step of an optimizer imports it
        from hypothesis import strategies  # noqa: F401

        torch.set_num_threads(1)
        plain()
        graded, tested = [], []
        for _ in range(rounds):
            graded.append(seconds(lambda: worker.grade(right, 600)))
            tested.append(seconds(plain))
        worker.end()
    ours, theirs = statistics.median(graded), statistics.median(tested)
    print(f"a submission by the suite: {ours:.2f} s; plain pytest in a warm fork: {theirs:.2f} s")
    print(f"ratio: {ours / theirs:.2f}")
    print(f"grader adopt: {adopting:.1f} s")
    finish("suites", graded=ours, plain=theirs, ratio=ours / theirs, adopt=adopting)


if __name__ == "__main__":
    main()
