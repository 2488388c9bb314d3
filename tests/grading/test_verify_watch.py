"""`grader verify --watch` verifies what changes when a file is saved, and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from shared import REPO

from grader.course import Course
from grader.grading.verify_watch import changed_exercises, snapshot

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


@pytest.mark.parametrize("name", CHANGES)
def test_exercises_that_a_change_concerns(own_course: Path, edit: Edit, name: str) -> None:
    before = snapshot(Course.load(own_course))
    file, old, new, expected = CHANGES[name]
    edit(own_course / file, old, new)
    assert changed_exercises(before, snapshot(Course.load(own_course))) == expected


def test_a_new_file_beside_the_checks_concerns_all(own_course: Path) -> None:
    before = snapshot(Course.load(own_course))
    (own_course / "checks" / "helpers.py").write_text("X = 1\n")
    assert changed_exercises(before, snapshot(Course.load(own_course))) == ["vectors.normalize", "vectors.cosine"]


@pytest.mark.slow
def test_a_saved_file_is_verified_and_its_stub_released(own_course: Path, edit: Edit) -> None:
    running = subprocess.Popen(
        [sys.executable, "-m", "grader", "verify", "--watch", "--course", str(own_course)],
        cwd=REPO,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    try:
        assert running.stdout.readline().startswith("watching ")
        edit(own_course / "checks" / "test_vectors.py", "The row (3, 4) becomes", "A row of (3, 4) becomes")
        assert running.stdout.readline() == "vectors.normalize: sound\n"
        edit(own_course / "solutions" / "vectors.py", "tensor([0.6000])", "tensor([0.7000])")
        assert running.stdout.readline() == f"written: {own_course / 'exercises' / 'vectors.py'}\n"
        assert "but the docstring says `tensor([0.7000])`" in running.stdout.readline()
        assert running.stdout.readline() == "vectors.cosine: 1 defect\n"
        running.send_signal(signal.SIGINT)
        assert running.wait(60) in (0, 2)
    finally:
        running.kill()
        running.communicate()
