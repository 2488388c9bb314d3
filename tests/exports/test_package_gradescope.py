"""autograder.zip, unpacked and run in a folder laid out like Gradescope's: there is always a results.json."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from datetime import datetime
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import pytest
from classrooms import OWN
from make_class_zips import zipped
from shared import KIT_COURSE, as_nightly
from term_course import answers, write_course
from wheelhouse import make_wheel, make_wheels, served_index

from grader.course import Course
from grader.errors import UnknownName, UserError
from grader.exports import package
from grader.exports.gradescope import times
from grader.exports.package import pinned
from grader.intake.find import find_submissions
from grader.intake.roster import Roster


def gradescope(course: Course, *only: str, own: bool, to: Path, hashes: bool = False) -> None:
    """Packs the archive, without hashes unless a test is about them: only pip knows these."""
    package.gradescope(course, own=own, to=to, only=only, hashes=hashes)


SOLUTION = (OWN / "solutions" / "vectors.py").read_text()


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("package") / "autograder.zip"
    gradescope(Course.load(OWN), own=True, to=path)
    return path


def laid_out(archive: Path, root: Path, **files: str) -> Path:
    """Gradescope's folders, with the archive unpacked as it does."""
    (root / "source").mkdir(parents=True)
    (root / "results").mkdir()
    (root / "submission").mkdir()
    (root / "submission_metadata.json").write_text('{"id": 1, "assignment": {"total_points": "3.0"}}')
    with zipfile.ZipFile(archive) as packed:
        for item in packed.infolist():
            os.chmod(packed.extract(item, root / "source"), item.external_attr >> 16)
    (root / "source" / "run_autograder").rename(root / "run_autograder")
    for name, text in files.items():
        (root / "submission" / f"{name}.py").write_text(text)
    return root


