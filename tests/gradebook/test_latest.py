"""What reports show after several runs: everybody's latest result, whoever was in the last run."""

from __future__ import annotations

from pathlib import Path

from grader.gradebook import Gradebook, LookedAt, Override
from grader.intake.submission import Arrival, Submission
from grader.reports.entries import entries_of
from grader.reports.status import status_lines
from grader.results import ExerciseResult, SubmissionResult


def graded(
    out: Path,
    *students: tuple[str, str, float],
    course: str = "course",
    trial: bool = False,
    digest: str = "d",
    version: str = "",
) -> int:
    """One more run: of each student the name, the LMS's id and the points."""
    with Gradebook.open(out / "gradebook.sqlite") as book:
        run = book.start_run(course, version or course, 0, "key", {}, expected=len(students), trial=trial)
        for name, person, points in students:
            exercise = ExerciseResult(name="t.e", score=points, max=2.0)
            result = SubmissionResult(submission=name, score=points, max=2.0, exercises=(exercise,))
            book.record_arrival(run, Submission(name, {}, (), Arrival(student=person)), digest)
            book.record(run, result, digest, 0.1)
        book.finish_run(run)
        return run


def shown(out: Path, run: int | None = None) -> list[tuple[str, float]]:
    with Gradebook.open_existing(out) as book:
        return [(entry.result.submission, entry.row.score) for entry in entries_of(book, run)]


def test_one_late_submission_does_not_hide_the_class(tmp_path: Path) -> None:
    graded(tmp_path, *((f"s{number:02}", "", 2.0) for number in range(40)))
    graded(tmp_path, ("late", "", 1.0))
    assert len(shown(tmp_path)) == 41 and ("late", 1.0) in shown(tmp_path)
    assert shown(tmp_path, 2) == [("late", 1.0)] and len(shown(tmp_path, 1)) == 40
    lines = list(status_lines(tmp_path, notes=False))
    assert sum("each of 41 students: 40 of run 1, 1 of run 2" in line for line in lines) == 1


def test_a_student_who_was_graded_on_other_exercises_is_noticed(tmp_path: Path) -> None:
    graded(tmp_path, ("ann", "", 2.0), ("bob", "", 2.0))
    with Gradebook.open(tmp_path / "gradebook.sqlite") as book:
        run = book.start_run("course", "course", 0, "key", {})
        exercises = tuple(ExerciseResult(name=f"t.{name}", score=1.0, max=1.0) for name in "ab")
        book.record(run, SubmissionResult(submission="cy", score=2.0, max=2.0, exercises=exercises), "d", 0.1)
    lines = list(status_lines(tmp_path, notes=False))
    wanted = "not all were graded on the same exercises: 2 students on 1, 1 student on 2 (see: grade --only)"
    assert wanted in lines


def test_students_who_were_graded_by_another_version_of_the_course_are_noticed(tmp_path: Path) -> None:
    """Not where everybody's exercise was graded again."""
    wanted = "graded by several versions of the course: t.e: grade all again to compare"
    everybody = ("ann", "", 2.0), ("bob", "", 2.0)
    graded(tmp_path, *everybody)
    graded(tmp_path, everybody[0])
    assert wanted not in status_lines(tmp_path, notes=False)
    graded(tmp_path, everybody[0], version="mended")
    assert wanted in status_lines(tmp_path, notes=False)
    graded(tmp_path, *everybody, version="mended")
    assert wanted not in status_lines(tmp_path, notes=False)


def test_the_latest_result_of_a_student_counts(tmp_path: Path) -> None:
    graded(tmp_path, ("ann", "1", 0.0), ("bob", "2", 1.0))
    graded(tmp_path, ("ann", "1", 2.0), digest="better")
    assert shown(tmp_path) == [("ann", 2.0), ("bob", 1.0)]


def test_a_student_is_known_by_the_id_when_a_roster_brings_another_name(tmp_path: Path) -> None:
    graded(tmp_path, ("doejane", "7", 0.0), ("bob", "8", 1.0))
    graded(tmp_path, ("Jane Doe", "7", 2.0))
    assert shown(tmp_path) == [("Jane Doe", 2.0), ("bob", 1.0)]


def test_a_folder_called_by_an_id_is_the_student_whom_a_roster_names_later(tmp_path: Path) -> None:
    graded(tmp_path, ("s1", "", 0.0), ("s2", "", 1.0))
    graded(tmp_path, ("Ann", "s1", 2.0))
    assert shown(tmp_path) == [("Ann", 2.0), ("s2", 1.0)]


def test_a_name_with_and_without_an_id_is_one_student(tmp_path: Path) -> None:
    graded(tmp_path, ("Ann", "7", 0.0))
    graded(tmp_path, ("Ann", "", 2.0))
    assert shown(tmp_path) == [("Ann", 2.0)]


def test_two_students_of_one_name_in_two_runs_stay_two(tmp_path: Path) -> None:
    graded(tmp_path, ("Max Schmidt", "1011", 0.0))
    graded(tmp_path, ("Max Schmidt", "1012", 2.0))
    assert shown(tmp_path) == [("Max Schmidt (1011)", 0.0), ("Max Schmidt (1012)", 2.0)]
    given = Override(student="Max Schmidt", exercise="t.e", points=1.0, max=2.0, why="w", who="me", made="2026-01-01")
    with Gradebook.open_existing(tmp_path) as book:
        book.give("course", given, LookedAt("1011", "d"))
    assert shown(tmp_path) == [("Max Schmidt (1011)", 1.0), ("Max Schmidt (1012)", 2.0)]


def test_an_override_stays_with_its_student_when_the_name_changes(tmp_path: Path) -> None:
    graded(tmp_path, ("doejane", "7", 0.0))
    given = Override(student="doejane", exercise="t.e", points=1.5, max=2.0, why="w", who="me", made="2026-01-01")
    with Gradebook.open_existing(tmp_path) as book:
        book.give("course", given, LookedAt("7", "d"))
    graded(tmp_path, ("Jane Doe", "7", 0.0))
    assert shown(tmp_path) == [("Jane Doe", 1.5)]


def test_trials_and_other_courses_are_left_out(tmp_path: Path) -> None:
    graded(tmp_path, ("old", "", 2.0), course="last year's")
    graded(tmp_path, ("ann", "", 2.0))
    graded(tmp_path, ("ann", "", 0.0), ("bob", "", 0.0), trial=True)
    assert shown(tmp_path) == [("ann", 2.0)]


def test_an_interrupted_run_shows_earlier_results_of_those_it_has_not_come_to(tmp_path: Path) -> None:
    graded(tmp_path, ("ann", "", 1.0), ("bob", "", 1.0))
    graded(tmp_path, ("ann", "", 2.0))
    assert shown(tmp_path) == [("ann", 2.0), ("bob", 1.0)]
