"""Whose work it is: by the id, else by a name that one student has; never a stranger if the list knows better."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from make_class_zips import zipped

from grader.gradebook import Gradebook
from grader.intake.find import find_submissions
from grader.intake.names import name_key
from grader.intake.roster import Roster
from grader.intake.sources import Source
from grader.intake.submission import Arrival, Submission
from grader.results import SubmissionResult

TOPICS = ["vectors"]
LIST = "id,name\n7,Zoë Müller\n8,Max Schmidt\n9,Max Schmidt\n10,Ann Lee\n11,Straße Jo\n"


def found(
    tmp_path: Path, *folders: str, text: str | bytes = LIST, known: Mapping[str, str] | None = None
) -> tuple[list[Source], list[str]]:
    """What is found in a class of these folders, and the notes."""
    for folder in folders:
        (tmp_path / "class" / folder).mkdir(parents=True)
        (tmp_path / "class" / folder / "vectors.py").write_text("x = 1\n")
    (tmp_path / "list.csv").write_bytes(text.encode() if isinstance(text, str) else text)
    notes: list[str] = []
    roster = Roster.read(tmp_path / "list.csv")
    sources = find_submissions([tmp_path / "class"], TOPICS, roster=roster, note=notes.append, known_people=known or {})
    return sources, notes


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("Zoë Müller", "Zoë Müller"),
        ("muller_zoe", "Zoë Müller"),
        ("MÜLLER, Zoë", "Zoë Müller"),
        ("Mu\u0308ller-Zoe\u0308", "Zoë Müller"),
        ("10", "Ann Lee"),
        ("jo_STRASSE", "Straße Jo"),
    ],
)
def test_a_folder_is_found_by_its_id_or_by_a_name_that_one_student_has(tmp_path: Path, folder: str, name: str) -> None:
    sources, notes = found(tmp_path, folder)
    assert [(one.name, bool(one.arrival.student)) for one in sources] == [(name, True)]
    taken = [note for note in notes if name in note]
    assert len(taken) == (folder not in ("10", name)) and all("not exactly the same" in note for note in taken)


def test_a_name_of_two_students_is_asked_for_and_taken_for_neither(tmp_path: Path) -> None:
    sources, notes = found(tmp_path, "schmidt max")
    assert [(one.name, one.arrival.student) for one in sources] == [("schmidt max", "")]
    assert notes[0] == "schmidt max: could be any of 2 of that name in the roster (8, 9): name it by the id"


def test_two_students_of_one_name_have_their_ids_behind_it(tmp_path: Path) -> None:
    """And not the folder that their work lay in."""
    sources, _ = found(tmp_path, "8", "9", "9-again", text=LIST.replace("9,", "9-again,"))
    assert [one.name for one in sources] == ["9", "Max Schmidt (8)", "Max Schmidt (9-again)"]


def test_who_handed_in_nothing_is_said_against_the_gradebook(tmp_path: Path) -> None:
    """One late submission is graded: the others have handed in before."""
    known = {"7": "Zoë Müller", "8": "Max Schmidt", "Straße Jo": "Straße Jo"}
    _, notes = found(tmp_path, "10", known=known)
    assert notes == ["Max Schmidt: in the roster, but has handed in nothing"]


def test_many_who_handed_in_nothing_are_one_line(tmp_path: Path) -> None:
    lines = "".join(f"{number},S{number}\n" for number in range(57))
    _, notes = found(tmp_path, "1", text=f"id,name\n{lines}")
    assert notes == ["56 students of the roster have handed in nothing: S0; S2; S3; S4; S5 and 51 more"]


def test_a_single_file_of_the_lms_keeps_the_name_that_the_gradebook_knows(tmp_path: Path) -> None:
    out = tmp_path / "gradebook.sqlite"
    with Gradebook.open(out) as book:
        run = book.start_run("course", "hash", 1, "key", {})
        book.record_arrival(run, Submission("Zoë Müller", {}, (), Arrival(student="7")), "d")
        book.record(run, SubmissionResult(submission="Zoë Müller", score=0, max=0), "d", 0.1)
        known = book.people("course")
        assert book.people("another") == {}
    (tmp_path / "download.zip").write_bytes(zipped({"mullerzoe_7_123_vectors.py": b"x = 1\n"}))
    (source,) = find_submissions([tmp_path / "download.zip"], TOPICS, known_people=known)
    assert (source.name, source.arrival.student) == ("Zoë Müller", "7")
    (source,) = find_submissions([tmp_path / "download.zip"], TOPICS)
    assert source.name == "mullerzoe"


@pytest.mark.parametrize(
    "text",
    [
        LIST + "7,Zoë Müller\n",
        LIST.encode("cp1252"),
        LIST.encode("utf-16"),
        "Matrikelnummer;Nachname;Vorname\n7;Müller;Zoë\n",
        "\ufeffMatrikelnummer\tVorname\tNachname\n7\tZoë\tMüller\n".encode("utf-16-le"),
        "Matr.-Nr.;Name;Vorname\n7;Müller;Zoë\n",
        "sep=;\nStudent No.;Surname;First Name\n7;Müller;Zoë\n",
        "\nClass list of week 1, by name\nNo,StudentID,Student Name,Section\n1,7,Zoë Müller,A\n",
        LIST.encode("utf-16-le"),
        LIST.encode("utf-32"),
    ],
)
def test_lists_as_offices_write_them_are_read(tmp_path: Path, text: str | bytes) -> None:
    sources, _ = found(tmp_path, "7", text=text)
    assert [one.name for one in sources] == ["Zoë Müller"]


GROUPS = "id,name,group\n7,Zoë Müller,Rho One\n8,Max Schmidt,Rho One\n10,Ann Lee,Tau\n11,Jo,\n12,Al,none\n"


def test_who_is_in_a_group_that_handed_in_has_not_handed_in_nothing(tmp_path: Path) -> None:
    sources, notes = found(tmp_path, "Zoë Müller", text=GROUPS)
    assert [one.arrival.student for one in sources] == ["7"]
    assert notes == [f"{name}: in the roster, but has handed in nothing" for name in ("Ann Lee", "Jo", "Al")]


def test_a_folder_with_a_groups_name_is_its_first_members(tmp_path: Path) -> None:
    sources, _ = found(tmp_path, "rho_one", text=GROUPS)
    assert [(one.name, one.arrival.student) for one in sources] == [("Zoë Müller", "7")]


@pytest.mark.parametrize(
    "text",
    [
        'id,name\n"=""0010""",Ann Lee\n"=""0011""",Bo Ng\n',
        "OrgDefinedId,Username,Last Name,First Name\n#0010,#annlee,Lee,Ann\n#0011,#bo,Ng,Bo\n",
    ],
)
def test_an_id_that_is_written_as_text_is_that_id(tmp_path: Path, text: str) -> None:
    """As Excel and Brightspace keep the zeros in front of a number."""
    sources, notes = found(tmp_path, "0010", text=text)
    assert [(one.name, one.arrival.student) for one in sources] == [("Ann Lee", "0010")]
    assert notes == ["Bo Ng: in the roster, but has handed in nothing"]


