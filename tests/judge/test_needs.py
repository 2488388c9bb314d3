"""What is not assessed is decided by the check and the machine alone. The course is ``courses/needs``."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from judge_here import HostHere, grade_here
from sessions import plain_pytest
from shared import REPO, Warm, WarmUp, check_of, exercise_of

from grader.course import Course
from grader.intake.submission import Submission
from grader.judge import explain
from grader.judge.judge import open_judge
from grader.results import Cause, SubmissionResult
from grader.testkit import needs

COURSE = Path(__file__).resolve().parent.parent / "courses" / "needs"
RIGHT = (COURSE / "solutions" / "lab.py").read_text()
NOT_ASSESSED = {"marked", "early", "after_marked", "after_that"}
MAX = 1 + 32 + 128 + 256
"""Points of what is assessed; 64 are for the check that is faulty."""
RAISES = """
class NotSimulated(Exception): pass

class Other(Exception): pass

Other.__name__ = Other.__qualname__ = "NotSimulated"
"""


@pytest.fixture
def lab(warm: WarmUp) -> Warm:
    return warm(COURSE)


def verdicts(result: SubmissionResult) -> dict[str, set[str]]:
    return {one.name.partition(".")[2]: {check.verdict for check in one.checks} for one in result.exercises}


def with_own(name: str, body: str, head: str = "") -> str:
    return f"{RIGHT}\n{head}\n\ndef {name}(*args):\n    {body}\n"


def test_what_a_check_needs_is_not_assessed_and_says_why() -> None:
    (result,) = grade_here(COURSE, {"lab": RIGHT})
    assert {name for name, kinds in verdicts(result).items() if kinds == {"skipped"}} == NOT_ASSESSED
    assert check_of(result, "marked").message == "needs a CUDA device"
    assert check_of(result, "marked_for_pytest").message == "not on this machine"
    assert check_of(result, "with_a_fixture").message == "needs a large disk"
    assert check_of(result, "skips_before_it_asks").message == "needs a quantum computer"
    assert (result.score, result.max) == (MAX, MAX)


def test_of_the_shipped_checks_those_of_one_exercise_all_need_ranks_or_none_does() -> None:
    """Else a machine without ranks would fail everybody by the one that does not say so."""
    found: dict[str, set[bool]] = {}
    for file in sorted((REPO / "grader" / "checks").glob("test_*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for_all = any(ast.unparse(one) == "pytestmark = needs('ranks')" for one in tree.body)
        for check in (one for one in tree.body if isinstance(one, ast.FunctionDef)):
            marks = [ast.unparse(mark) for mark in check.decorator_list]
            for mark in marks:
                if mark.startswith("exercise("):
                    found.setdefault(mark, set()).add(for_all or "needs('ranks')" in marks)
    assert found["exercise('spirals.run_on_ranks')"] == {True}
    assert [name for name, kinds in found.items() if len(kinds) > 1] == []


def test_what_depends_on_something_not_assessed_is_not_assessed_either() -> None:
    (result,) = grade_here(COURSE, {"lab": RIGHT})
    why = "needs lab.marked, which is not assessed here: needs a CUDA device"
    assert check_of(result, "after_marked").message == why
    assert check_of(result, "after_that").message == f"needs lab.after_marked, which is not assessed here: {why}"


@pytest.mark.parametrize(
    "files",
    [
        {"other.py": b""},
        {"lab.py": b"def"},
        {"lab.py": b"import os; os._exit(0)"},
        {"lab.py": b"while True: __import__('time').sleep(1)"},
        {"lab.py": b"import pytest; pytest.skip('no', allow_module_level=True)"},
        {"lab.py": b""},
    ],
    ids=["no file", "no Python", "exits", "endless", "skips", "empty"],
)
def test_the_maximum_is_the_same_whatever_is_handed_in(lab: Warm, warm: WarmUp, files: dict[str, bytes]) -> None:
    is_endless = b"while True" in files.get("lab.py", b"")
    result = (warm(COURSE, check_seconds=2.0, topic_seconds=8.0) if is_endless else lab).of(Submission("other", files))
    assert {name for name, kinds in verdicts(result).items() if "skipped" in kinds} == NOT_ASSESSED
    faulty = exercise_of(result, "late").max  # its check can only be seen to be faulty by running it
    assert (result.score, result.max - faulty) == (0, MAX)


def test_a_skip_after_a_request_is_the_checks_fault() -> None:
    found = check_of(grade_here(COURSE, {"lab": RIGHT})[0], "always_skips_too_late")
    assert found.verdict == "error"
    assert "it skips itself after it has asked the submission (too late): name what it needs" in found.message
    assert "test_lab.py:" in found.message


@pytest.mark.parametrize("body", ["return False", "return ''", "return []"])
def test_an_answer_that_makes_a_check_skip_itself_is_a_wrong_answer(body: str) -> None:
    (result,) = grade_here(COURSE, {"lab": with_own("asked", body)})
    assert verdicts(result)["asked"] == {"failed"} and verdicts(result)["after_asked"] == {"blocked"}
    assert "this answer cannot be used: Skipped: this machine cannot" in check_of(result, "asks_the_submission").message
    assert result.max == MAX


@pytest.mark.parametrize(
    "body",
    [
        "raise NotSimulated('x')",
        "raise Other('x')",
        "(_ for _ in ()).throw(NotSimulated('x'))",
        "next(map(lambda _: (_ for _ in ()).throw(Other('x')), 'ab'))",
        "import pytest; pytest.skip('x')",
        "import unittest; raise unittest.SkipTest('x')",
    ],
)
def test_an_exception_is_never_a_skip(lab: Warm, body: str) -> None:
    """Not even where an argument has the name of the module that simulates devices."""
    result = lab.grade(lab=with_own("text", body, RAISES))
    assert verdicts(result)["text"] <= {"failed", "crashed"}
    (check,) = exercise_of(result, "text").checks
    assert check.cause is not None and check.cause.kind != "not_simulated"
    assert result.max == MAX


def test_memory_that_was_short_for_one_submission_says_nothing_of_the_machine() -> None:
    course = Course.load(COURSE)
    with open_judge(course, HostHere(course)) as judge:
        (check,) = judge.checks.of("lab.plain")
        result = explain.result(check.name, Cause(kind="memory_short", reason="the system ended it"))
        assert result.verdict == "skipped" and judge.assessment.reason_after(check, result) == ""


def test_plain_pytest_skips_the_same_checks(tmp_path: Path) -> None:
    (tmp_path / "lab.py").write_text(RIGHT)
    arguments = ["-q", "-rA", "-c", "/dev/null", str(COURSE / "checks"), "--course", str(COURSE)]
    arguments += ["--submission", str(tmp_path), "--devices", "simulated"]
    _, output = plain_pytest([("only", REPO, arguments)])["only"]
    assert "6 skipped" in output and "1 failed" in output and "4 passed" in output


def test_a_need_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="a check can need 'gpu' or 'ranks', not 'tpu'"):
        needs("tpu")
