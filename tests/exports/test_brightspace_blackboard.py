"""Brightspace's and Blackboard's files: the right cells are filled, and every other byte stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_exports_lms import came, file

from grader.errors import UserError
from grader.exports.lms import fill

BRIGHTSPACE = (
    "OrgDefinedId,Username,Last Name,First Name,Email,Week 1 Points Grade <Numeric MaxPoints:10 Category:Labs>,"
    '"Week 10 Points Grade <Numeric MaxPoints:20 Weight:5>",Calculated Final Grade Numerator,End-of-Line Indicator\r\n'
    "#0101,#jm,Müller,Jürgen,jm@x.org,,7,50.1,#\r\n"
    '#0102,#pn,"=Neil",Pat,pn@x.org,4,,,#\r\n'
    '"#0103","#jd","Lee, Jr.",Jo,jd@x.org,3.50,,,#\r\n'
)
BLACKBOARD = (
    '"Last Name"\t"First Name"\t"Username"\t"Student ID"\t"Last Access"\t"Availability"\t'
    '"Week 1, part a, b, c [Total Pts: 10 Score] |1281892"\t"Quiz [Total Pts: 1,000 Score] |1281893"\t'
    '"Total [Total Pts: up to 1,499 Score] |1281890"\t"Essay [Total Pts: 5 Letter] |1281894"\n'
    '"Müller"\t"Jürgen"\t"jm"\t"0101"\t"2026-09-01 20:20:47"\t"Yes"\t""\t"7.00"\t"7.00"\t""\n'
    '"=Neil"\t"Pat"\t"pn"\t"0102"\t""\t"Yes"\t"Needs Grading"\t""\t""\t""\n'
    '"Lee"\t"Jo"\t"jd"\t"0103"\t""\t"Yes"\t"3.50"\t""\t""\t""\n'
)


def test_brightspace_fills_one_column_and_changes_no_other_byte(tmp_path: Path) -> None:
    path = file(tmp_path, BRIGHTSPACE, "utf-8-sig")
    entries = [came("anybody", 0.5, "0101"), came("pn"), came("jd@x.org", 0.5)]
    content, notes = fill("brightspace", path, entries, "Week 1")
    expected = BRIGHTSPACE.replace("jm@x.org,,7", "jm@x.org,5,7").replace("pn@x.org,4", "pn@x.org,10")
    assert content.decode("utf-8-sig") == expected.replace("jd@x.org,3.50", "jd@x.org,5")
    assert content.startswith(b"\xef\xbb\xbf") and path.read_bytes() == BRIGHTSPACE.encode("utf-8-sig")
    assert "marks are scaled from 2 to 10 points" in notes


def test_brightspace_with_one_kind_of_id_only(tmp_path: Path) -> None:
    text = "Username,Lab Points Grade,End-of-Line Indicator\n#jm,,#\n#pn,,#\n"
    content, _ = fill("brightspace", file(tmp_path, text), [came("PN")])
    assert content.decode() == text.replace("#pn,,", "#pn,2,"), "no most points, so they are written as they are"


def test_the_number_of_a_brightspace_folder_is_nobodys_id_if_the_names_are_two_peoples(tmp_path: Path) -> None:
    """Pat's folder has a number of another kind, which happens to be Jürgen's id. A nickname is no contradiction."""
    entries = [came("Pat =Neil", 1.0, "0101", "brightspace"), came("Joanna Lee", 1.0, "0103", "brightspace")]
    content, notes = fill("brightspace", file(tmp_path, BRIGHTSPACE), entries, "Week 1")
    assert content.decode() == BRIGHTSPACE.replace("jd@x.org,3.50", "jd@x.org,10")
    assert any("Pat =Neil: its id is that of Müller, Jürgen in the file, its name is not" in note for note in notes)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
@pytest.mark.parametrize("delimiter", ["\t", ","])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_blackboard_fills_one_column_in_any_encoding(tmp_path: Path, encoding: str, delimiter: str, end: str) -> None:
    text = BLACKBOARD.replace("\t", delimiter).replace("\n", end)
    path = file(tmp_path, text, encoding)
    content, notes = fill("blackboard", path, [came("jm", 0.5), came("pn"), came("0103", 0.5)], "Week 1, part a, b, c")
    filled = text.replace(f'"Yes"{delimiter}""{delimiter}"7.00"', f'"Yes"{delimiter}"5"{delimiter}"7.00"')
    filled = filled.replace('"Needs Grading"', '"10"').replace('"3.50"', '"5"')
    assert content == filled.encode(encoding)
    assert "mark changes: Lee, Jo: 3.50 → 5" in notes and "2 empty cells are filled" in notes


def test_thousands_of_points_are_read(tmp_path: Path) -> None:
    content, _ = fill("blackboard", file(tmp_path, BLACKBOARD), [came("pn", 0.5)], "1281893")
    assert '"Needs Grading"\t"500"\t' in content.decode()


@pytest.mark.parametrize(
    ("column", "words"),
    [("Total", "no such assignment"), ("Essay", "has no points: Letter"), (None, "several assignments")],
)
def test_what_has_no_points_is_refused(tmp_path: Path, column: str | None, words: str) -> None:
    """A calculated column cannot be uploaded, and a letter is no number."""
    with pytest.raises(UserError, match=words):
        fill("blackboard", file(tmp_path, BLACKBOARD), [came("jm")], column)


def test_blackboard_in_another_language_with_decimal_commas(tmp_path: Path) -> None:
    text = (
        "\ufeffAchternaam;Voornaam;Gebruikersnaam;Laatste toegang;Week 1 [Totaal aantal punten: 7,5 Score] |12\r\n"
        "de Vries;Ann;avries;;\r\nBos;Bo;bbos;;3,5\r\n\r\n"
    )
    content, notes = fill("blackboard", file(tmp_path, text), [came("avries", 0.5), came("Bo Bos")])
    assert content.decode() == text.replace("avries;;", "avries;;3,75").replace(";3,5", ";7,5")
    assert "mark changes: Bos, Bo: 3,5 → 7,5" in notes


@pytest.mark.parametrize("lms", ["brightspace", "blackboard"])
@pytest.mark.parametrize("text", ["", "x", "a;b\n", "\x00\x01", "Student,ID,Week 1 (7)\n", "Name [x: 3 y]\n"])
def test_file_of_something_else_is_refused(tmp_path: Path, lms: str, text: str) -> None:
    with pytest.raises(UserError):
        fill(lms, file(tmp_path, text), [came("x")])


def test_students_of_one_name_are_told_apart_by_their_ids_only(tmp_path: Path) -> None:
    text = "OrgDefinedId,Last Name,First Name,Lab Points Grade <Numeric MaxPoints:2>,End-of-Line Indicator\n"
    text += "#1,Lee,Ann,,#\n#2,Lee,Ann,,#\n"
    content, notes = fill("brightspace", file(tmp_path, text), [came("Ann Lee")])
    assert content.decode() == text and any("several rows" in note for note in notes)
    content, _ = fill("brightspace", file(tmp_path, text), [came("Ann Lee", 1.0, "2", "brightspace")])
    assert content.decode() == text.replace("#2,Lee,Ann,,", "#2,Lee,Ann,2,")
