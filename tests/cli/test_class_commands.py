"""`grader status`, `diff`, `override` and what `grade` says of a class: what is printed, and what is refused."""

from __future__ import annotations

import datetime
import os
import platform
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from command_here import run_here

from grader.course import Course, content_hash
from grader.course.due import LatePolicy
from grader.errors import CourseError, UserError
from grader.gradebook import Gradebook
from grader.grading.settings import LateOptions
from grader.intake.submission import Arrival, Note, Submission
from grader.marking.given import give_points
from grader.reports.status import diff_lines, status_lines
from grader.results import CheckResult, ExerciseResult, SubmissionResult, VerdictKind

REPO = Path(__file__).resolve().parent.parent.parent
OWN = REPO / "examples" / "own_course"
DUE = datetime.datetime(2026, 10, 1, 12, tzinfo=datetime.timezone.utc)


def result(name: str, score: float = 2.0, verdict: VerdictKind = "passed") -> SubmissionResult:
    worth = 0.0 if verdict == "error" else 2.0
    checks = (CheckResult(name="c", verdict=verdict),)
    exercise = ExerciseResult(name="vectors.cosine", score=score, max=worth, checks=checks)
    return SubmissionResult(submission=name, score=score, max=worth, exercises=(exercise,))


def graded(out: Path, *results: SubmissionResult, expected: int = 0, finish: bool = True, **arrival: object) -> Path:
    """A gradebook with one more run of these results."""
    with Gradebook.open(out / "gradebook.sqlite") as book:
        run = book.start_run("course", "hash", 0, "key", {}, expected=expected, late=LatePolicy(DUE, 0.5))
        for one in results:
            work = Submission(one.submission, {}, (Note("a.py", "left out"),), Arrival(**arrival))  # type: ignore[arg-type]
            book.record_arrival(run, work, "d")
            book.record(run, one, "d", 0.1)
        if finish:
            book.finish_run(run)
    return out


def status(out: Path, notes: bool = False) -> str:
    return "\n".join(status_lines(out, notes=notes))


def test_status_of_a_finished_run(tmp_path: Path) -> None:
    text = status(graded(tmp_path, result("ann"), result("bob", 0.0, "failed"), expected=2))
    assert "2 of 2 done, finished" in text and "2 graded, 0 taken over from earlier runs, 0 left, 0 failed" in text


def test_status_of_a_running_run_shows_the_remaining_time(tmp_path: Path) -> None:
    """The start of the workers is not counted: it is the same for one submission and for many."""
    out = graded(tmp_path, result("ann"), result("bob"), result("cy"), expected=63, finish=False)
    with sqlite3.connect(out / "gradebook.sqlite") as db:
        db.execute("UPDATE runs SET started = '2026-10-01T12:00:00+00:00'")
        db.execute("UPDATE results SET graded = '2026-10-01T12:01:1' || (5 * (id / 3)) || '+00:00'")
        db.execute("UPDATE results SET graded = '2026-10-01T12:01:05+00:00' WHERE id = 1")
    db.close()
    text = status(out)
    assert f"at work (process {os.getpid()})" in text and "60 left" in text and "about 5 min 0 s to go" in text


def test_status_of_an_interrupted_run_says_how_to_continue(tmp_path: Path) -> None:
    out = graded(tmp_path, result("ann"), expected=3, finish=False)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    with sqlite3.connect(out / "gradebook.sqlite") as db:
        db.execute("UPDATE runs SET process = ?, host = ?", (gone.pid, platform.node()))
    db.close()
    assert "interrupted" in status(out) and "run the same command to continue" in status(out)


def test_status_names_who_failed_who_is_late_and_what_was_left_out(tmp_path: Path) -> None:
    out = graded(
        tmp_path, result("ann"), result("bob", 0.0, "error"), submitted="2026-10-01T13:00:00+00:00", by="roster"
    )
    text = status(out, notes=True)
    assert "failed, by a fault of the grader's own: bob" in text
    assert "late: ann: 1 day late by its roster: 50 % off; 2/2, 1/2 with late penalty" in text
    assert "note: ann: a.py: left out" in text and "note:" not in status(out)


