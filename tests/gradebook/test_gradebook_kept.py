"""The gradebook over time: versions, damage, several graders at once, overrides, late work, and what SQL sees."""

from __future__ import annotations

import datetime
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from grader.course.due import LatePolicy, read_due, read_penalty
from grader.errors import UserError
from grader.gradebook import Gradebook, LookedAt, Override
from grader.gradebook.records import lateness
from grader.gradebook.schema import VERSION
from grader.intake.submission import Arrival, Note, Submission
from grader.reports.status import compare, status_lines
from grader.results import CheckResult, ExerciseResult, SubmissionResult, VerdictKind

REPO = Path(__file__).resolve().parent.parent.parent
DUE = datetime.datetime(2026, 10, 1, 12, tzinfo=datetime.timezone.utc)


def result(name: str, score: float = 1.0, verdict: VerdictKind = "passed", other: float = 2.0) -> SubmissionResult:
    checks = (CheckResult(name="one", verdict=verdict, message="why"),)
    first = ExerciseResult(name="t.e", score=score, max=1.0, checks=checks)
    second = ExerciseResult(name="t.f", score=other, max=2.0)
    return SubmissionResult(submission=name, score=score + other, max=3.0, exercises=(first, second))


def start(book: Gradebook, **options: object) -> int:
    return book.start_run("course", "hash", 0, "key", {}, **options)  # type: ignore[arg-type]


def override(points: float | None, exercise: str = "t.e", student: str = "ann") -> Override:
    return Override(student=student, exercise=exercise, points=points, max=1.0, why="kind", who="me", made="2026-01-01")


def test_work_is_kept_and_given_back(tmp_path: Path) -> None:
    work = Submission("ann", {"t.py": b"x = 1\n\xff"}, (Note("t.py", "a note"),), Arrival(student="7"))
    with Gradebook.open(tmp_path / "g") as book:
        run = start(book)
        book.record_arrival(run, work, "d")
        book.record_arrival(run, work, "d")
        book.record(run, result("ann"), "d", 0.1)
        (row,) = book.results()
        assert book.files("d") == work.files and book.files("unknown") == {}
        assert (row.notes, row.arrival) == (work.note_lines, work.arrival)


@pytest.mark.parametrize("version", [1, VERSION + 1, 6, -1])
def test_gradebook_of_another_version_is_refused_in_one_line_and_left_alone(tmp_path: Path, version: int) -> None:
    path = tmp_path / "g.sqlite"
    Gradebook.open(path).close()
    later = sqlite3.connect(path)
    later.execute(f"PRAGMA user_version = {version}")
    later.close()
    with pytest.raises(UserError, match=f"version {version}; this grader reads version {VERSION}$"):
        Gradebook.open(path)
    assert [file.name for file in tmp_path.iterdir()] == ["g.sqlite"]


def test_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "new" / "g"
    code = """
import sys
from pathlib import Path
from grader.gradebook import Gradebook
from grader.results import SubmissionResult
print(end="", flush=True)
sys.stdin.readline()
with Gradebook.open(Path(sys.argv[1])) as book:
    run = book.start_run("course", "hash", 0, "key", {})
    for number in range(50):
        name = f"student {number}"
        book.record(run, SubmissionResult(submission=name, score=1.0, max=1.0), "d", 0.1)
        book.lookup(name, "d", "hash", 0, "key", reuse_in=run)
    book.finish_run(run)
"""
    writers = [
        subprocess.Popen([sys.executable, "-c", code, str(path)], cwd=REPO, stdin=subprocess.PIPE) for _ in range(3)
    ]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write(b"go\n")
        writer.stdin.close()
    assert [writer.wait(600) for writer in writers] == [0, 0, 0]
    with Gradebook.open(path) as book:
        assert [(run.newly_graded, bool(run.finished)) for run in book.runs()] == [(50, True)] * 3


