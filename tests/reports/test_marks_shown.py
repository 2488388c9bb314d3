"""Marks by a rubric, comments, and what is not marked yet: in every report and every export, and safe in each."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from lms_files import fill_canvas, fill_moodle
from marked_class import ADA, BOB, COURSE, graded

from grader.exports import code_hosts, gradescope
from grader.exports.code_hosts import junit
from grader.exports.write import csv_table, json_document
from grader.gradebook import Gradebook
from grader.marking.given import give_comment
from grader.marking.rubric import Marking
from grader.reports.entries import Entry, entries_of
from grader.reports.html import write_report
from grader.reports.status import diff_lines, status_lines

HOSTILE = "=cmd|' /C calc'!A0\x1b[31m <script>alert(1)</script>\n::error::no"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Ada is marked in all and has comments; Bob's report is marked, and changed since; nobody has marked Cy."""
    graded(tmp_path, {"ada": ADA, "bob": BOB, "=cy": BOB})
    with Gradebook.open_existing(tmp_path) as book:
        marking = Marking(book, COURSE, "me")
        for exercise, items in (("report", "1,3"), ("style", "all"), ("plot", "none")):
            list(marking.mark_one(exercise, "ada", items, HOSTILE if exercise == "report" else None))
        list(marking.mark_one("report", "bob", "2", None))
    list(give_comment(tmp_path, "ada", "moving_average", "=1+1 see <b>conv1d</b>", "me"))
    return graded(tmp_path, {"bob": {**BOB, "report.md": b"new"}})


@pytest.fixture
def entries(out: Path) -> dict[str, Entry]:
    with Gradebook.open_existing(out) as book:
        found = entries_of(book)
        files = {entry.row.digest: book.files(entry.row.digest) for entry in found}
    return {entry.result.submission: Entry(entry.row, files.__getitem__) for entry in found}


def test_csv_has_points_or_an_empty_cell_and_no_final_points_before_all_is_marked(entries: dict[str, Entry]) -> None:
    text = b"".join(csv_table(list(entries.values()), COURSE)).decode("utf-8-sig")
    rows = {row["submission"]: row for row in csv.DictReader(io.StringIO(text))}
    ada, bob, cy = rows["ada"], rows["bob"], rows["'=cy"]
    names = ("curves.moving_average", "curves.style", "findings.plot", "findings.report")
    assert [ada[name] for name in names] == ["2", "1.5", "0", "3"]
    assert (ada["points"], ada["max"], ada["final"], ada["not marked"]) == ("6.5", "9.5", "6.5", "0")
    assert [bob[name] for name in names] == ["2", "", "", "1"]
    assert (bob["final"], bob["percent"], bob["not marked"]) == ("", "", "3.5")
    assert bob["changed since"] == "mark of findings.report: the work under it has changed"
    assert (cy["final"], cy["not marked"], cy["comments"]) == ("", "7.5", "")
    assert ada["comments"].startswith("curves.moving_average: =1+1") and "\x1b" not in ada["comments"]
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows.values() for cell in row.values() if cell)


def test_json_has_marks_items_and_comments(entries: dict[str, Entry]) -> None:
    document = json.loads(b"".join(json_document(list(entries.values()), COURSE)))
    of = {one["submission"]: one for one in document["submissions"]}
    assert of["ada"]["not_marked"] == [] and of["=cy"]["not_marked"] == [one.full_name for one in COURSE.manual]
    report = next(one for one in of["ada"]["marks"] if one["exercise"] == "findings.report")
    assert [item["given"] for item in report["items"]] == [True, False, True] and report["who"] == "me"
    assert of["bob"]["marks"][0]["stale"] is True and len(of["ada"]["comments"]) == 2


def test_gradescope_shows_items_and_comments_and_what_is_not_marked(entries: dict[str, Entry]) -> None:
    ada = json.loads(gradescope.results(entries["ada"]))
    tests = {one["name"]: one for one in ada["tests"]}
    report = tests["findings.report"]
    assert ada["score"] == 6.5 and (report["score"], report["max_score"]) == (3, 4)
    assert "✗ says why the ends of the curve are lost: 0/1" in report["output"] and "\x1b" not in report["output"]
    assert tests["curves.moving_average"]["output"].startswith("comment: =1+1 see <b>conv1d</b>")
    cy = json.loads(gradescope.results(entries["=cy"]))
    assert "2 of 2, 7.5 points not marked yet" in cy["output"] and cy["score"] == 2
    unmarked = next(one for one in cy["tests"] if one["name"] == "findings.plot")
    assert "status" not in unmarked and unmarked["output"].endswith("plot.png is not there\nnot marked yet")


