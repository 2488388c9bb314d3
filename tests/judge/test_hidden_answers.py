"""A failing hidden check says the call and what came back; whatever it says itself, students cannot read."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from judge_here import grade_here

COURSE = """
[course]
name = "hidden"
title = "Hidden"
[[topics]]
name = "lab"
title = "Lab"
[[topics.exercises]]
name = "f"
points = 1
hints = ["Think."]
"""
CHECKS = '''
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch import tensor

from grader.testkit import assert_close, assert_equal, assert_that, exercise, raises, situations


@pytest.fixture
def broken():
    assert 6 == 990046
@pytest.fixture
def answer():
    return 990046


@exercise("lab.f")
def test_shown(submission):
    """It is shown."""
    assert submission.f(5) == 990046
'''
BODIES = {
    "plain_assert": "assert submission.f(5) == 990046",
    "said": "assert submission.f(5) == 990046, 'not 990046'",
    "pytest_fail": "if submission.f(5) != 990046: pytest.fail('990046')",
    "numpy": "np.testing.assert_allclose(submission.f(5), 990046)",
    "equal": "assert_equal(submission.f(5), 990046)",
    "swapped": "assert_equal(990046, submission.f(5))",
    "difference": "assert_equal(submission.f(5) - 990046, 0)",
    "close": "assert_close([submission.f(5)], [990046.0])",
    "each": "assert_close([submission.f(5), submission.f(6)], [990046, 990047], each=['990046', '990047'])",
    "that": "assert_that(submission.f(5) == 990046, 'it is 990046')",
    "raises": "\n    with raises(ValueError, match='990046'): submission.fails(5)",
    "not_raised": "\n    with raises(ValueError, what='990046'): submission.f(5)",
    "other": "if submission.f(5) != 990046: raise LookupError(990046)",
    "late_skip": "pytest.skip(f'{submission.f(5)} is not 990046')",
    "situation": "\n    situations(submission, {'for 990046': True}); assert_equal(submission.f(5), 990046)",
    "xfail": "submission.f(5); pytest.xfail('990046')",
    "fixture": "assert submission.f(5) == answer",
    "set_up": "submission.f(5)",
    "early": "raise LookupError(990046)",
}
ARGUMENTS = {"fixture": ", answer", "set_up": ", broken"}


def courses_checks() -> str:
    parts = [CHECKS]
    for name, body in BODIES.items():
        arguments = f"submission{ARGUMENTS.get(name, '')}"
        parts.append(
            f'@exercise("lab.f", hidden=True)\ndef test_{name}({arguments}):\n    """It holds."""\n    {body}\n'
        )
    parts.append(
        '@exercise("lab.f", hidden=True)\n@pytest.mark.parametrize("n, right", [(5, 990046), (6, 990046)])\n'
        'def test_cases(submission, n, right):\n    """It holds."""\n    assert submission.f(n) == right\n\n\n'
        '@exercise("lab.f", hidden=True)\n@given(n=st.just(5), right=st.just(990046))\n'
        'def test_drawn(submission, n, right):\n    """It holds."""\n    assert submission.f(n) == right\n'
    )
    return "\n\n".join(parts)


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hidden")
    right = (
        "def fails(n):\n    raise ValueError('990046')\n\n\n"
        'def f(n):\n    """It."""\n    # solution:\n    return 990041 + n\n    # end\n'
    )
    files = {"course.toml": COURSE, "checks/test_lab.py": courses_checks(), "solutions/lab.py": right}
    files["exercises/lab.py"] = 'def f(n):\n    """It."""\n    raise NotImplementedError("write `f` here")\n'
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_no_failure_of_a_hidden_check_tells_what_was_expected(course: Path) -> None:
    wrong = "def fails(n):\n    raise ValueError('no')\n\n\ndef f(n):\n    return n + 1\n"
    (result,) = grade_here(course, {"lab": wrong})
    found = {check.name: check for check in result.exercises[0].checks}
    assert "990046" in msgspec.json.encode(found.pop("shown")).decode()
    assert len(found) == len(BODIES) + 3 and {"cases[1]", "cases[2]"} < found.keys()
    for name, check in found.items():
        assert check.verdict in ("failed", "error"), name
        said = msgspec.json.encode(check).decode() + repr(check) + check.message
        assert "99004" not in said and check.cause is not None and not check.cause.expected, check
        if name not in ("raises", "set_up", "early", "late_skip", "each", "xfail", "cases[2]"):
            assert "f(5)" in check.message and "returned  6" in check.message, check
    assert found["raises"].message.startswith("your code raised ValueError: no")
    assert "test_lab.py" in found["early"].message and "LookupError" in found["early"].message


def test_the_names_of_hidden_cases_are_the_same_in_every_result(course: Path) -> None:
    right = (course / "solutions" / "lab.py").read_text()
    (result,) = grade_here(course, {"lab": right})
    verdicts = {check.name: check.verdict for check in result.exercises[0].checks}
    assert verdicts["cases[1]"] == "passed" and verdicts["cases[2]"] == "failed"
    assert verdicts["plain_assert"] == verdicts["raises"] == "passed"
