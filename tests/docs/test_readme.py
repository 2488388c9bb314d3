"""What README says to type works as it stands there: a class of 60 from the LMS's downloads to its uploads."""

from __future__ import annotations

import csv
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import make_class_zips
import pytest
from make_class_zips import SIZE
from shared import OWN_COURSE, REPO


def commands(heading: str) -> list[list[str]]:
    """The commands of the first block under a heading."""
    block = (REPO / "README.md").read_text().partition(f"### {heading}\n")[2].split("```")[1]
    return [shlex.split(line) for line in block.splitlines() if line]


def marks(file: Path, column: str) -> list[str]:
    with file.open(encoding="utf-8-sig", newline="") as stream:
        return [row[column] for row in csv.DictReader(stream)]


@pytest.mark.slow
def test_class_of_60_goes_from_download_to_upload_as_readme_says(tmp_path: Path) -> None:
    make_class_zips.main(tmp_path)
    (tmp_path / "canvas.csv").rename(tmp_path / "grades.csv")
    (tmp_path / "moodle.csv").rename(tmp_path / "worksheet.csv")
    for name in ("my-course", "new-course"):
        shutil.copytree(OWN_COURSE, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    checks = tmp_path / "new-course" / "checks" / "test_vectors.py"
    checks.write_text(checks.read_text() + "\n# a remark\n")
    before = {name: (tmp_path / name).read_bytes() for name in ("grades.csv", "worksheet.csv")}

    told = {}
    for program, *arguments in commands("A class, from download to upload"):
        assert program == "grader"
        done = subprocess.run(
            [sys.executable, "-m", "grader", *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(REPO)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        # Some of this class fail, and that is what the exit code of `grade` says.
        assert done.returncode == (1 if arguments[0] == "grade" else 0), (arguments, done.stderr)
        assert "Traceback" not in done.stderr
        told[" ".join(arguments[:2])] = done.stdout

    out = tmp_path / "week1"
    assert f"{SIZE} of {SIZE} done, finished" in told["status --out"] and "late: " in told["status --out"]
    assert "Zoë Åström: vectors.normalize: 1/1" in told["override Zoë Åström"]
    assert told["diff 1"].endswith("0 submissions would move; another version of the course\n")
    assert len(list((out / "report" / "students").glob("*.html"))) == SIZE
    scores = [json.loads(file.read_text())["score"] for file in (out / "gradescope").glob("*.json")]
    assert len(scores) == SIZE and set(scores) == {0, 3}

    canvas = marks(tmp_path / "upload.csv", "Vectors (4711)")[1:]
    moodle = marks(tmp_path / "upload-moodle.csv", "Grade")
    solved = sum(student.solved for student in make_class_zips.the_class())
    # Late by a day and more: 20 percent are off, but nobody's 3 points turn into nothing.
    assert len(canvas) == len(moodle) == SIZE
    for filled in (canvas, moodle):
        assert sum(float(mark or 0) > 2 for mark in filled) == solved, filled
    assert before == {name: (tmp_path / name).read_bytes() for name in before}
