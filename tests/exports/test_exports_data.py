"""CSV, JSON and JUnit: programs read back what the gradebook has, whatever a submission put into it."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import msgspec
import pytest
from classrooms import OWN, check, classroom, entry, exercise, gradebook, result

from grader.course import Course
from grader.course.marks import MarkPolicy
from grader.errors import UserError
from grader.exports.code_hosts import junit
from grader.exports.write import ExportSettings, csv_table, export, json_document
from grader.gradebook import Absent, Override, Row
from grader.gradebook.records import Late
from grader.intake.roster import Student
from grader.intake.submission import Arrival
from grader.reports.entries import Entry

COURSE = Course.load(OWN)
HOSTILE = "=cmd|'/c calc'!A0 \x1b[31m\x00\x08\u202e<b>]]>&\ufffe\ud800\n::error::x"


def cells(entries: list[Entry]) -> list[dict[str, str]]:
    text = b"".join(csv_table(entries, COURSE)).decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1", "  =1", HOSTILE])
def test_no_cell_of_the_csv_can_be_a_formula(name: str) -> None:
    (row,) = cells([entry(result(name, exercise("vectors.cosine", check())))])
    assert row["submission"].startswith("'") or row["submission"][0] == "\ufffd"
    assert row["vectors.cosine"] == "1"


def test_csv_has_automatic_and_final_marks_side_by_side() -> None:
    override = Override(student="s", exercise="vectors.cosine", points=2, max=2, why="", who="", made="")
    given = result(
        'Zoë, "Z"', exercise("vectors.normalize", check()), exercise("vectors.cosine", check("b", "crashed"))
    )
    row = Row(given, "d", 1, arrival=Arrival(student="42"), late=Late(2, 0.5, "roster"), overrides=(override,))
    (read,) = cells([Entry(row)])
    assert read["submission"] == 'Zoë, "Z"' and read["id"] == "42" and read["verdicts"] == "crashed"
    assert (read["automatic"], read["points"], read["max"], read["final"]) == ("1", "3", "3", "1.5")
    assert (read["days late"], read["penalty"], read["percent"]) == ("2", "0.5", "100.0")
    assert (read["vectors.normalize"], read["vectors.cosine"]) == ("1", "2")


def test_not_assessed_is_empty_in_the_csv_not_zero() -> None:
    (row,) = cells([entry(result("s", exercise("vectors.cosine", check(verdict="skipped"))))])
    assert row["vectors.cosine"] == "" and row["percent"] == ""


def test_json_has_every_verdict_and_message() -> None:
    entries = classroom(COURSE, 9)
    read = json.loads(b"".join(json_document(entries, COURSE)))
    assert [one["submission"] for one in read["submissions"]] == [one.result.submission for one in entries]
    assert read["course"] == COURSE.name and read["submissions"][0]["result"]["exercises"][0]["checks"]


def tree(entries: list[Entry]) -> ElementTree.Element:
    return ElementTree.fromstring(b"".join(junit(entries)))


def test_junit_of_one_submission_has_a_case_for_each_check() -> None:
    checks = [check("a"), check("a"), *(check(kind, kind, "what\nwhy") for kind in ("failed", "error", "blocked"))]
    found = tree([entry(result("me", exercise("vectors.cosine", *checks)))])
    cases = list(found.iter("testcase"))
    assert [case.get("name") for case in cases] == ["a", "a (2)", "failed", "error", "blocked"]
    assert {case.get("file") for case in cases} == {"vectors.py"}
    assert [child.tag for case in cases for child in case] == ["failure", "error", "skipped"]
    assert cases[2][0].text == "what\nwhy"
    (suite,) = found.iter("testsuite")
    assert (suite.get("failures"), suite.get("errors"), suite.get("skipped")) == ("1", "1", "1")


def test_junit_of_a_class_has_unique_cases() -> None:
    found = tree(classroom(COURSE, 12))
    cases = [(case.get("classname"), case.get("name")) for case in found.iter("testcase")]
    assert len(cases) == len(set(cases)) == 24 and len(list(found.iter("testsuite"))) == 12


def test_junit_of_hostile_text_is_well_formed() -> None:
    one = exercise("vectors.cosine", check(HOSTILE, "failed", HOSTILE), check())
    found = tree([entry(result(HOSTILE, one))])
    text = next(found.iter("failure")).text or ""
    assert "<b>]]>&" in text and "\x1b" not in text and "\n::error" not in text


def test_export_writes_beside_the_gradebook_or_to_the_named_file(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    gradebook(tmp_path / "gradebook.sqlite", classroom(COURSE, 3))
    for kind, name in (("csv", "marks.csv"), ("json", "marks.json"), ("junit", "junit.xml")):
        export(kind, ExportSettings(grades=tmp_path, course=OWN))
        assert (tmp_path / name).stat().st_size > 100
    export("csv", ExportSettings(grades=tmp_path, course=OWN, to=tmp_path / "new" / "x.csv", submission="Zoë Müller"))
    assert (tmp_path / "new" / "x.csv").read_text("utf-8-sig").count("\n") == 2
    capsysbinary.readouterr()
    export("csv", ExportSettings(grades=tmp_path, course=OWN, to=Path("-")))
    assert capsysbinary.readouterr().out == (tmp_path / "marks.csv").read_bytes()


def test_what_is_written_to_standard_output_comes_with_the_same_notes_on_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gradebook(tmp_path / "gradebook.sqlite", classroom(COURSE, 3))
    (tmp_path / "in.csv").write_text("Student,ID,Vectors (1)\nNobody,99,\n")
    for kind in ("canvas", "csv"):
        settings = ExportSettings(grades=tmp_path, course=OWN, into=tmp_path / "in.csv", to=tmp_path / "out.csv")
        export(kind, settings)
        notes = capsys.readouterr().err
        export(kind, msgspec.structs.replace(settings, to=Path("-")))
        printed = capsys.readouterr()
        assert printed.out == (tmp_path / "out.csv").read_bytes().decode() and printed.err == notes
        assert bool(notes) == (kind == "canvas")


def test_export_that_cannot_be_made_leaves_the_file_that_was_there(tmp_path: Path) -> None:
    gradebook(tmp_path / "gradebook.sqlite", classroom(COURSE, 3))
    (tmp_path / "canvas.csv").write_text("mine")
    with pytest.raises(UserError, match="downloaded"):
        export("canvas", ExportSettings(grades=tmp_path, course=OWN))
    with pytest.raises(UserError, match="no submission is called"):
        export("csv", ExportSettings(grades=tmp_path, course=OWN, submission="nobody"))
    with pytest.raises(UserError, match="no gradebook"):
        export("csv", ExportSettings(grades=tmp_path / "none", course=OWN))
    assert (tmp_path / "canvas.csv").read_text() == "mine" and not (tmp_path / "none").exists()


@pytest.mark.parametrize(("zero", "cells"), [(False, ["", "", "", ""]), (True, ["0", "2", "0.0", "0"])])
def test_the_csv_has_a_row_for_who_handed_in_nothing(zero: bool, cells: list[str]) -> None:
    course = msgspec.structs.replace(COURSE, marks=MarkPolicy(letters=(("A", 90.0), ("F", 0.0))))
    given = result("ann", exercise("vectors.cosine", check(), points=2))
    entries = [Entry(Row(given, "d", 1.0, group="Rho"), policy=course.marks)]
    absent = [Absent(student=Student("=Bob", ("7",), group="Tau"))]
    text = b"".join(csv_table(entries, course, absent, zero)).decode("utf-8-sig")
    ann, bob = csv.DictReader(io.StringIO(text))
    assert (ann["group"], ann["grade"], ann["verdicts"]) == ("Rho", "A", "")
    assert [bob[name] for name in ("points", "max", "percent", "final")] == cells
    assert (bob["submission"], bob["id"], bob["group"]) == ("'=Bob", "7", "Tau")
    assert (bob["verdicts"], bob["grade"], bob["vectors.cosine"]) == ("nothing handed in", "F" if zero else "", "")
