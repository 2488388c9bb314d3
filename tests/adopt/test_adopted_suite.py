"""The suite of ``examples/adopted`` as a course: made by `grader adopt`, and graded as plain pytest grades it."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest
from plain_suite import passed_by_plain_pytest
from shared import ADOPTED, WarmUp

from grader.adopt.adopted import Adopted
from grader.adopt.suite import adopt_suite
from grader.course.model import Course, files_below
from grader.grading.settings import topics_of
from grader.intake.find import open_submission
from grader.intake.submission import Submission

SECONDS = 1.5

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def adopted(tmp_path_factory: pytest.TempPathFactory) -> Adopted:
    course = tmp_path_factory.mktemp("adopted") / "course"
    return adopt_suite(ADOPTED / "suite" / "tests", ["adapters", "training"], course)


def submissions(right: Path, folder: Path, *, apart: bool) -> dict[str, tuple[Path, set[str]]]:
    """The answers of the example, each with the test functions that it breaks.

    Args:
        apart: each wrong answer by itself; else all in two, because no two of them break the same test.
    """
    found = {"right": (right, set[str]())}
    for number, wrong in enumerate(msgspec.toml.decode((ADOPTED / "wrong.toml").read_bytes())["wrong"]):
        name = wrong["name"] if apart else f"wrong {number % 2}"
        answer, breaks = found.setdefault(name, (folder / name, set()))
        breaks |= set(wrong["breaks"])
        if not answer.exists():
            shutil.copytree(right, answer)
        file = answer / wrong["file"]
        text = file.read_text(encoding="utf-8")
        assert text.count(wrong["old"]) == 1, wrong["name"]
        file.write_text(text.replace(wrong["old"], wrong["new"]), encoding="utf-8")
    return found


def function(nodeid: str) -> str:
    return nodeid.partition("[")[0].rpartition("::")[2]


@pytest.mark.parametrize("apart", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_verdicts_are_those_of_plain_pytest(adopted: Adopted, warm: WarmUp, tmp_path: Path, apart: bool) -> None:
    answers = submissions(adopted.course / "solutions", tmp_path, apart=apart)
    folders = {name: folder for name, (folder, _) in answers.items()}
    plain = passed_by_plain_pytest(adopted.course / "tests", folders, SECONDS)
    names = {function(one).removeprefix("test_") + one[len(one.partition("[")[0]) :]: one for one in plain["right"]}
    worker = warm(adopted.course, check_seconds=SECONDS)

    for name, (folder, breaks) in answers.items():
        files = {label.partition("/")[2]: file.read_bytes() for label, file in files_below(folder, "")}
        result = worker.of(Submission(name, files))

        checks = [check for one in result.exercises for check in one.checks]
        passed = {names[check.name] for check in checks if check.verdict == "passed"}
        assert (passed, len(checks)) == (plain[name], len(names)), name
        assert {function(one) for one in plain["right"] - passed} == breaks, name


def test_stubs_beside_a_package_are_not_written_and_not_unread(adopted: Adopted, tmp_path: Path) -> None:
    """But a package that is written beside untouched adapters is for a person to look at."""
    course = Course.load(adopted.course)
    work = shutil.copytree(course.exercises_dir, tmp_path / "work")
    assert not open_submission(work, topics_of(course)).read().unread
    shutil.copytree(course.solutions_dir / "training", work / "training", dirs_exist_ok=True)
    (unread,) = open_submission(work, topics_of(course)).read().unread
    assert unread.topic == "adapters"
