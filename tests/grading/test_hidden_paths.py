"""What no submission may see, wherever it lies."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from shared import REPO

from grader.course import Course
from grader.grading.worker import hidden_paths


@pytest.mark.parametrize("where", ["beside the virtual environment", "on Python's path"])
def test_an_installed_copy_of_the_grader_is_hidden_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """It holds the solutions of the shipped course, and a sandbox shows the packages of Python."""
    packages = tmp_path / "lib" / "python3.11" / "site-packages"
    for name in ("grader/grading/worker.py", "other/grader/worker.py"):
        (packages / name).parent.mkdir(parents=True)
        (packages / name).touch()
    assert str(packages / "grader") not in hidden_paths(Course.load(None))
    if where == "on Python's path":
        monkeypatch.syspath_prepend(packages)
    else:
        monkeypatch.setattr(sys, "base_prefix", str(tmp_path))
    hidden = hidden_paths(Course.load(None))
    assert {str(REPO / "grader"), str(packages / "grader")} <= set(hidden)
    assert not [one for one in hidden if "other" in one]
