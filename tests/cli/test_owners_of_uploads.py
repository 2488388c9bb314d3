"""Uploads as platforms and people name them, graded by the command: each mark is its student's, worked out by hand."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from command_here import run_here
from make_class_zips import OWN, SOLUTION, STUB, zipped
from term_course import answers, write_course

from grader.gradebook import Gradebook

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


WEEKS = {"week_a": ("one",), "week_b": ("two",)}
ASSIGNED = """
[[assignments]]
name = "w1"
exercises = ["week_a"]
[[assignments]]
name = "w2"
exercises = ["week_b"]
"""


def test_a_number_of_a_blind_download_is_nobody_in_the_next_assignment(tmp_path: Path) -> None:
    """Both weeks' downloads have one name and the same numbers; the worksheet of the second says who they are there."""
    course, out = write_course(tmp_path / "course", WEEKS, ASSIGNED), tmp_path / "grades"
    (tmp_path / "worksheet.csv").write_text(
        "Identifier,Full name,Email address,Grade,Maximum grade\n"
        "Participant 501,Bo Chen,bo@x,,10\nParticipant 502,Ann Lee,ann@x,,10\n"
    )
    common = ("--course", course, "--out", out, "--no-sandbox", "--jobs", "1")
    people: dict[str, set[tuple[str, str]]] = {}
    for week, topic, points in (("w1", "week_a", (1, 0)), ("w2", "week_b", (2, 0)), ("w2", "week_b", (2, 0))):
        numbers = zip((501, 502), points, strict=True)
        files = {
            f"Participant_{number}_assignsubmission_file_/{topic}.py": answers(**{"one" if week == "w1" else "two": n})
            for number, n in numbers
        }
        (tmp_path / "moodle.zip").write_bytes(zipped(files))
        roster = ("--roster", tmp_path / "worksheet.csv") if "w2" in people else ()
        ended = run_here("grade", tmp_path / "moodle.zip", *common, "--assignment", week, *roster)
        assert ended.returncode in (0, 1), ended.stderr
        with Gradebook.open_existing(out) as book, book.within(week):
            people[week] = {(row.result.submission, row.arrival.student, f"{row.final:g}") for row in book.results()}
    assert people["w1"] == {
        ("Participant 501", "participant 501 of w1", "10"),
        ("Participant 502", "participant 502 of w1", "0"),
    }
    assert people["w2"] == {("Bo Chen", "participant 501 of w2", "10"), ("Ann Lee", "participant 502 of w2", "0")}


def test_the_file_of_another_week_in_an_upload_is_a_slip_and_no_zero(tmp_path: Path) -> None:
    """In a folder of one's own, such as a clone, lies the work of all weeks: there it says nothing."""
    course, out = write_course(tmp_path / "course", WEEKS, ASSIGNED), tmp_path / "grades"
    one, two = answers(one=1), answers(two=2)
    end = "assignsubmission_file_"
    uploads = {"Ann_1": {"week_a.py": one}, "Bo_2": {"week_b.py": two}, "Cy_3": {"week_a.py": one, "week_b.py": two}}
    files = {f"{who}_{end}/{name}": text for who, work in uploads.items() for name, text in work.items()}
    (tmp_path / "moodle.zip").write_bytes(zipped(files))
    write(tmp_path / "clones" / "Dee", {"week_a.py": one})
    common = ("--course", course, "--out", out, "--no-sandbox", "--jobs", "1", "--assignment", "w2")
    ended = run_here("grade", tmp_path / "moodle.zip", tmp_path / "clones", *common)
    assert ended.returncode in (0, 1), ended.stderr
    assert "Ann: could not be read: week_b.py is not there, but week_a.py of another assignment is" in ended.stderr
    with Gradebook.open_existing(out) as book, book.within("w2"):
        found = {row.result.submission: (bool(row.unread), row.final) for row in book.results()}
    assert found == {"Ann": (True, 0), "Bo": (False, 10), "Cy": (False, 10), "Dee": (False, 0)}
