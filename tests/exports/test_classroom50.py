"""The bundle for Classroom 50: autograder.py runs in a checkout, as its runner starts it, and holds to the contract."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from classrooms import OWN, check, entry, exercise, result
from command_here import run_here
from odd_course import RIGHT, write_odd_course
from term_course import answers, write_course
from wheelhouse import make_wheel, served_index

from grader.course import Course
from grader.errors import UserError
from grader.exports import package
from grader.exports.classroom50 import release_body
from grader.exports.classroom50 import result as result_json
from grader.exports.package import classroom50, pinned
from grader.gradebook.records import Late
from grader.results import Manual

GIVEN = {
    "CLASSROOM": "cs1",
    "ASSIGNMENT": "week1",
    "SUBMISSION_TAG": "submit/2026-10-02T09-30-00Z-0123abc",
    "COMMIT_URL": "https://host.example/org/cs1-week1-ann/commit/0123abc",
    "RELEASE_URL": "https://host.example/org/cs1-week1-ann/releases/tag/submit%2F2026",
    "REVIEW_URL": "https://host.example/org/cs1-week1-ann/compare/a...b",
    "USERNAME": "ann",
    "OWNER": "ann",
    "ASSIGNMENT_TYPE": "individual",
}
"""What the runner gives besides the variables of GitHub."""
RIGHT_NORMALIZE = """\
import torch

def normalize(x):
    length = torch.linalg.vector_norm(x, dim=1, keepdim=True)
    return x / torch.where(length == 0, 1.0, length)
"""
HOSTILE = """\
print("::error::forged")
print("::set-output name=status::success")
for name in ("result.json", "release-body.md", "../result.json"):
    try:
        open(name, "w").write("forged")
    except OSError:
        pass

def cosine(a, b):
    print("\\n::warning::forged")
    raise ValueError("\\n::error::forged")
"""


def bundle_of(course: Path, to: Path, *only: str) -> Path:
    classroom50(Course.load(course), own=True, to=to, only=only, hashes=False)
    return to


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bundle_of(OWN, tmp_path_factory.mktemp("bundle") / "week1")


def checkout(folder: Path, files: Mapping[str, str]) -> Path:
    """A student's repository with these files, committed at a time that is known."""
    folder.mkdir()
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "work")
    return folder


def git(folder: Path, *words: str) -> str:
    when = {f"GIT_{who}_DATE": "2026-10-02T11:30:00+02:00" for who in ("AUTHOR", "COMMITTER")}
    who = ("-c", "user.name=ann", "-c", "user.email=ann@host.example")
    command = ["git", "-C", str(folder), *who, *words]
    return subprocess.run(command, env=os.environ | when, check=True, capture_output=True, text=True).stdout.strip()


def run(bundle: Path, folder: Path, python: str = sys.executable, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, str(bundle / "autograder.py")], cwd=folder, env=os.environ | GIVEN | more,
        capture_output=True, text=True, timeout=400, check=False,
    )  # fmt: skip


def read(folder: Path) -> dict[str, Any]:
    """result.json, which must hold to the contract."""
    document = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    assert isinstance(document, dict)
    assert document["schema"] == "classroom50/result/v1"
    expected = {
        "classroom": "CLASSROOM",
        "assignment": "ASSIGNMENT",
        "submission": "SUBMISSION_TAG",
        "commit": "COMMIT_URL",
        "release": "RELEASE_URL",
        "review": "REVIEW_URL",
        "owner": "OWNER",
        "assignment_type": "ASSIGNMENT_TYPE",
    }
    assert {key: document[key] for key in expected} == {key: GIVEN[name] for key, name in expected.items()}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", document["datetime"])
    for one in (document, *document["tests"]):
        assert type(one["score"]) is int and type(one["max-score"]) is int
        assert 0 <= one["score"] <= one["max-score"]
    for test in document["tests"]:
        assert test["test-name"] and isinstance(test["test-name"], str) and type(test["passed"]) is bool
    for key in ("score", "max-score"):
        assert document[key] == sum(test[key] for test in document["tests"])
    return document


def marks(document: dict[str, Any]) -> dict[str, tuple[bool, int, int]]:
    return {test["test-name"]: (test["passed"], test["score"], test["max-score"]) for test in document["tests"]}


