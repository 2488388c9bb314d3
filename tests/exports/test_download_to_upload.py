"""A class from the download of each platform to the file and the feedback that go back there, by the command."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest
from command_here import run_here
from make_class_zips import OWN, SOLUTION, STUB, zipped


class Platform(NamedTuple):
    """The files of a class of four: Ann Lee and अनिल are right, Bo Kim is wrong, and Di Nix handed in nothing.

    Attributes:
        files: of Ann, Bo and अनिल in the zip.
        grades: its file of marks, where Ann has 3.50 already, of 30 points.
        filled: those bytes of it that change, and what they become.
        pages: the names of their feedback pages in the zip that goes back.
    """

    files: tuple[str, str, str]
    grades: bytes
    filled: dict[bytes, bytes]
    pages: tuple[str, str, str]


PLATFORMS = {
    "canvas": Platform(
        ("leeann_101_5001_vectors.py", "kimbo_LATE_102_5002_vectors.py", "अनिल_103_5003_vectors.py"),
        (
            "\ufeffStudent,ID,SIS Login ID,Section,Week 1 (77),Week 10 (78),Final Score\r\n"
            "    Points Possible,,,,30,20,(read only)\r\n"
            '"Lee, Ann",101,alee,"A ""x""",3.50,,11\r\n"Kim, Bo",102,bkim,A,,,\r\n'
            '"Nix, Di",104,dnix,A,,,\r\nअनिल,103,anil,A,EX,,\r\n'
        ).encode(),
        {b',"A ""x""",3.50,': b',"A ""x""",30,', b"bkim,A,,": b"bkim,A,0,"},
        ("leeann_101_5001_feedback.html", "kimbo_LATE_102_5002_feedback.html", "अनिल_103_5003_feedback.html"),
    ),
    "moodle": Platform(
        (
            "Ann Lee_101_assignsubmission_file/vectors.py",
            "Bo Kim_102_assignsubmission_file/vectors.py",
            "अनिल_103_assignsubmission_file/vectors.py",
        ),
        (
            "Identifier,Full name,Email address,Status,Grade,Maximum grade,Last modified (grade)\n"
            'Participant 101,Ann Lee,a@x.org,"Submitted, late",3.50,30.00,-\n'
            "Participant 102,Bo Kim,b@x.org,Submitted,,30.00,-\n"
            "Participant 104,Di Nix,d@x.org,None,,30.00,-\nParticipant 103,अनिल,c@x.org,Submitted,30.00,30.00,-\n"
        ).encode(),
        {b'late",3.50,': b'late",30,', b"b@x.org,Submitted,,": b"b@x.org,Submitted,0,"},
        (
            "Ann Lee_101_assignfeedback_file_feedback.html",
            "Bo Kim_102_assignfeedback_file_feedback.html",
            "अनिल_103_assignfeedback_file_feedback.html",
        ),
    ),
    "brightspace": Platform(
        (
            "101-1 - Ann Lee - Oct 1, 2026 1000 AM/vectors.py",
            "102-2 - Bo Kim - Oct 1, 2026 1100 AM/vectors.py",
            "103-3 - अनिल - Oct 1, 2026 1200 PM/vectors.py",
        ),
        (
            "OrgDefinedId,Username,Last Name,First Name,Week 1 Points Grade <Numeric MaxPoints:30 Weight:5>,"
            "Week 10 Points Grade <Numeric MaxPoints:30 Weight:5>,End-of-Line Indicator\r\n"
            '#101,#alee,Lee,Ann,"3.50",,#\r\n#102,#bkim,Kim,Bo,,,#\r\n#104,#dnix,Nix,Di,,,#\r\n#103,#anil,,अनिल,-,,#\r\n'
        ).encode("utf-8-sig"),
        {b'"3.50"': b'"30"', b"Kim,Bo,,": b"Kim,Bo,0,", ",अनिल,-,".encode(): ",अनिल,30,".encode()},
        (
            "101-1 - Ann Lee - Oct 1, 2026 1000 AM/feedback.html",
            "102-2 - Bo Kim - Oct 1, 2026 1100 AM/feedback.html",
            "103-3 - अनिल - Oct 1, 2026 1200 PM/feedback.html",
        ),
    ),
    "blackboard": Platform(
        (
            "Week 1_alee_attempt_2026-10-01-10-00-00_vectors.py",
            "Week 1_bkim_attempt_2026-10-01-11-00-00_vectors.py",
            "Week 1_anil_attempt_2026-10-01-12-00-00_vectors.py",
        ),
        (
            '\ufeff"Last Name"\t"First Name"\t"Username"\t"Week 1 [Total Pts: 30 Score] |12"\t'
            '"Week 1 (late) [Total Pts: 30 Score] |13"\t"Total [Total Pts: up to 60 Score] |14"\n'
            '"Lee"\t"Ann"\t"alee"\t"3.50"\t""\t"3.50"\n"Kim"\t"Bo"\t"bkim"\t""\t""\t""\n'
            '"Nix"\t"Di"\t"dnix"\t""\t""\t""\n""\t"अनिल"\t"anil"\t"Needs Grading"\t""\t""\n'
        ).encode("utf-16-le"),
        {
            '"alee"\t"3.50"'.encode("utf-16-le"): '"alee"\t"30"'.encode("utf-16-le"),
            '"bkim"\t""'.encode("utf-16-le"): '"bkim"\t"0"'.encode("utf-16-le"),
            '"Needs Grading"'.encode("utf-16-le"): '"30"'.encode("utf-16-le"),
        },
        (
            "Week 1_alee_attempt_2026-10-01-10-00-00_feedback.html",
            "Week 1_bkim_attempt_2026-10-01-11-00-00_feedback.html",
            "Week 1_anil_attempt_2026-10-01-12-00-00_feedback.html",
        ),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("lms", PLATFORMS)
def test_only_the_cells_of_those_who_have_a_mark_change(tmp_path: Path, lms: str) -> None:
    platform, out = PLATFORMS[lms], tmp_path / "out"
    works = dict(zip(platform.files, (SOLUTION, STUB, SOLUTION), strict=True))
    (tmp_path / "download.zip").write_bytes(zipped(works))
    into = tmp_path / "grades.txt"
    into.write_bytes(platform.grades)
    options = ("--course", OWN, "--out", out)
    assert run_here("grade", tmp_path / "download.zip", *options, "--jobs", "1").returncode == 1

    column = () if lms == "moodle" else ("--column", "Week 1")
    ended = run_here("export", lms, "--into", into, *column, *options)
    expected = platform.grades
    for before, after in platform.filled.items():
        assert expected.count(before) == 1
        expected = expected.replace(before, after)
    assert (out / f"{lms}.txt").read_bytes() == expected and into.read_bytes() == platform.grades, ended.stderr
    changes = [line for line in ended.stderr.splitlines() if line.startswith("mark changes: ")]
    assert len(changes) == 1 and changes[0].endswith(": 3.50 → 30") and "Ann" in changes[0]
    assert "not changed: 1 row without a submission: " in ended.stderr and "Di" in ended.stderr

    ended = run_here("export", lms, "--into", into, *column, *options, "--only-empty", "--to", out / "empty.txt")
    kept = (out / "empty.txt").read_bytes()
    first, *others = platform.filled
    assert first in kept and not any(one in kept for one in others), ended.stderr
    assert ": 3.50, not 30" in ended.stderr

    assert run_here("export", "feedback", *options).returncode == 0
    with zipfile.ZipFile(out / "feedback.zip") as made:
        assert set(made.namelist()) == set(platform.pages)
        assert b"3/3" in made.read(platform.pages[0]) and b"0/3" in made.read(platform.pages[1])
