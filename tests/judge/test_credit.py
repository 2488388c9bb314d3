"""Parts of points and hidden checks, from a course's files to what is shown and exported."""

from __future__ import annotations

import datetime
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from classrooms import entry
from command_here import run_here
from judge_here import grade_here
from msgspec.structs import replace
from shared import OWN_COURSE, exercise_of

from grader.course import Course, CourseError
from grader.course.handout import init
from grader.course.home import Origin
from grader.exports import gradescope
from grader.exports.code_hosts import summary
from grader.exports.write import csv_table
from grader.gradebook.by_hand import Override
from grader.gradebook.records import Late, Row
from grader.grading.exit_codes import exit_code
from grader.reports.entries import for_students
from grader.reports.html_feedback import feedback_page, heading_of
from grader.results import SubmissionResult, from_json, to_json

Edit = Callable[[Path, str, str], None]
BONUS = '''

@exercise("vectors.normalize", bonus=0.5)
def test_extra(submission: Submission) -> None:
    """`extra` adds one."""
    assert_equal(submission.extra(1), 2)
'''
SIGN_ONLY = "\n\ndef cosine(a, b):\n    return (a * b).sum(1).sign()\n"
EXTRA = "\n\ndef extra(x):\n    return x + 1\n"


@pytest.fixture(scope="module")
def shared_course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Own course with parts of points: of cosine's checks one has three parts of four, the other is hidden.

    No test changes it.
    """
    folder = tmp_path_factory.mktemp("shared") / "course"
    shutil.copytree(OWN_COURSE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    checks = folder / "checks" / "test_vectors.py"
    for file, old, new in (
        (folder / "course.toml", "[course]\n", '[course]\ncredit = "per-check"\n'),
        (checks, '@exercise("vectors.cosine")', '@exercise("vectors.cosine", points=3)'),
        (checks, "hidden=True", 'hidden="all"'),
    ):
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))
    checks.write_text(checks.read_text() + BONUS)
    return folder


@pytest.fixture
def course(shared_course: Path, tmp_path: Path) -> Path:
    """A copy of it that a test may change."""
    return Path(shutil.copytree(shared_course, tmp_path / "course", ignore=shutil.ignore_patterns("__pycache__")))


@pytest.fixture
def solution(course: Path) -> str:
    return (course / "solutions" / "vectors.py").read_text()


def refused(folder: Path) -> str:
    with pytest.raises(CourseError) as error:
        Course.load(folder)
    return str(error.value)


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("checks/test_vectors.py", "points=3", "points=-1", "points must be a number that is not below 0, not -1"),
        ("checks/test_vectors.py", "points=3", "points=True", "points must be a number that is not below 0, not True"),
        ("checks/test_vectors.py", "points=3", "points='3'", "points must be a number that is not below 0, not '3'"),
        ("checks/test_vectors.py", "points=3", "points=1e999", "points must be a number that is not below 0, not inf"),
        ("checks/test_vectors.py", "bonus=0.5", "bonus=-0.5", "bonus must be a number that is not below 0"),
        ("checks/test_vectors.py", "points=3", "points=3, bonus=1", "points of the exercise or a bonus"),
        ("checks/test_vectors.py", 'hidden="all"', 'hidden="name"', "@exercise takes one name"),
        ("checks/test_vectors.py", "points=3", "points=0", "every check that gives points is hidden"),
        ("checks/test_vectors.py", "points=3)", "bonus=1)", "every check that gives points is hidden"),
        ("course.toml", '"per-check"', '"all"', 'points of a check need `credit = "per-check"` for `vectors.cosine`'),
        ("course.toml", '"per-check"', '"some"', 'course.toml:5: `credit` must be "all" or "per-check", not "some"'),
        ("course.toml", "[course]\n", '[course]\nhidden_until = "soon"\n', "hidden_until: "),
        ("course.toml", "points = 2\n", "points = 2\nhints_for = { length_does_not_matter = 1 }\n", "has no check"),
    ],
)
def test_points_that_mean_nothing_are_refused_in_one_line(
    course: Path, edit: Edit, file: str, old: str, new: str, message: str
) -> None:
    edit(course / file, old, new)
    said = refused(course)
    assert message in said and "\n" not in said
    assert file.rpartition("/")[2] in said or "is hidden" in said  # that is said of the exercise


def test_an_exercise_none_of_whose_checks_has_points_is_refused(course: Path, edit: Edit) -> None:
    edit(course / "checks" / "test_vectors.py", "points=3", "points=0")
    edit(course / "checks" / "test_vectors.py", 'hidden="all"', "points=0")
    assert "no check gives points" in refused(course)


THIRDS = """
import pytest
from grader.testkit import assert_equal, exercise


