"""The wheel in an environment of its own: it grades, and it leaves other projects alone."""

from __future__ import annotations

import email
import os
import re
import subprocess
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from grader import __version__

CONFTEST = """
import pytest

def pytest_addoption(parser):
    for name in ("--submission", "--course", "--devices", "--grader-seed", "--grader-submission"):
        parser.addoption(name, default="theirs")
    parser.addini("devices", "theirs")

def pytest_configure(config):
    for name in ("exercise(name)", "needs(name)", "misconception(name)"):
        config.addinivalue_line("markers", name)
"""
THEIR_TESTS = """
import sys

import pytest

@pytest.fixture
def course():
    return "theirs"

@pytest.mark.exercise("x.y")
@pytest.mark.needs("ranks", "nobody")
def test_marked(pytestconfig, course):
    names = ("--submission", "--course", "--devices", "--grader-seed", "--grader-submission")
    assert [pytestconfig.getoption(name) for name in names] == ["theirs", "theirs", "mine", "theirs", "theirs"]

def test_the_plugin_costs_nothing(pytestconfig):
    ours = {name for name in sys.modules if name.split(".")[0] == "grader"}
    assert ours <= {"grader", "grader.package", "grader.judge", "grader.judge.plugin"}
    assert not {"torch", "numpy", "hypothesis", "msgspec"} & sys.modules.keys()
    assert not [mark for mark in pytestconfig.getini("markers") if "grader" in mark]

def test_no_fixture_of_ours(request):
    with pytest.raises(pytest.FixtureLookupError):
        request.getfixturevalue("submission")
"""


def run(python: Path, folder: Path, *arguments: str) -> str:
    """What a command prints, started in a folder; without the tests' own variables of pytest."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "PYTHON"))}
    done = subprocess.run(
        [str(python), *arguments], cwd=folder, env=inherited, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A project that has nothing to do with torchkata, and options, marks and fixtures of the same names."""
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_theirs.py").write_text(THEIR_TESTS)
    (tmp_path / "exercises").mkdir()
    (tmp_path / "course.toml").write_text("[course]\nname = 'golf'\nholes = 18\n")
    return tmp_path


def test_a_project_with_the_same_options_and_marks_is_left_alone(installed: Path, theirs: Path) -> None:
    strict = ("-W", "error", "--strict-markers", "--strict-config", "-p", "no:cacheprovider")
    printed = run(installed, theirs, "-m", "pytest", "-q", *strict, "--devices", "mine")
    assert "3 passed" in printed
    parallel = run(installed, theirs, "-m", "pytest", "-q", *strict, "--devices=mine", "-n", "2", "test_theirs.py")
    assert "3 passed" in parallel
    helped = run(installed, theirs, "-m", "pytest", "--help")
    assert "torchkata" not in helped and "grader_" not in helped


def test_the_metadata_is_right_on_a_package_index(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (one for one in archive.namelist() if one.endswith(".dist-info/METADATA"))
        about = email.message_from_bytes(archive.read(name))
    assert about["Version"] == __version__ and about["Keywords"] and about.get_all("Classifier")
    assert all(url.split(", ")[1].startswith("https://") for url in about.get_all("Project-URL"))
    text = about.get_payload()
    assert re.findall(r"\]\((?!https://)[^)]*\)|<!--|<img", text) == [], "no relative links, pictures or comments"
    assert "(`docs/security.md`)" in text and "holds its solutions and checks" in text
    on_linux = [Requirement(one) for one in about.get_all("Requires-Dist")]
    linux = {"extra": "", "sys_platform": "linux"}
    assert "psutil" not in {one.name for one in on_linux if one.marker is None or one.marker.evaluate(linux)}


def test_the_wheel_grades_with_its_own_course(installed: Path, tmp_path: Path) -> None:
    package = Path(run(installed, tmp_path, "-c", "import grader; print(grader.__path__[0])").strip())
    assert "site-packages" in package.parts and installed.parents[1] in package.parents
    checks, solutions = package / "checks", package / "shipped" / "solutions"
    assert (package / "shipped" / "lessons" / "first_run.md").is_file()
    only = ("-m", "pytest", "-q", "-p", "no:cacheprovider", str(checks / "test_tensor_ops.py"), "-k", "rows_dotted")
    assert "1 passed" in run(installed, tmp_path, *only, "--submission", str(solutions))
    grader = installed.with_name("grader")
    assert "1 of 1 exercise" in run(grader, tmp_path, "check", "gram", "--submission", str(solutions))
    run(grader, tmp_path, "init", "gpt", "--course", "attention")
    assert (tmp_path / "gpt" / "blocks.py").is_file()