def test_diff_lists_the_marks_that_move(tmp_path: Path) -> None:
    graded(tmp_path, result("ann"), result("bob"), result("cy"))
    graded(tmp_path, result("ann", 1.0, "failed"), result("bob"))
    assert list(diff_lines(tmp_path, 1, 2)) == [
        "ann: vectors.cosine: 2 → 1",
        "cy: vectors.cosine: not in run 2 (2 in the other)",
        "1 submission would move; the same course",
    ]
    assert list(diff_lines(tmp_path, 1, 1)) == ["0 submissions would move; the same course"]


def test_override_by_name_is_shown_with_the_automatic_mark(tmp_path: Path) -> None:
    graded(tmp_path, result("ann", 0.0, "failed"), result("bob"), student="")
    lines = list(give_points(tmp_path, "ann", "cosine", "1.5", "a typo", "me"))
    assert lines[0].startswith("ann: vectors.cosine: 1.5/2 (automatic: 0/2) by me, 20")
    assert lines[0].endswith(": a typo")
    assert lines[1] == "ann: 1.5/2 (automatic: 0/2)"
    assert "override: ann: vectors.cosine: 1.5/2 (automatic: 0/2) by me" in status(tmp_path)
    list(give_points(tmp_path, "ann", "vectors.cosine", "auto", "no", "me"))
    assert "override:" not in status(tmp_path)


def test_override_by_the_id_of_the_lms(tmp_path: Path) -> None:
    graded(tmp_path, result("ann"), student="4711")
    assert "ann: vectors.cosine: 0/2" in next(iter(give_points(tmp_path, "4711", "cosine", "0", "copied", "me")))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("anne", "cosine", "1", "why"), "did you mean `ann`"),
        (("ann", "cosin", "1", "why"), "no exercise"),
        (("ann", "cosine", "3", "why"), "from 0 to 2"),
        (("ann", "cosine", "-1", "why"), "from 0 to 2"),
        (("ann", "cosine", "nan", "why"), "from 0 to 2"),
        (("ann", "cosine", "much", "why"), "from 0 to 2"),
        (("ann", "cosine", "1", "  "), "no reason"),
    ],
)
def test_invalid_override_is_refused_and_nothing_is_kept(
    tmp_path: Path, arguments: tuple[str, str, str, str], words: str
) -> None:
    graded(tmp_path, result("ann"))
    with pytest.raises(UserError) as caught:
        list(give_points(tmp_path, *arguments, who="me"))
    assert words in f"{caught.value} {caught.value.fix}"
    assert "override:" not in status(tmp_path)


@pytest.mark.parametrize("arguments", [["status"], ["diff", "1", "2"], ["override", "a", "b", "1", "--why", "c"]])
def test_without_a_gradebook_there_is_one_line_and_no_gradebook_is_made(tmp_path: Path, arguments: list[str]) -> None:
    ended = run_here(*arguments, "--out", tmp_path)
    assert (
        ended.returncode == 4 and ended.stderr.startswith("error: no gradebook at") and "Traceback" not in ended.stderr
    )
    assert list(tmp_path.iterdir()) == []


def test_unknown_run_is_refused_with_a_list_of_the_runs(tmp_path: Path) -> None:
    graded(tmp_path, result("ann"))
    with pytest.raises(UserError, match="no run 7") as caught:
        list(diff_lines(tmp_path, 1, 7))
    assert "1" in (caught.value.fix or "")


def course(folder: Path, lines: str) -> Path:
    """The example course with more lines in its [course]."""
    text = (OWN / "course.toml").read_text().replace("[course]\n", f"[course]\n{lines}{lines and chr(10)}")
    folder.mkdir()
    (folder / "course.toml").write_text(text)
    for part in ("exercises", "solutions", "checks"):
        (folder / part).symlink_to(OWN / part)
    return folder


