"""`grader package`: a course that pip installs is found by its name, with or without solutions, beside others."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from command_here import run_here
from shared import KIT_COURSE, OWN_COURSE, REPO, save

pytestmark = pytest.mark.slow

Run = Callable[..., subprocess.CompletedProcess[str]]


def renamed_kit_course(folder: Path) -> Path:
    """A second course with a kit called `kit`, whose functions have other names."""
    course = Path(shutil.copytree(KIT_COURSE, folder, ignore=shutil.ignore_patterns("__pycache__")))
    manifest = course / "course.toml"
    manifest.write_text(manifest.read_text().replace('name = "freezing-layers"', 'name = "other-layers"'))
    for file, old, new in (
        ("kit/recipes.py", "def net(", "def network("),
        ("checks/test_layers.py", "recipes.net", "recipes.network"),
    ):
        text = (course / file).read_text()
        assert old in text
        (course / file).write_text(text.replace(old, new))
    return course


def with_solutions_shown(folder: Path) -> Path:
    """A copy of the small course that shows its solutions after passing."""
    course = Path(shutil.copytree(OWN_COURSE, folder, ignore=shutil.ignore_patterns("__pycache__")))
    text = (course / "course.toml").read_text()
    (course / "course.toml").write_text(text.replace("[course]", '[course]\nshow_solutions = "after_passing"', 1))
    return course


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Has a folder `lib` with three installed courses: two with a kit of one name, one without solutions."""
    place = tmp_path_factory.mktemp("installed")
    other = renamed_kit_course(place / "other")
    shown = with_solutions_shown(place / "shown")
    for course, options in ((shown, ["--students"]), (KIT_COURSE, []), (other, [])):
        done = run_here("package", "--course", course, "--to", place / "dist", *options)
        assert done.returncode == 0, done.stderr
    wheels = sorted(map(str, (place / "dist").iterdir()))
    install = [
        "install",
        "-q",
        "--no-deps",
        "--no-index",
        "--disable-pip-version-check",
        "--target",
        str(place / "lib"),
    ]
    subprocess.run([sys.executable, "-m", "pip", *install, *wheels], check=True, timeout=240)
    return place


def environment(place: Path) -> dict[str, str]:
    paths = os.pathsep.join([str(place / "lib"), str(REPO)])
    return {**os.environ, "PYTHONPATH": paths, "PYTHONUNBUFFERED": "1"}


@pytest.fixture(scope="module")
def run(place: Path) -> Run:
    """Runs a module of Python where the courses are installed."""

    def run(module: str, *arguments: str, cwd: Path = place) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", module, *arguments]
        return subprocess.run(
            command, cwd=cwd, env=environment(place), capture_output=True, text=True, timeout=240, check=False
        )

    return run


def test_installed_courses_are_listed_and_a_wrong_name_says_so(run: Run) -> None:
    listed = run("grader", "courses").stdout.splitlines()
    assert [line.split()[0] for line in listed[1:]] == [
        "attention",
        "freezing-layers",
        "other-layers",
        "vectors-in-a-week",
    ]
    wrong = run("grader", "list", "--course", "freezing-layer")
    assert wrong.returncode == 4 and "did you mean `freezing-layers`?" in wrong.stderr


def test_a_folder_remembers_its_course_which_checks_without_solutions(run: Run, tmp_path: Path) -> None:
    assert run("grader", "init", "work", "--course", "vectors-in-a-week", cwd=tmp_path).returncode == 0
    work = tmp_path / "work"
    assert not (work / ".torchkata" / "course").exists()
    shutil.copy(OWN_COURSE / "solutions" / "vectors.py", work)
    checked = run("grader", "check", cwd=work)
    assert checked.returncode == 0 and "vectors.cosine" in run("grader", "list", cwd=work).stdout, checked.stdout
    assert run("grader", "hint", "vectors.cosine", cwd=work).returncode == 0
    for command in (("grade", str(tmp_path)), ("verify",)):
        refused = run("grader", *command, "--course", "vectors-in-a-week", cwd=work)
        assert refused.returncode == 4 and f"{command[0]} needs the solutions" in refused.stderr, refused.stderr


def test_no_solution_is_shown_where_the_course_has_none(run: Run, tmp_path: Path) -> None:
    assert run("grader", "init", "work", "--course", "vectors-in-a-week", cwd=tmp_path).returncode == 0
    shutil.copy(OWN_COURSE / "solutions" / "vectors.py", tmp_path / "work")
    assert run("grader", "check", "vectors.normalize", cwd=tmp_path / "work").returncode == 0
    refused = run("grader", "solution", "vectors.normalize", cwd=tmp_path / "work")
    assert refused.returncode == 4 and "solution needs the solutions" in refused.stderr
    assert refused.stdout == ""


def test_watch_checks_without_solutions(run: Run, place: Path, tmp_path: Path) -> None:
    assert run("grader", "init", "work", "--course", "vectors-in-a-week", cwd=tmp_path).returncode == 0
    command = [sys.executable, "-m", "grader", "watch"]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, cwd=tmp_path / "work", env=environment(place), encoding="utf-8", **pipes) as running:
        try:
            assert running.stdout is not None
            assert any("not written yet" in line for line in iter(running.stdout.readline, ""))
            save(tmp_path / "work" / "vectors.py", (OWN_COURSE / "solutions" / "vectors.py").read_text())
            assert any("well done!" in line for line in iter(running.stdout.readline, ""))
        finally:
            running.kill()


def test_a_folder_whose_course_was_uninstalled_says_so(run: Run, tmp_path: Path) -> None:
    assert run("grader", "init", "work", "--course", "vectors-in-a-week", cwd=tmp_path).returncode == 0
    alone = run_here("check", cwd=tmp_path / "work")
    assert alone.returncode == 4 and "`vectors-in-a-week`, is not installed here" in alone.stderr


def test_a_wheel_for_students_holds_no_answer(tmp_path: Path) -> None:
    done = run_here("package", "--students", "--course", OWN_COURSE, "--to", tmp_path, "--version", "2.1")
    file = tmp_path / "torchkata_course_vectors_in_a_week-2.1+students-py3-none-any.whl"
    assert done.stdout.strip() == str(file)
    with zipfile.ZipFile(file) as archive:
        names = [name.partition("/")[2] for name in archive.namelist() if ".dist-info" not in name]
        assert sorted(names) == ["checks/test_vectors.py", "course.toml", "exercises/vectors.py"]
        whole = b"".join(archive.read(name) for name in archive.namelist())
    assert b"# solution:" not in whole and b"NotImplementedError" in whole


def test_two_courses_with_kits_of_one_name_grade_in_one_environment_and_one_pytest(run: Run, tmp_path: Path) -> None:
    for name in ("freezing-layers", "other-layers"):
        done = run("grader", "check", "--course", name, "--submission", str(KIT_COURSE / "solutions"))
        assert done.returncode == 0, done.stdout + done.stderr
    other = renamed_kit_course(tmp_path / "other")
    checks = [str(course / "checks") for course in (KIT_COURSE, other)]
    options = ["-q", "-p", "no:cacheprovider", "-c", os.devnull, "--import-mode=importlib"]
    both = run("pytest", *options, *checks, "--submission", str(KIT_COURSE / "solutions"), cwd=tmp_path)
    assert both.returncode == 0 and "4 passed" in both.stdout, both.stdout + both.stderr
