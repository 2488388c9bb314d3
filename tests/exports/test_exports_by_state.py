"""What exports and pages do with work that could not be read, that came late, or that a person gave points for."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from classrooms import OWN, check, exercise, gradebook, result
from lms_files import fill_canvas, fill_moodle
from msgspec.structs import replace
from test_exports_lms import GRADES, WORKSHEET, file

from grader.course import Course
from grader.errors import UserError
from grader.exports import gradescope
from grader.exports.code_hosts import commands, junit
from grader.exports.write import ExportSettings, csv_table, export, json_document
from grader.gradebook import Gradebook, Override, Row
from grader.gradebook.records import Late
from grader.grading.exit_codes import missing_layers
from grader.intake.submission import Arrival
from grader.reports.entries import Entry
from grader.reports.feedback import to_look_at, unread
from grader.reports.html import page_name, write_report
from grader.results import Cause, Unread
from grader.text import percent

COURSE = Course.load(OWN)
TERM = OWN.parent / "term_course"
HOSTILE = "=HYPERLINK(1) <b>\x1b[31m.zip: damaged"


def row(name: str, *verdicts: str, unreadable: str = "", late: Late | None = None, **given: float) -> Row:
    """A row with `normalize` and `cosine`; `given` are points of a person."""
    exercises = [
        exercise(f"vectors.{one}", check(verdict=verdict, message="no"), points=2)  # type: ignore[arg-type]
        for one, verdict in zip(("normalize", "cosine"), verdicts, strict=True)
    ]
    made = result(name, *exercises)
    made = replace(made, unread=(Unread("vectors", unreadable),) if unreadable else ())
    overrides = tuple(
        Override(student=name, exercise=f"vectors.{one}", points=points, max=2, why="seen", who="P", made="2026-01-01")
        for one, points in given.items()
    )
    return Row(made, "d", 0.5, arrival=Arrival(student=name), late=late, overrides=overrides)


def table(*rows: Row) -> list[dict[str, str]]:
    text = b"".join(csv_table([Entry(one) for one in rows], COURSE)).decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text)))


def test_canvas_and_moodle_leave_the_cell_of_unread_work_and_list_the_names(tmp_path: Path) -> None:
    lost = row("pn", "failed", "failed", unreadable="work.zip: damaged")
    content, notes = fill_canvas(file(tmp_path, GRADES), [Entry(lost)], "77")
    assert content == GRADES.encode()
    assert notes[-1] == "1 cell left as it is, as the work could not be read: pn (--unread-as 0: zeros)"
    content, notes = fill_canvas(file(tmp_path, GRADES), [Entry(lost)], "77", unread_as_zero=True)
    assert content == GRADES.replace("pn,A,4,", "pn,A,0,").encode() and not any("read: pn" in note for note in notes)

    lost = row("Jürgen Müller", "failed", "failed", unreadable=HOSTILE)
    content, notes = fill_moodle(file(tmp_path, WORKSHEET), [Entry(lost)])
    assert 'late",,"100,00",-,Automatic feedback: no mark yet: work could not be read.' in content.decode()
    assert "&lt;b&gt;" in content.decode() and "\x1b" not in content.decode()
    assert any("could not be read: Jürgen Müller" in note for note in notes)
    content, _ = fill_moodle(file(tmp_path, WORKSHEET), [Entry(lost)], unread_as_zero=True)
    assert 'late",0,"100,00"' in content.decode()


def test_a_mark_that_is_there_already_stays_when_the_work_cannot_be_read(tmp_path: Path) -> None:
    lost = row("Pat Neil", "failed", "failed", unreadable="x")
    content, _ = fill_moodle(file(tmp_path, WORKSHEET), [Entry(lost)])
    assert "Submitted,1," in content.decode()


def test_partly_unread_work_is_no_mark_either(tmp_path: Path) -> None:
    lost = row("pn", "passed", "failed", unreadable="rest.zip: encrypted")
    assert fill_canvas(file(tmp_path, GRADES), [Entry(lost)], "77")[0] == GRADES.encode()


def test_points_by_hand_for_all_exercises_end_the_state(tmp_path: Path) -> None:
    lost = row("pn", "failed", "failed", unreadable="x", normalize=2, cosine=1)
    assert lost.unread == () and to_look_at(lost) == []
    assert b"pn,A,7.5," in fill_canvas(file(tmp_path, GRADES), [Entry(lost)], "77")[0]
    assert row("pn", "failed", "failed", unreadable="x", normalize=2).unread


def test_the_csv_has_no_final_points_for_unread_work_and_no_formulas() -> None:
    lost, fine = table(row("ann", "failed", "failed", unreadable=HOSTILE), row("bob", "passed", "passed"))
    assert (lost["final"], lost["percent"], lost["vectors.cosine"]) == ("", "", "")
    assert lost["unread"] == "could not be read: =HYPERLINK(1) <b>.zip: damaged"
    assert (fine["final"], fine["percent"], fine["unread"]) == ("4", "100.0", "")


def test_json_junit_and_github_say_what_is_unread() -> None:
    entries = [Entry(row("ann", "failed", "failed", unreadable="work.zip: <damaged>"))]
    (one,) = json.loads(b"".join(json_document(entries, COURSE)))["submissions"]
    assert one["unread"] == [{"topic": "vectors", "reason": "work.zip: <damaged>"}]
    assert b"could not be read: work.zip: &lt;damaged&gt;" in b"".join(junit(entries))
    assert any("title=no mark yet::could not be read: work.zip" in line for line in commands(entries, Path()))


def test_gradescope_counts_lateness_and_says_so() -> None:
    late = Late(2, 0.2, "roster")
    document = json.loads(gradescope.results(Entry(row("ann", "passed", "passed", late=late))))
    assert document["score"] == 3.2 and "2 days late by its roster: 20 % off: 3.2/4 points count" in document["output"]


def test_gradescope_says_that_unread_work_is_no_mark() -> None:
    document = json.loads(gradescope.results(Entry(row("ann", "failed", "failed", unreadable=HOSTILE))))
    assert document["output"].startswith("This is no mark yet") and "\x1b" not in document["output"]
    assert document["extra_data"] == {"unread": ["vectors"]}


def test_gradescope_shows_points_by_hand_at_their_exercise() -> None:
    document = json.loads(gradescope.results(Entry(row("ann", "failed", "passed", normalize=1.5))))
    assert document["score"] == 3.5 and document["tests"][0]["output"].startswith("1.5/2 given by hand: seen")


@pytest.mark.parametrize(
    ("score", "most", "shown"),
    [(14, 17, 82.4), (2, 3, 66.7), (1, 3, 33.3), (2999, 3000, 99.9), (1, 9000, 0.1), (0, 3, 0.0), (3, 3, 100.0)],
)
def test_percent_is_rounded_and_full_only_where_nothing_is_missing(score: float, most: float, shown: float) -> None:
    assert percent(score, most) == shown and percent(score, 0) is None


def test_what_is_unread_is_named_by_topic_only_where_it_is_not_all() -> None:
    some = result("ann", exercise("a.x", check(verdict="failed")), exercise("b.x", check()))
    assert unread(Row(replace(some, unread=(Unread("a", "r"),)), "d", 0)) == ["a could not be read: r"]
    assert unread(Row(replace(some, unread=(Unread("a", "r"), Unread("b", "r"))), "d", 0)) == ["could not be read: r"]


def test_what_cannot_be_imported_is_listed_and_stays_a_mark() -> None:
    cause = Cause(
        kind="exception", stage="import", file="vectors.py", exception_type="ValueError", exception_message="x"
    )
    made = result("ann", exercise("vectors.cosine", check(verdict="failed", cause=cause)))
    assert to_look_at(Row(made, "d", 0)) == ["vectors.py cannot be imported: ValueError: x"]
    hostile = replace(cause, exception_message="\x1b[31m::error::x\nsecond line")
    (line,) = to_look_at(Row(result("ann", exercise("a.b", check(verdict="failed", cause=hostile))), "d", 0))
    assert "\x1b" not in line and "second" not in line
    assert Row(made, "d", 0).unread == () and table(Row(made, "d", 0))[0]["final"] == "0"


def test_where_nothing_was_run_no_layer_of_the_sandbox_is_missing() -> None:
    assert missing_layers(result("ann", exercise("vectors.cosine", check(verdict="error")), sandbox=())) == []
    assert missing_layers(result("ann", exercise("vectors.cosine", check()), sandbox=()))


@pytest.mark.parametrize("to", ["download.csv", "./download.csv", "link.csv", "hard.csv"])
def test_an_export_never_writes_over_the_download(tmp_path: Path, to: str) -> None:
    gradebook(tmp_path / "gradebook.sqlite", [Entry(row("pn", "passed", "passed"))])
    into = file(tmp_path, GRADES)
    (tmp_path / "link.csv").symlink_to(into)
    (tmp_path / "hard.csv").hardlink_to(into)
    with pytest.raises(UserError, match="is the file that you downloaded"):
        export("canvas", ExportSettings(grades=tmp_path, course=OWN, into=into, to=tmp_path / to, column=("77",)))
    assert into.read_bytes() == GRADES.encode()


@pytest.mark.parametrize("some", [{"only": ("samples.mean",)}, {"run": 1}, {"submission": "pn"}])
def test_several_columns_are_filled_with_all_marks_or_not_at_all(tmp_path: Path, some: dict[str, Any]) -> None:
    with Gradebook.open(tmp_path / "gradebook.sqlite") as book:
        book.start_run("straight-lines", "hash", 0, "{}", {})
    columns = ("week1=Week 1", "week2=Week 2")
    wanted = ExportSettings(grades=tmp_path, course=TERM, into=file(tmp_path, GRADES), column=columns, **some)
    with pytest.raises(UserError, match="several columns at once get all marks"):
        export("canvas", wanted)


def pages(folder: Path, *rows: Row) -> tuple[str, list[str]]:
    index = write_report([Entry(one) for one in rows], COURSE, folder)
    students = [(folder / "students" / page_name(one.result.submission)).read_text() for one in rows]
    return index.read_text(), students


def test_the_class_page_counts_and_names_who_needs_a_look(tmp_path: Path) -> None:
    lost = row("ann", "failed", "failed", unreadable=HOSTILE)
    page, (hers, _) = pages(tmp_path, lost, row("bob", "passed", "passed"))
    assert "<dt>needs a look</dt><dd>1</dd>" in page and "<dt>mean</dt><dd>100.0%</dd>" in page
    assert "could not be read: =HYPERLINK(1) &lt;b&gt;.zip: damaged" in page and "\x1b" not in page
    assert "No mark yet" in hers and "damaged" in hers and "0.0%" not in hers


def test_a_feedback_page_agrees_with_itself_after_an_override(tmp_path: Path) -> None:
    _, (less, more) = pages(
        tmp_path, row("ann", "passed", "passed", normalize=0.5), row("bob", "failed", "passed", normalize=2)
    )
    assert "<strong>2.5/4</strong>" in less and '<span class="points">2.5/4</span>' in less
    assert "✎" in less and "0.5/2 by P: seen (automatic: 2/2)" in less
    assert "<strong>4/4</strong>" in more and '<span class="points">4/4</span>' in more
    assert "2/2 by P: seen (automatic: 0/2)" in more and '<article class="hand">' in more


def test_the_heat_map_counts_points_by_hand(tmp_path: Path) -> None:
    page, _ = pages(tmp_path, row("ann", "failed", "passed", normalize=2), row("bob", "failed", "passed"))
    assert 'title="1 of 2 passed"' in page
