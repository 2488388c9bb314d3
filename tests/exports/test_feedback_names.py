"""The names in the zip of feedback pages: each platform finds its student by them, and so does a person."""

from __future__ import annotations

import re
import unicodedata
import zipfile
from pathlib import Path

import pytest
from classrooms import OWN, check, exercise, result
from command_here import run_here
from make_class_zips import SOLUTION, zipped
from term_course import answers, write_course

from grader.course import Course
from grader.exports.feedback_zip import feedback_zip, page_names
from grader.gradebook import Gradebook, Row
from grader.intake.find import find_submissions
from grader.intake.lms import pieces_of
from grader.intake.roster import Student
from grader.intake.submission import Arrival, digest
from grader.reports.entries import Entry, entries_of
from grader.reports.feedback import file_names, file_stem

COURSE = Course.load(OWN)
DOWNLOADS = {
    "canvas": {
        "leeann_101_5001_vectors.py": "leeann_101_5002_feedback.html",
        "leeann_101_5002_vectors-1.py": "",
        "kimbo_LATE_102_5003_my_work_2.py": "kimbo_LATE_102_5003_feedback.html",
        "अनिल_103_5004_vectors.py": "अनिल_103_5004_feedback.html",
    },
    "moodle": {
        "Ann Lee_7_assignsubmission_file/vectors.py": "Ann Lee_7_assignfeedback_file_feedback.html",
        "Bo_Kim_8_assignsubmission_file_/sub/vectors.py": "Bo Kim_8_assignfeedback_file_feedback.html",
        "हिन्दी नाम_9_assignsubmission_file_vectors.py": "हिन्दी नाम_9_assignfeedback_file_feedback.html",
    },
    "blackboard": {
        "hw_1_alee_attempt_2026-10-01-10-00-00.txt": "",
        "hw_1_alee_attempt_2026-10-01-10-00-00_vectors.py": "",
        "hw_1_alee_attempt_2026-10-02-10-00-00_vectors.py": "hw_1_alee_attempt_2026-10-02-10-00-00_feedback.html",
        "hw_1_bkim_attempt_2026-10-01-11-00-00_vectors.py": "hw_1_bkim_attempt_2026-10-01-11-00-00_feedback.html",
    },
    "brightspace": {
        "101-55 - Ann Lee - Oct 1, 2026 1000 AM/vectors.py": "",
        "101-56 - Ann Lee - Oct 2, 2026 1000 AM/vectors.py": "101-56 - Ann Lee - Oct 2, 2026 1000 AM/feedback.html",
        "102-57 - 金田 一 - Oct 1, 2026 1100 AM/a/b.py": "102-57 - 金田 一 - Oct 1, 2026 1100 AM/feedback.html",
    },
}


def graded(*arrivals: tuple[str, Arrival]) -> list[Entry]:
    return [
        Entry(Row(result(name, exercise("vectors.cosine", check())), "d", 0.1, arrival=one)) for name, one in arrivals
    ]


@pytest.mark.parametrize("lms", DOWNLOADS)
@pytest.mark.parametrize("folder", ["", "all submissions/"])
def test_each_page_has_the_name_by_which_the_platform_finds_the_student(tmp_path: Path, lms: str, folder: str) -> None:
    (tmp_path / "download.zip").write_bytes(zipped({f"{folder}{path}": SOLUTION for path in DOWNLOADS[lms]}))
    found = find_submissions([tmp_path / "download.zip"], ["vectors"])
    entries = graded(*((source.name, source.arrival) for source in found))
    (tmp_path / "feedback.zip").write_bytes(feedback_zip(entries, COURSE))
    with zipfile.ZipFile(tmp_path / "feedback.zip") as made:
        assert set(made.namelist()) == set(DOWNLOADS[lms].values()) - {""}
    if lms != "moodle":
        pieces, others = pieces_of(page_names(entries))
        assert {one.student for one in pieces} == {one.arrival.student for one in found} and not others
    if lms == "canvas":  # which takes the first two numbers between underscores
        numbers = [[part for part in name.split("_") if part.isdigit()][:2] for name in page_names(entries)]
        assert sorted(numbers) == [["101", "5002"], ["102", "5003"], ["103", "5004"]]


