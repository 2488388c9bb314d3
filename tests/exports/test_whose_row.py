"""Nobody gets another's cell: ids first, then the exact name; what is not exact is a note, and two are a question."""

from __future__ import annotations

from pathlib import Path

import pytest
from classrooms import check, exercise, result
from lms_files import fill_canvas, fill_moodle
from msgspec.structs import replace

from grader.errors import UserError
from grader.exports.lms import fill
from grader.gradebook import Absent, Row
from grader.gradebook.records import Whose
from grader.intake.roster import Student
from grader.intake.submission import Arrival
from grader.reports.entries import Entry

HEAD = "Student,ID,SIS User ID,SIS Login ID,Section,Week 1 (77)\n    Points Possible,,,,,10\n"


def came(name: str, **arrival: str) -> Entry:
    given = result(name, exercise("vectors.normalize", check()))
    return Entry(Row(given, "d", 1.0, arrival=Arrival(**arrival)))


def canvas(folder: Path, rows: str, *entries: Entry, zeros: bool = False) -> tuple[list[str], list[str]]:
    """The last cell of each student's row, and the notes."""
    (folder / "grades.csv").write_text(HEAD + rows)
    content, notes = fill_canvas(folder / "grades.csv", entries, "77", missing_as_zero=zeros)
    return [line.rpartition(",")[2] for line in content.decode().splitlines()[2:]], notes


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ("वर्मा, रोमा", "रीमा वर्मा"),
        ("ゆき, かわだ", "かわた ゆき"),
        ("🦊", "🐍"),
        ("김민수", "김민서"),
        ("王小明", "王小朋"),
        ("محمد علي", "محمود علي"),
        ("???", "!!!"),
    ],
)
def test_names_of_any_script_that_differ_fill_nothing(tmp_path: Path, row: str, name: str) -> None:
    cells, notes = canvas(tmp_path, f'"{row}",7,s7,l7,A,\n', came(name))
    assert cells == [""] and f"not filled in: {name}: no row for it in the file" in notes


def test_the_exact_name_is_filled_and_a_folded_one_for_the_same_row_is_not(tmp_path: Path) -> None:
    rows = '"Ruiz, José",1,s1,l1,A,\n"Ruiz, Jose",2,s2,l2,A,\n"Müller, Zoë",3,s3,l3,A,\n'
    cells, notes = canvas(tmp_path, rows, came("Jose Ruiz"), came("José Ruiz"), came("zoe muller"))
    assert cells == ["10", "10", "10"]
    assert "zoe muller: filled in for Müller, Zoë, by a name that is not exactly the same" in notes
    cells, notes = canvas(tmp_path, rows, came("jose ruiz"), came("Zoë Müller"), came("Zoe Muller"))
    assert cells == ["", "", "10"]
    assert "not filled in: jose ruiz: several rows for it in the file" in notes
    assert "not filled in: Zoe Muller: not the only one for Müller, Zoë in the file" in notes


def test_who_may_be_meant_gets_no_zero(tmp_path: Path) -> None:
    rows = '"Ruiz, José",1,s1,l1,A,\n"Ruiz, Jose",2,s2,l2,A,\n"Lee, Ann",3,s3,l3,A,\n"Roe, Ed",4,s4,l4,A,\n'
    with pytest.raises(UserError, match="2 submissions of nobody: not filled in: jose ruiz: several rows"):
        canvas(tmp_path, rows, came("jose ruiz"), came("Ann Lee Smith"), zeros=True)
    cells, _ = canvas(tmp_path, rows, came("jose_ruiz"), came("Ed Roe"), came("ann lee"))
    assert cells == ["", "", "10", "10"]
    cells, notes = canvas(tmp_path, rows.replace("José", "Pia"), came("jose ruiz"), came("ann lee"), zeros=True)
    assert cells == ["0", "10", "10", "0"] and any("by a name that is not exactly" in note for note in notes)


def test_a_row_whose_work_waits_is_not_one_without_a_submission(tmp_path: Path) -> None:
    (tmp_path / "grades.csv").write_text(HEAD + '"Lee, Ann",1,s1,l1,A,\n"Roe, Ed",2,s2,l2,A,\n')
    absent = [Absent(student=Student("Ann Lee", ("1",)), is_waiting=True), Absent(student=Student("Ed Roe", ("2",)))]
    _, notes = fill_canvas(tmp_path / "grades.csv", [], "77", absent=absent)
    assert "not changed: 1 row whose work is not graded yet (see: grader status): Lee, Ann" in notes
    assert "not changed: 1 row without a submission: Roe, Ed" in notes


