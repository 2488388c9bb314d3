"""Canvas and Moodle files: the right cells are filled, every other byte stays, and nobody gets another's mark."""

from __future__ import annotations

from pathlib import Path

import pytest
from classrooms import OWN, check, entry, exercise, result
from lms_files import fill_canvas, fill_moodle

from grader.course import Course, misconceptions_of
from grader.course.marks import MarkPolicy
from grader.errors import UserError
from grader.exports.spreadsheet import Spreadsheet
from grader.gradebook import Override, Row
from grader.gradebook.records import Late
from grader.intake.submission import Arrival
from grader.reports.entries import Entry

COURSE = Course.load(OWN)
GRADES = (
    "\ufeffStudent,ID,SIS User ID,SIS Login ID,Section,Week 1 (77),Week 2 (78),Current Score\r\n"
    "    Points Possible,,,,,10,20,(read only)\r\n"
    '"Müller, Jürgen",101,s1,jm,"A ""x""",,7,50.1\r\n'
    '"=Neil, Pat",102,s2,pn,A,4,,\n'
    "Doe Jane,103,s3,jd,A,EX,,\r\n"
    '"Student, Test",,,,,,,\r\n'
)
WORKSHEET = (
    "Identifier,Full name,Email address,Status,Grade,Maximum grade,Last modified (grade),Feedback comments\n"
    'Participant 7,Jürgen Müller,j@x.org,"Submitted, late",,"100,00",-,\n'
    'Participant 8,Pat Neil,p@x.org,Submitted,1,"100,00",-,Well done\n'
    'Participant 9,Max Max,m@x.org,None,,"100,00",-,\n'
    'Participant 10,Max Max,n@x.org,None,,"100,00",-,\n'
)


def came(name: str, share: float = 1.0, student: str = "", lms: str = "") -> Entry:
    verdict = "passed" if share == 1.0 else "failed"
    given = result(name, exercise("vectors.normalize", check(verdict=verdict)), exercise("vectors.cosine", check()))
    return Entry(Row(given, "d", 1.0, arrival=Arrival(student=student, lms=lms)))


