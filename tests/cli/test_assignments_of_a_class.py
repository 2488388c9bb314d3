"""Assignments by real commands: a part of a course keeps its own work, due date and groups, with and without them."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from command_here import run_here
from shared import OWN_COURSE, run_grader
from term_course import answers, write_course

from grader.gradebook import Gradebook

TOPICS = {"week_a": ("one", "two"), "week_b": ("three",)}
ASSIGNED = """
[[assignments]]
name = "w1"
exercises = ["week_a"]
due = "2026-10-01T12:00"
[[assignments]]
name = "w2"
exercises = ["week_b"]
due = "2026-10-08T12:00"
"""


def submit(folder: Path, week: str, **numbers: int) -> Path:
    work = folder / week / "ann"
    work.mkdir(parents=True, exist_ok=True)
    topic = "week_a" if week == "w1" else "week_b"
    (work / f"{topic}.py").write_bytes(answers(**numbers))
    return folder / week


def marks(out: Path) -> dict[str, str]:
    """What each student has in each assignment."""
    with Gradebook.open_existing(out) as book:
        found = {}
        for name in book.assignments():
            with book.within(name):
                found |= {name: {row.result.submission: f"{row.final:g}/{row.max:g}" for row in book.results()}}
    return {f"{name} {who}".strip(): points for name, of in found.items() for who, points in of.items()}


def test_regrade_uses_the_work_that_each_exercise_was_graded_with(tmp_path: Path) -> None:
    """One folder, two weeks, no assignments: the newest upload has week b only, and changes nothing of week a."""
    course, out = write_course(tmp_path / "course", TOPICS), tmp_path / "grades"
    common = ("--course", course, "--out", out, "--no-sandbox", "--jobs", "1")
    assert run_here("grade", submit(tmp_path, "w1", one=1, two=2), *common, "--only", "week_a").returncode == 0
    done = run_here("regrade", "ann", "--out", out, "--course", course, "--yes")
    assert "the same points as before: 20/20" in done.stdout, "what is not graded yet is not added"
    assert run_here("grade", submit(tmp_path, "w2", three=0), *common, "--only", "week_b").returncode == 1
    done = run_here("regrade", "ann", "--out", out, "--course", course, "--yes")
    assert "the same points as before: 20/30" in done.stdout
    check = course / "checks" / "test_week_a.py"
    check.write_text(check.read_text().replace("submission.two() == 2", "submission.two() == 5"))
    done = run_here("regrade", "ann", "--out", out, "--course", course, "--yes")
    assert "week_a.two: 10 → 0" in done.stdout and "20/30 before, 10/30 now" in done.stdout
    assert marks(out) == {"ann": "10/30"}


def test_another_due_date_in_one_folder_is_refused_without_assignments(tmp_path: Path) -> None:
    course, out = write_course(tmp_path / "course", TOPICS), tmp_path / "grades"
    common = ("--course", course, "--out", out, "--no-sandbox", "--jobs", "1")
    first = (*common, "--only", "week_a", "--due", "2026-10-01T12:00")
    assert run_here("grade", submit(tmp_path, "w1", one=1, two=2), *first).returncode == 0
    second = (*common, "--only", "week_b", "--due", "2026-10-08T12:00")
    refused = run_here("grade", submit(tmp_path, "w2", three=3), *second)
    assert refused.returncode == 4 and "week_a.one has: due 2026-10-01 12:00" in refused.stderr
    assert "[[assignments]]" in refused.stderr and marks(out) == {"ann": "20/20"}
    with Gradebook.open_existing(out) as book:
        assert book.late_given() == {"due": "2026-10-01T12:00"}, "what was refused is not kept for later runs"
    assert run_here("grade", tmp_path / "w1", *common, "--only", "week_a", "--due", "2026-10-02T12:00").returncode == 0


def test_other_groups_in_one_folder_are_refused_without_assignments(tmp_path: Path) -> None:
    course, out = write_course(tmp_path / "course", TOPICS), tmp_path / "grades"
    common = ("--course", course, "--out", out, "--no-sandbox", "--jobs", "1")
    (tmp_path / "r1.csv").write_text("id,name,group\n1,ann,A\n2,bob,A\n")
    (tmp_path / "r2.csv").write_text("id,name,group\n1,ann,A\n2,bob,B\n")
    work = submit(tmp_path, "w1", one=1, two=2)
    assert run_here("grade", work, *common, "--only", "week_a", "--roster", tmp_path / "r1.csv").returncode == 0
    assert marks(out) == {"ann": "20/20", "bob": "20/20"}
    other = submit(tmp_path, "w2", three=3)
    refused = run_here("grade", other, *common, "--only", "week_b", "--roster", tmp_path / "r2.csv")
    assert refused.returncode == 4 and "other groups (as of bob)" in refused.stderr
    assert marks(out) == {"ann": "20/20", "bob": "20/20"}


def test_each_assignment_has_its_own_work_and_date(tmp_path: Path) -> None:
    """Week a of ann came in time, week b five minutes late; `--assignment` may be left out where one fits."""
    course, out = write_course(tmp_path / "course", TOPICS, ASSIGNED), tmp_path / "grades"
    common = ("--course", course, "--out", out, "--no-sandbox", "--jobs", "1", "--late-penalty", "0.5")
    (tmp_path / "r1.csv").write_text("id,name,submitted\n1,ann,2026-10-01T11:00\n2,bob,\n")
    (tmp_path / "r2.csv").write_text("id,name,submitted\n1,ann,2026-10-08T12:05\n3,cy,\n")
    work = submit(tmp_path, "w1", one=1, two=0)
    refused = run_here("grade", work, *common)
    assert refused.returncode == 4 and "name one: --assignment w1" in refused.stderr
    refused = run_here("grade", work, *common, "--assignment", "w1", "--only", "week_b")
    assert refused.returncode == 4 and "week_b.three is not in the assignment `w1`" in refused.stderr
    graded = run_here("grade", work, *common, "--assignment", "w1", "--roster", tmp_path / "r1.csv")
    assert graded.returncode == 1, graded.stderr
    assert ",percent so far,grade," in run_here("export", "csv", "--course", course, "--out", out, "--to", "-").stdout
    graded = run_here(
        "grade", submit(tmp_path, "w2", three=3), *common, "--only", "week_b", "--roster", tmp_path / "r2.csv"
    )
    assert graded.returncode == 0, graded.stderr
    assert marks(out) == {"w1 ann": "10/20", "w2 ann": "5/10"}
    assert ",percent,grade," in run_here("export", "csv", "--course", course, "--out", out, "--to", "-").stdout
    refused = run_here("diff", "1", "2", "--out", out)
    assert refused.returncode == 4 and "run 1 is of w1, run 2 of w2" in refused.stderr
    given = run_here("extend", "ann", "2026-10-09", "--assignment", "w2", "--why", "ill", "--out", out)
    assert given.returncode == 0 and marks(out) == {"w1 ann": "10/20", "w2 ann": "10/10"}
    done = run_here("regrade", "ann", "--assignment", "w1", "--out", out, "--course", course, "--yes")
    assert "the same points as before: 10/20" in done.stdout
    assert marks(out) == {"w1 ann": "10/20", "w2 ann": "10/10"}


def test_work_of_another_assignment_holds_up_nothing(tmp_path: Path) -> None:
    """`three` needs `one`, which was handed in the week before, and is not in this upload."""
    course = write_course(tmp_path / "course", TOPICS, ASSIGNED, needs="week_a.one")
    work = submit(tmp_path, "w2", three=3)
    out = tmp_path / "grades"
    graded = run_here("grade", work, "--course", course, "--out", out, "--no-sandbox", "--assignment", "w2")
    assert graded.returncode == 0, graded.stdout + graded.stderr
    assert marks(out) == {"w2 ann": "10/10"}


def test_points_for_a_whole_assignment_are_shared_by_its_exercises(tmp_path: Path) -> None:
    course, out = write_course(tmp_path / "course", TOPICS, ASSIGNED), tmp_path / "grades"
    common = ("--course", course, "--out", out, "--no-sandbox", "--jobs", "1")
    for week, numbers in (("w1", {"one": 1, "two": 0}), ("w2", {"three": 3})):
        run_here("grade", submit(tmp_path, week, **numbers), *common, "--assignment", week)
    assert marks(out) == {"w1 ann": "10/20", "w2 ann": "10/10"}
    file = tmp_path / "oral.csv"
    file.write_text("student,assignment,points,comment,why\nann,w1,13,well explained,oral examination\n")
    done = run_here("import", file, "--yes", "--out", out)
    assert "week_a.one: 10/10 automatic → 6.5/10 (oral examination)" in done.stdout, done.stderr
    assert marks(out) == {"w1 ann": "13/20", "w2 ann": "10/10"}
    file.write_text("student,assignment,points\nann,w1,21\n")
    assert "w1 cannot have '21' points" in run_here("import", file, "--yes", "--out", out).stderr
    file.write_text("student,assignment,points\nann,w1,1\nann,w2,1\n")
    refused = run_here("import", file, "--yes", "--out", out, "--assignment", "w1")
    assert refused.returncode == 4 and "line 3: assignment `w2`: the points are given for `w1`" in refused.stderr
    file.write_text("student,assignment,points\nann,w1,auto\n")
    assert run_here("import", file, "--yes", "--out", out).returncode == 0
    assert marks(out) == {"w1 ann": "10/20", "w2 ann": "10/10"}


def test_a_regrade_before_the_first_run_of_an_assignment_says_what_to_do(tmp_path: Path) -> None:
    course, out = write_course(tmp_path / "course", TOPICS), tmp_path / "grades"
    common = ("--course", course, "--out", out)
    run_here("grade", submit(tmp_path, "w1", one=1, two=2), *common, "--no-sandbox", "--jobs", "1", "--only", "week_a")
    (course / "course.toml").write_text((course / "course.toml").read_text() + ASSIGNED)
    refused = run_here("regrade", "ann", *common, "--yes")
    assert refused.returncode == 4 and "grade once more by assignment" in refused.stderr


def test_zeros_are_for_students_of_the_class_list_alone(tmp_path: Path) -> None:
    """All of the class have handed in; the file of Canvas has one more row, and an export of one student no zeros."""
    course, out = write_course(tmp_path / "course", TOPICS), tmp_path / "grades"
    (tmp_path / "class.csv").write_text("id,name\n1,ann\n")
    work = submit(tmp_path, "w1", one=1, two=0)
    common = ("--course", course, "--out", out)
    options = ("--only", "week_a", "--roster", tmp_path / "class.csv", "--no-sandbox", "--jobs", "1")
    run_here("grade", work, *common, *options)
    into = tmp_path / "Grades.csv"
    into.write_text("Student,ID,Week 1 (7)\nann,1,\nTest Student,9,\n")
    for more in ((), ("--submission", "ann")):
        done = run_here(
            "export",
            "canvas",
            "--into",
            into,
            "--only",
            "week_a",
            "--missing-as",
            "0",
            *common,
            *more,
            "--to",
            out / "x",
        )
        assert done.returncode == 0, done.stderr
        assert (out / "x").read_text() == "Student,ID,Week 1 (7)\nann,1,10\nTest Student,9,\n"


@pytest.mark.slow
def test_late_work_for_one_exercise_takes_the_penalty_off_that_alone_in_every_time_zone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cosine needs normalize, which the second run grades too, unasked. In Berlin, 25 October has 25 hours."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    answer = (OWN_COURSE / "solutions" / "vectors.py").read_bytes()
    for name, content, came in (("first", answer, "2026-10-24T12:00"), ("second", answer + b"#\n", "2026-10-25T23:50")):
        (tmp_path / name / "ann").mkdir(parents=True)
        (tmp_path / name / "ann" / "vectors.py").write_bytes(content)
        (tmp_path / f"{name}.csv").write_text(f"id,name,submitted\n1,ann,{came}\n")
    options = ("--course", OWN_COURSE, "--out", tmp_path / "grades", "--no-sandbox", "--jobs", "1")
    due = ("--due", "2026-10-24", "--late-penalty", "0.2")
    run_grader("grade", tmp_path / "first", *options, *due, "--roster", tmp_path / "first.csv")
    run_grader("grade", tmp_path / "second", *options, "--only", "cosine", "--roster", tmp_path / "second.csv")
    for zone in ("Europe/Berlin", "America/New_York", "UTC"):
        monkeypatch.setenv("TZ", zone)
        table = run_grader("export", "csv", "--course", OWN_COURSE, "--out", tmp_path / "grades", "--to", "-").stdout
        (row,) = csv.DictReader(table.splitlines())
        assert [row[name] for name in ("points", "days late", "final")] == ["3", "1", "2.6"], zone
    said = run_grader("status", "--out", tmp_path / "grades", "--course", OWN_COURSE).stdout
    assert "late: ann: vectors.cosine: 1 day late by its roster: 20 % off; 3/3, 2.6/3 with late penalty" in said


@pytest.mark.parametrize(
    "words",
    [
        ("extend", "ann", "2026-10-09", "--assignment", "w2", "--why", "ill"),
        ("excuse", "ann", "--assignment", "w2", "--why", "ill"),
        ("override", "ann", "three", "1", "--why", "ill"),
        ("comment", "ann", "three", "fine"),
        ("import", "points.csv", "--assignment", "w2", "--yes"),
        ("history", "ann"),
    ],
)
def test_the_course_can_be_named_wherever_a_gradebook_is(tmp_path: Path, words: tuple[str, ...]) -> None:
    course, out = write_course(tmp_path / "course", TOPICS, ASSIGNED), tmp_path / "grades"
    options = ("--course", course, "--out", out, "--no-sandbox", "--assignment", "w2")
    assert run_here("grade", submit(tmp_path, "w2", three=3), *options).returncode == 0
    (tmp_path / "points.csv").write_text("student,exercise,points,why\nann,three,1,ill\n")
    done = run_here(*words, "--course", course, "--out", out, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    refused = run_here(*words, "--course", OWN_COURSE, "--out", out, cwd=tmp_path)
    assert refused.returncode == 4 and "not of `vectors-in-a-week`" in refused.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("grade", "course", "--course", "course", "--assignment", "w2"), "to grade its solutions: grader verify"),
        (("regrade", "ann", "--course", OWN_COURSE), "name its course: --course DIR"),
        (
            ("override", "ann", "thre", "1", "--why", "x"),
            "no exercise `thre` in the gradebook\n  there are: week_b.three",
        ),
        (("extend", "anne", "2026-10-09", "--why", "x"), "nobody is called `anne`; did you mean `ann`?"),
        (("import", "none.csv"), "none.csv cannot be read: No such file or directory\n  name the file"),
        (
            ("export", "canvas", "--into", "list.csv", "--course", "course"),
            "list.csv has no column of marks\n  name the file that you downloaded: --into FILE",
        ),
    ],
)
def test_an_error_names_the_remedy(tmp_path: Path, words: tuple[str | Path, ...], said: str) -> None:
    course = write_course(tmp_path / "course", TOPICS, ASSIGNED)
    (tmp_path / "list.csv").write_text("id,name\n1,ann\n2,bob\n")
    options = ("--course", course, "--no-sandbox", "--assignment", "w2", "--roster", "list.csv")
    assert run_here("grade", submit(tmp_path, "w2", three=3), *options, cwd=tmp_path).returncode == 0
    refused = run_here(*words, cwd=tmp_path)
    assert refused.returncode == 4 and said in refused.stderr, refused.stderr
