"""`submission.outside`: a process of the same sandbox and work folder that has nothing of the submission."""

from __future__ import annotations

import shutil
from pathlib import Path

from shared import REPO, WarmUp

KIT = """
def late() -> list[object]:
    import colorsys

    return [hasattr(colorsys, "rgb_to_hsv"), open("left").read()]
"""
CHECK = '''
from grader.testkit import Submission, assert_equal, exercise
from kit import late


@exercise("state.first")
def test_first(submission: Submission) -> None:
    """A late import outside finds Python's own module, not the submission's file; the work folder is the same."""
    assert_equal(submission.first(), True)
    assert_equal(submission.outside(late.late), [True, "here"])
'''
SUBMISSION = """
open("colorsys.py", "w").write("")
open("left", "w").write("here")

def first():
    open("colorsys.py", "w").write("")
    return True

second = third = first
"""


def test_late_imports_outside_find_no_file_of_the_submission(warm: WarmUp, tmp_path: Path) -> None:
    course = Path(shutil.copytree(REPO / "tests" / "courses" / "reuse", tmp_path / "course"))
    (course / "kit").mkdir()
    (course / "kit" / "__init__.py").write_text('"""A kit."""\n')
    (course / "kit" / "late.py").write_text(KIT)
    manifest = course / "course.toml"
    manifest.write_text(manifest.read_text().replace('name = "reuse"', 'name = "reuse"\nkit = "kit"', 1))
    checks = course / "checks" / "test_state.py"
    rest = checks.read_text().split('@exercise("state.second")')[1]
    checks.write_text(f'{CHECK}\n\n@exercise("state.second"){rest}')
    result = warm(course, check_seconds=5.0).grade(state=SUBMISSION)
    assert result.score == result.max, [check.message for one in result.exercises for check in one.checks]
