"""Rehearses a release: builds it, checks it, and runs tests against the installed wheel, far from the checkout.

    make release-check

1. The source archive is built, and from it the wheel, which must hold the same files as one built from the checkout.
2. `twine check` reads both; it has an environment of its own.
3. The wheel is installed into a fresh environment, whose other packages are those of this one.
4. The tests that are not slow run there, from a copy of the project without the package, its course and its solutions.

Leaves everything in ``build/release``, the two files in ``dist``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent.parent
ROOM = REPO / "build" / "release"
DIST = REPO / "dist"
TWINE = "twine==7.0.0"
NEEDED = ("tests", "examples", "docs", "benchmarks", "pyproject.toml", "README.md", "CONTRIBUTING.md", "mkdocs.yml")
"""The files that the tests read beside the package."""
OF_THE_CHECKOUT = (
    "tests/course/test_course.py::test_shipped_course_is_the_one_of_this_checkout",
    "tests/course/test_kit.py::test_the_shipped_course_names_its_kit",
    "tests/course/test_kit.py::test_a_name_that_means_something_else_is_refused_with_its_line[torch-",
    "tests/docs",
    "tests/grading/test_hidden_paths.py::test_an_installed_copy_of_the_grader_is_hidden_too",
    "tests/packaging",
    "tests/similar/test_similar.py::test_nothing_but_the_comparison_imports_the_library",
    "tests/testkit/test_exported_names.py",
)
"""The beginnings of the names of tests that read the checkout, or look where packages are installed."""
IS_INSTALLED = (
    "import grader, pathlib, sys; sys.exit(pathlib.Path(sys.prefix) not in pathlib.Path(grader.__file__).parents)"
)


def run(*command: str | Path, cwd: Path = REPO) -> None:
    """Runs a command, and ends the rehearsal if it fails."""
    print("$", *command, flush=True)
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "PYTHONPATH"))}
    if code := subprocess.run([*map(str, command)], cwd=cwd, env=environment, check=False).returncode:
        sys.exit(f"failed with exit code {code}")


def build() -> Path:
    """The wheel, built from the source archive."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", DIST)
    (source,) = DIST.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        archive.extractall(ROOM, filter="data")
    run(
        sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", DIST, cwd=ROOM / source.name[: -len(".tar.gz")]
    )
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", ROOM)
    (wheel,), (other,) = DIST.glob("*.whl"), ROOM.glob("*.whl")
    if files_in(wheel) != files_in(other):
        sys.exit(f"the wheels differ in {sorted(files_in(wheel) ^ files_in(other))[:10]}")
    return wheel


def files_in(wheel: Path) -> set[tuple[str, int]]:
    """The names and checksums of the files in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {(one.filename, one.CRC) for one in archive.infolist()}


def environment(name: str, *, with_pip: bool) -> Path:
    """The Python of a fresh environment."""
    venv.create(ROOM / name, with_pip=with_pip, symlinks=True)
    return ROOM / name / "bin" / "python"


def install(wheel: Path) -> Path:
    """The Python of an environment with the wheel, and with the other packages of this one."""
    python = environment("venv", with_pip=False)
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--disable-pip-version-check")
    run(*pip, "--no-deps", "--no-index", wheel)
    (packages,) = (ROOM / "venv").glob("lib/python*/site-packages")
    (packages / "shared.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def main() -> None:
    """Goes through the steps, and ends at the first that fails."""
    shutil.rmtree(ROOM, ignore_errors=True)
    ROOM.mkdir(parents=True)
    wheel = build()
    twine = environment("twine", with_pip=True)
    run(twine, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", TWINE)
    run(twine, "-m", "twine", "check", "--strict", *sorted(DIST.iterdir()))
    python = install(wheel)
    there = ROOM / "project"
    there.mkdir()
    for name in NEEDED:
        if (REPO / name).is_dir():
            shutil.copytree(REPO / name, there / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(REPO / name, there / name)
    run(python, "-c", IS_INSTALLED, cwd=there)
    left_out = [f"--deselect={name}" for name in OF_THE_CHECKOUT]
    tests = sys.argv[1:] or ["-m", "not slow and not nightly"]
    run(python, "-m", "pytest", "-q", "-n", os.environ.get("JOBS", "2"), *left_out, *tests, cwd=there)


if __name__ == "__main__":
    main()
