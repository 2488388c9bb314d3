"""Where something was not assessed every output says so, and what is to be looked at is shown to instructors only."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from classrooms import OWN, check, entry, exercise, gradebook, result
from msgspec.structs import replace
from rich.console import Console

from grader.course import Course
from grader.exports import code_hosts, gradescope
from grader.exports.code_hosts import junit
from grader.exports.write import csv_table, json_document
from grader.gradebook import Gradebook
from grader.grading.class_report import report_class
from grader.grading.exit_codes import exit_code
from grader.grading.settings import ClassSettings, GradingSettings
from grader.marking.given import give_points
from grader.reports.check_report import CheckReport
from grader.reports.entries import Entry
from grader.reports.feedback import not_assessed
from grader.reports.html import page_name, write_report
from grader.reports.status import status_lines
from grader.reports.terminal import show_class
from grader.results import Flag, from_json, to_json

COURSE = Course.load(OWN)
FLAG = Flag("source", "uses sys.modules", "vectors.py", 12)
SAYS = "3 points not assessed: vectors.cosine"
LOOK = "look at line 12 of vectors.py: uses sys.modules"


def given(flags: tuple[Flag, ...] = (FLAG,)) -> Entry:
    """12.5 of 12.5 points, and 3 that are not assessed."""
    results = (
        exercise("vectors.normalize", check(), points=12.5),
        exercise("vectors.cosine", check("on_a_gpu", "skipped", "needs a CUDA device"), points=3),
    )
    return entry(replace(result("me", *results), flags=flags))


def console() -> tuple[io.StringIO, Console]:
    stream = io.StringIO()
    return stream, Console(file=stream, width=200, highlight=False, markup=False, emoji=False)


def check_output(one: Entry, out: Path) -> str:
    stream, to = console()
    CheckReport(COURSE, to).end(one.result, (), ())
    return stream.getvalue()


def class_table(one: Entry, out: Path) -> str:
    stream, to = console()
    show_class([one.row], to)
    return stream.getvalue()


def status(one: Entry, out: Path) -> str:
    return "\n".join(status_lines(gradebook(out / "gradebook.sqlite", [one]).parent, notes=False))


def class_page(one: Entry, out: Path) -> str:
    write_report([one], COURSE, out)
    return (out / "index.html").read_text()


def feedback_page(one: Entry, out: Path) -> str:
    write_report([one], COURSE, out)
    return (out / "students" / page_name("me")).read_text()


def annotations(one: Entry, out: Path) -> str:
    return "\n".join(code_hosts.commands([one], out))


def github_summary(one: Entry, out: Path) -> str:
    return code_hosts.summary([one], COURSE).replace("\\", "")


def junit_file(one: Entry, out: Path) -> str:
    return b"".join(junit([one])).decode()


def gradescope_file(one: Entry, out: Path) -> str:
    return gradescope.results(one).decode()


STUDENTS = [check_output, feedback_page, annotations, github_summary, junit_file, gradescope_file]
INSTRUCTORS = [class_table, status, class_page]


@pytest.mark.parametrize("output", [*STUDENTS, *INSTRUCTORS], ids=lambda output: output.__name__)
def test_every_output_says_what_is_not_assessed(output: Callable[[Entry, Path], str], tmp_path: Path) -> None:
    assert SAYS in output(given(), tmp_path)


@pytest.mark.parametrize("output", [check_output, junit_file, gradescope_file], ids=lambda output: output.__name__)
def test_beside_the_points(output: Callable[[Entry, Path], str], tmp_path: Path) -> None:
    assert f"12.5 of 12.5, {SAYS}" in output(given(), tmp_path)


@pytest.mark.parametrize("output", [*STUDENTS, *INSTRUCTORS], ids=lambda output: output.__name__)
def test_nothing_is_said_where_everything_is_assessed(output: Callable[[Entry, Path], str], tmp_path: Path) -> None:
    assert "points not assessed" not in output(entry(result("me", exercise("vectors.cosine", check()))), tmp_path)


def test_the_table_of_marks_has_a_column_for_it_and_one_for_flags() -> None:
    (row,) = csv.DictReader(io.StringIO(b"".join(csv_table([given()], COURSE)).decode("utf-8-sig")))
    assert (row["points"], row["max"], row["not assessed"], row["flags"]) == ("12.5", "12.5", "3", LOOK)


def test_json_has_the_points_and_the_flags() -> None:
    (one,) = json.loads(b"".join(json_document([given()], COURSE)))["submissions"]
    assert [exercise["not_assessed"] for exercise in one["result"]["exercises"]] == [0, 3]
    assert one["result"]["flags"] == [{"kind": "source", "text": "uses sys.modules", "file": "vectors.py", "line": 12}]
    assert from_json(to_json(given().result)) == given().result


@pytest.mark.parametrize("output", [status, class_page], ids=lambda output: output.__name__)
def test_an_instructor_reads_where_to_look(output: Callable[[Entry, Path], str], tmp_path: Path) -> None:
    assert LOOK in output(given(), tmp_path)


def test_grade_notes_it_and_its_table_counts_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "1 flag" in class_table(given(), tmp_path)
    gradebook(tmp_path / "gradebook.sqlite", [given()])
    with Gradebook.open_existing(tmp_path) as book:
        code = report_class(book, 1, ClassSettings(paths=(), out=tmp_path, jobs=1), GradingSettings())
    printed = capsys.readouterr()
    assert f"note: me: {LOOK}" in printed.err.splitlines()
    assert code == 1 and "points that are not assessed count as missing for the exit code" in printed.out


@pytest.mark.parametrize("output", STUDENTS, ids=lambda output: output.__name__)
def test_no_student_reads_a_flag(output: Callable[[Entry, Path], str], tmp_path: Path) -> None:
    text = output(given(), tmp_path)
    assert "look at" not in text and "sys.modules" not in text and "flag" not in text.lower()


@pytest.mark.parametrize(
    ("fail_under", "skipped_ok", "code"),
    [(None, False, 1), (None, True, 0), (80, False, 0), (81, False, 1), (81, True, 0), (100, True, 0)],
)
def test_points_not_assessed_count_as_missing_unless_that_is_fine(
    fail_under: float | None, skipped_ok: bool, code: int
) -> None:
    assert exit_code([given().result], fail_under, skipped_ok) == code  # 12.5 of 15.5 is 80.6 %


def test_points_given_by_hand_for_what_is_not_assessed_count(tmp_path: Path) -> None:
    gradebook(tmp_path / "gradebook.sqlite", [given()])
    lines = list(give_points(tmp_path, "me", "cosine", "2", "looked at it on my GPU", "me"))
    assert lines[-1].startswith("me: 14.5/15.5")
    with Gradebook.open_existing(tmp_path) as book:
        (row,) = book.results()
    assert not_assessed(row.result, {one.exercise for one in row.overrides}) == ""
