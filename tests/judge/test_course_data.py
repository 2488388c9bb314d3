"""A course's data folder, the values of its checks, and a check's own seconds, in a sandboxed process."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from shared import WarmUp

from grader.course import Course
from grader.course.answers import handed_out
from grader.course.handout import init
from grader.course.update import update
from grader.errors import CourseError
from grader.exports.package import wheel
from grader.intake.submission import Submission

MANIFEST = """
[course]
name = "words"
title = "Words"
examples = false

[[topics]]
name = "words"
title = "Words"
exercises = [
    { name = "count", points = 1, hints = ["Split."] },
    { name = "table", points = 1, hints = ["Read."] },
    { name = "greet", points = 1, hints = ["Print."] },
]
"""
CHECKS = '''
from pathlib import Path

import numpy as np
from grader.testkit import Submission, assert_close, assert_equal, exercise, printed

TEXT = Path("data/text.txt").read_text()
TABLE = np.load("data/more/table.npy")


@exercise("words.count")
def test_counts(submission: Submission) -> None:
    """Every word is counted, of a file and of a generator."""
    expected = {word: TEXT.split().count(word) for word in TEXT.split()}
    assert_equal(submission.count(Path("data/text.txt")), expected)
    assert_equal(submission.count(word for word in TEXT.split()), expected)
    assert Path("data/text.txt").read_text() == TEXT


@exercise("words.table")
def test_table(submission: Submission) -> None:
    """The mean of every column."""
    assert_close(submission.table(), TABLE.mean(axis=0))
    assert_close(submission.table(TABLE[::2]), TABLE[::2].mean(axis=0))


@exercise("words.greet", seconds=0.5)
def test_greets(submission: Submission) -> None:
    """It greets."""
    assert_equal(printed(submission.greet, "Ada"), "Hello, Ada\\n")
'''
SOLUTION = '''
"""Words."""

from collections import Counter
from pathlib import Path

import numpy as np

from helping.tables import mean

TABLE = np.load("data/more/table.npy")


def count(words):
    """How often each word is there."""
    # solution:
    return Counter(words.read_text().split() if isinstance(words, Path) else words)
    # end


def table(rows=TABLE):
    """The mean of every column."""
    # solution:
    return mean(rows)
    # end


def greet(name):
    """Prints a greeting."""
    # solution:
    print("Hello,", name)
    # end
'''
HELPING = "def mean(rows):\n    return rows.mean(axis=0)\n"


@pytest.fixture
def course(tmp_path: Path) -> Path:
    root = tmp_path / "course"
    files = {
        "course.toml": MANIFEST,
        "checks/test_words.py": CHECKS,
        "exercises/words.py": SOLUTION,
        "solutions/words.py": SOLUTION,
        **{f"{folder}/helping/__init__.py": "" for folder in ("exercises", "solutions")},
        **{f"{folder}/helping/tables.py": HELPING for folder in ("exercises", "solutions")},
        "data/text.txt": "to be or not to be",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "data" / "more").mkdir()
    program = "import numpy; numpy.save('data/more/table.npy', numpy.arange(12.0).reshape(4, 3) ** 2)"
    subprocess.run([sys.executable, "-c", program], cwd=root, check=True)
    return root


def test_checks_and_students_read_the_same_files_and_pass_any_data(course: Path, warm: WarmUp) -> None:
    worker = warm(course)
    result = worker.grade(words=SOLUTION)  # the package comes from the course
    assert [(one.score, [check.message for check in one.checks]) for one in result.exercises] == [(1, [""])] * 3
    spoilt = f'open("data/text.txt", "w").write("be")\n{SOLUTION}'.replace('print("Hello', 'while True: print("')
    own = {"words.py": spoilt, "helping/tables.py": HELPING.replace("rows.mean", "1.0 * rows.mean")}
    result = worker.of(Submission("wrong", {name: text.encode() for name, text in own.items()}))
    messages = [(one.score, *(check.message for check in one.checks)) for one in result.exercises]
    assert [score for score, _ in messages] == [0, 1, 0]
    assert "be" in messages[0][1] and "0.5 s" in messages[2][1], messages


def test_the_folder_is_handed_out_updated_and_packed(course: Path, tmp_path: Path) -> None:
    loaded = Course.load(course)
    folder = tmp_path / "work"
    written = init(loaded, folder)
    assert {folder / "data" / "text.txt", folder / "helping" / "tables.py"} <= {*written}
    assert {"data/text.txt", "exercises/helping/__init__.py"} <= dict(handed_out(loaded)).keys()
    there = folder / "data" / "more" / "table.npy"
    assert there.read_bytes() == (course / "data" / "more" / "table.npy").read_bytes()
    (course / "data" / "new.txt").write_text("new")
    assert [change.text for change in update(loaded, folder)] == ["data/new.txt: new"]
    for for_students in (True, False):
        with zipfile.ZipFile(wheel(loaded, tmp_path, "1.0", for_students=for_students)) as archive:
            assert [name for name in archive.namelist() if name.endswith("data/more/table.npy")]


def test_more_than_a_submission_can_be_given_is_refused(course: Path) -> None:
    (course / "data" / "large.bin").write_bytes(bytes(8 << 20))
    with pytest.raises(CourseError, match=r"data/ holds 8\.0 MiB, for every submission"):
        Course.load(course)
