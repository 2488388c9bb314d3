"""The suite of ``examples/adopted`` as a course: made by `grader adopt`, and graded as plain pytest grades it.

The verdicts are compared at night. By day those of two other suites are, in `suites/test_suite_runs.py` and
`suites/test_suite_tables.py`, and `docs/test_commands.py` makes this course, verifies it and grades two answers.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest
from plain_suite import passed_by_plain_pytest
from shared import ADOPTED, WarmUp

from grader.adopt.suite import adopt_suite
from grader.course.model import Course, files_below
from grader.grading.settings import topics_of
from grader.intake.find import open_submission
from grader.intake.submission import Submission

SECONDS = 1.5


def submissions(right: Path, folder: Path) -> dict[str, tuple[Path, set[str]]]:
    """The answers of the example, each with the test functions that it breaks."""
    found = {"right": (right, set[str]())}
    for wrong in msgspec.toml.decode((ADOPTED / "wrong.toml").read_bytes())["wrong"]:
        answer, _ = found[wrong["name"]] = (folder / wrong["name"], set(wrong["breaks"]))
        shutil.copytree(right, answer)
        file = answer / wrong["file"]
        text = file.read_text(encoding="utf-8")
        assert text.count(wrong["old"]) == 1, wrong["name"]
        file.write_text(text.replace(wrong["old"], wrong["new"]), encoding="utf-8")
    return found


def function(nodeid: str) -> str:
    return nodeid.partition("[")[0].rpartition("::")[2]


@pytest.mark.nightly
def test_verdicts_are_those_of_plain_pytest(warm: WarmUp, tmp_path: Path) -> None:
    adopted = adopt_suite(ADOPTED / "suite" / "tests", ["adapters", "training"], tmp_path / "course")
    answers = submissions(adopted.course / "solutions", tmp_path)
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


SMALL = {
    "lib/__init__.py": "def half(x):\n    return x / 2\n",
    "training/__init__.py": "from training.loop import steps\n",
    "training/loop.py": "def steps(n):\n    made = []\n    for k in range(n):\n        made += [k]\n    return made\n",
    "tests/__init__.py": "",
    "tests/adapters.py": "from lib import half\n\n\ndef run_half(x):\n    return half(x)\n",
    "tests/test_both.py": "from training import steps\n\nfrom .adapters import run_half\n\n\n"
    "def test_half():\n    assert run_half(2) == 1\n\n\ndef test_steps():\n    assert steps(1) == [0]\n",
}
"""A suite in the form of the example's."""


@pytest.mark.slow
def test_stubs_beside_a_package_are_not_written_and_not_unread(tmp_path: Path) -> None:
    """But a package that is written beside untouched adapters is for a person to look at."""
    for name, text in SMALL.items():
        (tmp_path / "suite" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "suite" / name).write_text(text)
    adopted = adopt_suite(tmp_path / "suite" / "tests", ["adapters", "training"], tmp_path / "course")
    course = Course.load(adopted.course)
    work = shutil.copytree(course.exercises_dir, tmp_path / "work")
    assert not open_submission(work, topics_of(course)).read().unread
    shutil.copytree(course.solutions_dir / "training", work / "training", dirs_exist_ok=True)
    (unread,) = open_submission(work, topics_of(course)).read().unread
    assert unread.topic == "adapters"


BANK = (
    "class Account:\n    def __init__(self):\n        self.balance = 1\n\n\n"
    "def report(account):\n    return account.balance\n"
)
BESIDE_THE_TESTS = {
    "bank.py": BANK,
    "test_bank.py": "import unittest\n\nimport bank\n\n\nclass AccountTest(unittest.TestCase):\n"
    "    def test_balance(self):\n        self.assertEqual(bank.Account().balance, 1)\n\n"
    "    def test_report(self):\n        self.assertEqual(bank.report(bank.Account()), 1)\n",
    "helpers/bank.py": "def money():\n    return 1\n",
    "class/ada/bank.py": BANK,
    "class/ada/notes.txt": "mine",
    "class/bruno/bank.py": "def report(:\n",
    "old/course.toml": "",
    "old/tests/test_bank.py": "",
}
"""A suite of modules and tests in one folder, with a class and a course in it, too."""


def test_answers_beside_the_tests_go_to_no_student(tmp_path: Path) -> None:
    """A test belongs to the function in its own name, whatever its class is called."""
    suite = tmp_path / "suite"
    for name, text in BESIDE_THE_TESTS.items():
        (suite / name).parent.mkdir(parents=True, exist_ok=True)
        (suite / name).write_text(text)
    adopted = adopt_suite(suite, ["bank"], tmp_path / "course")
    assert adopted.made[1:] == ("  bank.Account: test_balance", "  bank.report: test_report")
    tests = {label for label, _ in files_below(adopted.course / "suite", "")}
    assert {one.lstrip("/") for one in tests} == {"test_bank.py", "helpers/bank.py"}
    named = [line for line in adopted.look if "not taken for a part" in line]
    assert [line.partition(":")[0] for line in named] == [
        str(suite / one) for one in ("class/ada", "class/bruno", "old")
    ]
