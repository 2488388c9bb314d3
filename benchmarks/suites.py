"""What a class costs that is graded by a suite of tests, beside the same tests under plain pytest, both warm.

    python benchmarks/suites.py [--rounds 7]

One suite is that of ``examples/adopted``. The other one does little but use objects of students: some thousand numbers
that know their gradients, and an optimizer. Plain pytest is warm, too: a fork of a process that has imported torch runs
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
OBJECTS = {
    "engine.py": '''
class Value:
    """A number that knows its gradient."""

    def __init__(self, data, parents=()):
        self.data, self.grad, self.parents = data, 0.0, parents

    def __add__(self, other):
        return Value(self.data + other.data, ((self, 1.0), (other, 1.0)))

    def __mul__(self, other):
        return Value(self.data * other.data, ((self, other.data), (other, self.data)))

    def backward(self, grad=1.0):
        self.grad += grad
        for parent, slope in self.parents:
            parent.backward(grad * slope)


class Descent:
    """Gradient descent."""

    def __init__(self, parameters, rate):
        self.parameters, self.rate = list(parameters), rate

    def step(self):
        for one in self.parameters:
            one.data -= self.rate * one.grad

    def zero_grad(self):
        for one in self.parameters:
            one.grad = None
''',
    "tests/test_engine.py": """
import pytest
import torch
from engine import Descent, Value


def test_value():
    for k in range(100):
        a, b = Value(k / 10), Value(2.0)
        c = a * b + a * a + b
        c.backward()
        assert c.data == pytest.approx(k / 5 + (k / 10) ** 2 + 2)
        assert a.grad == pytest.approx(2 + k / 5) and b.grad == pytest.approx(k / 10 + 1)


def test_descent():
    target = torch.arange(6.0).view(2, 3)
    weight = torch.zeros(2, 3, requires_grad=True)
    descent = Descent([weight], 0.05)
    for _ in range(200):
        descent.zero_grad()
        ((weight - target) ** 2).sum().backward()
        descent.step()
    assert torch.allclose(weight, target, atol=1e-4)
""",
}
"""A suite, and its solution."""


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def plain(suite: Path) -> None:
    """All tests on the solution, in a fork of this process."""
    import pytest

    if not (child := os.fork()):
        os.chdir(suite)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.path.insert(0, str(suite))
        sys.dont_write_bytecode = True
        os._exit(pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:torchkata", "-c", os.devnull, "tests"]))
    _, status = os.waitpid(child, 0)
    assert status == 0, "the suite fails on its solution"


def compare(suite: Path, modules: list[str], course: Path, rounds: int) -> dict[str, float]:
    """The seconds of a submission, of plain pytest and of ``grader adopt``."""
    adopting = seconds(lambda: adopt_suite(suite / "tests", modules, course))
    files = files_below(course / "solutions", "")
    right = Submission("right", {label.partition("/")[2]: file.read_bytes() for label, file in files})
    worker = Worker()
    worker.configure(WorkerOptions(course=str(course)))
    worker.grade(right, 600)
    plain(suite)
    graded, tested = [], []
    for _ in range(rounds):
        graded.append(seconds(lambda: worker.grade(right, 600)))
        tested.append(seconds(lambda: plain(suite)))
    worker.end()
    ours, theirs = statistics.median(graded), statistics.median(tested)
    print(f"a submission by the suite: {ours:.2f} s; plain pytest in a warm fork: {theirs:.2f} s")
    print(f"ratio: {ours / theirs:.2f}")
    print(f"grader adopt: {adopting:.1f} s")
    return {"graded": ours, "plain": theirs, "ratio": ours / theirs, "adopt": adopting}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    import torch._dynamo  # the first step of an optimizer imports it
    from hypothesis import strategies  # noqa: F401

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as temporary:
        found = compare(SUITE, ["adapters", "training"], Path(temporary, "course"), rounds)
        print("objects of students, used all the time:")
        suite = Path(temporary, "objects")
        for name, text in OBJECTS.items():
            (suite / name).parent.mkdir(parents=True, exist_ok=True)
            (suite / name).write_text(text, encoding="utf-8")
        objects = compare(suite, ["engine"], Path(temporary, "course of objects"), rounds)
    finish("suites", **found, **{f"objects_{name}": value for name, value in objects.items()})


if __name__ == "__main__":
    main()
