"""Commands that stand in the folder of a course take that course; work that was handed in is never taken for one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from command_here import run_here
from shared import ALL_POINTS, REPO


def test_commands_in_the_folder_of_a_course_mean_that_course(own_course: Path, tmp_path: Path) -> None:
    assert "Vectors in a week" in run_here("list", cwd=own_course).stdout
    assert "all stubs are up to date" in run_here("release", "--check", cwd=own_course).stdout
    assert run_here("init", tmp_path / "kata", cwd=own_course).returncode == 0
    assert (tmp_path / "kata" / "vectors.py").is_file()
    shipped = run_here("list", cwd=own_course / "checks").stdout  # not the folder of the course, but one in it
    assert "Vectors in a week" not in shipped and f"{ALL_POINTS:g} points" in shipped


def test_a_folder_of_a_student_keeps_its_course_wherever_it_lies(own_course: Path) -> None:
    assert run_here("init", "kata", cwd=own_course.parent).returncode == 0
    shutil.move(own_course.parent / "kata", own_course / "kata")
    assert f"{ALL_POINTS:g} points" in run_here("list", cwd=own_course / "kata").stdout
    assert "all is up to date" in run_here("init", "--update", "kata", cwd=own_course).stdout


def test_work_with_a_manifest_of_its_own_is_no_course(own_course: Path) -> None:
    shutil.rmtree(own_course / "solutions")
    assert f"{ALL_POINTS:g} points" in run_here("list", cwd=own_course).stdout


def test_no_submission_brings_the_course_that_it_is_graded_with(own_course: Path) -> None:
    done = run_here("grade", ".", cwd=own_course)
    assert done.returncode == 4 and "has a course in it, whose checks would run here" in done.stderr


@pytest.mark.parametrize("command", [("verify",), ("release", "--check"), ("report",)])
def test_in_a_folder_of_a_student_no_other_course_is_meant(
    own_course: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    assert run_here("init", "kata", "--course", own_course, cwd=tmp_path).returncode == 0
    done = run_here(*command, cwd=tmp_path / "kata")
    assert done.returncode == 4 and "its course is not the shipped one" in done.stderr, done.stdout + done.stderr
    assert "name the course: --course DIR" in done.stderr


def test_a_folder_of_a_student_is_given_no_other_course(own_course: Path, tmp_path: Path) -> None:
    assert run_here("init", "kata", "--course", own_course, cwd=tmp_path).returncode == 0
    done = run_here("init", ".", cwd=tmp_path / "kata")
    assert done.returncode == 4 and ". is a folder of another course" in done.stderr, done.stdout
    assert "Vectors in a week" in run_here("list", cwd=tmp_path / "kata").stdout


def test_a_new_course_takes_no_other_course(tmp_path: Path) -> None:
    done = run_here("new", "other", "--course", REPO / "examples" / "own_course", cwd=tmp_path)
    assert done.returncode == 4 and "a new course is made in other, not in" in done.stderr
    assert not (tmp_path / "other").exists()
