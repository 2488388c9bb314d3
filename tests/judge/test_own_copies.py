"""Every run of a check gets its own copies of the inputs that are the same for everybody, whatever they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from judge_here import grade_here
from sessions import plain_pytest

MANIFEST = """
[course]
name = "copies"
title = "Copies"

[[topics]]
name = "lab"
title = "Lab"
summary = "Adds things up."
reading = []

[[topics.exercises]]
name = "total"
points = 1
hints = ["none"]
"""
CHECKS = '''
import threading

import numpy
import pytest
import torch
from hypothesis import example, given, settings, strategies as st
from grader.testkit import assert_close, assert_equal, exercise, tensors

SHARED = torch.ones(3)
SEEN = []


class Box:
    """An object of the check's own."""

    def __init__(self, number):
        self.numbers = [number]


class Locked(Box):
    """One that cannot be copied."""

    def __init__(self, number):
        super().__init__(number)
        self.lock = threading.Lock()


def with_view(x):
    return x, x[1:], [x.T]


@exercise("lab.total")
@given(x=tensors(shape=((1, 4), (1, 4))))
def test_asks_for_gradients(submission, x):
    """The gradient of a sum is one everywhere."""
    x.requires_grad_()
    x.sum().backward()
    assert_close(submission.total(x.detach()), x.detach().sum())
    assert x.grad is not None and bool((x.grad == 1).all())


@exercise("lab.total")
@given(x=tensors(shape=((1, 4), (1, 4))))
def test_changes_in_place(submission, x):
    """The sum of twice as much."""
    before = x.sum()
    x *= 2
    assert_close(x.sum(), 2 * before)
    assert_close(submission.total(x), x.sum())


@exercise("lab.total")
@settings(max_examples=5)
@given(parts=tensors(shape=(3, 3)).map(with_view))
def test_views_share_their_memory(submission, parts):
    """A view changes with its tensor."""
    x, rows, (turned,) = parts
    strides = x.stride(), rows.stride(), turned.stride()
    x[1, 0] = 7.0
    assert rows[0, 0] == 7.0 and turned[0, 1] == 7.0
    assert (x.stride(), rows.stride(), turned.stride()) == strides
    assert_close(submission.total(turned), x.sum())


@exercise("lab.total")
@settings(max_examples=5)
@given(rows=st.lists(st.lists(st.integers(0, 9), min_size=1), min_size=1), box=st.integers(0, 9).map(Box))
def test_containers_and_objects(submission, rows, box):
    """Nothing was added before."""
    rows[0].append(100)
    box.numbers.append(1)
    assert rows[0].count(100) == 1 and len(box.numbers) == 2
    assert_equal(submission.total(torch.tensor(rows[0])), torch.tensor(sum(rows[0])))


@exercise("lab.total")
@settings(max_examples=5)
@given(locked=st.integers(0, 9).map(Locked), words=st.integers(1, 3).map(lambda n: iter(range(n))))
def test_what_cannot_be_copied_is_drawn_again(submission, locked, words):
    """Nothing was added before."""
    locked.numbers.append(1)
    assert len(locked.numbers) == 2 and list(words)
    assert_equal(submission.total(torch.tensor(locked.numbers)), torch.tensor(sum(locked.numbers)))


@exercise("lab.total")
@settings(max_examples=5)
@given(numbers=st.integers(1, 3).map(lambda n: (i for i in range(n))))
def test_a_generator_is_drawn_again(submission, numbers):
    """It is not used up."""
    assert sum(1 for _ in numbers)
    submission.total(torch.ones(1))


@exercise("lab.total")
@example(x=SHARED)
@given(x=st.just(SHARED))
def test_what_is_written_down(submission, x):
    """Three ones."""
    assert x.sum() == 3
    x += 1
    assert_close(submission.total(x), torch.tensor(6.0))


@exercise("lab.total")
@pytest.mark.parametrize("x", [torch.ones(3), numpy.ones(3)])
def test_parameters(submission, x):
    """Three ones."""
    assert x.sum() == 3
    x += 1
    assert_close(submission.total(torch.as_tensor(x).float()), torch.tensor(6.0))


@exercise("lab.total")
@settings(max_examples=5)
@given(x=tensors(shape=(2,)).map(lambda x: x.requires_grad_() * 2))
def test_a_graph_is_drawn_again(submission, x):
    """Backward runs once through each graph."""
    x.sum().backward()
    assert_close(submission.total(x.detach()), x.detach().sum())


@exercise("lab.total")
@settings(max_examples=5)
@given(data=st.data())
def test_draws_while_it_runs(submission, data):
    """One draws by itself."""
    x = data.draw(tensors(shape=(2,)))
    x += 1
    assert_close(submission.total(x), x.sum())
'''
RIGHT = "def total(x):\n    return x.sum()\n"
LATE = "def total(x):\n    return x.sum() + (0.5 if x.numel() > 5 else 0)\n"


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copies")
    files = {
        "course.toml": MANIFEST,
        "checks/test_lab.py": CHECKS,
        "solutions/lab.py": RIGHT,
        "exercises/lab.py": "def total(x):\n    raise NotImplementedError\n",
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_a_check_may_change_what_it_is_given(course: Path) -> None:
    same, wrong, again, other = grade_here(
        course, {"lab": RIGHT}, {"lab": LATE}, {"lab": RIGHT}, {"lab": RIGHT.replace("x.sum()", "sum(x.flatten())")}
    )
    for result in (same, again, other):
        assert {check.name: check.message for check in result.exercises[0].checks if check.verdict != "passed"} == {}
    assert {check.verdict for check in wrong.exercises[0].checks} == {"passed", "failed"}


def test_the_inputs_do_not_depend_on_who_was_graded_before(course: Path) -> None:
    (alone,) = grade_here(course, {"lab": LATE})
    _, after = grade_here(course, {"lab": RIGHT}, {"lab": LATE})
    assert after == alone


def test_plain_pytest_says_the_same(course: Path) -> None:
    arguments = ["-q", str(course / "checks"), "--submission", str(course / "solutions"), "--course", str(course)]
    ((code, output),) = plain_pytest([("copies", course, arguments)]).values()
    assert code == 0, output
