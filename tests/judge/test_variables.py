"""Variables as exercises: a course asks for a value, and students write it where the stub has ``x = ...``; and data."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from judge_here import grade_here

from grader.course import Course, CourseError
from grader.course.handout import init
from grader.course.home import Origin
from grader.course.stubs import release
from grader.exports.package import wheel
from grader.notebook.cells import submission_of

MANIFEST = """\
[course]
name = "values"
title = "Values"

[[topics]]
name = "primes"
title = "Primes"
"""
SOLUTION = """\
import torch

# solution: the smallest one
smallest = 2
# end
# solution:
_few = [one for one in (2, 3, 5)]
few = torch.tensor(_few)


def helper(k):
    return k


# end


def above(k):
    # solution:
    return k + smallest
    # end
"""
CHECKS = '''\
from grader.testkit import assert_equal, exercise
import torch


@exercise("primes.smallest")
def test_smallest(submission):
    """The smallest prime is even."""
    assert submission.smallest == 2


@exercise("primes.few")
def test_few(submission):
    """They are in order."""
    assert_equal(submission.few, torch.tensor([2, 3, 5]))


@exercise("primes.above")
def test_above(submission):
    """It adds the smallest prime."""
    assert submission.above(3) == 3 + submission.smallest
'''


@pytest.fixture
def course(tmp_path: Path) -> Path:
    for name in ("exercises", "solutions", "checks"):
        (tmp_path / name).mkdir()
    exercises = [f'\n[[topics.exercises]]\nname = "{name}"\npoints = 1\n' for name in ("smallest", "few", "above")]
    (tmp_path / "course.toml").write_text("".join([MANIFEST, *exercises]))
    (tmp_path / "solutions/primes.py").write_text(SOLUTION)
    (tmp_path / "checks/test_primes.py").write_text(CHECKS)
    release(Course.load(tmp_path, complete=False))
    return tmp_path


def test_the_stub_of_a_variable_is_an_ellipsis_and_nothing_else_of_the_part_is_in_it(course: Path) -> None:
    stub = (course / "exercises/primes.py").read_text()
    assert stub.startswith("import torch\n\n# the smallest one\nsmallest = ...\nfew = ...\n")
    assert "_few" not in stub and "helper" not in stub


def test_a_variable_outside_of_the_markers_would_be_given_away(course: Path) -> None:
    file = course / "solutions/primes.py"
    file.write_text(SOLUTION.replace("# solution: the smallest one\nsmallest = 2\n# end\n", "smallest = 2\n"))
    with pytest.raises(CourseError, match="`smallest` has no `# solution:`"):
        release(Course.load(course))


def test_values_are_right_wrong_unwritten_or_missing(course: Path) -> None:
    stub = (course / "exercises/primes.py").read_text()
    begun = stub.replace("few = ...", "few = torch.tensor([2, 3, 5])")
    right, wrong, handed_out, one, gone, none = grade_here(
        course,
        {"primes": SOLUTION},
        {"primes": SOLUTION.replace("smallest = 2", "smallest = 3").replace("2, 3, 5", "2, 3, 7")},
        {"primes": stub},
        {"primes": begun},
        {"primes": SOLUTION.replace("smallest = 2", "")},
        {"primes": SOLUTION.replace("few = torch.tensor(_few)", "few = None")},
    )
    assert [each.score for each in (right, wrong, handed_out, one, gone)] == [3, 1, 0, 1, 1]
    smallest, few, _ = (exercise.checks[0] for exercise in wrong.exercises)
    assert smallest.message.startswith("assert 3 == 2\n +  where 3 = submission.smallest\n")
    assert "few\nreturned" in few.message
    for result in (handed_out, one):
        assert result.exercises[0].checks[0].message == "`smallest` is not written yet"
    assert gone.exercises[0].checks[0].message == "`smallest` is not defined in primes.py"
    assert none.exercises[1].checks[0].message.startswith("`few` is None, and another value was expected\n")


def test_a_running_notebook_keeps_the_cells_that_give_them_a_value(course: Path) -> None:
    cells = [
        "import torch",
        "smallest = 1 + 1\nother = torch.ones(9).sum()",
        "few = torch.tensor([2, 3, 5])",
        "print(few)",
    ]
    work = submission_of(cells, Course.load(course), ["primes"], None).files["primes.py"].decode()
    assert [line for line in work.splitlines() if line and not line.startswith("#")] == [
        *("import torch", "smallest = 1 + 1", "few = torch.tensor([2, 3, 5])")
    ]


def test_the_data_of_a_course_are_in_every_folder_and_package(course: Path, tmp_path: Path) -> None:
    (course / "data/more").mkdir(parents=True)
    (course / "data/more/primes.txt").write_text("2 3 5")
    init(Course.load(course), tmp_path / "work", Origin(has_course=True))
    for place in ("data", ".torchkata/course/data"):
        assert (tmp_path / "work" / place / "more/primes.txt").read_text() == "2 3 5"
    for kind in (True, False):
        with zipfile.ZipFile(wheel(Course.load(course), tmp_path, "1.0", for_students=kind)) as packed:
            assert any(name.endswith("/data/more/primes.txt") for name in packed.namelist())