@exercise("lab.{0}")
@pytest.mark.parametrize("number", [1, 2, 3])
def test_{0}(submission, number):
    \"\"\"It gives its argument.\"\"\"
    assert_equal(submission.{0}(number), number)


@exercise("lab.{0}", bonus=1)
@pytest.mark.parametrize("number", [1, 2, 3])
def test_{0}_again(submission, number):
    \"\"\"It gives its argument.\"\"\"
    assert_equal(submission.{0}(number), number)
"""


def test_parts_and_sums_of_points_are_exact_in_every_output(tmp_path: Path) -> None:
    names = ("one", "two", "three")
    exercises = "".join(f'[[topics.exercises]]\nname = "{name}"\npoints = 5\nhints = ["none"]\n' for name in names)
    topic = f'[[topics]]\nname = "lab"\ntitle = "Lab"\nsummary = "Numbers."\nreading = []\n{exercises}'
    files = {
        "course.toml": f'[course]\nname = "thirds"\ntitle = "Thirds"\ncredit = "per-check"\n{topic}',
        "checks/test_lab.py": "".join(THIRDS.format(name) for name in names),
        "solutions/lab.py": "".join(f"def {name}(x):\n    return x\n" for name in names),
        "exercises/lab.py": "".join(f"def {name}(x):\n    raise NotImplementedError\n" for name in names),
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    # Of the three exercises with three checks each, one, two and three checks pass: 6 of 9 thirds.
    part = "".join(f"def {name}(x):\n    return x if x <= {most} else 0\n" for most, name in enumerate(names, 1))
    (result,) = grade_here(tmp_path, {"lab": part})
    one, two, three = result.exercises
    assert [check.max for check in one.checks] == [1.666667, 1.666666, 1.666667, 0.333333, 0.333334, 0.333333]
    assert (one.score, two.score, three.score) == (2.0, 4.0, 6.0)  # with the bonus
    assert (result.score, result.max) == (12.0, 15.0)
    assert b'"score":1.666667,"max":1.666667' in to_json(result)
    late = Row(result, "", 0.0, late=Late(1, 0.1, "file time"))
    assert (late.score, late.final) == (12.0, 10.8)


def test_each_check_earns_its_part_and_a_bonus_comes_on_top(shared_course: Path, solution: str) -> None:
    texts = (solution, solution + EXTRA, solution + SIGN_ONLY, "def normalize(x):\n    return x\n" + EXTRA)
    right, more, part, lame = grade_here(shared_course, *({"vectors": text} for text in texts))
    assert (right.score, right.max, exit_code([right], None)) == (3, 3, 0)
    assert [check.verdict for check in right.exercises[0].checks][-1] == "failed"  # the bonus alone
    assert right.exercises[1].checks[0].verdict == "passed"  # which blocks nothing
    (named,) = grade_here(shared_course, {"vectors": solution + EXTRA.replace("x + 1", "x")}, names=True)
    assert (named.score, named.exercises[1].checks[0].verdict) == (3, "passed")

    assert (more.score, more.max, more.exercises[0].bonus, more.exercises[0].is_right) == (3.5, 3, 0.5, True)

    cosine = exercise_of(part, "cosine")
    assert (part.score, cosine.score, cosine.max, cosine.is_right) == (1.5, 0.5, 2, False)
    assert [(check.score, check.max) for check in cosine.checks] == [(0, 1.5), (0.5, 0.5)]

    normalize = exercise_of(lame, "normalize")
    assert 0 < normalize.score - normalize.bonus < 1 and normalize.bonus == 0.5
    assert {check.verdict for check in exercise_of(lame, "cosine").checks} == {"blocked"}
    assert from_json(to_json(more)) == more


def test_a_check_without_points_of_its_own_has_none_in_the_results(solution: str) -> None:
    (result,) = grade_here(OWN_COURSE, {"vectors": solution})
    written = json.loads(to_json(result))
    assert not [one for exercise in written["exercises"] for one in exercise["checks"] if {"score", "max"} & one.keys()]


def test_an_exercise_may_have_another_credit_than_the_course(course: Path, edit: Edit, solution: str) -> None:
    """With ``all`` for the course, a bonus needs the exercise to be right; one exercise gives points per check."""
    edit(course / "course.toml", '"per-check"', '"all"')
    edit(course / "course.toml", 'name = "cosine"\n', 'name = "cosine"\ncredit = "per-check"\n')
    texts = (solution + EXTRA, "def normalize(x):\n    return x\n" + EXTRA, solution + SIGN_ONLY)
    assert [one.score for one in grade_here(course, *({"vectors": text} for text in texts))] == [3.5, 0, 1.5]


@pytest.fixture
def half(shared_course: Path, solution: str) -> SubmissionResult:
    """Of cosine only the hidden check passes."""
    return grade_here(shared_course, {"vectors": solution + SIGN_ONLY})[0]


@pytest.fixture
def other_half(shared_course: Path, solution: str) -> SubmissionResult:
    """Of cosine only the hidden check fails."""
    text = solution + "\n\ndef cosine(a, b):\n    raise ValueError(f'secret {a}')\n"
    return grade_here(shared_course, {"vectors": text})[0]


def test_gradescope_gets_a_test_for_each_check_and_csv_the_parts(half: SubmissionResult, course: Path) -> None:
    given = entry(half)
    document = json.loads(gradescope.results(given))
    tests = {test["name"]: (test["score"], test["max_score"]) for test in document["tests"]}
    assert document["score"] == 1.5 and sum(score for score, _ in tests.values()) == pytest.approx(1.5)
    assert sum(most for _, most in tests.values()) == pytest.approx(3)
    assert tests["vectors.normalize: extra (bonus)"] == (0, 0)
    assert tests["vectors.cosine: cosine of every pair of rows"] == (0, 1.5)
    assert "(0/1.5 points)" in summary([given], Course.load(course))
    part = feedback_page(given, Course.load(course), 10**6).topics[0].others[0]
    assert "(0/1.5 points)" in heading_of(part.first[0])
    table = b"".join(csv_table([given], Course.load(course))).decode()
    assert ",1,0.5," in table.splitlines()[1]

    by_hand = Override(student="s", exercise="vectors.cosine", points=2, max=2, why="w", who="me", made="now")
    overruled = replace(given.row, overrides=(by_hand,))
    document = json.loads(gradescope.results(type(given)(overruled)))
    assert document["tests"][-1]["name"] == "vectors.cosine" and document["tests"][-1]["score"] == 2


def test_students_see_nothing_of_a_hidden_check_until_it_is_released(
    other_half: SubmissionResult, course: Path
) -> None:
    secret = exercise_of(other_half, "cosine").checks[-1]
    assert secret.name == "length_does_not_matter" and "secret" in secret.message
    shown = for_students(other_half)
    check = exercise_of(shown, "cosine").checks[-1]
    assert (check.name, check.message, check.verdict) == (
        "hidden_check_1",
        "a hidden check does not pass",
        secret.verdict,
    )
    assert b"length_does" not in to_json(shown) and shown.score == other_half.score
    document = gradescope.results(entry(other_half).for_students())
    assert b"length does" not in document and b"hidden check 1" in document

    until = "2026-10-01T12:00:00+00:00"
    normalize, cosine = other_half.exercises
    checks = (cosine.checks[0], replace(cosine.checks[1], hidden_until=until))
    dated = replace(other_half, exercises=(normalize, replace(cosine, checks=checks)))
    release = datetime.datetime(2026, 10, 1, 12, tzinfo=datetime.timezone.utc)
    assert for_students(dated, release) == dated
    assert for_students(dated, release - datetime.timedelta(seconds=1)) != dated


@pytest.mark.slow
def test_what_a_course_hands_out_has_no_hidden_check(course: Path, solution: str, tmp_path: Path) -> None:
    work = tmp_path / "work"
    init(Course.load(course), work, Origin(has_course=True))
    handed_out = (work / ".torchkata" / "course" / "checks" / "test_vectors.py").read_text()
    assert "length_does_not_matter" not in handed_out and "Making a vector longer" not in handed_out
    assert "test_cosine_of_every_pair_of_rows" in handed_out and "test_extra" in handed_out
    (work / "vectors.py").write_text(solution)
    done = run_here("check", "--json", cwd=work)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["score"] == 3


@pytest.mark.slow
def test_check_shows_no_more_of_a_hidden_check_where_the_course_is_whole(
    course: Path, solution: str, tmp_path: Path
) -> None:
    (tmp_path / "vectors.py").write_text(solution + "\n\ndef cosine(a, b):\n    return None\n")
    done = run_here("check", "--course", course, "--submission", tmp_path, "--verbose")
    assert done.returncode == 1
    assert "hidden check 1: failed  0/0.5 points" in done.stdout
    assert "extra: failed  0/0.5 points of a bonus" in done.stdout
    assert "length does" not in done.stdout and "Making a vector" not in done.stdout
