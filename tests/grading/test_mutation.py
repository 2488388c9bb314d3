"""`grader verify --mutants`: what no check fails is listed with its line, unless it is written down as equivalent."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_here import run_here
from shared import without_examples

from grader.course import Course
from grader.errors import CourseError
from grader.grading.mutants import equivalents_of
from grader.grading.verify import grade_mutants

LENGTH = "return x / torch.where(length == 0, 1.0, length)"
WEAK = '''"""Checks."""

import torch

from grader.testkit import Submission, assert_close, exercise


@exercise("vectors.normalize")
def test_three_four_five(submission: Submission) -> None:
    """The row (3, 4) becomes (0.6, 0.8)."""
    assert_close(submission.normalize(torch.tensor([[3.0, 4.0]])), torch.tensor([[0.6, 0.8]]))


@exercise("vectors.cosine")
def test_of_itself(submission: Submission) -> None:
    """It is 1 with itself."""
    assert_close(submission.cosine(torch.tensor([[3.0, 4.0]]), torch.tensor([[3.0, 4.0]])), torch.tensor([1.0]))
'''


def write_down(course: Path, *changes: str) -> None:
    entries = [
        f'[[mutant]]\ndefinition = "vectors.normalize"\nline = "{LENGTH}"\nchange = "{change}"\nreason = "the same"\n'
        for change in changes
    ]
    (course / "solutions" / "equivalent_mutants.toml").write_text("\n".join(entries))


@pytest.mark.slow
def test_survivors_are_listed_until_a_check_fails_them_or_they_are_written_down(own_course: Path) -> None:
    without_examples(own_course)  # they catch some of what the checks below do not

    def verify(*names: str) -> tuple[int, list[str]]:
        done = run_here("verify", "--mutants", "--course", own_course, *names)
        return done.returncode, done.stdout.splitlines()

    same = "1.0 -> 2.0"  # zeros divided by anything
    line = own_course.joinpath("solutions", "vectors.py").read_text().splitlines().index(f"    {LENGTH}") + 1
    write_down(own_course, same)
    code, lines = verify("vectors.normalize")
    assert code == 0
    head, row, score = lines
    assert head.split() == ["function", "or", "class", "mutants", "caught"]
    name, caught, _, of = row.split()
    assert (name, caught) == ("vectors.normalize", of)
    assert score.endswith(" mutants caught (100.0%); 1 mutant written down as equivalent")

    (own_course / "checks" / "test_vectors.py").write_text(WEAK)
    write_down(own_course, same, "1.0 -> 17.0")
    assert "written down, but not a survivor: vectors.normalize: 1.0 -> 17.0" in verify("vectors.normalize")[1]
    assert not [line for line in verify("vectors.cosine")[1] if line.startswith("written down")]
    code, lines = verify()
    assert code == 1
    *survivors, outdated, _, normalize, cosine, score = lines
    assert normalize.startswith("vectors.normalize ") and cosine.startswith("vectors.cosine ")
    assert f"{own_course}/solutions/vectors.py:{line}: normalize: no check fails 0 -> 1" in survivors
    assert outdated == "written down, but not a survivor: vectors.normalize: 1.0 -> 17.0"
    caught, mutants = map(int, re.findall(r"\d+", score)[:2])
    assert len(survivors) == mutants - caught, score
    assert all(": no check fails " in survivor for survivor in survivors)
    assert not any(survivor.endswith(f" {same}") for survivor in survivors)


@pytest.mark.slow
def test_a_check_that_the_solution_does_not_pass_catches_no_mutant(own_course: Path) -> None:
    broken = WEAK.replace("torch.tensor([[0.6, 0.8]])", "no_such_name")
    (own_course / "checks" / "test_vectors.py").write_text(broken)
    done = run_here("verify", "--mutants", "--course", own_course)
    assert done.returncode == 4 and "mutants caught" not in done.stdout
    assert "`normalize` does not pass its own checks: run grader verify vectors.normalize" in done.stderr


def test_what_is_written_down_must_be_readable(own_course: Path) -> None:
    (own_course / "solutions" / "equivalent_mutants.toml").write_text("[[mutant]]\ndefinition = 3\n")
    with pytest.raises(CourseError, match=r"equivalent_mutants\.toml"):
        equivalents_of(Course.load(own_course))


@pytest.mark.slow
def test_what_is_handed_out_as_it_is_has_no_mutants(own_course: Path) -> None:
    given = '\n\ndef given(x: Tensor) -> Tensor:\n    """Twice a tensor."""\n    return x + x\n'
    for folder in ("solutions", "exercises"):
        file = own_course / folder / "vectors.py"
        file.write_text(file.read_text(encoding="utf-8") + given, encoding="utf-8")
    score = grade_mutants(Course.load(own_course), lambda line: None)
    assert "vectors.cosine" in score.definitions and "vectors.given" not in score.definitions
