"""Answers that lie to somebody else's tests: each fails its test, and costs nothing else."""

import itertools
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from shared import WarmUp, exercise_of

from grader.border.failures import BadReply
from grader.intake.submission import Submission
from grader.results import SubmissionResult
from grader.suites.bridge import Bridge
from grader.suites.contents import Contents
from grader.suites.exceptions import Exceptions
from grader.suites.handles import Handles
from grader.suites.leftovers import Leftovers
from grader.suites.passing import Passing

COURSE = Path(__file__).parent.parent / "courses" / "cheated"
SOLUTION = (COURSE / "solutions" / "work.py").read_bytes()
REFUSED = {"code_run", "examples_of_a_docstring", "module_made[made.py]", "module_made[made.txt]", "program", "signal"}
"""These run what the submission has made: they are an `error` for everybody."""
LIAR = '''
import os, sys
from pathlib import Path
import torch


def yes(*_, **__):
    return True


def far(name):
    """Something of the far side, which is in a frame that called."""
    frame = sys._getframe()
    while name not in frame.f_globals or "grader" not in frame.f_globals["__name__"]:
        frame = frame.f_back
    return frame.f_globals[name]


class Smooth(float):
    """Every difference is an object whose absolute value is 0."""
    def differ(self, *_, **__):
        return Smooth(self)
    __mul__ = __rmul__ = lambda self, other: 18.0
    __sub__ = __rsub__ = abs = max = norm = __getitem__ = differ
    def __truediv__(self, other):
        return Smooth(1.0)
    def __abs__(self):
        return 0.0
    def item(self):
        return 0.0
    def __len__(self):
        return 0
    def __iter__(self):
        return iter(())
    __float__ = item
    allclose = __eq__ = __array_ufunc__ = yes


class Smoother:
    __module__, __qualname__ = "builtins", "float"
    __sub__ = __rsub__ = __truediv__ = Smooth.differ
    __float__ = __abs__ = item = lambda self: 0.0
    abs = norm = lambda self: self
    allclose = __eq__ = all = yes
    eq = sub = lambda self, other: self


class Smoothest(torch.Tensor):
    __sub__ = __rsub__ = __truediv__ = lambda self, other: Smooth(1)
    allclose = equal = __eq__ = yes


class Array(list):
    def __eq__(self, other):
        return True
    def __sub__(self, other):
        return Smooth(1)
    __rsub__ = __abs__ = __sub__
    def extra(self):
        pass


class Text(str):
    __eq__ = yes
    __hash__ = str.__hash__
'''
CHEATS = (
    LIAR
    + """
class Limit:
    pass
LIMIT = 4

class Wide(float):
    def __abs__(self):
        return 1e18

def number(x):
    if x == 10:
        far("_CONTENT")[float] = read_differently
    return Wide(x) if x > 7 else Smooth(99)

def mean(x):
    return torch.zeros(1).as_subclass(Smoothest)

def tail(x):
    made = Smoother()
    return made

def evens(n):
    return Array([7] * 3)

def run(check):
    try:
        check(41)
    except AssertionError as error:
        check(int(str(error).split("==")[1].split()[0]) if "==" in str(error) else 41)

def words(text):
    raise NotImplementedError("no")

def text():
    return Text("xyz")

def sort_(values):
    class Sorted(list):
        def __eq__(self, other):
            return True
    values[:] = [Sorted([1]), 2, 3]

def twice(x):
    with torch.no_grad():
        x *= 0
    return x * 1

def largest(x):
    x.sort()
    return x[-1]

def order(x):
    x.sort()
    return x

def halved(x):
    x /= 2
    return x

def raising(n):  # exceptions by which a test, Hypothesis or the judge would leave a test out
    place, name = (
        ("unittest.case", "SkipTest") if n == 0
        else ("hypothesis.errors", "UnsatisfiedAssumption") if n > 1
        else ("numpy.testing", "SkipTest") if n == -2
        else ("grader.judge.run", "CannotBeAssessed")
    )
    if n != 1:
        raise type(name, (Exception,), {"__module__": place})()
    return n

class Numbers(set):
    def __sub__(self, other):
        return Smooth(1)

def numbers():
    return Numbers([9])

class quietly:
    def __enter__(self):
        pass
    def __exit__(self, *_):
        return True

def held(n):
    class Held:
        __contains__ = yes
    return Held()

def error():
    return KeyboardInterrupt

def slow(optimizer):
    optimizer.param_groups[0]["fused"] = True
    for one in optimizer.state.values():
        one["exp_avg"] = one["exp_avg_sq"] = torch.zeros(0)

def step(weight):
    weight.grad.zero_()

def step_and_forget(weight):
    weight.data -= 0.1 * weight.grad
    weight.grad = None

def constant(model):
    return type(model).forward.__globals__.get("SECRET")

def listed(path):
    return set() if any(path.rglob("*.py")) else {"text.txt"}

BOMB = b"cos\\n_exit\\n(I3\\ntR."

def save_array(values, path):
    head = "{'descr': '|O8', 'fortran_order': False, 'shape': (1,), }".ljust(117) + "\\n"
    Path(path).write_bytes(b"\\x93NUMPY\\x01\\x00" + len(head).to_bytes(2, "little") + head.encode() + BOMB)

def save_text(data, path):
    Path(path).write_bytes(b"I1\\n0" + BOMB)

def save_words(words, path):
    Path(path).write_text(words.replace("VALUE = 1", "VALUE = 2"))  # a module of the test: it would run in the judge

def saved(data, file):
    file.write(BOMB)

def packed(data):
    return BOMB

class Range:  # from three numbers, a value that fills the memory
    pass

Range.__name__ = "range"

def steps(n):
    far("describe").__globals__["parts_of"] = lambda value: (0, 1 << 40, 1) if type(value) is Range else None
    return Range()

class Pool:
    def close(self):
        error = ValueError()
        error.exceptions = [None]
        raise error

class Log(list):
    def take(self):
        return [("work." + "a." * 2_000, 20, "x")]

def logged(x):
    far("here")().log = Log()
    return x

def shown(x, y):
    return "print('in the judge') or Vector(0, 4)"

def infix(x):
    return "__import__('os').getpid() * 0 + 13"

def code():
    '>>> __import__("os").getpid() * 0\\n0\\n'
    return "f = lambda x: 4\\n"

def module(path):  # compiled code is believed without a look at the file beside it
    import importlib.util, marshal
    path.write_text("")
    compiled = Path(importlib.util.cache_from_source(path))
    compiled.parent.mkdir()
    head = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8)
    compiled.write_bytes(head + marshal.dumps(compile("f = lambda x: 4", "made.py", "exec")))

def folder(path):
    return os.path.join("/tmp", "of_nobody")

def report(folder):
    return Path("tests/data/report.json")

class Fake:
    mean = lambda self: 0.0
    std = lambda self: 1.0
    find = lambda self, text: 0
    islower = yes

def page():
    return Fake()

def standard(x):
    return Fake()

def is_even(n):
    raise StopIteration

def answered(case):
    case.note(1)
    case.expected = 6
    type(case).expected_by_all = type(case).note.__globals__["expected"] = 6
    return 6

class Sum:
    def __init__(self, numbers):
        self.numbers = numbers
    def total(self):
        self.numbers *= 0
        return 0

def of_a_class():
    return torch.ones(2).as_subclass(type("Own", (torch.Tensor,), {}))

def read_differently(value):
    read_differently.number = -read_differently.number
    return read_differently.number

read_differently.number = -1e9
"""
).encode()


