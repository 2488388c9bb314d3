"""Folders in which nobody can work: gone, locked, read-only, with another system's line ends. Never a traceback."""

from __future__ import annotations

import ctypes
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from command_here import run_here
from shared import OWN_COURSE, REPO

from grader.course import Course
from grader.course.handout import init
from grader.course.home import Origin

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="permissions and capabilities of Linux")

STUB = (OWN_COURSE / "exercises" / "vectors.py").read_text()
SOLUTION = (OWN_COURSE / "solutions" / "vectors.py").read_text()


def _obey_permissions() -> None:
    """Even as root: drops the capabilities that pass over them."""
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


def run_as_user(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The command as somebody to whom permissions apply, and whose terminal is a dumb one."""
    return subprocess.run(
        [sys.executable, "-m", "grader", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(REPO), "PYTHONDONTWRITEBYTECODE": "1", "TERM": "dumb"},
        preexec_fn=_obey_permissions,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def assert_one_error(done: subprocess.CompletedProcess[str], said: str) -> None:
    assert done.returncode == 4 and said in done.stderr, done.stderr
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") <= 2 and done.stdout == ""


@pytest.fixture
def kata(tmp_path: Path) -> Path:
    init(Course.load(OWN_COURSE), tmp_path / "kata", Origin(has_course=True))
    return tmp_path / "kata"


@pytest.mark.parametrize("arguments", [(), ("check",), ("init", "kata"), ("watch",)])
def test_the_current_folder_is_gone(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    command = f'cd "{gone}" && rmdir "{gone}" && "{sys.executable}" -m grader {" ".join(arguments)}'
    done = subprocess.run(
        ["sh", "-c", command],
        env={**os.environ, "PYTHONPATH": str(REPO)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert_one_error(done, "the current folder is not there any more")


def test_a_folder_behind_a_locked_one(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir()
    locked.chmod(0)
    try:
        for arguments in (("init", "locked/kata"), ("check", "--submission", "locked/x"), ("check", "locked/x.py")):
            assert_one_error(run_as_user(*arguments, cwd=tmp_path), "locked")
    finally:
        locked.chmod(0o755)


@pytest.mark.slow
def test_a_folder_that_cannot_be_written(kata: Path, tmp_path: Path) -> None:
    """What writes says so, and changes nothing; what only reads works."""
    (kata / "vectors.py").write_text(SOLUTION)
    folders = [folder for folder in (tmp_path, *tmp_path.rglob("*")) if folder.is_dir()]
    for folder in folders:
        folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert_one_error(run_as_user("init", "new", cwd=tmp_path), "new cannot be written (Permission denied)")
        assert_one_error(run_as_user("reset", "normalize", cwd=kata), "cannot be written (Permission denied)")
        assert_one_error(run_as_user("init", "--update", cwd=kata), "cannot be written (Permission denied)")
        assert "0 of 2 exercises" in run_as_user(cwd=kata).stdout
        done = run_as_user("check", cwd=kata)
        assert done.returncode == 0 and "3/3 points" in done.stdout and done.stderr == ""
        assert "\x1b" not in done.stdout and "\r" not in done.stdout, "a dumb terminal gets plain lines"
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert (kata / "vectors.py").read_text() == SOLUTION


@pytest.mark.slow
def test_line_ends_of_windows_stay_and_count_for_nothing(kata: Path) -> None:
    file = kata / "vectors.py"
    answered = STUB.replace('raise NotImplementedError("write `normalize` here")', "return x")
    file.write_bytes(answered.replace("\n", "\r\n").encode())
    done = run_here("check", "normalize", "--format", "concise", cwd=kata)
    line = answered[: answered.index("def normalize")].count("\n") + 1
    problem, points = done.stdout.splitlines()  # of the exercise that is named, and of no other
    assert done.returncode == 1 and problem.startswith(f"vectors.py:{line}: vectors.normalize: ")
    assert points == "0/1 points, 0.0%"
    assert run_here("init", "--update", cwd=kata).stdout == "all is up to date\n"
    assert run_here("reset", "normalize", cwd=kata).returncode == 0
    assert file.read_bytes() == STUB.replace("\n", "\r\n").encode()
    assert (kata / "vectors.py.bak").read_bytes() == answered.replace("\n", "\r\n").encode()
