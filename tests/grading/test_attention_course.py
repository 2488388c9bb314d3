"""The course in `examples/attention`: it is sound, right answers of another kind pass, and pip installs it.

The course keeps the processor time of `grader verify` low itself: small models, few examples for what is slow, and
texts that are learned in 80 steps. The suite grades right answers to all of its topics, and verifies other courses
(`test_verify.py`); that this one is sound, its checks in one process, and changes of its solutions (`--mutants`) are
nightly.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from command_here import run_here
from shared import PATIENCE, REPO, WarmUp

pytestmark = pytest.mark.slow

ATTENTION = REPO / "examples" / "attention"
ANSWERS = Path(__file__).with_name("attention_in_another_way")


@pytest.mark.nightly
def test_the_course_is_sound() -> None:
    done = run_here("verify", "--course", ATTENTION)
    assert "the course is sound" in done.stdout.splitlines(), done.stdout + done.stderr


def test_right_answers_of_another_kind_pass(warm: WarmUp) -> None:
    modules = {file.stem: file.read_text() for file in ANSWERS.glob("*.py")}
    result = warm(ATTENTION).grade(**modules)
    wrong = {
        f"{exercise.name}, {check.name}: {check.message}"
        for exercise in result.exercises
        for check in exercise.checks
        if check.verdict not in ("passed", "skipped")
    }
    assert len(modules) == 4
    assert wrong == set()
    assert {exercise.name for exercise in result.exercises if not exercise.checks} == {"attention.picture_read"}


@pytest.mark.nightly
def test_the_same_checks_pass_in_one_process() -> None:
    checks, answers = ATTENTION / "checks" / "test_blocks.py", ATTENTION / "solutions"
    command = ["-m", "pytest", "-q", checks, "--submission", answers, "-p", "grader.judge.plugin"]
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=ATTENTION,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert re.search(r"^\d+ passed", done.stdout, re.MULTILINE), done.stdout + done.stderr
    assert "failed" not in done.stdout
    assert "skipped" not in done.stdout


def test_the_course_comes_with_the_grader_under_its_name(tmp_path: Path) -> None:
    assert re.search(r"^attention\b.*\(torchkata\)$", run_here("courses").stdout, re.MULTILINE)
    done = run_here("init", tmp_path / "gpt", "--course", "attention")
    assert done.returncode == 0, done.stderr
    stub = (ATTENTION / "exercises" / "blocks.py").read_text(encoding="utf-8")
    assert (tmp_path / "gpt" / "blocks.py").read_text(encoding="utf-8") == stub
    assert not (tmp_path / "gpt" / ".torchkata" / "course").exists()
    assert "blocks.LayerNorm" in run_here("list", cwd=tmp_path / "gpt").stdout


def test_pip_makes_a_package_that_registers_the_course(tmp_path: Path) -> None:
    source = shutil.copytree(ATTENTION, tmp_path / "source", ignore=shutil.ignore_patterns("__pycache__"))
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", "--no-input"]
    options = ["--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*pip, "wheel", *options, "-w", tmp_path, source], check=True, timeout=240)
    (wheel,) = tmp_path.glob("*.whl")
    files = set(zipfile.ZipFile(wheel).namelist())
    for name in ("course.toml", "exercises/picture.md", "solutions/beyond.py", "checks/reference/attention.py"):
        assert f"attention_course/{name}" in files
    subprocess.run([*pip, "install", *options, "--target", tmp_path / "lib", wheel], check=True, timeout=240)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path / "lib"), str(REPO)])}
    command = [sys.executable, "-m", "grader", "courses"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    listed = re.findall(r"^attention\b.*\((.*)\)$", done.stdout, re.MULTILINE)
    assert listed == ["attention-course"], done.stdout + done.stderr  # not also that which comes with the grader


@pytest.mark.nightly
@pytest.mark.parametrize("topic", ["attention", "blocks", "language_model", "beyond"])
def test_small_changes_of_the_solutions_are_caught(topic: str) -> None:
    done = run_here("verify", "--course", ATTENTION, "--mutants", topic)
    caught = re.search(r"mutants caught \((\d+\.\d)%\)", done.stdout)
    assert caught is not None and float(caught[1]) >= 95, done.stdout + done.stderr
