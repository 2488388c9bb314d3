"""Uploads as platforms and people name them, graded by the command: each mark is its student's, worked out by hand."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from command_here import run_here
from make_class_zips import OWN, SOLUTION, STUB, zipped

WRONG = SOLUTION.partition(b"def cosine")[0] + b"def cosine(a, b):\n    return (a * b).sum(dim=1)\n"
"""One point of three: `normalize` is right."""


def grade(out: Path, download: Path, *options: str | Path) -> str:
    ended = run_here("grade", download, "--course", OWN, "--out", out, "--jobs", "1", *options)
    assert ended.returncode in (0, 1), ended.stderr
    return ended.stderr


def marks(out: Path, *options: str) -> dict[str, str]:
    """The final points by name; empty where there is no mark."""
    ended = run_here("export", "csv", "--out", out, "--course", OWN, "--to", out / "marks.csv", *options)
    assert ended.returncode == 0, ended.stderr
    with (out / "marks.csv").open(encoding="utf-8-sig", newline="") as stream:
        return {row["submission"]: row["final"] for row in csv.DictReader(stream)}


def write(folder: Path, files: Mapping[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def test_no_zero_is_written_for_work_whose_owner_is_in_its_name(tmp_path: Path) -> None:
    out = tmp_path / "out"
    files = {
        "Lee_Ann_1100011_vectors.py": SOLUTION,
        "vectors - Bo Chen.py": WRONG,
        "cs1-hw1-cydiaz/vectors.py": SOLUTION,
        "Di Fox 14 di@uni_example/2026-09-30-10-00-00/vectors.py": SOLUTION,
        "Di Fox 14 di@uni_example/2026-09-29-10-00-00/vectors.py": WRONG,
        "Roe_Ed_edroe/vectors.py": WRONG,
        "hw1-flo/vectors.py": STUB,
        "hw1-flo-1/vectors.py": SOLUTION,
    }
    (tmp_path / "list.csv").write_text(
        "id,username,email,name\n1100011,annlee,,Ann Lee\n1100012,bochen,,Bo Chen\n1100013,cydiaz,,Cy Diaz\n"
        "1100014,,di@uni.example,Di Fox\n1100015,edroe,,Ed Roe\n1100016,flo,,Flo Gray\n1100017,gus,,Gus None\n"
    )
    said = grade(out, write(tmp_path / "class", files), "--roster", tmp_path / "list.csv")
    assert "Gus None: in the roster, but has handed in nothing" in said and said.count("handed in nothing") == 1
    assert marks(out, "--missing-as", "0") == {
        "Ann Lee": "3",
        "Bo Chen": "1",
        "Cy Diaz": "3",
        "Di Fox": "3",
        "Ed Roe": "1",
        "Flo Gray": "3",
        "Gus None": "0",
    }


def test_three_students_of_two_moodle_downloads_are_three(tmp_path: Path) -> None:
    """Each download has numbers of its own: Bo's of the first week is Ann's in the second.

    The second week's exercise needs the first one, which is graded again with it.
    """
    out = tmp_path / "out"
    end = "assignsubmission_file_/vectors.py"
    weeks = (
        ({f"Ann Lee_501_{end}": SOLUTION, f"Bo Chen_502_{end}": STUB, f"Cy Diaz_503_{end}": SOLUTION}, "normalize"),
        ({f"Ann Lee_502_{end}": SOLUTION, f"Bo Chen_777_{end}": SOLUTION, f"Cy Diaz_501_{end}": WRONG}, "cosine"),
    )
    for files, exercise in weeks:
        (tmp_path / "moodle.zip").write_bytes(zipped(files))
        grade(out, tmp_path / "moodle.zip", "--only", exercise)
    assert marks(out) == {"Ann Lee": "3", "Bo Chen": "3", "Cy Diaz": "1"}
    (tmp_path / "worksheet.csv").write_text(
        "Identifier,Full name,Grade,Maximum grade,Feedback comments\n"
        "Participant 501,Cy Diaz,,3,\nParticipant 502,Ann Lee,,3,\nParticipant 777,Bo Chen,,3,\n"
    )
    to = tmp_path / "filled.csv"
    ended = run_here(
        "export", "moodle", "--into", tmp_path / "worksheet.csv", "--out", out, "--course", OWN, "--to", to
    )
    assert ended.returncode == 0, ended.stderr
    filled = [line.split(",")[:3] for line in to.read_text().splitlines()[1:]]
    assert filled == [
        ["Participant 501", "Cy Diaz", "1"],
        ["Participant 502", "Ann Lee", "3"],
        ["Participant 777", "Bo Chen", "3"],
    ]
