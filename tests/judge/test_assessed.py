"""No mark of pytest's takes a check out of the total unseen, and no message depends on the run that it is from."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_here import run_here
from judge_here import grade_here

from grader.errors import UserError

MANIFEST = """
[course]
name = "marks"
title = "Marks"

[[topics]]
name = "lab"
title = "Lab"
summary = "Gives things back."
reading = []

[[topics.exercises]]
name = "same"
points = 1
hints = ["none"]
"""
HEAD = '''
import pytest
from hypothesis import assume, given, strategies as st
from grader.testkit import assert_equal, exercise


class Box:
    """Something without a repr."""


@pytest.fixture
def broken():
    pytest.xfail("a known bug")


@pytest.fixture
def doubtful(request):
    request.applymarker(pytest.mark.xfail(reason="it is new", strict=True))


@pytest.fixture
def plain():
    return 1
'''
RIGHT = "def same(x):\n    return x\n"
SAME_N = "assert_equal(submission.same(n), n)"
WRONG = "def same(x):\n    return -x\n"


def check(name: str, mark: str = "", more: str = "", body: str = "assert_equal(submission.same(1), 1)") -> str:
    head = f'{mark}\n@exercise("lab.same")\ndef test_{name}(submission{more}):\n'
    return f'\n\n{head}    """It gives its argument."""\n    {body}\n'


def course_of(folder: Path, *checks: str) -> Path:
    solution = '"""Lab."""\n\n\ndef same(x):\n    """Gives it."""\n    # solution: a line\n    return x\n    # end\n'
    files = {"course.toml": MANIFEST, "checks/test_lab.py": HEAD + "".join(checks), "solutions/lab.py": solution}
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    run_here("release", "--course", str(folder))
    return folder


@pytest.mark.parametrize(
    "checks",
    [
        check("fails", "@pytest.mark.xfail"),
        check("fails", '@pytest.mark.xfail(strict=True, raises=KeyError, reason="later", run=False)'),
        check("fails", '@pytest.mark.parametrize("n", [pytest.param(1, marks=pytest.mark.xfail), 2])', ", n"),
        "\npytestmark = [pytest.mark.xfail]\n" + check("fails"),
    ],
)
def test_a_check_that_is_expected_to_fail_is_refused_with_its_line(tmp_path: Path, checks: str) -> None:
    course = course_of(tmp_path, checks)
    with pytest.raises(UserError, match=r"test_lab\.py:\d+: `test_fails(\[1\])?` is marked xfail") as error:
        grade_here(course, {"lab": RIGHT})
    assert "\n" not in str(error.value)


def test_whatever_a_fixture_expects_is_assessed_or_loud(tmp_path: Path) -> None:
    course = course_of(
        tmp_path,
        check("of_a_broken_fixture", more=", broken"),
        check("of_a_doubtful_fixture", more=", doubtful"),
        check("with_a_fixture_of_a_mark", '@pytest.mark.usefixtures("plain")'),
        check("that_gives_up", body='assert_equal(submission.same(2), 2)\n    pytest.xfail("a known bug")'),
    )
    right, wrong = grade_here(course, {"lab": RIGHT}, {"lab": WRONG})
    assert [one.verdict for one in right.exercises[0].checks] == ["error", "passed", "passed", "failed"]
    assert [one.verdict for one in wrong.exercises[0].checks] == ["error", "failed", "failed", "failed"]
    assert "it calls pytest.xfail: a known bug" in right.exercises[0].checks[0].message


def test_verify_names_what_it_has_not_assessed_and_warns_of_nothing(tmp_path: Path) -> None:
    course = course_of(
        tmp_path,
        check(
            "passes", "@given(n=st.integers(0, 5))", ", n", "assume(n != 3)\n    assert_equal(submission.same(n), n)"
        ),
        check("skips", '@pytest.mark.skip(reason="later")'),
        check("is_skipped", '@pytest.mark.skipif(True, reason="always")'),
        check("partly", '@pytest.mark.parametrize("n", [1, pytest.param(2, marks=pytest.mark.skip("no two"))])', ", n"),
        check("imports", body='pytest.importorskip("no_such_module")'),
    )
    done = run_here("verify", "--course", str(course))
    lines = {line.partition("`test_")[2] for line in done.stdout.splitlines() if line.startswith("  /")}
    assert {line.partition("`: ")[0]: line.partition("`: ")[2] for line in lines} == {
        "skips": "later",
        "is_skipped": "always",
        "partly": "no two",
        "imports": "could not import 'no_such_module': No module named 'no_such_module'",
    }, done.stdout
    assert "no defect, but 4 checks not assessed here" in done.stdout and "sound" not in done.stdout
    assert done.returncode == 0 and "Warning" not in done.stderr, done.stderr


def test_no_message_holds_an_address(tmp_path: Path) -> None:
    course = course_of(
        tmp_path,
        check("shows", body='assert submission.same(1) is Box, f"{Box()} {submission} {submission.same} {[Box()]}"'),
        check("compares", body="assert_equal(submission.same(1), Box())"),
        check("raises", body="submission.same(None)"),
    )
    texts = {
        "lab": "class Net: pass\ndef same(x):\n    print(Net())\n    if x is None:\n        raise ValueError(Net())\n"
    }
    (result,) = grade_here(course, texts)
    messages = [one.message for one in result.exercises[0].checks]
    assert not [message for message in messages if "0x" in message]
    assert "Box object> submission same [<test_lab.Box object>]" in messages[0]
    assert "<lab.Net object>" in messages[2]
