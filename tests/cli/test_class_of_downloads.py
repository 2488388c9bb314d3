"""A class as an LMS hands it out, graded by the command: times, what cannot be read, and what waits for others."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from classrooms import check, exercise, result
from command_here import run_here
from make_class_zips import OWN, SOLUTION, zipped

from grader.course import Course
from grader.gradebook import Gradebook

HEAD = (
    'Identifiant,"Nom complet","Adresse de courriel",Statut,Note,"Note maximale","La note peut être modifiée",'
    '"Dernière modification (travail remis)","Dernière modification (note)","Feedback par commentaires"\n'
)
IN_TIME, LATE = "mercredi 30 septembre 2026, 11:05", "samedi 3 octobre 2026, 12:00"
STUDENTS = (
    ("Anna Groß", 1, IN_TIME, {"vectors.py": SOLUTION}),
    ("Bo Ü", 2, LATE, {"vectors.py": SOLUTION}),
    ("Cy Pdf", 3, IN_TIME, {"report.pdf": b"%PDF-1.7"}),
    ("Di Deep", 4, IN_TIME, {"a.zip": zipped({"b.zip": zipped({"hw/c.zip": zipped({"vectors.py": SOLUTION})})})}),
    ("Ed Broken", 5, IN_TIME, {"vectors.py": SOLUTION + b"\ndef broken(:\n"}),
    ("Flo Versions", 6, IN_TIME, {"hw_v1/vectors.py": b"", "hw_v2/vectors.py": SOLUTION}),
    ("Gus Wrong", 7, IN_TIME, {"vectors.py": SOLUTION.replace(b"def normalize", b"def normalise")}),
)


def download(folder: Path, students: tuple[tuple[str, int, str, dict[str, bytes]], ...] = STUDENTS) -> Path:
    """Moodle's zip, whose entries have the time of the download, and the worksheet in French beside it."""
    (folder / "worksheet.csv").write_text(
        HEAD
        + "".join(
            f'Participant {number},"{name}",x{number}@x.fr,"Remis pour évaluation",,"3,00",Oui,"{when}",-,\n'
            for name, number, when, _ in STUDENTS
        ),
        encoding="utf-8-sig",
    )
    files = {
        f"{name}_{number}_assignsubmission_file/{path}": content
        for name, number, _, work in students
        for path, content in work.items()
    }
    target = folder / f"moodle{len(students)}.zip"
    target.write_bytes(zipped(files))
    return target


def cells(file: Path, column: str) -> dict[str, str]:
    with file.open(encoding="utf-8-sig", newline="") as stream:
        return {row["Nom complet"]: row[column] for row in csv.DictReader(stream)}


def results_in(out: Path) -> dict[str, Any]:
    lines = (out / "results.jsonl").read_text(encoding="utf-8").splitlines()
    return {one["submission"]: one for one in map(json.loads, lines)}


