"""`grader verify --watch` verifies what changes when a file is saved, and nothing else."""

from __future__ import annotations

import functools
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from shared import REPO, save

from grader.course import Course
from grader.grading.verify_watch import WatchedCourse, changed_exercises, snapshot

Edit = Callable[[Path, str, str], None]

CHANGES = {
    "a check": ("checks/test_vectors.py", "The row (3, 4) becomes", "A row of (3, 4) becomes", ["vectors.normalize"]),
    "a solution": ("solutions/vectors.py", "tensor([0.6000])", "tensor([0.7000])", ["vectors.cosine"]),
    "a wrong answer": (
        "solutions/misconceptions/vectors.py", "You divided by the length", "You divide", ["vectors.normalize"]
    ),
    "hints": ("course.toml", "Normalize both", "First normalize both", ["vectors.cosine"]),
    "an import of a solution": (
        "solutions/vectors.py", "import torch\n", "import math\nimport torch\n", ["vectors.normalize", "vectors.cosine"]
    ),
    "the title": ("course.toml", "Vectors in a week", "Vectors in two weeks", []),
}  # fmt: skip


def changed_by(course: Path, edit: Callable[[], object]) -> list[str]:
    """The exercises that an edit concerns."""
    before = snapshot(Course.load(course))
    edit()
    after = Course.load(course)
    return changed_exercises(after, before ^ snapshot(after))


@pytest.mark.parametrize("name", CHANGES)
def test_exercises_that_a_change_concerns(own_course: Path, edit: Edit, name: str) -> None:
    file, old, new, expected = CHANGES[name]
    assert changed_by(own_course, lambda: edit(own_course / file, old, new)) == expected


def test_a_new_file_beside_the_checks_concerns_all(own_course: Path) -> None:
    file = own_course / "checks" / "helpers.py"
    assert changed_by(own_course, lambda: file.write_text("X = 1\n")) == ["vectors.normalize", "vectors.cosine"]
    for name in (".helpers.py.saved", "helpers.py~"):  # of an editor
        assert changed_by(own_course, file.with_name(name).touch) == []


QUICK = """
import sys
from grader.course import Course
from grader.grading.verify import verify_course
for course in sys.argv[1:]:
    print(course)
    verify_course(Course.load(course), print, is_quick=True)
print("matplotlib" in sys.modules)
"""


@pytest.mark.slow
def test_a_picture_is_looked_at_and_drawn_for_no_page(own_course: Path, edit: Edit) -> None:
    """`verify` draws it for a page, too: that took a sixth of the time of an exercise."""
    courses = [own_course.rename(own_course.with_name("80"))]
    courses += [Path(shutil.copytree(courses[0], own_course.with_name("81")))]
    for course in courses:
        edit(course / "checks" / "test_vectors.py", "[0] * 40 + [1] * 40", f"[0] * {course.name}")
    done = subprocess.run([sys.executable, "-c", QUICK, *courses], cwd=REPO, capture_output=True, text=True, check=True)
    right, wrong = (done.stdout.index(f"{course}\n") for course in courses)
    assert "cannot be drawn" not in done.stdout[right:wrong]
    assert "cannot be drawn" in done.stdout[wrong:]
    assert done.stdout.endswith("False\n")


@pytest.fixture
def watching(own_course: Path) -> Iterator[subprocess.Popen[str]]:
    """The command, and its printed lines up to the first save."""
    running = subprocess.Popen(
        [sys.executable, "-m", "grader", "verify", "--watch", "--course", str(own_course)],
        cwd=REPO,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # ignored in a job's background
    )
    try:
        yield running
        running.send_signal(signal.SIGINT)
        assert running.wait(60) in (0, 2)
    finally:
        running.kill()
        running.communicate()


def next_line(running: subprocess.Popen[str]) -> str:
    assert running.stdout is not None
    return running.stdout.readline().removesuffix("\n")


@pytest.mark.slow
def test_all_is_verified_at_first_and_then_what_is_saved(
    own_course: Path, edit: Edit, watching: subprocess.Popen[str]
) -> None:
    assert next_line(watching).startswith("watching ")
    assert next_line(watching) == "vectors: sound"
    assert next_line(watching).startswith("save a solution")
    edit(own_course / "checks" / "test_vectors.py", "The row (3, 4) becomes", "A row of (3, 4) becomes")
    assert next_line(watching) == "vectors.normalize: sound"
    edit(own_course / "solutions" / "vectors.py", "tensor([0.6000])", "tensor([0.7000])")
    assert next_line(watching) == f"written: {own_course / 'exercises' / 'vectors.py'}"
    assert "but the docstring says `tensor([0.7000])`" in next_line(watching)
    assert next_line(watching) == "vectors.cosine: 1 defect"


@pytest.mark.slow
def test_a_file_that_cannot_be_read_is_named_once_until_it_is_right_again(
    own_course: Path, edit: Edit, watching: subprocess.Popen[str]
) -> None:
    manifest = own_course / "course.toml"
    before = manifest.read_text()
    assert [next_line(watching) for _ in range(3)][1] == "vectors: sound"
    save(manifest, before.replace("points = ", "point = ", 1))
    assert "unknown key `point`" in next_line(watching)
    save(manifest, before.replace("points = ", "point = ", 1) + "# the same mistake, saved again\n")
    (own_course / "checks" / "notes.txt").write_text("another file is saved")
    save(manifest, before.replace("points = ", "pints = ", 1))
    assert "unknown key `pints`" in next_line(watching)
    (own_course / "checks" / "notes.txt").unlink()
    save(manifest, before)
    assert next_line(watching) == "as it was before: sound"
    edit(own_course / "solutions" / "vectors.py", "tensor([0.6000])", "tensor([0.7000])")
    assert [next_line(watching) for _ in range(3)][2] == "vectors.cosine: 1 defect"
    text = (own_course / "solutions" / "vectors.py").read_text()
    save(own_course / "solutions" / "vectors.py", f"{text}\n)")
    assert "vectors.py" in next_line(watching)
    save(own_course / "solutions" / "vectors.py", text)
    assert next_line(watching) == "as it was before: not sound: vectors.cosine"


def test_a_file_that_is_being_saved_is_no_problem_yet(own_course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Many editors empty a file before they write it."""
    watched = WatchedCourse(own_course, lambda names: 0, [])
    save(own_course / "course.toml", "")
    watched.look()
    assert capsys.readouterr().out == ""
    watched.look(has_settled=True)
    assert "missing key `course`" in capsys.readouterr().out