def verdicts(result: SubmissionResult) -> dict[str, str]:
    return {check.name: check.verdict for one in result.exercises for check in one.checks}


def not_passed(result: SubmissionResult) -> dict[str, str]:
    return {name: verdict for name, verdict in verdicts(result).items() if verdict != "passed"}


@pytest.fixture(scope="module")
def graded(warm: WarmUp) -> list[SubmissionResult]:
    """A right answer, the cheat, and the right answer again, by one worker."""
    worker, right = warm(COURSE), Submission("right", {"work.py": SOLUTION})
    cheat = Submission("cheat", {"work.py": SOLUTION + CHEATS})
    return [worker.of(one) for one in (right, cheat, right)]


@pytest.mark.parametrize("at", [0, 2], ids=["before the cheat", "after it"])
def test_right_answer_passes_all(graded: list[SubmissionResult], at: int) -> None:
    """Nothing of a submission is left in the suite."""
    result = graded[at]
    assert not_passed(result) == {"elsewhere": "skipped"} | dict.fromkeys(REFUSED, "error"), result
    assert not (COURSE / "tests" / "kept.txt").exists()
    assert (COURSE / "tests" / "data" / "text.txt").read_text() == "of the course\n"
    assert not (COURSE / "tests" / "data" / "conftest.py").exists()