def test_whole_checkout_is_one_submission_whose_prints_and_files_forge_nothing(
    own_course: Path, tmp_path: Path, edit: Callable[[Path, str, str], None]
) -> None:
    """The points are 1 and 1.5; normalize is right and cosine raises: 1 of 2.5, in hundredths."""
    edit(own_course / "course.toml", "points = 2", "points = 1.5")
    edit(own_course / "checks" / "test_vectors.py", "hidden=True", 'hidden="all"')
    forged = json.dumps({"schema": "classroom50/result/v1", "score": 99, "max-score": 99, "tests": []})
    files = {
        "src/vectors.py": f"{RIGHT_NORMALIZE}\n{HOSTILE}",
        "data/numbers.csv": "1,2\n",
        "docs/conf.py": "project = 'mine'\n",
        "result.json": forged,
        "release-body.md": "forged",
    }
    files |= {f"{name}.py": "raise SystemExit('theirs')\n" for name in ("grader", "torch", "venv", "json", "pip")}
    folder = checkout(tmp_path / "cs1-week1-ann", files)
    before = {path.name for path in folder.iterdir()}
    ended = run(bundle_of(own_course, tmp_path / "bundle"), folder)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    document = read(folder)
    assert marks(document) == {"vectors.normalize": (True, 100, 100), "vectors.cosine": (False, 0, 150)}
    assert (document["score"], document["max-score"]) == (100, 250)
    assert document["datetime"] == "2026-10-02T09:30:00Z"

    commands = [line for line in ended.stdout.splitlines() if line.lstrip().startswith("::")]
    assert len(commands) == 1 and commands[0].startswith("::error file=vectors.py,line=")
    assert "title=vectors.cosine%3A" in commands[0]
    body = (folder / "release-body.md").read_text(encoding="utf-8")
    assert "### submission: 1/2.5 points, 40.0%" in body and "hundredths of a point" in body
    shown = ended.stdout + ended.stderr + body + json.dumps(document)
    assert "hidden" in body and "length_does_not_matter" not in shown and "a vector longer" not in shown
    assert before == {path.name for path in folder.iterdir()}, "nothing else is left there"
    assert not (tmp_path / "result.json").exists()


