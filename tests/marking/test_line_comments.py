"""Comments at a line of a student's file: where they stand on the page, in exports, and after the file has changed."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from pathlib import Path

import pytest
from lms_files import fill_moodle
from marked_class import ADA, COURSE, graded, row
from msgspec.structs import replace

from grader.course import content_hash
from grader.errors import UserError
from grader.exports import code_hosts, gradescope
from grader.exports.write import csv_table, json_document
from grader.gradebook import Gradebook
from grader.intake.notebook import module_of
from grader.intake.submission import Submission
from grader.marking.given import give_comment
from grader.reports.entries import Entry, entries_of
from grader.reports.html import feedback_pages
from grader.reports.status import status_lines
from grader.results import ExerciseResult, SubmissionResult, Unread

CODE = b"import torch\n\ndef moving_average(x, width):\n    copy = x.clone()\n    return copy\n"
CELLS = [("markdown", "# Week 1"), ("code", "import torch"), ("code", "def moving_average(x, width):\n    return x\n")]


def notebook(cells: list[tuple[str, str]]) -> bytes:
    document = {"cells": [{"cell_type": kind, "source": text} for kind, text in cells], "nbformat": 4}
    module = module_of(json.dumps(document).encode()).module
    assert module is not None
    return module


def say(out: Path, text: str, line: str | None, exercise: str = "moving_average", student: str = "ada") -> list[str]:
    return list(give_comment(out, student, exercise, text, "me", line))


def entry_of(out: Path) -> Entry:
    """Ada's, whose files stay there when the gradebook is closed."""
    with Gradebook.open_existing(out) as book:
        entry = next(one for one in entries_of(book) if one.result.submission == "ada")
        files = {digest: book.files(digest) for digest in (entry.row.digest, *(one.digest for one in entry.row.older))}
    return Entry(entry.row, files.__getitem__)


def page(out: Path) -> str:
    ((_, content),) = feedback_pages([entry_of(out)], COURSE)
    return content.decode()


def shown_code(text: str) -> list[str]:
    """The lines of all code on a page with the comments at them, as a reader sees them."""
    lines = re.findall(r"<pre class=\"code\".*?</pre>", text, re.DOTALL)
    marked = re.sub(r"<em>(.*?)</em>", r"▸\1\n", "\n".join(lines), flags=re.DOTALL)
    numbered = re.sub(r"<i>(\d+)</i>", r"\1 ", marked)
    return html.unescape(re.sub(r"<[^>]*>", "", numbered)).split("\n")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return graded(tmp_path, {"ada": {**ADA, "curves.py": CODE}})


def test_several_lines_have_a_comment_each_below_their_line_on_the_page(out: Path) -> None:
    (line,) = say(out, "this copies <b>all</b>", "4")
    assert line.startswith("ada: curves.moving_average: line 4: this copies <b>all</b> (by me, ")
    say(out, "right\nbut slow", "line 5")
    say(out, "about all of it", None)
    lines = shown_code(page(out))
    at = lines.index("4     copy = x.clone()")
    assert lines[at + 1 : at + 5] == [
        "▸Line 4: this copies <b>all</b>",
        "5     return copy",
        "▸Line 5: right",
        "but slow",
    ]
    assert lines.count("▸Line 4: this copies <b>all</b>") == 2, "beside the exercise, and in the whole file"
    assert "<b>all</b>" not in page(out) and "about all of it" in page(out)
    assert row(out, "ada").score == 2, "no points change"


def test_a_comment_at_a_line_is_replaced_and_taken_back_alone(out: Path) -> None:
    for text, line in (("one", "4"), ("two", "5"), ("three", "4"), ("none", "5")):
        say(out, text, line)
    assert [(one.place, one.text, one.code) for one in row(out, "ada").comments] == [
        ("line 4", "three", "copy = x.clone()")
    ]
    with pytest.raises(UserError, match="no comment there") as caught:
        say(out, "none", "5")
    assert caught.value.fix == "it has comments at line 4"