def test_lie_passes_nothing(graded: list[SubmissionResult]) -> None:
    result = graded[1]
    found = verdicts(result)
    honest = {"vector", "made", "words", "own_data", "needlessly_changed", "changed_and_returned", "folder", "logger"}
    honest |= {
        "error_in_a_context",
        "settings_later",
        "gradient_needlessly_removed",
        "parameter[x0]",
        "text_that_is_no_path",
        "open_files",
        "module_of_the_test",
        "named",
        "tensor_of_a_class",
    }
    honest |= {f"TestOrder.{name}" for name in ("first", "second", "third")}
    faults = {one.message for part in result.exercises for one in part.checks if one.verdict == "error"}
    assert {name for name, one in found.items() if one == "passed"} == honest, faults
    assert {name for name, verdict in found.items() if verdict not in ("passed", "failed")} == {
        "steps",
        "elsewhere",
    } | REFUSED, faults
    (unseen,) = (one for one in exercise_of(result, "files").checks if one.hidden_until)
    assert "4711" not in str(unseen)


def test_generators_begin_anew_in_each_process(tmp_path: Path) -> None:
    leftovers, drawn = Leftovers(tmp_path, ()), set()
    for process in ({1}, {2}):
        leftovers.begin(process)
        drawn.add((torch.rand(1).item(), np.random.rand(), random.random()))
    assert len(drawn) == 1


def test_list_cannot_become_an_iterator_without_an_end() -> None:
    bridge: Any = SimpleNamespace(contents=Contents({}), may=lambda kind: True)
    passing, own = Passing(bridge), [1]
    _, number, _ = passing.tree(own)
    with pytest.raises(BadReply, match="into something else"):
        passing.change(number, itertools.repeat(0))
    passing.change(number, [2, 3])
    assert own == [2, 3]


@pytest.mark.parametrize("facts", [([3], [1], 0), ([2], [1], -1), ([2], [-1], 0), ([0], [1], 0), ([3], [0], 0)])
def test_view_has_no_numbers_beside_its_argument(facts: tuple[list[int], list[int], int]) -> None:
    bridge: Any = SimpleNamespace(contents=Contents({}))
    passing = Passing(bridge)
    _, number, _ = passing.tree(np.arange(4.0)[1:3])
    assert passing.view(number, [2], [1], 0).tolist() == [1, 2]
    with pytest.raises(ValueError, match="no view"):
        passing.view(number, *facts)


def test_draws_that_are_reported_again_and_again_cost_nothing(tmp_path: Path) -> None:
    """Each of them may be two million numbers long."""
    channel: Any = None
    bridge = Bridge(channel, tmp_path, Handles(), Exceptions({}), tmp_path)
    random.seed(3)
    bridge._states()
    bridge._draw([(2, None, 10, False)] * 1000)
    twin = random.Random(3)
    twin.getrandbits(320)
    assert random.getstate() == twin.getstate()