def test_a_page_of_a_group_goes_to_the_one_who_uploaded_and_others_get_their_own_names(tmp_path: Path) -> None:
    """The page of another member must not come back under the uploader's name: overrides and lateness are one's own."""
    (tmp_path / "canvas.zip").write_bytes(zipped({"leeann_1_5001_vectors.py": SOLUTION, "zed_9_5002_vectors.py": b""}))
    everybody = (Student("Ann Lee", ("1",), group="Rho"), Student("Bo Kim", ("2",), group="Rho"))
    with Gradebook.open(tmp_path / "gradebook.sqlite") as book:
        run = book.start_run("course", "hash", 0, "{}", {}, students=(*everybody, Student("Zed", ("9",))))
        for source in find_submissions([tmp_path / "canvas.zip"], ["vectors"]):
            work = source.read()
            book.record_arrival(run, work, digest(work))
            book.record(run, result(work.name, exercise("vectors.cosine", check())), digest(work), 0.1)
        entries = entries_of(book)
    names = {one.row.arrival.student: name for one, name in zip(entries, page_names(entries), strict=True)}
    assert names == {"1": "leeann_1_5001_feedback.html", "2": "Bo Kim.html", "9": "zed_9_5002_feedback.html"}


def test_names_in_every_script_are_kept_and_no_page_is_named_by_a_hash() -> None:
    names = [
        "Zoë Müller",
        "أمينة",
        "हिन्दी नाम",
        "名前",
        "Ω Φ",
        "Ирина",
        "🦊",
        "O'Neil, Pat",
        'a/b\\c:d*e?"<f>|g',
        "con",
    ]
    pages = page_names(graded(*((name, Arrival()) for name in names)))
    assert pages[:8] == [f"{name}.html" for name in names[:8]]
    assert pages[8:] == ["a b c d e f g.html", "_con.html"]


def test_names_that_look_the_same_to_a_file_system_are_told_apart() -> None:
    people = [
        ("Ann", "1"),
        ("ann", "2"),
        ("ANN", ""),
        ("ann (2)", ""),
        ("Zoe\u0308", "7"),
        ("Zoë", "8"),
        ("../x", ""),
        ("", ""),
    ]
    names = file_names(people)
    expected = ["Ann (1)", "ann (3)", "ANN (4)", "ann (2)", "Zoë (7)", "Zoë (8)", "x", "submission"]
    assert [unicodedata.is_normalized("NFC", one) for one in names] == [True] * len(names)
    assert len({one.casefold() for one in names}) == len(people) and names == expected


@pytest.mark.parametrize("name", ["", "...", "\x1b[31m\n", "x" * 5000, "名" * 5000, "\ud800", "-rf", "~x", "aux.html"])
def test_no_name_is_dangerous_or_too_long(name: str) -> None:
    (one,) = file_names([(name, "")])
    assert re.fullmatch(r'[^<>:"/\\|?*\x00-\x1f.~-][^<>:"/\\|?*\x00-\x1f]*', one) and not one.endswith((" ", "."))
    assert len(one.encode()) <= 160 and not re.fullmatch(r"(?i)(con|aux|nul|prn)(\..*)?", one)
    assert len(file_stem(name).encode()) <= 170


@pytest.mark.parametrize(
    "prefix",
    ["../../leeann_1_2_", "a\\..\\b_1_2_", "x\ny_1_2_", "x\u202ey_1_2_", "/etc/1-2 - A - Oct 1/", "\ud800_1_2_"],
)
def test_a_name_in_a_download_that_is_no_safe_path_is_not_used(prefix: str) -> None:
    assert page_names(graded(("Ann Lee", Arrival(student="1", lms="canvas", prefix=prefix)))) == ["Ann Lee.html"]


def test_one_name_in_the_download_for_two_students_is_used_for_neither() -> None:
    one = Arrival(student="1", lms="canvas", prefix="leeann_1_2_")
    assert page_names(graded(("Ann Lee", one), ("Bo Kim", one))) == ["Ann Lee.html", "Bo Kim.html"]


@pytest.mark.slow
def test_over_a_term_each_student_has_one_page_with_a_readable_name(tmp_path: Path) -> None:
    course = write_course(
        tmp_path / "course",
        {"week_a": ("one",), "week_b": ("two",)},
        '[[assignments]]\nname = "w1"\nexercises = ["week_a"]\n[[assignments]]\nname = "w2"\nexercises = ["week_b"]\n',
    )
    out = tmp_path / "out"
    for week, topic, name, right in (("w1", "week_a", "one", 1), ("w2", "week_b", "two", 0)):
        work = tmp_path / week / "Ann Lee"
        work.mkdir(parents=True)
        (work / f"{topic}.py").write_bytes(answers(**{name: right}))
        run_here("grade", tmp_path / week, "--assignment", week, "--course", course, "--out", out, "--no-sandbox")
    assert run_here("export", "feedback", "--course", course, "--out", out).returncode == 0
    with zipfile.ZipFile(out / "feedback.zip") as made:
        (name,) = made.namelist()
        page = made.read(name).decode()
    assert name == "Ann Lee.html" and ">w1<" in page and ">w2<" in page and "return 0" in re.sub("<[^>]*>", "", page)
