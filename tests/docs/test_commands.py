"""What pages say to type works as it stands there; what no test runs says why."""

from __future__ import annotations

import ast
import csv
import json
import shutil
from pathlib import Path

import make_class_zips
import pytest
from make_class_zips import SIZE
from pages import SHELL, Block, all_blocks
from scenario import Scenario
from shared import OWN_COURSE, REPO
from wheelhouse import make_wheels

SCENARIOS = ("class", "ci", "course", "student")
"""Each is a test of this file, in its order: ``<!-- run: class -->`` is played by the test of the class."""

BLOCKS = all_blocks()


def played(name: str, folder: Path) -> Scenario:
    """All blocks of a scenario, run in this folder, and the files and outputs that go with them."""
    scenario = Scenario(folder)
    page, current = "", ""
    for block in BLOCKS:
        if block.page != page:
            page, current = block.page, ""
        if block.kind == "run":
            current = block.value
        if block.kind in ("run", "file", "output") and current == name:
            scenario.play(block)
    assert scenario.ran, f"no page has commands of `{name}`"
    return scenario


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.language in SHELL], ids=str)
def test_commands_are_run_by_a_test_or_say_why_not(block: Block) -> None:
    assert block.language == "sh", f"{block}: write ```sh"
    if block.kind == "run":
        assert block.value in SCENARIOS, f"{block}: no test plays `{block.value}`"
    else:
        assert block.kind == "not run" and block.value, f"{block}: above it, write what runs it or why nothing does"


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_blocks_say_their_language(block: Block) -> None:
    assert block.language in {"sh", "python", "toml", "text", "json"}, f"{block}: say what language it is in"


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.language == "python"], ids=str)
def test_python_on_pages_imports_names_that_exist(block: Block) -> None:
    for node in ast.walk(ast.parse(block.text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("grader"):
            for imported in node.names:
                exec(f"from {node.module} import {imported.name}", {})


def marks(file: Path, column: str) -> list[str]:
    with file.open(encoding="utf-8-sig", newline="") as stream:
        return [row[column] for row in csv.DictReader(stream)]


@pytest.mark.slow
def test_class_goes_from_download_to_upload(tmp_path: Path) -> None:
    make_class_zips.main(tmp_path)
    (tmp_path / "canvas.csv").rename(tmp_path / "grades.csv")
    (tmp_path / "moodle.csv").rename(tmp_path / "worksheet.csv")
    for name in ("my-course", "new-course"):
        shutil.copytree(OWN_COURSE, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    checks = tmp_path / "new-course" / "checks" / "test_vectors.py"
    checks.write_text(checks.read_text() + "\n# a remark\n")
    before = {name: (tmp_path / name).read_bytes() for name in ("grades.csv", "worksheet.csv")}

    scenario = played("class", tmp_path)

    out = tmp_path / "week1"
    status = scenario.printed("grader status")
    assert f"{SIZE} of {SIZE} done, finished" in status and "late: " in status
    assert "Zoë Åström: vectors.normalize: 1/1" in scenario.printed("grader override")
    assert scenario.printed("grader diff").endswith("0 submissions would move; another version of the course\n")
    assert len(list((out / "report" / "students").glob("*.html"))) == SIZE
    scores = [json.loads(file.read_text())["score"] for file in (out / "gradescope").glob("*.json")]
    assert len(scores) == SIZE and set(scores) == {0, 2.4, 3}, "lateness counts there, too"

    canvas = marks(tmp_path / "upload.csv", "Vectors (4711)")[1:]
    moodle = marks(tmp_path / "upload-moodle.csv", "Grade")
    solved = sum(student.solved for student in make_class_zips.the_class())
    # Late by a day and more: 20 percent are off, but nobody's 3 points turn into nothing.
    assert len(canvas) == len(moodle) == SIZE
    for filled in (canvas, moodle):
        assert sum(float(mark or 0) > 2 for mark in filled) == solved, filled
    assert before == {name: (tmp_path / name).read_bytes() for name in before}


@pytest.mark.slow
def test_student_starts_checks_and_reads_a_failure(tmp_path: Path) -> None:
    scenario = played("student", tmp_path)
    assert "0/146 points" in scenario.printed("grader check")
    assert "1 failed" in scenario.printed("pytest")

    shown = [block for block in BLOCKS if block.kind.startswith("output of ")]
    assert shown
    for block in shown:
        function = block.kind.removeprefix("output of ")
        stub = tmp_path / "kata" / "tensor_ops.py"
        old = f'raise NotImplementedError("write `{function}` here")'
        assert old in stub.read_text()
        stub.write_text(stub.read_text().replace(old, block.value))
        scenario.run(f"cd {stub.parent}", str(block))
        scenario.run(f"grader check {function}", str(block))
        scenario.require_printed(block)


@pytest.mark.slow
def test_pipeline_commands_print_what_a_pipeline_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in make_wheels(tmp_path / "wheels").items():
        monkeypatch.setenv(name, value)
    shutil.copytree(OWN_COURSE, tmp_path / "my-course", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(REPO / "exercises", tmp_path / "kata", ignore=shutil.ignore_patterns("__pycache__"))
    played("ci", tmp_path)
    assert json.loads((tmp_path / "result.json").read_text())["score"] == 0
    assert "jobs:" in (tmp_path / ".github" / "workflows" / "grade.yml").read_text()
    assert (tmp_path / "autograder.zip").stat().st_size > 10_000


@pytest.mark.slow
def test_tutorial_ends_in_a_course_that_verify_accepts(tmp_path: Path) -> None:
    scenario = played("course", tmp_path)
    assert "the course is sound" in scenario.printed("grader verify")
    assert (tmp_path / "my-course" / "exercises" / "targets.py").is_file()
    assert "0/3 points" in scenario.printed("grader check")
