"""Formulas, markup and control sequences wherever a student or a person can write, in every column of every output."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from classrooms import OWN, check, exercise, result
from lms_files import fill_canvas, fill_moodle
from msgspec.structs import replace

from grader.course import Course
from grader.exports import gradescope
from grader.exports.code_hosts import commands, junit
from grader.exports.feedback_zip import feedback_zip
from grader.exports.write import csv_table
from grader.gradebook import Override, Row
from grader.gradebook.records import Late
from grader.intake.submission import Arrival
from grader.reports.entries import Entry
from grader.reports.html import write_report
from grader.results import Flag, Unread

COURSE = Course.load(OWN)
HOSTILE = (
    "=cmd|'/c calc'!A0",
    "+1",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\uff1d1+1",
    "=1\x1b[31m\x1b]0;title\x07",
    "=<img src=x onerror=alert(1)>{{ 7*7 }}\u202e",
    '="a,b"";\n=1',
)
FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\u202e]")


def submission(text: str) -> Entry:
    """One in which each text is this one that a student, a person or the LMS can write."""
    made = result(
        text,
        exercise("vectors.normalize", check(text, "failed", f"{text}\n{text}")),
        exercise("vectors.cosine", check("b", "failed", text), points=2),
    )
    made = replace(
        made, unread=(Unread("vectors", text),), flags=(Flag("source", text, "vectors.py", 1),), notes=(text,)
    )
    given = Override(student=text, exercise="vectors.cosine", points=1, max=2, why=text, who=text, made="2026-10-01")
    row = Row(
        *(made, "d", 0.5),
        notes=(text,),
        arrival=Arrival(student=text, lms="moodle"),
        late=Late(2, 0.2, "roster"),
        overrides=(given,),
    )
    return Entry(row, lambda _: {"vectors.py": f"# {text}".encode()})


def line(cells: list[str]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerow(cells)
    return stream.getvalue()


def cells(content: bytes) -> Iterator[str]:
    for row in csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")):
        yield from row


@pytest.mark.parametrize("text", HOSTILE)
def test_no_cell_of_the_table_of_marks_is_a_formula(text: str) -> None:
    made = b"".join(csv_table([submission(text)], COURSE))
    for cell in cells(made):
        assert not FORMULA.match(cell) and not CONTROL.search(cell.replace("\n", "")), cell


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("unread_as_zero", [False, True])
def test_what_is_written_into_the_files_of_an_lms_is_a_mark_or_a_harmless_text(
    text: str, unread_as_zero: bool, tmp_path: Path
) -> None:
    name = " ".join(text.split()) if "\n" not in text else "Ann"
    given = submission(text)
    given = Entry(replace(given.row, result=replace(given.result, submission=name), arrival=Arrival(student="7")))
    head = ["Identifier", "Full name", "Grade", "Maximum grade", "Last modified (grade)", "Feedback comments"]
    into = tmp_path / "in.csv"
    into.write_text(line(head) + line(["Participant 7", name, "", "3.00", "-", ""]), encoding="utf-8")
    content, notes = fill_moodle(into, [given], unread_as_zero=unread_as_zero)
    *kept, feedback = list(cells(content))[len(head) :]
    assert kept[:2] == ["Participant 7", name] and kept[2] == ("0.8" if unread_as_zero else "")
    assert feedback.startswith("Automatic feedback: ") and "<" not in feedback and not CONTROL.search(feedback)
    assert not any(CONTROL.search(note) for note in notes)

    into.write_text(line(["Student", "ID", "Vectors (1)"]) + line([name, "7", ""]), encoding="utf-8")
    content, notes = fill_canvas(into, [given], None, unread_as_zero)
    assert list(cells(content))[3:] == [name, "7", "0.8" if unread_as_zero else ""]
    assert not any(CONTROL.search(note) for note in notes)


@pytest.mark.parametrize("text", HOSTILE)
def test_pages_and_their_zip_hold_no_markup_and_no_control_characters(text: str, tmp_path: Path) -> None:
    write_report([submission(text)], COURSE, tmp_path, about=[text], for_instructors=True)
    packed = tmp_path / "feedback.zip"
    packed.write_bytes(feedback_zip([submission(text)], COURSE))
    with zipfile.ZipFile(packed) as archive:
        pages = [archive.read(name).decode() for name in archive.namelist()]
        assert not any(CONTROL.search(name) or name.startswith(("/", ".")) for name in archive.namelist())
    pages += [file.read_text() for file in tmp_path.rglob("*.html")]
    assert len(pages) == 3
    for page in pages:
        assert "<img" not in page and not CONTROL.search(page.replace("\n", ""))


@pytest.mark.parametrize("text", HOSTILE)
def test_what_programs_read_has_no_control_characters(text: str, tmp_path: Path) -> None:
    given = submission(text)
    document = json.loads(gradescope.results(given))
    shown = [document["output"], *(str(one) for test in document["tests"] for one in test.values())]
    assert not any(CONTROL.search(one.replace("\n", "")) for one in shown)
    assert not CONTROL.search(b"".join(junit([given])).decode().replace("\n", ""))
    assert not any(CONTROL.search(one) or one.count("\n") for one in commands([given], tmp_path))