def test_course_has_a_due_date_that_the_command_line_can_replace(tmp_path: Path) -> None:
    own = Course.load(course(tmp_path / "c", "due = 2026-10-31\nlate_penalty_per_day = 0.1"))
    assert (
        own.late.per_day == 0.1 and own.late.due is not None and own.late.due.isoformat().startswith("2026-10-31T23:59")
    )
    assert LateOptions().policy(own.late) == own.late
    assert LateOptions(due="2026-10-01T12:00+00:00", per_day=0.5).policy(own.late) == LatePolicy(DUE, 0.5)
    with pytest.raises(UserError, match="late work"):
        LateOptions(due="soon").policy(own.late)


def test_course_says_grace_cap_and_last_date_and_the_command_line_wins(tmp_path: Path) -> None:
    keys = "due = 2026-10-01T12:00:00Z\nlate_penalty_per_day = 0.25\nlate_grace_minutes = 15\nlate_cap = 0.5"
    late = Course.load(course(tmp_path / "c", f"{keys}\nlate_until = 2026-10-08T12:00:00Z")).late
    until = DUE + datetime.timedelta(days=7)
    assert late == LatePolicy(DUE, 0.25, grace_minutes=15, cap=0.5, until=until)
    assert LateOptions(grace=0, cap=1.0, until="none").policy(late) == LatePolicy(DUE, 0.25)
    assert LateOptions(cap=0.75).policy(late) == LatePolicy(DUE, 0.25, 15, 0.75, until)


@pytest.mark.parametrize(
    "line",
    [
        'due = "soon"',
        "late_penalty_per_day = 2",
        "due = 7",
        "late_grace_minutes = -1",
        "late_grace_minutes = inf",
        'late_grace_minutes = "15"',
        "late_cap = 1.5",
        "late_cap = nan",
        "late_cap = true",
        'late_until = "=1+1"',
        "late_until = 2026-09-30\ndue = 2026-10-01",
    ],
)
def test_invalid_date_or_penalty_is_refused_with_its_line(tmp_path: Path, line: str) -> None:
    with pytest.raises(CourseError, match=line.partition(" ")[0]) as caught:
        Course.load(course(tmp_path / "c", line))
    assert caught.value.line is not None and caught.value.line > 1


def test_another_due_date_grades_nothing_again(tmp_path: Path) -> None:
    keys = "due = 2026-10-31\nlate_grace_minutes = 5\nlate_cap = 0.5\nlate_until = 2026-11-30"
    first, second = course(tmp_path / "a", keys), course(tmp_path / "b", "")
    assert content_hash(Course.load(first)) == content_hash(Course.load(second))


@pytest.mark.slow
def test_a_class_from_roster_to_override(tmp_path: Path) -> None:
    solution = (OWN / "solutions" / "vectors.py").read_text()
    for name in ("s1", "s2"):
        (tmp_path / "class" / name).mkdir(parents=True)
        (tmp_path / "class" / name / "vectors.py").write_text(solution)
    (tmp_path / "class" / "s3.zip").write_bytes(b"no zip")
    (tmp_path / "list.csv").write_text("id,name,submitted\ns1,Ann,2026-10-01\ns2,Bob,2026-10-03\ns3,Cy,\ns4,Di,\n")
    options = ["--course", OWN, "--out", tmp_path / "out", "--roster", tmp_path / "list.csv", "--jobs", "1"]
    ended = run_here("grade", tmp_path / "class", *options, "--due", "2026-10-02", "--late-penalty", "0.5")
    assert ended.returncode == 1, ended.stderr
    assert "note: Di: in the roster, but has handed in nothing" in ended.stderr
    assert "note: Bob: 1 day late by its roster: 50 % off; 3/3 before, 1.5/3 after" in ended.stderr
    assert "note: Cy: could not be read: s3.zip: damaged" in ended.stderr

    ended = run_here("override", "Cy", "cosine", "1", "--why", "showed me", "--out", tmp_path / "out")
    assert "Cy: 1/3 (automatic: 0/3)" in ended.stdout
    assert "run 1 " in run_here("status", "--out", tmp_path / "out").stdout
