"""A mark is made of the latest result of each exercise, from whichever run, however small a part that graded."""

from __future__ import annotations

import csv
import datetime
import io
from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from grader.course.due import LatePolicy
from grader.errors import UserError
from grader.exports.write import ExportSettings, export
from grader.gradebook import Gradebook, LookedAt, Override, selection_key
from grader.intake.submission import Arrival, Submission, digest
from grader.reports.entries import about, entries_of
from grader.reports.status import status_lines
from grader.results import ExerciseResult, Flag, SubmissionResult, Unread

COURSE = ("t.a", "t.b", "u.c")
MOST = {"t.a": 2.0, "t.b": 3.0, "u.c": 4.0}


def run(
    out: Path,
    results: Mapping[str, Mapping[str, float]],
    *,
    exercises: tuple[str, ...] = COURSE,
    files: Mapping[str, bytes] | None = None,
    unread: tuple[Unread, ...] = (),
) -> int:
    """One more run: by student, the points of the exercises that it graded."""
    with Gradebook.open(out / "gradebook.sqlite") as book:
        number = book.start_run("course", "hash", 1, "key", {}, expected=len(results), exercises=exercises)
        for name, points in results.items():
            found = tuple(ExerciseResult(name=one, score=score, max=MOST[one]) for one, score in points.items())
            submission = Submission(name, dict(files or {"t.py": b"1", "u.py": b"1"}))
            book.record_arrival(number, submission, digest(submission))
            result = SubmissionResult(
                submission=name,
                score=sum(points.values()),
                max=sum(MOST[one] for one in points),
                exercises=found,
                unread=unread,
                flags=(Flag("source", f"run {number}", "t.py", 1),),
            )
            book.record(number, result, digest(submission), 0.1)
        book.finish_run(number)
        return number


def marks(out: Path) -> dict[str, tuple[dict[str, float], float, float]]:
    with Gradebook.open_existing(out) as book:
        return {
            row.result.submission: ({one.name: one.score for one in row.result.exercises}, row.score, row.max)
            for row in book.results()
        }


def test_runs_over_parts_change_the_exercises_that_they_graded_and_nothing_else(tmp_path: Path) -> None:
    run(tmp_path, {"ann": {"t.a": 2, "t.b": 0, "u.c": 4}, "bob": {"t.a": 0, "t.b": 3, "u.c": 0}})
    run(tmp_path, {"ann": {"t.a": 0, "t.b": 3}, "bob": {"t.a": 2, "t.b": 3}})
    run(tmp_path, {"ann": {"t.b": 1}})
    assert marks(tmp_path) == {
        "ann": ({"t.a": 0, "t.b": 1, "u.c": 4}, 5, 9),
        "bob": ({"t.a": 2, "t.b": 3, "u.c": 0}, 5, 9),
    }
    with Gradebook.open_existing(tmp_path) as book:
        ann, bob = book.results()
        assert ann.runs == (3, 2, 1) and bob.runs == (2, 1) and ann.missing == ()
        assert {flag.text for flag in ann.result.flags} == {"run 3", "run 2", "run 1"}
        told = list(about(book, entries_of(book)))
    assert ["run 1 of" in told[0], "2 submissions" in told[0], "1 submission;" in told[2]] == [True] * 3
    lines = list(status_lines(tmp_path, notes=False))
    assert any("each of 2 students, exercise by exercise: 2 of run 1, 2 of run 2, 1 of run 3" in line for line in lines)


def test_one_run_is_shown_as_it_was(tmp_path: Path) -> None:
    run(tmp_path, {"ann": {"t.a": 2, "t.b": 0, "u.c": 4}})
    second = run(tmp_path, {"ann": {"t.a": 0}})
    with Gradebook.open_existing(tmp_path) as book:
        (row,) = book.results(second)
    assert [one.name for one in row.result.exercises] == ["t.a"] and row.max == 2 and row.missing == ()


def test_exercises_that_the_course_has_no_more_count_no_more(tmp_path: Path) -> None:
    run(tmp_path, {"ann": {"t.a": 2, "t.b": 3, "u.c": 4}})
    run(tmp_path, {"ann": {"t.a": 1}}, exercises=("t.a", "u.c"))
    assert marks(tmp_path) == {"ann": ({"t.a": 1, "u.c": 4}, 5, 6)}


def test_files_and_unread_topics_are_those_that_each_exercise_was_graded_with(tmp_path: Path) -> None:
    old = {"t.py": b"old t", "u.py": b"old u", "help.py": b"old"}
    run(tmp_path, {"ann": {"t.a": 2, "t.b": 3, "u.c": 0}}, files=old, unread=(Unread("t", "x"), Unread("u", "y")))
    run(tmp_path, {"ann": {"t.a": 1}}, files={"t.py": b"new t", "u.py": b"new u"})
    with Gradebook.open_existing(tmp_path) as book:
        (entry,) = entries_of(book)
    assert [one.topic for one in entry.row.result.unread] == ["t", "u"], (
        "t.b is still that of the work nobody could read"
    )
    run(tmp_path, {"ann": {"t.a": 1, "t.b": 2}}, files={"t.py": b"new t", "u.py": b"new u"})
    with Gradebook.open_existing(tmp_path) as book:
        (entry,) = entries_of(book)
    assert [one.topic for one in entry.row.result.unread] == ["u"]
    with Gradebook.open_existing(tmp_path) as book:
        (entry,) = entries_of(book)
        assert dict(entry.files()) == {"t.py": b"new t", "u.py": b"old u"}


