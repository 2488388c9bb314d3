"""The example in a docstring is one more check of its exercise: what is compared, what is left out, what it says."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from judge_here import grade_here
from shared import exercise_of

from grader.course import Course
from grader.judge.docstrings import written_examples
from grader.results import CheckResult

STUB = '''"""Numbers."""

import math
from typing import NamedTuple

import torch


def double(x):
    """Twice a tensor.

    Example:
        >>> double(torch.tensor([1 / 3, math.inf]))
        tensor([0.6667,    inf])
        >>> y = torch.ones(2)
        >>> double(y).shape, y.tolist()
        (torch.Size([2]), [1.0, 1.0])
        >>> for row in double(y):
        ...     print(row.item())
        2.0
        2.0
    """
    # solution:
    return 2 * x
    # end


def sizes(x):
    """Number of dimensions, and shape.

    Example:
        >>> sizes(torch.zeros(2, 3))
        (2, (2, 3))
        >>> print(sizes(torch.zeros(1)))
        (1, (1,))
        >>> sizes(3)
        Traceback (most recent call last):
        TypeError: not a tensor
    """
    # solution:
    if not isinstance(x, torch.Tensor):
        raise TypeError("not a tensor")
    return x.dim(), tuple(x.shape)
    # end


def tell(x):
    """Prints a number.

    Example:
        >>> tell(3)
        it is 3
    """
    # solution:
    print("it is", x)
    # end


def noise(n):
    """Random numbers.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> noise(1)
        tensor([1.5410])
    """
    # solution:
    return torch.randn(n)
    # end


def both(x):
    """Twice a tensor, and its sizes.

    Example:
        >>> double(both(torch.ones(1))[0])
        tensor([4.])
    """
    # solution:
    return 2 * x, sizes(x)
    # end


def number():
    """Has no example."""
    # solution:
    return 1
    # end
'''
NAMES = ("double", "sizes", "tell", "noise", "both", "number")
CHECK = '''
@exercise("numbers_.{0}")
def test_{0}(submission):
    """It has a name."""
    assert_equal(submission.name_of("{0}"), "{0}")
'''
BESIDE = "\n\ndef name_of(name):\n    return globals()[name].__name__\n"
RIGHT = STUB + BESIDE
FIRST = "the example in the docstring "


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course whose checks ask for the name of each function only. No test changes it."""
    folder = tmp_path_factory.mktemp("examples") / "course"
    for name in ("solutions", "exercises", "checks"):
        (folder / name).mkdir(parents=True)
    tables = [f'[[topics.exercises]]\nname = "{name}"\npoints = 1\nhints = ["No."]\n' for name in NAMES]
    top = '[course]\nname = "n"\ntitle = "N"\n\n[[topics]]\nname = "numbers_"\ntitle = "N"\n\n'
    (folder / "course.toml").write_text(top + "\n".join(tables))
    (folder / "solutions" / "numbers_.py").write_text(RIGHT)
    (folder / "exercises" / "numbers_.py").write_text(RIGHT)
    checks = "from grader.testkit import assert_equal, exercise\n\n" + "\n".join(map(CHECK.format, NAMES))
    (folder / "checks" / "test_numbers_.py").write_text(checks)
    return folder


def checks_of(course: Path, name: str, answer: str) -> tuple[CheckResult, ...]:
    """The checks of an exercise, whose answer takes the place of the solution's."""
    (result,) = grade_here(course, {"numbers_": RIGHT + "\n\n" + answer}, only=[f"numbers_.{name}"])
    return exercise_of(result, name).checks


def test_an_exercise_does_not_pass_if_its_example_fails(course: Path) -> None:
    checks = checks_of(course, "double", "def double(x):\n    return x + 1\n")
    assert [(one.name, one.verdict) for one in checks] == [("double", "passed"), ("example_of_double", "failed")]
    first, sentence, call, *_ = checks[-1].message.splitlines()
    assert first == f"{FIRST}gives tensor([1.3333, inf]) where tensor([0.6667, inf]) is written"
    assert sentence == "The example in the docstring of double gives what is written there."
    assert call == "double(torch.tensor([1 / 3, math.inf]))"