def test_who_has_the_id_of_another_row_gets_no_zero_for_it(tmp_path: Path) -> None:
    """As where the class list has other numbers than Canvas: then the row is in doubt, and nobody has earned the 0."""
    rows = '"Lee, Ann",1,s1,l1,A,\n"Roe, Ed",2,s2,l2,A,\n"Kim, Max",3,s3,l3,A,\n"Kim, Max",4,s4,l4,A,\n'
    students = Student("Ed Roe", ("1",)), Student("Max Kim", ("s4",))
    (tmp_path / "grades.csv").write_text(HEAD + rows)
    absent = [Absent(student=one) for one in students]
    content, _ = fill_canvas(tmp_path / "grades.csv", [], "77", missing_as_zero=True, absent=absent)
    assert [line.rpartition(",")[2] for line in content.decode().splitlines()[2:]] == ["", "", "", "0"]


@pytest.mark.parametrize(
    ("name", "arrival"),
    [
        ("Lee_Ann_1100011_vectors", {}),
        ("vectors - Ann Lee", {}),
        ("cs1-hw1-annlee", {}),
        ("whatever", {"student": "1100011"}),
        ("whatever", {"student": "70", "platform_id": "70", "lms": "canvas"}),
        ("whatever", {"student": "1100011", "platform_id": "70", "lms": "canvas"}),
        ("whatever", {"student": "1100011", "platform_id": "501", "lms": "moodle"}),
        ("Ann Lee", {"platform_id": "501", "lms": "moodle"}),
    ],
)
def test_an_id_or_a_name_inside_fills_the_one_row_that_has_it(
    tmp_path: Path, name: str, arrival: dict[str, str]
) -> None:
    rows = '"Lee, Ann",70,1100011,annlee,A,\n"Chen, Bo",501,1100012,bochen,A,\n'
    assert canvas(tmp_path, rows, came(name, **arrival))[0] == ["10", ""]


@pytest.mark.parametrize(
    ("name", "arrival"),
    [
        ("Ann Lee", {"student": "71"}),  # the id of another row
        ("Ann Lee", {"student": "71", "platform_id": "71", "lms": "canvas"}),
        ("Ed Roe", {"student": "71", "platform_id": "71", "lms": "moodle"}),
        ("hw1-2026-unknown", {}),
        ("annlee_bochen", {}),
    ],
)
def test_an_id_of_another_or_of_another_platform_fills_nothing(
    tmp_path: Path, name: str, arrival: dict[str, str]
) -> None:
    rows = '"Lee, Ann",70,1100011,annlee,A,\n"Chen, Bo",71,2026,bochen,A,\n'
    assert canvas(tmp_path, rows, came(name, **arrival))[0] == ["", ""]


WORKSHEET = (
    "Identifier,Full name,Email address,Grade,Maximum grade\n"
    "Participant 7,Ann Lee,ann@x,,10\nParticipant 8,Bo Chen,bo@x,,10\n"
)


@pytest.mark.parametrize(
    ("entry", "filled"),
    [
        (came("Ann Lee", platform_id="7", lms="moodle"), "7"),
        (came("Participant 8", student="participant 8 of week1", platform_id="8", lms="moodle"), "8"),
        (came("whatever", student="bo@x", platform_id="99", lms="moodle"), "8"),
        (came("Bo Chen", student="7"), "8"),  # a number of a list of one's own is none of Moodle's
        (came("Ed Roe", student="7"), ""),
        (came("Ann Lee", platform_id="8", lms="moodle"), ""),  # the worksheet of another week
    ],
)
def test_moodles_number_is_that_of_its_own_download_only(tmp_path: Path, entry: Entry, filled: str) -> None:
    (tmp_path / "w.csv").write_text(WORKSHEET)
    content, _ = fill_moodle(tmp_path / "w.csv", [entry])
    rows = [line.split(",") for line in content.decode().splitlines()[1:]]
    assert [row[0].removeprefix("Participant ") for row in rows if row[3]] == ([filled] if filled else [])


def test_namesakes_of_another_platform_are_told_apart_by_the_other_ids_of_the_class_list(tmp_path: Path) -> None:
    """The platform's own id, as Canvas's 7, may be that of somebody else in Brightspace."""
    head = "OrgDefinedId,Username,Last Name,First Name,Lab Points Grade <Numeric MaxPoints:10>,End-of-Line Indicator\n"
    rows = ("#7,#eve,Roe,Eve,,#", "#71,#max1,Schmidt,Max,,#", "#72,#max2,Schmidt,Max,,#")
    (tmp_path / "grades.csv").write_text(head + "\n".join(rows) + "\n")
    entries = []
    for number in ("7", "8"):
        entry = came("Max Schmidt", student=number, platform_id=number, lms="canvas")
        whose = Whose("Max Schmidt", number, ids=(number, f"max{int(number) - 6}"))
        entries.append(Entry(replace(entry.row, people=(whose,))))
    content, _ = fill("brightspace", tmp_path / "grades.csv", entries)
    assert [line.split(",")[4] for line in content.decode().splitlines()[1:]] == ["", "10", "10"]