@pytest.mark.parametrize(
    "text",
    [
        "name,canvas_user_id,user_id,login_id,sections,group_name,canvas_group_id,group_id\n"
        '"B, Ada",101,s1,ada@x,Section: 002,Rho,4,7\nJo,102,,jo@x,Section: 002,,,\n',
        "Identifier,Full name,Email address,Group\nParticipant 101,Ada B,ada@x,Rho\n",
        "Matrikelnummer;Nachname;Vorname;Gruppe\n101;B;Ada;Rho\n",
        "id,name,team\n101,Ada B,Rho\n",
    ],
    ids=["Canvas's groups", "Moodle's worksheet", "German", "own"],
)
def test_groups_are_read_from_the_lists_that_there_are(tmp_path: Path, text: str) -> None:
    (tmp_path / "list.csv").write_text(text)
    roster = Roster.read(tmp_path / "list.csv")
    student = roster.find("101") or roster.participant("101")
    assert student is not None and student.group == "Rho" and name_key(student.name) == ("ada", "b")


def test_whoever_an_ambiguous_folder_may_belong_to_has_not_handed_in_nothing(tmp_path: Path) -> None:
    _, notes = found(tmp_path, "schmidt max", "zoe-muller", "10", "11")
    assert len(notes) == 2 and "could be any of 2" in notes[0] and "zoe-muller: taken for" in notes[1]


def test_letters_that_have_no_accent_of_their_own_are_found_without(tmp_path: Path) -> None:
    sources, _ = found(tmp_path, "Lukasz_Bjorn", text="id,name\n5,Bjørn Łukasz\n")
    assert [(one.name, one.arrival.student) for one in sources] == [("Bjørn Łukasz", "5")]


def test_an_id_in_capitals_is_the_same_id(tmp_path: Path) -> None:
    _, notes = found(tmp_path, "10", known={"U7": "Zoë Müller"}, text="id,name\nu7,Zoë M.\n10,Ann Lee\n")
    assert notes == []