def test_override_leaves_the_automatic_score_and_the_newest_counts(tmp_path: Path) -> None:
    with Gradebook.open(tmp_path / "g") as book:
        book.record(start(book), result("ann", 0.0, "failed"), "d", 0.1)
        for points in (1.0, 0.5):
            book.give("course", override(points), LookedAt(digest="d"))
        (row,) = book.results()
        assert (row.result.score, row.score, row.max) == (2.0, 2.5, 3.0)
        assert [(given.points, given.why, given.who, given.stale) for given in row.overrides] == [
            (0.5, "kind", "me", False)
        ]
        book.give("course", override(None), LookedAt(digest="d"))
        (row,) = book.results()
        assert row.overrides == () and row.score == 2.0


def test_override_of_earlier_work_says_so_and_other_courses_have_none(tmp_path: Path) -> None:
    with Gradebook.open(tmp_path / "g") as book:
        book.give("course", override(1.0), LookedAt(digest="old work"))
        book.give("other course", override(1.0, "t.f"), LookedAt(digest="d"))
        book.record(start(book), result("ann", 0.0, "failed"), "d", 0.1)
        (row,) = book.results()
        assert [(given.exercise, given.stale) for given in row.overrides] == [("t.e", True)]


def test_override_of_what_could_not_be_assessed_brings_its_points_back(tmp_path: Path) -> None:
    with Gradebook.open(tmp_path / "g") as book:
        lost = ExerciseResult(name="t.e", score=0.0, max=0.0)
        book.record(start(book), SubmissionResult(submission="ann", score=0.0, max=0.0, exercises=(lost,)), "d", 0.1)
        book.give("course", override(1.0), LookedAt(digest="d"))
        (row,) = book.results()
        assert (row.score, row.max) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("hours", "days", "penalty"),
    [(-1, None, None), (0, None, None), (0.1, 1, 0.1), (24, 1, 0.1), (25, 2, 0.2), (999, 42, 1)],
)
def test_each_day_begun_costs_its_part_up_to_everything(hours: float, days: int | None, penalty: float | None) -> None:
    came = (DUE + datetime.timedelta(hours=hours)).isoformat()
    late = lateness(Arrival(submitted=came, by="roster"), LatePolicy(DUE, 0.1))
    assert (late and (late.days, late.penalty, late.by)) == (days and (days, penalty, "roster"))


def test_lateness_of_unknown_length_costs_nothing_and_says_so() -> None:
    late = lateness(Arrival(late=True), LatePolicy(DUE, 0.1))
    assert late is not None and (late.days, late.penalty) == (None, 0.0) and "no penalty" in str(late)
    assert lateness(Arrival(), LatePolicy(DUE, 0.1)) is None


CLAIMS = "times of files or commits alone, which students can set"


@pytest.mark.parametrize(
    ("by", "came", "words"),
    [
        ("file time", "2026-09-30T12:00:00+00:00", f"in time: 1 submission by {CLAIMS}"),
        ("last commit", "2026-09-30T12:00:00+00:00", f"in time: 1 submission by {CLAIMS}"),
        ("file time", "2026-11-09T12:00:00+00:00", "late by its file time, which its owner can set: "),
        ("roster", "2026-09-30T12:00:00+00:00", ""),
        ("roster", "2026-11-09T12:00:00+00:00", "late by its roster: "),
        ("Moodle worksheet", "2026-11-09T12:00:00+00:00", "late by its Moodle worksheet: "),
    ],
)
def test_a_time_that_the_student_can_set_is_called_a_claim(tmp_path: Path, by: str, came: str, words: str) -> None:
    with Gradebook.open(tmp_path / "gradebook.sqlite") as book:
        run = start(book, late=LatePolicy(DUE, 0.01, by_file_time=True))
        book.record_arrival(run, Submission("ann", {}, (), Arrival(submitted=came, by=by)), "d")
        book.record(run, result("ann"), "d", 0.1)
    lines = [line for line in status_lines(tmp_path, notes=False) if "in time" in line or "late" in line]
    assert words in lines[0] if words else not lines, lines


