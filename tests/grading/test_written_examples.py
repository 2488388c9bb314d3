"""`verify` runs the examples in docstrings against the solution: each that is not true gives one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from command_here import run_here
from shared import REPO

pytestmark = pytest.mark.slow

SOLUTION = '''"""Numbers."""

import torch


def double(x):
    """Twice a tensor.

    Example:
        >>> double(torch.ones(2))
        tensor([2., 2.])
        >>> double(torch.ones(1))
        tensor([3.])
    """
    # solution:
    return 2 * x
    # end


def halve(x):
    """Half of a tensor.

    Example:
        >>> halve("a")
        Traceback (most recent call last):
        TypeError: no tensor
    """
    # solution:
    if not isinstance(x, torch.Tensor):
        raise TypeError("not a tensor")
    return x / 2
    # end


def where(index):
    """The device with that number.

    Example (with 2 GPUs):
        >>> where(1)
        device(type='cuda', index=1)
        >>> torch.cuda.device_count()
        2
    """
    # solution:
    return torch.device("cuda", index)
    # end


def leave():
    """Ends the process.

    Example:
        >>> leave()
    """
    # solution:
    import os

    os._exit(0)
    # end


def main():
    """A script.

    Example:
        .. code-block:: text

            $ SEED='3 or 5' torchrun --nproc-per-node 2 "numbers_.py"
            rank 0, seed 3 or 5
            rank 1, seed 3 or 5

            $ SEED=3 torchrun --nproc-per-node=2 numbers_.py
            rank 0, seed 4
            rank 1, seed 3
    """
    # solution:
    import os

    print(f"rank {os.environ['RANK']}, seed {os.environ['SEED']}")
    # end


if __name__ == "__main__":
    main()
'''
NAMES = ("double", "halve", "where", "leave", "main")
UNTRUE = {
    "`double`: the example `double(torch.ones(1))` gives `tensor([2.])`, but the docstring says `tensor([3.])`": (
        "    >>> double(torch.ones(1))"
    ),
    '`halve("a")` gives `TypeError: not a tensor`, but the docstring says `TypeError: no tensor`': '    >>> halve("a")',
    "the examples of `leave` cannot be run": '    """Ends the process.',
    "`main`: the example `$ SEED=3 torchrun --nproc-per-node=2 numbers_.py` gives `rank 0, seed 3 | rank 1, seed 3`, "
    "but the docstring says `rank 0, seed 4 | rank 1, seed 3`": "$ SEED=3",
}
"""Words about each example that is not true, and the beginning of the line that they name."""
CHECK = '''
@exercise("numbers_.{0}")
def test_{0}(submission):
    """It is there."""
    assert_that(submission.{0} is not None, "it is there")
'''


def test_each_example_that_is_not_true_gives_one_line(tmp_path: Path) -> None:
    course = tmp_path / "course"
    for folder in ("solutions", "checks"):
        (course / folder).mkdir(parents=True)
    tables = [f'[[topics.exercises]]\nname = "{name}"\npoints = 1\nhints = ["No."]\n' for name in NAMES]
    tables[-1] += 'transcript = "torchrun"\n'
    top = '[course]\nname = "n"\ntitle = "N"\n\n[[topics]]\nname = "numbers_"\ntitle = "N"\n\n'
    (course / "course.toml").write_text(top + "\n".join(tables))
    file = course / "solutions" / "numbers_.py"
    file.write_text(SOLUTION)
    checks = "from grader.testkit import assert_that, exercise\n\n" + "\n".join(map(CHECK.format, NAMES))
    (course / "checks" / "test_numbers_.py").write_text(checks)
    assert run_here("release", "--course", course).returncode == 0
    of_examples = untrue_lines(course)
    assert len(of_examples) == len(UNTRUE), of_examples
    assert [line for line in of_examples if "`double`" in line] == untrue_lines(course, "numbers_.double")
    lines = SOLUTION.splitlines()
    for words, at in UNTRUE.items():
        (number,) = (number for number, line in enumerate(lines, 1) if at in line)
        at_line = [found for found in of_examples if found.startswith(f"{file}:{number}: ")]
        assert any(words in found for found in at_line), (words, of_examples)


def untrue_lines(course: Path, *only: str) -> list[str]:
    """The lines about examples that `verify` prints."""
    done = run_here("verify", *only, "--course", course)
    assert done.returncode == 1, done.stderr
    return [line for line in done.stdout.splitlines() if "the example" in line]


ALL_TOPICS = """
from grader.course import Course
from grader.grading.worker import host_for_author
from grader.grading.written_examples import untrue_examples
from grader.judge.judge import open_judge
course = Course.load()
with host_for_author(course, course.topics, "simulated") as host, open_judge(course, host) as judge:
    for topic in course.topics:
        modules = {file.name: file.read_bytes() for file in course.solutions_dir.glob("*.py")}
        with judge.desk(topic.name, modules) as desk:
            for found in untrue_examples(desk, course, topic):
                print(f"{topic.name}.py:{found.line}: {found.message}")
"""


def test_the_examples_of_the_shipped_course_are_true() -> None:
    done = subprocess.run([sys.executable, "-c", ALL_TOPICS], cwd=REPO, capture_output=True, text=True, check=True)
    assert done.stdout == ""