@pytest.mark.parametrize(
    "name",
    ["mullerzoe_LATE_7_123_vectors.py", "mullerzoe_7_123_work.zip", "Zoë Müller_7_assignsubmission_file_vectors.py"],
)
@pytest.mark.parametrize("with_list", [True, False])
def test_one_file_out_of_a_download_is_that_of_the_student_with_its_id(
    tmp_path: Path, name: str, with_list: bool
) -> None:
    (tmp_path / "list.csv").write_text(LIST)
    (tmp_path / name).write_bytes(zipped({"vectors.py": b"x = 1\n"}) if name.endswith(".zip") else b"x = 1\n")
    roster = Roster.read(tmp_path / "list.csv") if with_list else None
    known = {} if with_list else {"7": "Zoë Müller"}
    (source,) = find_submissions([tmp_path / name], TOPICS, roster=roster, known_people=known)
    assert (source.name, source.arrival.student) == ("Zoë Müller", "7") and source.arrival.late == ("_LATE" in name)
    assert source.read().files == {"vectors.py": b"x = 1\n"}
    (source,) = find_submissions([tmp_path / name], TOPICS)
    assert source.name == Path(name).stem and not source.arrival.student, "nobody knows that id: it may be no id"


def test_without_a_list_a_name_is_that_of_the_one_student_whom_the_gradebook_knows_by_it(tmp_path: Path) -> None:
    for folder in ("muller_ZOE", "schmidt max", "ANN lee", "new one"):
        (tmp_path / "class" / folder).mkdir(parents=True)
        (tmp_path / "class" / folder / "vectors.py").write_text("x = 1\n")
    known = {"7": "Zoë Müller", "8": "Max Schmidt", "9": "Max Schmidt", "Ann Lee": "Ann Lee"}
    sources = find_submissions([tmp_path / "class"], TOPICS, known_people=known)
    assert {(one.name, one.arrival.student) for one in sources} == {
        ("Zoë Müller", "7"),
        ("schmidt max", ""),
        ("Ann Lee", ""),
        ("new one", ""),
    }


def test_an_archive_of_a_class_whose_name_looks_like_an_id_is_still_a_class(tmp_path: Path) -> None:
    files = {"ann/vectors.py": b"x = 1\n", "bob/vectors.py": b"x = 2\n"}
    (tmp_path / "class_7_1_all.zip").write_bytes(zipped(files))
    sources = find_submissions([tmp_path / "class_7_1_all.zip"], TOPICS, known_people={"7": "Zoë Müller"})
    assert [(one.name, one.arrival.student) for one in sources] == [("ann", ""), ("bob", "")]


def test_who_is_known_by_another_id_has_handed_in_something(tmp_path: Path) -> None:
    _, notes = found(tmp_path, "Ann Lee", known={"501": "Zoë Müller", "8": "Max Schmidt"})
    without = [note.partition(":")[0] for note in notes if "handed in nothing" in note]
    assert without == ["Max Schmidt", "Straße Jo"]  # the other Max Schmidt


def test_an_id_that_the_list_does_not_have_is_found_by_its_unique_name(tmp_path: Path) -> None:
    """As Moodle's number of a participant beside the office's number of a student; also behind a group's name."""
    end = "assignsubmission_file"
    moodle = (f"Zoë Müller_501_{end}", f"Rho-2-Ann Lee_502_{end}", f"Max Schmidt_503_{end}", f"Jo Straße_504_{end}")
    sources, notes = found(tmp_path, *moodle, f"Jo Straße_505_{end}")
    names = {one.arrival.platform_id: one.name for one in sources}
    assert {one.name: one.arrival.student for one in sources if "Jo" not in one.name} == {
        "Zoë Müller": "7",
        "Ann Lee": "10",
        "Max Schmidt": "",
    }
    assert names == {
        "501": "Zoë Müller",
        "502": "Ann Lee",
        "503": "Max Schmidt",
        "504": "Jo Straße (504)",
        "505": "Jo Straße (505)",
    }
    assert "Max Schmidt: could be any of 2 of that name in the roster (8, 9): name it by the id" in notes
    question = "Jo Straße: not in the roster, but may be the work of Straße Jo (11): name it by the id"
    assert notes.count(question) == 2 and not any("handed in nothing" in note for note in notes)


@pytest.mark.parametrize("folder", ["leeann", "7"])
def test_without_a_list_a_folder_that_only_looks_like_somebody_graded_is_somebody_else(
    tmp_path: Path, folder: str
) -> None:
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "vectors.py").write_text("x = 1\n")
    (one,) = find_submissions([tmp_path], TOPICS, known_people={"Ann Lee": "Ann Lee", "7": "Zoë Müller"})
    assert (one.name, one.arrival.student) == (folder, "")


def test_of_several_columns_of_a_kind_the_first_counts_also_where_its_cell_is_empty(tmp_path: Path) -> None:
    text = "id,name,submitted,created_at,group,team\n7,Ann,,2026-10-20,none,red\n8,Bob,2026-10-21,2026-10-20,blue,red\n"
    (tmp_path / "list.csv").write_text(text)
    ann, bob = Roster.read(tmp_path / "list.csv").students
    assert (ann.submitted, ann.group) == ("", "")
    assert (bob.submitted[:10], bob.group) == ("2026-10-21", "blue")