def file(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "download.csv"
    path.write_bytes(text.encode(encoding))
    return path


def test_canvas_fills_one_column_and_changes_no_other_byte(tmp_path: Path) -> None:
    path = file(tmp_path, GRADES)
    entries = [came("whatever", 0.5, "101", "canvas"), came("pn"), came("s3")]
    content, notes = fill_canvas(path, entries, "Week 1")
    expected = GRADES.replace('""x""",,7', '""x""",5,7').replace("pn,A,4,", "pn,A,10,")
    assert content == expected.encode() and path.read_bytes() == GRADES.encode()
    assert any("s3: excused" in note for note in notes) and any("scaled from 2 to 10" in note for note in notes)


@pytest.mark.parametrize("name", ["müllerjürgen", "Jürgen Müller", "Müller, Jürgen", "jm", "101"])
def test_canvas_finds_a_student_by_id_login_or_name(tmp_path: Path, name: str) -> None:
    content, _ = fill_canvas(file(tmp_path, GRADES), [came(name)], "77")
    assert b',"A ""x""",10,7' in content


def test_two_submissions_for_one_row_are_both_left_out_and_noted(tmp_path: Path) -> None:
    content, notes = fill_canvas(file(tmp_path, GRADES), [came("jm"), came("Jürgen Müller"), came("nobody")], "77")
    assert content == GRADES.encode()
    assert sum(note.startswith("not filled in:") for note in notes) == 3
    assert any(note.startswith("not changed: 3 rows without a submission: ") for note in notes)


def test_id_of_another_lms_is_not_taken_for_canvas_ids(tmp_path: Path) -> None:
    content, _ = fill_canvas(file(tmp_path, GRADES), [came("someone", student="101", lms="moodle")], "77")
    assert content == GRADES.encode()


@pytest.mark.parametrize(("column", "words"), [(None, "several assignments"), ("Week 3", "no such assignment")])
def test_canvas_column_that_is_not_clear_is_refused(tmp_path: Path, column: str | None, words: str) -> None:
    with pytest.raises(UserError, match=words):
        fill_canvas(file(tmp_path, GRADES), [came("jm")], column)


@pytest.mark.parametrize("text", ["", "x", "a;b\n", "\x00\x01"])
def test_file_that_is_no_gradebook_is_refused(tmp_path: Path, text: str) -> None:
    for fill in (lambda p: fill_canvas(p, [came("x")]), lambda p: fill_moodle(p, [came("x")])):
        with pytest.raises(UserError):
            fill(file(tmp_path, text))


def test_nothing_assessed_leaves_the_cell(tmp_path: Path) -> None:
    nothing = entry(result("jm", exercise("vectors.cosine", check(verdict="error"))))
    content, notes = fill_canvas(file(tmp_path, GRADES), [nothing], "77")
    assert content == GRADES.encode() and any("nothing could be assessed" in note for note in notes)


def test_moodle_fills_grade_and_feedback_and_keeps_a_persons_words(tmp_path: Path) -> None:
    entries = [came("x", 0.5, "7", "moodle"), came("Pat Neil"), came("Max Max")]
    content, notes = fill_moodle(file(tmp_path, WORKSHEET), entries)
    said = "Automatic feedback: 1/2 points. Not passed: vectors.normalize."
    expected = WORKSHEET.replace('late",,"100,00",-,', f'late",50,"100,00",-,{said}').replace(
        "Submitted,1,", "Submitted,100,"
    )
    assert content.decode() == expected
    assert "feedback kept as it is: Pat Neil" in notes and any("Max Max: several rows" in note for note in notes)


def test_moodle_mark_has_the_files_decimal_comma_and_counts_overrides_and_lateness(tmp_path: Path) -> None:
    override = Override(student="x", exercise="vectors.normalize", points=1, max=1, why="=nice <b>", who="P", made="")
    row = Row(came("Jürgen Müller", 0.5).result, "d", 1.0, late=Late(1, 0.125, "roster"), overrides=(override,))
    content, _ = fill_moodle(file(tmp_path, WORKSHEET), [Entry(row)])
    assert ',"87,5","100,00"' in content.decode() and "(=nice &lt;b&gt;)" in content.decode()


def test_moodle_feedback_explains_the_misconception(tmp_path: Path) -> None:
    known = next(one for one in misconceptions_of(COURSE, "vectors") if one.exercise == "vectors.normalize")
    one = exercise("vectors.normalize", check(verdict="failed", message="x"), misconception=known)
    content, _ = fill_moodle(file(tmp_path, WORKSHEET), [entry(result("Pat Neil", one))])
    again, notes = fill_moodle(file(tmp_path, WORKSHEET.replace("Well done", "")), [entry(result("Pat Neil", one))])
    assert b"vectors.normalize: " not in content and b"vectors.normalize: " in again
    assert not any("feedback kept" in note for note in notes)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"])
@pytest.mark.parametrize(
    "text",
    ["", "a,b", "a,b\n", 'a;"b;\r\n""c";\r\n\r\n;;\r\nx', '"open, never closed\n1,2', "é\tü\r1\t2\r", '"a"b,c\n'],
)
def test_sheet_that_is_not_changed_is_the_same_bytes(text: str, encoding: str) -> None:
    assert Spreadsheet.parse(text.encode(encoding)).content() == text.encode(encoding)


def test_replaced_cells_are_quoted_where_they_must_be() -> None:
    sheet = Spreadsheet.parse(b'h1,h2\n"1",2\n,\n')
    assert all([sheet.replace(1, 0, 'a"b'), sheet.replace(1, 1, "c,d"), sheet.replace(2, 1, "5")])
    assert not sheet.replace(2, 2, "no such column")
    assert sheet.content() == b'h1,h2\n"a""b","c,d"\n,5\n'


@pytest.mark.parametrize("zero", [True, False])
def test_zeros_of_those_who_handed_in_nothing_go_into_empty_cells_only(tmp_path: Path, zero: bool) -> None:
    """Not into cells that have a mark or EX, and not where a submission could be meant."""
    text = GRADES.replace("pn,A,4,", "pn,A,,") + '"Ott, Al",104,s4,al,A,3,,\r\n"Ott, Bo",105,s5,bo,A,,,\r\n'
    content, notes = fill_canvas(file(tmp_path, text), [came("jm")], "77", missing_as_zero=zero)
    filled = text.replace('""x""",,7', '""x""",10,7')
    if zero:
        filled = filled.replace("pn,A,,", "pn,A,0,").replace("bo,A,,", "bo,A,0,")
        assert "0 for 2 students without a submission: =Neil, Pat; Ott, Bo" in notes
    assert content == filled.encode()


def test_there_are_no_zeros_while_a_submission_could_be_of_several_or_of_nobody(tmp_path: Path) -> None:
    for name in ("Max Max", "Nobody Here"):
        with pytest.raises(UserError, match=f"1 submission of nobody: not filled in: {name}: (several rows|no row)"):
            fill_moodle(file(tmp_path, WORKSHEET), [came(name)], missing_as_zero=True)


def test_weights_decide_the_mark_of_a_file(tmp_path: Path) -> None:
    """Half of one topic, all of the other one, which counts three times as much."""
    exercises = exercise("a.x", check(verdict="failed")), exercise("b.x", check())
    given = Entry(Row(result("jm", *exercises), "d", 1.0), policy=MarkPolicy(weights=(("b", 3.0),)))
    content, _ = fill_canvas(file(tmp_path, GRADES), [given], "77")
    assert b',"A ""x""",7.5,7' in content