@pytest.mark.slow
def test_a_french_moodle_class_gets_the_marks_that_were_worked_out_by_hand(tmp_path: Path) -> None:
    moodle, out = download(tmp_path), tmp_path / "out"
    options = ("--course", OWN, "--out", out)
    late = ("--due", "2026-10-01T12:00+00:00", "--late-penalty", "0.1")
    ended = run_here("grade", moodle, *options, *late, "--jobs", "1")
    assert "late by" not in ended.stdout + ended.stderr, "times of the download cost nobody anything"
    assert "7 submissions without a known time of handing in" in ended.stderr, ended.stderr

    ended = run_here("grade", moodle, *options, "--roster", tmp_path / "worksheet.csv", "--jobs", "1")
    assert "late work as in earlier runs: due 2026-10-01" in ended.stderr
    assert "Bo Ü: 2 days late by its Moodle worksheet: 20 % off; 3/3 before, 2.4/3 after" in ended.stderr
    assert "Cy Pdf: could not be read: report.pdf" in ended.stderr
    assert "Ed Broken: vectors.py cannot be imported: SyntaxError" in ended.stderr
    assert "needs a look: 2" in ended.stdout

    to = tmp_path / "upload.csv"
    ended = run_here("export", "moodle", "--into", tmp_path / "worksheet.csv", "--to", to, *options)
    assert "left as it is, as the work could not be read: Cy Pdf" in ended.stderr, ended.stderr
    marks = dict.fromkeys(("Anna Groß", "Di Deep", "Flo Versions"), "3") | {
        "Bo Ü": "2,4",
        "Cy Pdf": "",
        "Ed Broken": "0",
        "Gus Wrong": "0",
    }
    assert cells(to, "Note") == marks
    assert "no mark yet" in cells(to, "Feedback par commentaires")["Cy Pdf"]
    ended = run_here("export", "moodle", "--into", to, "--to", tmp_path / "zeros.csv", "--unread-as", "0", *options)
    assert cells(tmp_path / "zeros.csv", "Note") == {**marks, "Cy Pdf": "0"}
    before = to.read_bytes()
    ended = run_here("export", "moodle", "--into", to, "--to", to, *options)
    assert ended.returncode == 4 and "is the file that you downloaded" in ended.stderr and to.read_bytes() == before

    # A single late hand-in into the same folder does not hide the others.
    one = download(tmp_path, STUDENTS[:1])
    ended = run_here("grade", one, *options)
    assert "(with 6 students of earlier runs)" in ended.stdout
    assert len((out / "results.jsonl").read_text().splitlines()) == 7
    results = results_in(out)
    assert results["Cy Pdf"]["unread"][0]["topic"] == "vectors" and results["Anna Groß"]["unread"] == []

    assert run_here("report", *options).returncode == 0
    page = (out / "report" / "index.html").read_text()
    assert "<dt>needs a look</dt><dd>2</dd>" in page and "<dt>submissions</dt><dd>7</dd>" in page

    # What needed the exercise that a person has given all points for is graded now; without the override, not any more.
    needed = next(one for one in results["Gus Wrong"]["exercises"] if one["checks"][0]["verdict"] == "blocked")
    ended = run_here("override", "Gus Wrong", "normalize", "1", "--why", "a slip", "--out", out)
    assert f"{needed['name']} had to wait for it: run the same `grader grade` again" in ended.stdout, ended.stdout
    run_here("grade", moodle, *options, "--jobs", "1")
    assert "Gus Wrong: vectors.normalize: 1/1" in run_here("status", "--out", out).stdout
    results = results_in(out)
    assert not any(c["verdict"] == "blocked" for e in results["Gus Wrong"]["exercises"] for c in e["checks"])
    assert run_here("grade", moodle, *options).stdout.count("unchanged") == 7
    run_here("override", "Gus Wrong", "normalize", "auto", "--why", "no slip", "--out", out)
    run_here("grade", moodle, *options, "--jobs", "1")
    results = results_in(out)
    assert any(c["verdict"] == "blocked" for e in results["Gus Wrong"]["exercises"] for c in e["checks"])


@pytest.mark.slow
def test_a_damaged_gradebook_is_restored_by_the_command_that_grade_names(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with Gradebook.open(out / "gradebook.sqlite") as graded:
        run = graded.start_run(Course.load(OWN).name, "hash", 0, "{}", {})
        graded.record(run, result("ann", exercise("vectors.normalize", check())), "digest", 0.5)
    (tmp_path / "ann").mkdir()
    shutil.copy(OWN / "solutions" / "vectors.py", tmp_path / "ann")
    options = ("--course", OWN, "--out", out)
    run_here("override", "ann", "normalize", "0", "--why", "copied", "--out", out)
    book = out / "gradebook.sqlite"
    book.write_bytes(b"\xa5" * 4096 + book.read_bytes()[4096:])
    ended = run_here("grade", tmp_path / "ann", *options)
    assert ended.returncode == 4 and f"gradebook.backup-2.sqlite: grader restore --out {out}" in ended.stderr
    assert "restored: gradebook.backup-2.sqlite" in run_here("restore", "--out", out).stdout
    assert run_here("grade", tmp_path / "ann", *options).returncode == 0
    assert "override: ann: vectors.normalize: 0/1" in run_here("status", "--out", out).stdout
