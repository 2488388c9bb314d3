"""What knows answers lies in `checks/reference/`: no student gets it, and a copy of an answer elsewhere is found."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from command_here import run_here

from grader.course import Course
from grader.course.answers import given_away, handed_out, modules_with_answers, without_answers

CHECKS = '''"""Checks."""

import torch
from checks import helpers
from checks.reference.vectors import unit

from grader.testkit import Submission, assert_close, exercise

EXPECTED = unit(torch.ones(2, 2))


@exercise("vectors.normalize")
def test_by_the_reference(submission: Submission) -> None:
    """Every row has length 1."""
    assert_close(submission.normalize(torch.ones(2, 2)), EXPECTED)


@exercise("vectors.cosine")
def test_by_a_helper(submission: Submission) -> None:
    """It is that of the helper."""
    assert_close(submission.cosine(torch.ones(1, 2), torch.ones(1, 2)), helpers.cosine())


@exercise("vectors.normalize")
def test_one_number(submission: Submission) -> None:
    """One number becomes 1."""
    assert_close(submission.normalize(torch.ones(1, 1)), torch.ones(1, 1))
'''
REFERENCE = "def unit(rows):\n    return rows / rows.norm(dim=1, keepdim=True)\n"
HELPERS = """import torch
from checks.reference import vectors


def cosine():
    return vectors.unit(torch.ones(1, 1))[0]
"""


@pytest.fixture
def course(own_course: Path) -> Path:
    """A course whose checks use a reference, one of them by a helper."""
    (own_course / "checks" / "reference").mkdir()
    (own_course / "checks" / "reference" / "vectors.py").write_text(REFERENCE)
    (own_course / "checks" / "helpers.py").write_text(HELPERS)
    (own_course / "checks" / "test_vectors.py").write_text(CHECKS)
    return own_course


def test_no_file_that_knows_answers_is_handed_out(course: Path) -> None:
    files = dict(handed_out(Course.load(course)))
    assert sorted(files) == ["checks/test_vectors.py", "course.toml", "exercises/vectors.py"]
    checks = files["checks/test_vectors.py"].decode()
    assert "EXPECTED" not in checks and "unit" not in checks and "helpers." not in checks
    assert '"""It is that of the helper."""' in checks and "test_one_number" in checks
    assert "test_by_the_reference" not in checks


def test_checks_without_answers_stay_as_they_are() -> None:
    source = b"import torch\n\n\ndef test_it(submission):\n    assert submission.f(1) == 2\n"
    assert without_answers([source], modules_with_answers([])) == [source, b""]


def test_a_hidden_check_is_cut_whole_whatever_stands_above_it() -> None:
    secret = '@exercise("vectors.cosine", hidden="all")\ndef test_secret(submission):\n    assert "secret"\n'
    source = f'ODD = "\u2028 \x0c"\n\n\n{secret}\n\nX = 1\n'
    cut, _ = without_answers([source.encode()], set())
    assert cut.decode() == 'ODD = "\u2028 \x0c"\n\n\n\n\nX = 1\n'


def test_what_only_hidden_checks_need_is_cut_with_them() -> None:
    """An expected value, a helper, a fixture and a comment may be the answer."""
    checks = """import pytest
from conftest import rows

KEPT, SECRET, DEEPER = 1, 2, 3
ONLY_SECRET = 990046
DEEP = 990047


def helper():
    return DEEP


def both():
    return KEPT


@pytest.fixture(name="answer")
def the_answer():
    return 990048


@exercise("lab.f")
def test_shown(submission, shared):
    assert submission.f(both()) == KEPT


# The answer is 990049.
@exercise("lab.f", hidden="all")
@pytest.mark.usefixtures("asked")
def test_secret(submission, answer, right):
    assert submission.f(ONLY_SECRET, both()) == helper() == answer == right
"""
    conftest = """import pytest


@pytest.fixture
def right():
    return 990050


@pytest.fixture
def asked():
    return 990051


@pytest.fixture
def shared():
    return 1
"""
    cut, fixtures = (one.decode() for one in without_answers([checks.encode()], set(), conftest.encode()))
    assert "9900" not in cut + fixtures and "helper" not in cut and "secret" not in cut
    assert (
        "def both" in cut and "test_shown" in cut and "KEPT, SECRET, DEEPER = 1, 2, 3" in cut and "shared" in fixtures
    )


def test_a_check_needs_the_reference_by_its_files_and_by_fixtures_too() -> None:
    """Without this, the check would be handed out and fail every student for a file that is not there."""
    conftest = """import pytest
from checks.reference import lab


@pytest.fixture
def right():
    return lab.f


@pytest.fixture
def twice(right):
    return lambda x: right(x) * 2


@pytest.fixture
def plain():
    return 1
"""
    head = "import json\nfrom pathlib import Path\nHERE = Path(__file__).parent\n"
    bodies = {
        "fixture": ("twice", "pass"),
        "path": ("plain", 'assert json.loads((HERE / "reference" / "f.json").read_text())'),
        "text": ("plain", 'assert open(f"{HERE}/reference/f.json")'),
        "join": ("plain", 'assert os.path.join(HERE, "reference", "f.json")'),
        "word": ("plain", 'assert submission.f("reference") == "no reference here"'),
    }
    checks = head + "\n\n".join(
        f'@exercise("lab.{name}")\ndef test_{name}(submission, {fixture}):\n    {body}\n'
        for name, (fixture, body) in bodies.items()
    )
    cut, fixtures = (
        one.decode() for one in without_answers([checks.encode()], {"checks.reference"}, conftest.encode())
    )
    assert cut.count("pytest.skip") == 4 and "no reference here" in cut and "f.json" not in cut
    assert "def plain" in fixtures and "right" not in fixtures and "twice" not in fixtures


@pytest.mark.slow
def test_the_author_gets_all_checks_and_a_student_those_without_the_reference(course: Path, tmp_path: Path) -> None:
    solution = course / "solutions"
    mine = run_here("check", "-v", "--course", course, "--submission", solution)
    assert mine.returncode == 0 and "3/3 points" in mine.stdout, mine.stdout
    assert run_here("init", tmp_path / "work", "--course", course).returncode == 0
    shutil.copy(solution / "vectors.py", tmp_path / "work")
    theirs = run_here("check", "-v", "--skipped-ok", cwd=tmp_path / "work")
    assert theirs.returncode == 0 and "not assessed: it needs the course's reference" in theirs.stdout, theirs.stdout
    assert "2 points not assessed: vectors.cosine" in theirs.stdout


def test_a_copy_of_an_answer_is_found_whatever_its_names_are(tmp_path: Path) -> None:
    solution = b"def f(x, y):\n    total = x.sum(0) * y\n    return total / y.sum(1) + x.mean(dim=0)\n"
    copy = b"def helper(a, b):\n    '''Doc.'''\n    t = a.sum(0) * b\n    return t / b.sum(1) + a.mean(dim=0)\n"
    other = b"def helper(a, b):\n    t = a.sum(0) * b\n    return t / b.sum(0) + a.mean(dim=0)\n"
    recipes, probes = tmp_path / "recipes.py", tmp_path / "probes.py"
    helpers = {recipes: copy, probes: other}
    stub = b"def f(x, y):\n    raise NotImplementedError\n"
    assert list(given_away("ops", solution, stub, helpers)) == [(recipes, 1, "helper", "ops.f")]
    assert list(given_away("ops", solution, solution, helpers)) == []