@pytest.mark.parametrize(
    ("name", "answer", "words"),
    [
        ("double", "x.mul_(2)", "gives (torch.Size([2]), [2.0, 2.0]) where (torch.Size([2]), [1.0, 1.0]) is written"),
        (
            "double",
            "[2 * x[0], 2 * x[1]]",
            "gives [tensor(0.6667), tensor(inf)] where tensor([0.6667, inf]) is written",
        ),
        ("sizes", "(x.dim(), x.shape) if isinstance(x, torch.Tensor) else 0", "raises nothing where TypeError: not a"),
        ("sizes", "(x.dim(), x.shape)", "raises AttributeError: 'int' object has no attribute 'dim' where TypeError"),
        ("sizes", "(2, (2, 3))", "gives (2, (2, 3)) where (1, (1,)) is written"),
        ("tell", "print('it was', x)", "gives it was 3 where it is 3 is written"),
        ("tell", "None", "gives nothing where it is 3 is written"),
    ],
)
def test_the_first_sentence_says_what_came_and_what_is_written(
    course: Path, name: str, answer: str, words: str
) -> None:
    *_, check = checks_of(course, name, f"def {name}(x):\n    return {answer}\n")
    assert check.verdict == "failed" and check.message.startswith(FIRST + words), check.message


def test_an_exception_of_an_example_is_said_with_its_line(course: Path) -> None:
    *_, check = checks_of(course, "double", "def double(x):\n    return 2 * x.halved\n")
    assert check.verdict == "failed" and check.cause is not None
    assert check.cause.exception_type == "AttributeError"
    assert check.cause.call == "double(torch.tensor([1 / 3, math.inf]))"
    assert [one.text for one in check.cause.frames] == ["return 2 * x.halved"]


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("double", 'print("here", x)\n    return x + x'),
        ("double", "return x * torch.tensor(2.0, requires_grad=True)"),
        ("double", "return torch.nn.Parameter(2.0001 * x)"),
        ("double", "global math\n    math = None\n    return 2 * x"),
        ("sizes", 'if type(x) is int:\n        raise TypeError("3 is none")\n    return [x.ndim, x.size()]'),
        ("sizes", "if type(x) is int:\n        raise TypeError\n    return Sizes(x.ndim, list(x.shape))"),
        ("sizes", "if type(x) is int:\n        raise TypeError\n    return float(x.dim()), x.shape"),
        ("tell", 'print("debug")\n    print(f"it is {x}")\n    return 7'),
        ("noise", "return torch.rand(n)"),
        ("both", "return 1"),
    ],
)
def test_right_answers_may_look_different(course: Path, name: str, answer: str) -> None:
    """Prints on the way, the graph, last digits, floats for ints, other tuples, an exception's words, imports."""
    beside = "class Sizes(NamedTuple):\n    n: int\n    shape: list\n"
    argument = "n" if name == "noise" else "x"
    (check,) = checks_of(course, name, f"{beside}\n\ndef {name}({argument}):\n    {answer}\n")
    assert check.verdict == "passed"


def test_what_is_no_check(course: Path) -> None:
    """Those that draw random numbers, or use an exercise that theirs does not need; `both` has such a one."""
    loaded = Course.load(course)
    found = {one.name: [len(it.statements) for it in written_examples(loaded, one)] for one in loaded.exercises}
    assert found == {"double": [4], "sizes": [3], "tell": [1], "noise": [], "both": [], "number": []}


def test_a_course_may_switch_them_off(course: Path, tmp_path: Path) -> None:
    other = tmp_path / "course"
    shutil.copytree(course, other)
    manifest = other / "course.toml"
    manifest.write_text(manifest.read_text().replace('title = "N"\n\n[[', 'title = "N"\nexamples = false\n\n[[', 1))
    assert [one.name for one in checks_of(other, "double", "def double(x):\n    return x + 1\n")] == ["double"]


def test_parts_of_points_stay_those_of_the_checks(course: Path, tmp_path: Path) -> None:
    other = tmp_path / "course"
    shutil.copytree(course, other)
    manifest = other / "course.toml"
    manifest.write_text(manifest.read_text().replace('title = "N"\n\n[[', 'title = "N"\ncredit = "per-check"\n\n[[', 1))
    first, example = checks_of(other, "double", "def double(x):\n    return x + 1\n")
    assert (first.score, first.max, example.verdict, example.score, example.max) == (1.0, 1.0, "failed", 0.0, 0.0)


def test_what_is_written_never_leaves_the_judge(course: Path) -> None:
    """An answer that looks at all of its callers' variables finds the line, and not what is written below it."""
    spying = (
        "import sys\n\n\ndef double(x):\n    frame, seen = sys._getframe(), ''\n    while frame := frame.f_back:\n"
        "        if 'written_examples' in frame.f_code.co_filename:\n            seen += repr(frame.f_locals)\n"
        "    raise ValueError('the line is there' if 'math.inf' in seen and '0.6667' not in seen else seen)\n"
    )
    *_, check = checks_of(course, "double", spying)
    assert check.cause is not None and check.cause.exception_message == "the line is there"