def test_cells_of_an_lms_are_left_as_they_are_before_all_is_marked(entries: dict[str, Entry], tmp_path: Path) -> None:
    sheet = tmp_path / "canvas.csv"
    sheet.write_text("Student,ID,Week 1 (7)\n    Points Possible,,9.5\nada,1,5\nbob,2,5\n=cy,3,\n")
    filled, notes = fill_canvas(sheet, list(entries.values()))
    assert [line.rpartition(",")[2] for line in filled.decode().splitlines()[2:]] == ["6.5", "5", ""]
    assert "2 cells left as they are, as the work is not marked yet: =cy; bob (see: grader mark)" in notes
    sheet = tmp_path / "moodle.csv"
    sheet.write_text(
        "Identifier,Full name,Grade,Maximum Grade,Feedback comments\n"
        "Participant 1,ada,,9.5,\nParticipant 2,bob,4,9.5,\nParticipant 3,=cy,,9.5,\n"
    )
    filled, notes = fill_moodle(sheet, list(entries.values()))
    rows = {row["Full name"]: row for row in csv.DictReader(io.StringIO(filled.decode()))}
    assert [rows[name]["Grade"] for name in ("ada", "bob", "=cy")] == ["6.5", "4", ""]
    assert any("2 cells left as they are, as the work is not marked yet" in note for note in notes)
    text = rows["ada"]["Feedback comments"]
    assert "findings.report: 3/4 by the rubric (✓ says what the width" in text and "&lt;script&gt;" in text
    assert "<script>" not in text and "About curves.moving_average: =1+1" in text
    assert "No mark yet: 3.5 points not marked yet: curves.style, findings.plot" in rows["bob"]["Feedback comments"]


def test_junit_and_github_count_what_is_not_marked_as_no_failure(entries: dict[str, Entry]) -> None:
    for chosen in ([entries["=cy"]], list(entries.values())):
        root = ElementTree.fromstring(b"".join(junit(chosen)))
        assert not root.findall(".//failure") and len(root.findall(".//skipped")) == (3 if len(chosen) == 1 else 5)
    lines = list(code_hosts.commands([entries["=cy"]], Path()))
    assert lines == [
        "::notice title=marked by a person::7.5 points not marked yet: curves.style, findings.plot, findings.report"
    ]
    assert "eyJ2ZXJzaW9uIjoxLCJzdGF0dXMiOiJwYXNzIi" in code_hosts.classroom(entries["=cy"], Path())  # "status":"pass"
    text = code_hosts.summary([entries["ada"], entries["=cy"]], COURSE)
    assert "| ✎ | `findings.report` | 3/4 |" in text and "| ✎ | `findings.report` | not marked yet |" in text
    assert "<script>" not in text


def test_pages_have_the_rubric_the_comments_and_who_is_not_marked(out: Path) -> None:
    with Gradebook.open_existing(out) as book:
        write_report(entries_of(book), COURSE, out / "report")
    pages = {path.stem.rpartition("-")[0]: path.read_text() for path in (out / "report").rglob("*.html")}
    ada, bob, cy = pages["ada"], pages["bob"], pages["cy"]
    assert "✗ says why the ends of the curve are lost: 0/1" in ada and "6.5/9.5" in ada
    assert "<script>alert" not in ada and "&lt;script&gt;alert(1)" in ada and "see &lt;b&gt;conv1d&lt;/b&gt;" in ada
    assert "Not text: plot.png" in ada and "the work under it has changed" not in ada
    assert "the work under it has changed" in bob
    assert cy.count("not marked yet") >= 3 and "plot.png is not there" in cy
    index = (out / "report" / "index.html").read_text()
    assert "<dt>not all marked yet</dt><dd>2</dd>" in index
    assert "mark of findings.report: the work under it has changed" in index
    assert "7.5 points not marked yet" in index


def test_status_and_diff_say_what_is_left_and_what_has_changed(out: Path) -> None:
    text = "\n".join(status_lines(out, notes=False))
    assert "not marked yet: curves.style: 2 of 3 submissions (see: grader mark)" in text
    assert "not marked yet: findings.report: 1 of 3 submissions" in text
    assert "needs a look: bob: mark of findings.report: the work under it has changed" in text
    assert "4 marks and 2 comments by hand" in text
    more = "\n".join(status_lines(out, notes=True))
    assert "mark: ada: findings.report: 3/4 (items: 1, 3) by me" in more and "comment: ada: curves.moving" in more
    assert "\x1b" not in more
    assert "bob: findings.report: marked 1/4; the work under it has changed" in list(diff_lines(out, 1, 2))