def test_in_a_notebook_a_line_is_that_of_its_cell_as_the_page_numbers_it(tmp_path: Path) -> None:
    out = graded(tmp_path, {"ada": {**ADA, "curves.py": notebook(CELLS)}})
    (line,) = say(out, "of no use", "3:2")
    assert "cell 3, line 2: of no use" in line
    lines = shown_code(page(out))
    cell = ["⋯ cell 3", "1 def moving_average(x, width):", "2     return x", "▸Line 2: of no use"]
    assert lines[:4] == cell, "beside the exercise"
    whole = lines[lines.index("⋯ cell 2") :]
    assert whole[:2] == ["⋯ cell 2", "1 import torch"] and whole[whole.index("⋯ cell 3") :][:4] == cell
    with pytest.raises(UserError, match=r"curves\.py is a notebook") as caught:
        say(out, "which cell?", "2")
    assert caught.value.fix == "name the cell, too: CELL:LINE"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("6", "curves.py has 5 lines, no line 6"),
        ("0", "'0' is not a line"),
        ("-1", "is not a line"),
        ("x", "is not a line"),
        ("", "is not a line"),
        ("٣", "is not a line"),
        ("1:2", "curves.py is not a notebook"),
    ],
)
def test_a_line_that_the_file_has_not_is_refused_and_nothing_is_kept(out: Path, line: str, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        say(out, "hm", line)
    assert row(out, "ada").comments == ()


def test_a_file_that_is_no_text_or_is_not_there_has_no_lines(tmp_path: Path) -> None:
    out = graded(tmp_path, {"ada": {"curves.py": CODE, "plot.png": b"\x89PNG\0"}})
    with pytest.raises(UserError, match=r"plot\.png is not text"):
        say(out, "nice", "1", "plot")
    with pytest.raises(UserError, match=r"report\.md was not handed in"):
        say(out, "nice", "1", "report")


def test_a_line_of_a_file_that_has_changed_is_shown_as_it_was_and_not_at_another_line(out: Path) -> None:
    say(out, "this copies", "4")
    graded(out, {"ada": {**ADA, "curves.py": b"# new first line\n" + CODE}})
    (comment,) = row(out, "ada").comments
    assert comment.stale and "▸" not in "".join(shown_code(page(out)))
    assert "Line 4: <code>copy = x.clone()</code><pre>this copies</pre>" in page(out)
    assert "the work under it has changed, so these lines may be others now" in page(out)
    assert any(
        "comment of curves.moving_average, line 4: the work under it" in one for one in status_lines(out, notes=False)
    )
    graded(out, {"ada": {**ADA, "curves.py": CODE, "report.md": b"another one"}})
    assert not row(out, "ada").comments[0].stale, "the line is in the same file again"
    assert "▸Line 4: this copies" in shown_code(page(out))


def test_exports_that_carry_comments_name_the_line(out: Path, tmp_path: Path) -> None:
    say(out, "this copies", "4")
    say(out, "Look at line 1", "1", "report")
    entry = entry_of(out)
    table = b"".join(csv_table([entry], COURSE)).decode("utf-8-sig")
    (cells,) = csv.DictReader(io.StringIO(table))
    assert cells["comments"] == "curves.moving_average: line 4: this copies; findings.report: line 1: Look at line 1"
    document = json.loads(b"".join(json_document([entry], COURSE)))
    said = [(one["line"], one["text"]) for one in document["submissions"][0]["comments"]]
    assert said == [(4, "this copies"), (1, "Look at line 1")]
    tests = {one["name"]: one["output"] for one in json.loads(gradescope.results(entry))["tests"]}
    assert tests["curves.moving_average"].startswith("comment: line 4: this copies")
    assert tests["findings.report"].startswith("comment: line 1: Look at line 1")
    assert "moving\\_average: line 4\\: this copies" in code_hosts.summary([entry], COURSE)
    sheet = tmp_path / "moodle.csv"
    sheet.write_text("Identifier,Full name,Grade,Maximum Grade,Feedback comments\nParticipant 1,ada,,9.5,\n")
    (moodle,) = csv.DictReader(io.StringIO(fill_moodle(sheet, [entry])[0].decode()))
    assert "About curves.moving_average: line 4: this copies" in moodle["Feedback comments"]


def test_a_comment_on_work_that_could_not_be_read_is_on_the_page(out: Path) -> None:
    say(out, "please hand it in again", None)
    entry = entry_of(out)
    result = replace(entry.result, unread=(Unread("curves", "a PDF alone"),))
    unread = Entry(replace(entry.row, result=result), entry.files_of)
    ((_, content),) = feedback_pages([unread], COURSE)
    assert "No mark yet" in content.decode() and "please hand it in again" in content.decode()


def test_a_line_of_an_exercise_that_an_earlier_run_graded_is_that_of_its_own_work(tmp_path: Path) -> None:
    """`--only` grades another exercise with other files; the first one's work stays as it is."""
    out = graded(tmp_path, {"ada": {**ADA, "curves.py": CODE}})
    with Gradebook.open_existing(out) as book:
        names = [one.full_name for one in COURSE.all_exercises]
        run = book.start_run(COURSE.name, content_hash(COURSE), 1, "other", {}, exercises=names)
        later = Submission("ada", {"other.py": b"x = 1\n"})
        book.record_arrival(run, later, "later")
        result = SubmissionResult(
            submission="ada", score=1.0, max=1.0, exercises=(ExerciseResult(name="other.x", score=1.0, max=1.0),)
        )
        book.record(run, result, "later", 0.1)
        book.finish_run(run)
    assert row(out, "ada").digest == "later"
    say(out, "this copies", "4")
    assert not row(out, "ada").comments[0].stale
    assert "▸Line 4: this copies" in shown_code(page(out))