def course(folder: Path) -> Path:
    """A course with these exercises."""
    for name, functions in (("t", ("a", "b")), ("u", ("c",))):
        for kind in ("exercises", "solutions", "checks"):
            (folder / kind).mkdir(parents=True, exist_ok=True)
        text = "".join(f'def {one}():\n    """One."""\n    return 1\n\n\n' for one in functions)
        (folder / "exercises" / f"{name}.py").write_text(text)
        (folder / "solutions" / f"{name}.py").write_text(text)
        checks = "".join(
            f'@exercise("{name}.{one}")\ndef test_{one}(submission):\n    """One."""\n\n\n' for one in functions
        )
        (folder / "checks" / f"test_{name}.py").write_text(f"from grader.testkit import exercise\n\n\n{checks}")
    topics = "".join(
        f'[[topics]]\nname = "{name}"\ntitle = "{name}"\nsummary = "s"\nreading = ["r"]\n'
        + "".join(f'[[topics.exercises]]\nname = "{one}"\npoints = {MOST[f"{name}.{one}"]:g}\n' for one in functions)
        for name, functions in (("t", ("a", "b")), ("u", ("c",)))
    )
    (folder / "course.toml").write_text(f'[course]\nname = "course"\ntitle = "Course"\n\n{topics}')
    return folder


def table(folder: Path) -> dict[str, tuple[str, str]]:
    """By submission, its points and the most that there are, in the exported file."""
    text = (folder / "marks.csv").read_text(encoding="utf-8-sig")
    return {row["submission"]: (row["points"], row["max"]) for row in csv.DictReader(io.StringIO(text))}


def test_marks_of_a_part_are_exported_only_if_they_are_asked_for(tmp_path: Path) -> None:
    out = tmp_path / "out"
    settings = ExportSettings(grades=out, course=course(tmp_path / "course"), to=tmp_path / "marks.csv")
    run(out, {"ann": {"t.a": 2, "t.b": 3}})
    for kind in ("csv", "gradescope"):
        with pytest.raises(UserError, match=r"not graded yet for 1 submission: u\.c"):
            export(kind, settings)
    with pytest.raises(UserError, match=r"not graded yet for 1 submission: u\.c"):
        export("csv", replace(settings, only=("u",)))
    export("csv", replace(settings, only=("t",)))
    assert table(tmp_path)["ann"] == ("5", "5")
    with Gradebook.open(out / "gradebook.sqlite") as book:
        (row,) = book.results()
        given = Override(student="ann", exercise="u.c", points=3.0, max=4.0, why="by hand", who="me", made="")
        book.give("course", given, LookedAt(digest=row.digest))
    export("csv", settings)
    assert table(tmp_path)["ann"] == ("8", "9")
    export("csv", replace(settings, only=("t",)))
    assert table(tmp_path)["ann"] == ("5", "5")


def test_work_that_is_worth_less_than_the_work_before_says_so(tmp_path: Path) -> None:
    whole = {"t.a": 2.0, "t.b": 3.0, "u.c": 4.0}
    run(tmp_path, {"ann": whole, "bob": whole, "cy": whole}, files={"t.py": b"1"})
    run(tmp_path, {"ann": {**whole, "t.a": 0.0}, "bob": whole}, files={"t.py": b""})
    run(tmp_path, {"cy": {**whole, "t.a": 0.0}}, files={"t.py": b"1"})  # the same work by another check
    lines = [line for line in status_lines(tmp_path, notes=False) if "before" in line]
    assert lines == ["less than before: ann: the new work has 7/9, the work before it had 9/9"]


def test_what_a_run_graded_unasked_changes_a_mark_only_if_it_is_worth_more(tmp_path: Path) -> None:
    """As of `--only b`, which needs a: of late, different work, whose a may be better or worse."""
    days = datetime.timedelta(days=1)
    due = datetime.datetime(2026, 10, 1, tzinfo=datetime.timezone.utc)
    policy = LatePolicy(due, 0.25)
    works = {"ann": (2, 0), "bob": (1, 2), "cid": (1.5, 2)}  # a in time, and a late
    for number, needed in enumerate(((), ("t.a",))):
        with Gradebook.open(tmp_path / "gradebook.sqlite") as book:
            key = selection_key(COURSE[:2], {"needed": needed} if needed else {})
            run_number = book.start_run("course", "hash", 1, key, {}, exercises=COURSE[:2], late=policy)
            for name, points in works.items():
                came = Arrival(submitted=(due + (2 * number - 1) * days).isoformat(), by="roster")
                submission = Submission(name, {"t.py": str(number).encode()}, arrival=came)
                book.record_arrival(run_number, submission, digest(submission))
                found = tuple(
                    ExerciseResult(name=one, score=score, max=MOST[one])
                    for one, score in zip(COURSE[:2], (points[number], 3 * number), strict=True)
                )
                result = SubmissionResult(submission=name, score=points[number] + 3 * number, max=5, exercises=found)
                book.record(run_number, result, digest(submission), 0.1)
            book.finish_run(run_number)
    with Gradebook.open_existing(tmp_path) as book:
        of = {row.result.submission: ([one.score for one in row.result.exercises], row.final) for row in book.results()}
    assert of == {"ann": ([2, 3], 4.25), "bob": ([2, 3], 3.75), "cid": ([1.5, 3], 3.75)}