def test_late_work_is_shown_beside_the_score(tmp_path: Path) -> None:
    with Gradebook.open(tmp_path / "g") as book:
        run = start(book, late=LatePolicy(DUE, 0.25))
        came = Arrival(submitted="2026-10-02T12:00:01+00:00", by="roster")
        book.record_arrival(run, Submission("ann", {}, (), came), "d")
        book.record(run, result("ann"), "d", 0.1)
        (row,) = book.results()
        assert (row.result.score, row.score, row.final) == (3.0, 3.0, 1.5)
        assert str(row.late) == "2 days late by its roster: 50 % off"


@pytest.mark.parametrize("text", ["2026-10-31", datetime.date(2026, 10, 31), "2026-10-31T23:59:59"])
def test_date_alone_is_the_end_of_that_day(text: object) -> None:
    assert read_due(text) == datetime.datetime(2026, 10, 31, 23, 59, 59).astimezone()


@pytest.mark.parametrize("value", ["soon", 5, None, ""])
def test_what_is_not_a_date_is_refused(value: object) -> None:
    with pytest.raises(ValueError):
        read_due(value)


@pytest.mark.parametrize("value", [-0.1, 1.1, True, "0.1", float("nan")])
def test_what_is_not_a_fraction_is_refused(value: object) -> None:
    with pytest.raises(ValueError):
        read_penalty(value)


def test_runs_have_counts_of_their_progress(tmp_path: Path) -> None:
    with Gradebook.open(tmp_path / "g") as book:
        first = start(book, expected=3)
        book.record(first, result("ann"), "d", 0.1)
        book.record(first, result("bob", 0.0, "error"), "d", 0.1)
        second = start(book, expected=1)
        book.lookup("ann", "d", "hash", 0, "key", reuse_in=second)
        book.finish_run(second)
        one, two = book.runs()
        assert (one.done, one.newly_graded, one.failed, one.left, one.finished) == (2, 2, 1, 1, "")
        assert (two.done, two.newly_graded, two.failed, two.left, bool(two.finished)) == (1, 0, 0, 0, True)


def test_trial_is_never_the_last_run(tmp_path: Path) -> None:
    with Gradebook.open(tmp_path / "g") as book:
        book.record(start(book), result("ann"), "d", 0.1)
        trial = start(book, trial=True)
        book.record(trial, result("ann", 0.0, "failed"), "d", 0.1)
        assert [row.result.score for row in book.results()] == [3.0]
        assert [row.result.score for row in book.results(trial)] == [2.0]


def test_compare_names_each_exercise_whose_points_differ(tmp_path: Path) -> None:
    with Gradebook.open(tmp_path / "g") as book:
        first, second = start(book), start(book)
        for run, ann, extra in ((first, 1.0, "bob"), (second, 0.0, "cy")):
            book.record(run, result("ann", ann), "d", 0.1)
            book.record(run, result("same"), "d", 0.1)
            book.record(run, result(extra), f"{run}", 0.1)
        moves = [
            (move.submission, move.exercise, move.before, move.after)
            for move in compare(book.results(first), book.results(second))
        ]
    assert moves == [
        ("ann", "t.e", 1.0, 0.0),
        *(("bob", "t.e", 1.0, None), ("bob", "t.f", 2.0, None)),
        *(("cy", "t.e", None, 1.0), ("cy", "t.f", None, 2.0)),
    ]


def test_a_secret_seed_is_drawn_once_and_kept(tmp_path: Path) -> None:
    with Gradebook.open(tmp_path / "one") as book:
        assert book.seed is None
        drawn = book.keep_seed()
        assert 0 < drawn < 2**31
    with Gradebook.open(tmp_path / "one") as book:
        assert book.seed == book.keep_seed() == drawn
    with Gradebook.open(tmp_path / "two") as book:
        assert book.keep_seed() != drawn


def test_a_seed_that_is_given_is_kept_for_later_runs(tmp_path: Path) -> None:
    with Gradebook.open(tmp_path / "g") as book:
        book.keep_seed()
        assert book.keep_seed(0) == book.keep_seed() == 0
        assert book.keep_seed(7) == book.keep_seed() == 7


def test_two_graders_that_begin_together_get_one_seed(tmp_path: Path) -> None:
    with Gradebook.open(tmp_path / "g") as one, Gradebook.open(tmp_path / "g") as two:
        assert one.keep_seed() == two.keep_seed()