def run(root: Path, **environment: str) -> dict[str, Any]:
    given = {"AUTOGRADER_ROOT": str(root), "AUTOGRADER_PYTHON": sys.executable, "PATH": os.environ["PATH"]}
    ended = subprocess.run(
        [root / "run_autograder"], cwd=root, env=given | environment, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0, ended.stderr
    read = json.loads((root / "results" / "results.json").read_text())
    assert isinstance(read, dict) and "score" in read
    return read


def test_solution_earns_everything(archive: Path, tmp_path: Path) -> None:
    read = run(laid_out(archive, tmp_path / "autograder", vectors=SOLUTION))
    assert read["score"] == 3.0 and [test["status"] for test in read["tests"]] == ["passed", "passed"]
    assert os.listdir(tmp_path / "autograder" / "results") == ["results.json"]


DATES = {"created_at": "2026-10-01T18:30:45.123456-07:00", "assignment": {"due_date": "2026-10-01T12:00:00-07:00"}}


@pytest.fixture
def with_penalty(own_course: Path, edit: Callable[[Path, str, str], None]) -> Course:
    """The example course, in which a day costs a half."""
    edit(own_course / "course.toml", "[course]\n", "[course]\nlate_penalty_per_day = 0.5\n")
    return Course.load(own_course)


def test_only_some_exercises_are_graded_and_work_is_late_by_the_time_that_gradescope_says(
    with_penalty: Course, tmp_path: Path
) -> None:
    gradescope(with_penalty, "normalize", own=True, to=tmp_path / "a.zip")
    root = laid_out(tmp_path / "a.zip", tmp_path / "autograder")
    (root / "submission" / "My Work.zip").write_bytes(zipped({"vectors.py": SOLUTION.encode()}))
    (root / "submission_metadata.json").write_text(json.dumps(DATES))
    read = run(root)
    assert read["score"] == 0.5 and [test["name"] for test in read["tests"]] == ["vectors.normalize"]
    assert "1 day late by its Gradescope time: 50 % off: 0.5/1 points count" in read["output"]


def test_a_file_can_be_late_as_well(with_penalty: Course, own_course: Path, tmp_path: Path) -> None:
    """The work above is in an archive, which is found under another name."""
    root = tmp_path / "autograder"
    (root / "submission").mkdir(parents=True)
    (root / "submission" / "vectors.py").write_text(SOLUTION)
    (root / "submission_metadata.json").write_text(json.dumps(DATES))
    _, roster, option, due = times(root / "submission_metadata.json", tmp_path, own_course)
    (found,) = find_submissions([root / "submission"], ["vectors"], roster=Roster.read(Path(roster)))
    came = datetime.fromisoformat(found.read().arrival.submitted)
    assert came == datetime.fromisoformat("2026-10-01T18:30:45-07:00")
    assert option == "--due" and datetime.fromisoformat(due) == datetime.fromisoformat("2026-10-01T12:00:00-07:00")


@pytest.mark.parametrize("text", ["", "no json", "[]", '{"created_at": "soon"}', '{"created_at": null}'])
def test_facts_of_gradescope_that_cannot_be_read_make_nothing_late(tmp_path: Path, text: str) -> None:
    (tmp_path / "submission_metadata.json").write_text(text)
    options = times(tmp_path / "submission_metadata.json", tmp_path, OWN)
    assert "--due" not in options
    assert not options or Roster.read(Path(options[1])).students[0].submitted == ""


def test_hostile_submission_writes_no_result_of_its_own(archive: Path, tmp_path: Path) -> None:
    root = tmp_path / "autograder"
    forged = f"open({str(root / 'results' / 'results.json')!r}, 'w').write('forged')\n"
    read = run(
        laid_out(archive, root, vectors=f"print('::error::x')\n{forged}", grader="raise SystemExit", torch="1/0")
    )
    assert read["score"] == 0.0 and [test["status"] for test in read["tests"]] == ["failed", "failed"]


def test_a_student_who_handed_in_nothing_reads_so(archive: Path, tmp_path: Path) -> None:
    read = run(laid_out(archive, tmp_path / "autograder"))
    assert read["score"] == 0.0 and "your submission" in read["output"] and str(tmp_path) not in read["output"]


@pytest.mark.parametrize("name", ["report.docx", "vectors.docx"])
def test_a_document_alone_is_unread_in_words_for_students(archive: Path, tmp_path: Path, name: str) -> None:
    root = laid_out(archive, tmp_path / "autograder")
    (root / "submission" / name).write_bytes(b"PK\3\4")
    read = run(root)
    assert read["output"] == (
        f"This is no mark yet: {name} could not be read. Hand in Python files or notebooks: vectors.py. "
        "Or tell your instructor."
    )
    assert read["extra_data"] == {"unread": ["vectors"]} and read["score"] == 0.0


def test_results_are_there_when_the_grader_cannot_even_start(archive: Path, tmp_path: Path) -> None:
    root = laid_out(archive, tmp_path / "autograder", vectors=SOLUTION)
    assert "did not finish" in run(root, AUTOGRADER_PYTHON="/no/such/python")["output"]
    (root / "source" / "course" / "course.toml").write_text("not toml [")
    assert run(root)["score"] == 0.0
    (root / "source" / "grader" / "grading" / "many_submissions.py").write_text("1/0")
    assert run(root)["output"].startswith("The grader failed")


def test_archive_has_scripts_pinned_requirements_and_the_course(archive: Path) -> None:
    with zipfile.ZipFile(archive) as packed:
        names = packed.namelist()
        assert {"setup.sh", "run_autograder", "requirements.txt", "grader/cli/app.py", "course/course.toml"} <= set(
            names
        )
        assert {"course/checks/test_vectors.py", "course/solutions/misconceptions/vectors.py"} <= set(names)
        assert not any("__pycache__" in name or name.startswith("/") or ".." in name for name in names)
        modes = {name: packed.getinfo(name).external_attr >> 16 & 0o777 for name in ("run_autograder", "setup.sh")}
        assert set(modes.values()) == {0o755}
        lines = packed.read("requirements.txt").decode().splitlines()
        setup = packed.read("setup.sh").decode()
    assert all("==" in line for line in lines) and {"hypothesis", "pytest"} <= {x.split("==")[0] for x in lines}
    with zipfile.ZipFile(archive) as packed:
        assert packed.read("requirements-torch.txt").decode() == f"torch=={pinned()['torch']}\n"
    assert "@" not in setup.replace('"${pip[@]}"', "") and "--require-hashes" not in setup
    for script in ("setup.sh", "run_autograder"):
        with zipfile.ZipFile(archive) as packed:
            subprocess.run(["bash", "-n"], input=packed.read(script), check=True)


def test_packages_are_pinned_with_hashes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in make_wheels(tmp_path / "wheels").items():
        monkeypatch.setenv(name, value)
    gradescope(Course.load(OWN), own=True, to=tmp_path / "a.zip", hashes=True)
    with zipfile.ZipFile(tmp_path / "a.zip") as packed:
        files = [packed.read(name).decode() for name in ("requirements.txt", "requirements-torch.txt")]
        setup = packed.read("setup.sh").decode()
    assert all("--hash=sha256:" in line for text in files for line in text.splitlines())
    assert setup.count("--no-deps --require-hashes") == 2


@pytest.mark.parametrize("build", ["+cpu", as_nightly("")])
def test_setup_installs_by_the_hashes_of_an_index_whose_torch_is_of_this_build(
    build: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index for torch has builds of one kind only; setup.sh runs whole, apart from apt."""
    found = pytest.importorskip("uv").find_uv_bin()
    versions = pinned()
    full = {**versions, "torch": versions["torch"] + build}
    for name, version in full.items():
        make_wheel(tmp_path / "index" / name, name, version)
    script = f'#!/bin/sh\nexec {found} "$@"\n'
    make_wheel(tmp_path / "index" / "uv", "uv", "0.0.1", {"uv-0.0.1.data/scripts/uv": script})
    nothing = tmp_path / "bin" / "apt-get"
    nothing.parent.mkdir()
    nothing.write_text("#!/bin/sh\n")
    nothing.chmod(0o755)
    root = tmp_path / "autograder"
    with served_index(tmp_path / "index") as index:
        for name in ("PIP_FIND_LINKS", "PIP_NO_INDEX", "PIP_EXTRA_INDEX_URL"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr(package, "_TORCH_INDEX", index)
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        monkeypatch.setenv("PIP_INDEX_URL", index)
        gradescope(Course.load(OWN), own=True, to=tmp_path / "a.zip", hashes=True)
        laid_out(tmp_path / "a.zip", root)
        here = os.pathsep.join([str(nothing.parent), f"{sys.base_prefix}/bin", os.environ["PATH"]])
        environment = {**os.environ, "PATH": here, "AUTOGRADER_ROOT": str(root), "UV_DEFAULT_INDEX": index}
        environment |= {"UV_NO_CACHE": "1", "UV_NO_CONFIG": "1", "UV_PYTHON_DOWNLOADS": "never"}
        ended = subprocess.run(
            [root / "source" / "setup.sh"], env=environment, capture_output=True, text=True, timeout=240
        )
    assert ended.returncode == 0, ended.stderr
    (packages,) = (root / "venv").glob("lib/python*/site-packages")
    assert {one.metadata["Name"]: one.version for one in distributions(path=[str(packages)])} == full
    assert (root / "source" / "course" / "solutions").stat().st_mode & 0o077 == 0


def test_an_unknown_topic_is_refused_while_packing(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean"):
        gradescope(Course.load(OWN), "normalise", own=True, to=tmp_path / "a.zip")
    assert not (tmp_path / "a.zip").exists()


def test_archive_is_the_same_bytes_every_time(archive: Path, tmp_path: Path) -> None:
    gradescope(Course.load(OWN), own=True, to=tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == archive.read_bytes()


def test_the_kit_of_a_course_is_packed_with_it(tmp_path: Path) -> None:
    gradescope(Course.load(KIT_COURSE), own=True, to=tmp_path / "a.zip")
    with zipfile.ZipFile(tmp_path / "a.zip") as packed:
        names = set(packed.namelist())
        packed.extractall(tmp_path / "unpacked")
    assert {"course/kit/recipes.py", "course/kit/probes.py", "grader/checks/kit/files.py"} <= names
    assert Course.load(tmp_path / "unpacked" / "course").kit is not None


def test_shipped_course_is_packed_where_an_installed_grader_has_it(tmp_path: Path) -> None:
    gradescope(Course.load(), own=False, to=tmp_path / "a.zip")
    with zipfile.ZipFile(tmp_path / "a.zip") as packed:
        names = set(packed.namelist())
    assert {"grader/shipped/exercises/course.toml", "grader/shipped/solutions/tensor_ops.py"} <= names
    assert not any(name.startswith("course/") for name in names)


def test_an_assignment_of_a_course_is_packed_by_its_name(tmp_path: Path) -> None:
    """Its own due date counts, and not that of the other one."""
    weeks = "".join(
        f'[[assignments]]\nname = "w{n}"\nexercises = ["week_{n}"]\ndue = "2026-10-0{n}T12:00"\n' for n in (1, 2)
    )
    course = write_course(
        tmp_path / "course", {"week_1": ("one",), "week_2": ("two",)}, f"{weeks}late_penalty_per_day = 0.5\n"
    )
    with pytest.raises(UserError, match="handed in by assignments: w1, w2") as refused:
        gradescope(Course.load(course), own=True, to=tmp_path / "a.zip")
    assert refused.value.fix == "name one: --only w1"
    gradescope(Course.load(course), "w2", own=True, to=tmp_path / "a.zip")
    root = laid_out(tmp_path / "a.zip", tmp_path / "autograder", week_2=answers(two=2).decode())
    (root / "submission_metadata.json").write_text(json.dumps({"created_at": "2026-10-03T09:00:00"}))
    read = run(root)
    assert read["score"] == 5 and [test["name"] for test in read["tests"]] == ["week_2.two"], read