def test_broken_file_costs_the_work_its_points(bundle: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("as it was")
    folder = checkout(tmp_path / "repository", {"exercises/vectors.py": "def normalize(x):\n    return (\n"})
    (folder / "result.json").symlink_to(outside)
    ended = run(bundle, folder)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert marks(read(folder)) == {"vectors.normalize": (False, 0, 1), "vectors.cosine": (False, 0, 2)}
    assert "::error file=exercises/vectors.py,line=2," in ended.stdout
    assert outside.read_text() == "as it was" and not (folder / "result.json").is_symlink()


@pytest.mark.parametrize("name", ["README.md", "vectors.docx"])
def test_work_that_is_not_there_or_cannot_be_read_is_no_zero(bundle: Path, tmp_path: Path, name: str) -> None:
    folder = checkout(tmp_path / "repository", {name: "PK", "result.json": '{"score": 99}'})
    ended = run(bundle, folder)
    assert ended.returncode == 4 and not (folder / "result.json").exists()
    assert re.search(rf"^::error title=no mark::.*could not be read.*{name}", ended.stdout, re.MULTILINE)


def test_fault_of_a_check_is_an_infrastructure_error(tmp_path: Path) -> None:
    folder = checkout(tmp_path / "repository", {"odd.py": RIGHT})
    ended = run(bundle_of(write_odd_course(tmp_path / "course"), tmp_path / "bundle"), folder)
    assert ended.returncode == 3 and not (folder / "result.json").exists()
    assert "::error title=no mark::the grader failed on odd.buggy" in ended.stdout


def test_grader_that_does_not_start_is_an_infrastructure_error(bundle: Path, tmp_path: Path) -> None:
    folder = checkout(tmp_path / "repository", {"vectors.py": RIGHT_NORMALIZE})
    broken = Path(shutil.copytree(bundle, tmp_path / "broken"))
    with zipfile.ZipFile(broken / "autograder.zip") as packed:
        files = {name: packed.read(name) for name in packed.namelist()}
    files["grader/grading/many_submissions.py"] = b"1/0"
    with zipfile.ZipFile(broken / "autograder.zip", "w") as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    ended = run(broken, folder)
    assert ended.returncode == 3 and "ZeroDivisionError" in ended.stdout
    assert "::error title=no mark::the grader failed" in ended.stdout
    ended = run(bundle, folder, SUBMISSION_TAG="")
    assert ended.returncode == 4 and "SUBMISSION_TAG not set" in ended.stdout
    assert not (folder / "result.json").exists()


def test_course_comes_from_its_pinned_commit_and_packages_from_an_index_of_cpu_builds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runner's Python has no packages; the wheels lead to those of this environment."""
    here = str(Path(msgspec.__file__).parent.parent)
    for name, version in pinned().items():
        files = {"here.pth": here} if name == "torch" else {}
        make_wheel(tmp_path / "index" / name, name, version + ("+cpu" if name == "torch" else ""), files)
    script = f'#!/bin/sh\nexec {pytest.importorskip("uv").find_uv_bin()} "$@"\n'
    make_wheel(tmp_path / "index" / "uv", "uv", "0.0.1", {"uv-0.0.1.data/scripts/uv": script})
    origin = Path(shutil.copytree(OWN, tmp_path / "origin", ignore=shutil.ignore_patterns("__pycache__")))
    git(origin, "init", "--quiet")
    git(origin, "add", "--all")
    git(origin, "commit", "--quiet", "--message", "course")
    pin = git(origin, "rev-parse", "HEAD")
    (origin / "course.toml").write_text("not the pinned one")
    git(origin, "commit", "--quiet", "--all", "--message", "later")
    for name in ("PIP_FIND_LINKS", "PIP_NO_INDEX", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    folder = checkout(tmp_path / "repository", {"vectors.py": RIGHT_NORMALIZE})
    with served_index(tmp_path / "index") as index:
        for name, value in {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": index, "UV_DEFAULT_INDEX": index}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(package, "_TORCH_INDEX", index)
        classroom50(
            None, own=True, to=tmp_path / "bundle", course_repository=f"{origin.as_uri()}@{pin}", only=["normalize"]
        )
        uv = {"UV_NO_CACHE": "1", "UV_NO_CONFIG": "1", "UV_PYTHON_DOWNLOADS": "never"}
        python = f"{sys.base_prefix}/bin/python3"
        ended = run(tmp_path / "bundle", folder, python, PATH=f"{sys.base_prefix}/bin:{os.environ['PATH']}", **uv)
    with zipfile.ZipFile(tmp_path / "bundle" / "autograder.zip") as packed:
        assert not any(name.startswith("course/") for name in packed.namelist())
        assert re.match(r"torch==\S+\+cpu --hash=sha256:", packed.read("requirements-torch.txt").decode())
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert marks(read(folder)) == {"vectors.normalize": (True, 1, 1)}


def test_packages_that_cannot_be_installed_are_an_infrastructure_error(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    folder = checkout(tmp_path / "repository", {"vectors.py": RIGHT_NORMALIZE})
    ended = run(bundle, folder, f"{sys.base_prefix}/bin/python3")
    assert ended.returncode == 3 and "::error::the grader could not be installed" in ended.stdout
    assert not (folder / "result.json").exists()


def test_points_are_whole_numbers_that_add_up() -> None:
    """A third of a point is 33 hundredths; 1.996 of 2 are not full points; a bonus ends at the exercise's points."""
    third = msgspec.structs.replace(exercise("a.third", check(), points=1), score=1 / 3)
    nearly = msgspec.structs.replace(exercise("a.nearly", check(), points=2), score=1.996)
    bonus = msgspec.structs.replace(exercise("a.bonus", check(), points=0.5), score=1.25, bonus=0.75)
    parts = tuple(msgspec.structs.replace(check(f"part{n}"), max=1 / 3) for n in range(3))
    third = msgspec.structs.replace(third, checks=parts)
    graded = entry(result("ann", third, nearly, bonus, exercise("a.wrong", check("one", "failed"), points=1)))
    document = json.loads(result_json(graded, GIVEN))
    expected = {"a.third": (False, 33, 100), "a.nearly": (False, 199, 200), "a.bonus": (True, 50, 50)}
    assert marks(document) == expected | {"a.wrong": (False, 0, 100)}
    assert (document["score"], document["max-score"]) == (282, 450)
    assert "0.75 bonus points on top" in release_body(graded, Course.load(OWN))


def test_what_nobody_has_assessed_is_no_test() -> None:
    by_hand = msgspec.structs.replace(exercise("b.report", points=4), score=0, max=0, manual=Manual(4, "report.md"))
    gpu = exercise("b.gpu", check("one", "skipped"), points=2)
    document = json.loads(
        result_json(entry(result("ann", by_hand, gpu, exercise("b.right", check(), points=3))), GIVEN)
    )
    assert marks(document) == {"b.right": (True, 3, 3)}


def test_text_of_a_release_is_short_enough_to_be_published() -> None:
    long = "\n".join("x" * 1900 for _ in range(50))
    wrong = [exercise(f"a.wrong{n}", check("one", "failed", long)) for n in range(40)]
    graded = entry(result("ann", *wrong))
    body = release_body(graded, Course.load(OWN))
    assert 50_000 < len(body) < 125_000 and "`a.wrong39` | 0/1" in body and "more than GitHub shows" in body


def test_points_are_those_before_lateness_and_the_text_says_so() -> None:
    graded = entry(result("ann", exercise("a.b", check(), points=10)))
    late = Late(2, 0.25, "last commit")
    graded = dataclasses.replace(graded, row=msgspec.structs.replace(graded.row, late=late))
    assert marks(json.loads(result_json(graded, GIVEN))) == {"a.b": (True, 10, 10)}
    body = release_body(graded, Course.load(OWN))
    assert "2 days late by its last commit" in body and "7.5/10 points count; Classroom 50" in body


def test_review_is_the_commit_where_the_runner_gives_no_comparison() -> None:
    document = json.loads(result_json(entry(result("ann", exercise("a.b", check()))), {**GIVEN, "REVIEW_URL": ""}))
    assert document["review"] == GIVEN["COMMIT_URL"]


def test_bundle_is_small_and_the_same_bytes_every_time(bundle: Path, tmp_path: Path) -> None:
    bundle_of(OWN, tmp_path / "again")
    assert {file.name for file in bundle.iterdir()} == {"autograder.py", "autograder.zip"}
    for file in bundle.iterdir():
        assert (tmp_path / "again" / file.name).read_bytes() == file.read_bytes()
    assert sum(file.stat().st_size for file in bundle.iterdir()) < 10 * 2**20  # the runner fetches no more


def test_course_that_is_too_large_for_a_bundle_is_refused_with_the_way_out(own_course: Path, tmp_path: Path) -> None:
    (own_course / "checks" / "reference").mkdir()
    (own_course / "checks" / "reference" / "data.bin").write_bytes(os.urandom(11 * 2**20))
    with pytest.raises(UserError, match="12 MiB; Classroom 50 fetches at most 10") as raised:
        bundle_of(own_course, tmp_path / "bundle")
    assert "--course-repository" in raised.value.fix and not (tmp_path / "bundle").exists()


def test_command_writes_the_bundle_and_says_that_it_is_published(tmp_path: Path) -> None:
    ended = run_here("ci", "classroom50", "--no-hashes", "--course", OWN, "--to", "x/week1", cwd=tmp_path)
    assert ended.returncode == 0 and ended.stdout == "x/week1\n"
    assert "note: Classroom 50 publishes the bundle" in ended.stderr
    assert (tmp_path / "x" / "week1" / "autograder.py").is_file()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("classroom50", "--requirement", "torchkata==1.0"), "the bundle holds the grader itself"),
        (("classroom50", "--course", OWN, "--course-repository", "x@1"), "the course comes from one place"),
        (("classroom50", "--course-repository", "x@main"), "does not name a commit"),
        (("classroom50", "--course", OWN, "--only", "normalise"), "did you mean"),
        (("github", "--requirement", "torchkata==1.0", "--course", OWN), "are for classroom50"),
    ],
)
def test_command_refuses_what_it_would_not_use(words: tuple[str | Path, ...], said: str, tmp_path: Path) -> None:
    ended = run_here("ci", *words, cwd=tmp_path)
    assert ended.returncode == 4 and said in ended.stderr and [*tmp_path.iterdir()] == []


def test_pin_must_be_a_commit(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not name a commit"):
        classroom50(None, own=True, to=tmp_path, course_repository="https://host.example/course.git")


def test_an_assignment_of_a_course_is_bundled_by_its_name(tmp_path: Path) -> None:
    weeks = "".join(f'[[assignments]]\nname = "w{n}"\nexercises = ["week_{n}"]\n' for n in (1, 2))
    course = write_course(tmp_path / "course", {"week_1": ("one",), "week_2": ("two",)}, weeks)
    with pytest.raises(UserError, match="handed in by assignments: w1, w2"):
        bundle_of(course, tmp_path / "bundle")
    folder = checkout(tmp_path / "work", {"week_2.py": answers(two=2).decode()})
    ended = run(bundle_of(course, tmp_path / "bundle", "w2"), folder)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert marks(read(folder)) == {"week_2.two": (True, 10, 10)}
