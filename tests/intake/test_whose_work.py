"""Work finds its owner by an id, an e-mail or a name in a longer name; in doubt it is nobody's."""

from __future__ import annotations

import unicodedata
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from make_class_zips import zipped

from grader.intake.find import find_submissions
from grader.intake.matching import PeopleIndex
from grader.intake.names import name_key
from grader.intake.roster import Roster
from grader.intake.sources import Source

TOPICS = {"vectors": ["normalize"], "matrices": ["trace"]}
CODE = b"def normalize(x):\n    return x\n"
PEOPLE = (
    "id,username,email,name\n"
    "1100011,annlee,ann@uni.example,Ann Lee\n"
    "1100012,bo.chen,bo.chen@uni.example,Bo Chen\n"
    "1100013,cyd-2,cy@uni.example,Cy Díaz\n"
    "1100014,maria,m.garcia@uni.example,María García López\n"
    "1100015,mg,mg@uni.example,María García\n"
    "2026,dee,dee@uni.example,Dee Fox\n"
    "1100017,wang,wang@uni.example,王小明\n"
    "1100018,minsu,minsu@uni.example,김민수\n"
    "1100019,taro,taro@uni.example,山田 太郎\n"
    "1100020,pl4,p4@uni.example,Plato\n"
    "1100021,robin,r@uni.example,Robert (Robin) Roe\n"
)


def owners(folder: Path, names: Sequence[str], roster: str = PEOPLE) -> tuple[dict[str, str], list[str]]:
    """The owner's name of each folder or file, empty for nobody's; and the notes."""
    (folder / "list.csv").write_text(roster)
    for name in names:
        path = folder / "class" / name
        file = path if name.endswith(".py") else path / "vectors.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(CODE)
    notes: list[str] = []
    found = find_submissions([folder / "class"], TOPICS, roster=Roster.read(folder / "list.csv"), note=notes.append)
    listed = {one.name for one in Roster.read(folder / "list.csv").students}
    return {str(one.path.name): one.name if one.name in listed else "" for one in found}, notes


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("Lee_Ann_1100011_vectors.py", "Ann Lee"),
        ("vectors - Ann Lee.py", "Ann Lee"),
        ("Tarea 1 - Ann Lee.py", "Ann Lee"),
        ("vectors (Ann Lee).py", "Ann Lee"),
        ("Ann Lee 11 ann@uni_example", "Ann Lee"),
        ("11 ann@uni.example", "Ann Lee"),
        ("Lee_Ann_annlee", "Ann Lee"),
        ("cs1-hw1-annlee", "Ann Lee"),
        ("cs1-hw1-ANNLEE", "Ann Lee"),
        ("hw1-annlee-1", "Ann Lee"),
        ("hw1-2026-annlee", "Ann Lee"),
        ("ann_lee_week2.py", "Ann Lee"),
        ("hw_bo_chen_uni", ""),
        ("bo.chen-vectors.py", "Bo Chen"),
        ("bo.chen_uni.example", "Bo Chen"),
        ("hw-cyd-2", "Cy Díaz"),
        ("diaz_cy_hw1", "Cy Díaz"),
        ("María García López hw1", "María García López"),
        ("garcia_lopez_maria", "María García López"),
        ("20261001 王小明", "王小明"),
        ("1100017王小明.py", "王小明"),
        ("王小明_hw1.py", "王小明"),
        ("vectors-김민수.py", "김민수"),
        ("レポート_山田太郎.py", "山田 太郎"),
        ("王小明_作业.py", "王小明"),
        ("Robert (Robin) Roe hw1", "Robert (Robin) Roe"),
        # Nobody's, or it is not sure whose.
        ("hw1-2026-unknown", ""),
        ("11000110", ""),
        ("hw11100011", ""),
        ("a1100011b", ""),
        ("Ann Lee Smith.py", ""),
        ("Mary-Ann Lee.py", ""),
        ("Ann_Lee_1100099_vectors.py", ""),
        ("annlee_1100012.py", ""),
        ("Ann Lee and Bo Chen.py", ""),
        ("Maria Lopez.py", ""),
        ("maria_smith", ""),
        ("Plato Smith.py", ""),
        ("Plato_hw1.py", ""),
        ("---.py", ""),
        ("2026-10-01", ""),
        ("Ann.py", ""),
        ("小明.py", ""),
        ("王小", ""),
    ],
)
def test_a_name_that_holds_exactly_one_id_or_name_is_that_students(tmp_path: Path, name: str, owner: str) -> None:
    found, _ = owners(tmp_path, [name])
    assert found == {name: owner}


ALIKE = (
    ("रीमा वर्मा", "रोमा वर्मा"),
    ("かわだ ゆき", "かわた ゆき"),
    ("김민수", "김민서"),
    ("🦊", "🐍"),
    ("محمد علي", "محمود علي"),
    ("王小明", "王小朋"),
    ("สมชีย ดู", "สมชาย ดี"),
    ("ශානි පෙරේරා", "ශානු පෙරේරා"),
    ("ガク", "カク"),
    ("!!!", "???"),
)


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_two_names_of_any_script_are_two_people(tmp_path: Path, one: str, other: str) -> None:
    """A mark of a script without case is a letter, and an empty key is equal to none."""
    index = PeopleIndex([(7, ["7"], [one])])
    assert index.find(one).one == 7 and index.find(unicodedata.normalize("NFD", one)).one == 7
    assert index.find(other).people == () and index.named(other).people == ()
    found, notes = owners(tmp_path, [other], f"id,name\n7,{one}\n")
    assert found == {other: ""} and f"{other}: not in the roster" in notes


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Işıl Çağ", "isil cag"),
        ("İpek Şen", "ipek sen"),
        ("Ἀθηνᾶ Σίσυφος", "ΑΘΗΝΑ ΣΙΣΥΦΟΣ"),
        ("Алёна Йод", "АЛЕНА ИОД"),
        ("Bjørn Łukasz", "lukasz_bjorn"),
        ("Nguyễn Đức", "nguyen duc"),
        ("Kaʻahu O’Neil", "Ka'ahu O'Neil"),
        ("ＡＮＮ Lee", "Ann Lee"),
    ],
)
def test_case_and_accents_of_latin_greek_and_cyrillic_are_folded_with_a_note(
    tmp_path: Path, text: str, other: str
) -> None:
    assert name_key(text) == name_key(other) != ()
    found, notes = owners(tmp_path, [other], f"id,name\n7,{text}\n")
    assert found == {other: text}
    assert notes == [f"{other}: taken for {text} (7), by a name that is not exactly the same"]


def test_of_two_names_that_fold_alike_the_exact_one_counts_and_another_form_is_a_question(tmp_path: Path) -> None:
    roster = "id,name\n1,José Ruiz\n2,Jose Ruiz\n3,Ilgın Ak\n4,Ilgin Ak\n"
    found, notes = owners(tmp_path, ["José Ruiz", "Jose Ruiz", "jose_ruiz", "Ilgın Ak", "ILGIN AK"], roster)
    assert found == {
        "José Ruiz": "José Ruiz",
        "Jose Ruiz": "Jose Ruiz",
        "jose_ruiz": "",
        "Ilgın Ak": "Ilgın Ak",
        "ILGIN AK": "",
    }
    question = "could be the work of any of 2 in the roster (José Ruiz (1); Jose Ruiz (2)): name it by the id"
    assert f"jose_ruiz: {question}" in notes and len(notes) == 2


def test_a_stranger_whose_name_is_spelled_alike_does_not_join_who_is_there_by_the_exact_name(tmp_path: Path) -> None:
    found, notes = owners(tmp_path, ["José Ruiz", "Jose Ruiz"], "id,name\n1,José Ruiz\n")
    assert found == {"José Ruiz": "José Ruiz", "Jose Ruiz": ""}
    assert notes == ["Jose Ruiz: not in the roster, but may be the work of José Ruiz (1): name it by the id"]


def test_a_word_of_the_title_that_is_an_id_is_nobody(tmp_path: Path) -> None:
    """Half of the class has it: the date of the assignment, in the form of a number of a student."""
    roster = "id,username,name\n20261001,dee,Dee Fox\n1,annlee,Ann Lee\n2,bochen,Bo Chen\n"
    found, _ = owners(tmp_path, ["hw-20261001-annlee", "hw-20261001-bochen", "hw-20261001-nobody"], roster)
    assert found == {"hw-20261001-annlee": "Ann Lee", "hw-20261001-bochen": "Bo Chen", "hw-20261001-nobody": ""}


def test_a_word_that_most_files_have_may_be_the_id_of_one_who_handed_in_most(tmp_path: Path) -> None:
    files = ["annlee_vectors.py", "annlee_matrices.py", "annlee_more.py", "bo.chen_vectors.py"]
    found, _ = owners(tmp_path, files)
    assert set(found.values()) == {"Ann Lee", "Bo Chen"}


def test_the_names_of_a_group_on_one_file_are_the_groups(tmp_path: Path) -> None:
    roster = "id,name,group\n1,Ann Lee,Rho\n2,Bo Chen,Rho\n3,Cy Diaz,Tau\n"
    found, notes = owners(tmp_path, ["Ann Lee and Bo Chen.py", "Ann Lee, Cy Diaz.py"], roster)
    assert found == {"Ann Lee and Bo Chen.py": "Ann Lee", "Ann Lee, Cy Diaz.py": ""}
    assert any(note.startswith("Ann Lee, Cy Diaz: could be the work of any of 2") for note in notes)


@pytest.mark.parametrize("as_folder", [True, False])
def test_a_file_of_any_kind_with_a_students_name_is_work_of_theirs(tmp_path: Path, as_folder: bool) -> None:
    """Else the student would have handed in nothing, and a 0 could be written."""
    roster = "id,name\n1,Ann Lee\n2,Bo Chen\n3,Cy Diaz\n4,Dee Eck\n"
    files = {
        "Ann Lee/vectors.py": CODE,
        "Eve/vectors.py": CODE,
        "Bo Chen.docx": b"PK\3\4",
        "Cy Diaz.7z": b"7z",
        "Dee Eck.txt": CODE,
    }
    files |= {"README.txt": b"read me", "list.csv": roster.encode(), ".Ann Lee.swp": b"x", "Thumbs.db": b"x"}
    (tmp_path / "list.csv").write_text(roster)
    (tmp_path / "class.zip").write_bytes(zipped(files))
    if as_folder:
        with zipfile.ZipFile(tmp_path / "class.zip") as archive:
            archive.extractall(tmp_path / "class")
    notes: list[str] = []
    place = tmp_path / ("class" if as_folder else "class.zip")
    found = find_submissions([place], TOPICS, roster=Roster.read(tmp_path / "list.csv"), note=notes.append)
    assert people(found) == {"Ann Lee": "1", "Bo Chen": "2", "Cy Diaz": "3", "Dee Eck": "4", "Eve": ""}
    assert [bool(one.read().unread) for one in found] == [False, True, True, True, False]
    assert not [line for line in notes if "handed in nothing" in line]


def test_the_repository_of_a_team_is_the_teams(tmp_path: Path) -> None:
    """The title of the assignment stands before it, and a number behind a title is no team."""
    roster = "id,name,group\n1,Ann Lee,team-rho\n2,Bo Chen,team-rho\n3,Cy Diaz,tau\n4,Dee Eck,2\n"
    found, notes = owners(tmp_path, ["cs-hw1-team-rho", "cs-hw1-tau", "cs-hw1-2", "my-rho", "tau-cs-hw1"], roster)
    assert found == {
        "cs-hw1-team-rho": "Ann Lee",
        "cs-hw1-tau": "Cy Diaz",
        "cs-hw1-2": "",
        "my-rho": "",
        "tau-cs-hw1": "",
    }
    assert "Bo Chen: in the roster, but has handed in nothing" not in notes


def test_an_id_and_a_name_of_two_students_are_a_question(tmp_path: Path) -> None:
    """As where the list has other numbers than Canvas."""
    (tmp_path / "list.csv").write_text("id,name\n70,Bo Chen\n71,Ann Lee\n")
    (tmp_path / "c.zip").write_bytes(zipped({"leeann_70_1_vectors.py": CODE, "chenbo_9_2_vectors.py": CODE}))
    notes: list[str] = []
    roster = Roster.read(tmp_path / "list.csv")
    found = find_submissions([tmp_path / "c.zip"], TOPICS, roster=roster, note=notes.append)
    assert {one.name for one in found} == {"leeann", "Bo Chen"}
    assert notes[0] == (
        "leeann: could be the work of any of 2 in the roster (Bo Chen (70); Ann Lee (71)): name it by the id"
    )


# ---------------------------------------------------------------- rosters


def test_the_roster_of_classroom_50_knows_its_clones(tmp_path: Path) -> None:
    roster = (
        "username,first_name,last_name,email,section,github_id,role\n"
        "annlee,Ann,Lee,ann@uni.example,A,583231,student\n"
        "bo,Bo,Chen,,A,583232,\n"
        "cy-d,,,,,,student\n"
        "prof,Pia,Prof,,,583233,teacher\n"
    )
    found, notes = owners(tmp_path, ["cs1-hw1-annlee", "cs1-hw1-Bo", "cs1-hw1-cy-d", "cs1-hw1-prof"], roster)
    assert found == {"cs1-hw1-annlee": "Ann Lee", "cs1-hw1-Bo": "Bo Chen", "cs1-hw1-cy-d": "cy-d", "cs1-hw1-prof": ""}
    assert notes == ["cs1-hw1-prof: not in the roster"]
    ids = [one.ids[0] for one in Roster.read(tmp_path / "list.csv").students]
    assert ids == ["583231", "583232", "cy-d"], "by the number first: a student may change the user name"


def test_a_roster_of_user_names_alone_is_one(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("username\nannlee\nboc\n")
    assert [(one.name, one.ids) for one in Roster.read(tmp_path / "list.csv").students] == [
        ("annlee", ("annlee",)),
        ("boc", ("boc",)),
    ]


@pytest.mark.parametrize(
    ("cell", "excused"),
    [
        *((cell, True) for cell in ("yes", "Y", "x", "X", "1", "true", "TRUE", "EX", "excused", "✓", "ja")),
        *((cell, False) for cell in ("", "no", "0", "false", "-", "–", "n")),
    ],
)
def test_a_column_says_who_is_excused(tmp_path: Path, cell: str, excused: bool) -> None:
    (tmp_path / "list.csv").write_text(f"id,name,excused\n1,Ann,{cell}\n2,Bo,\n")
    roster = Roster.read(tmp_path / "list.csv")
    assert [one.excused for one in roster.students] == [excused, False] and roster.notes == []


def test_an_excuse_that_cannot_be_read_excuses_nobody_and_is_noted(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("id,name,excused\n1,Ann,maybe\n")
    roster = Roster.read(tmp_path / "list.csv")
    assert not roster.students[0].excused
    assert roster.notes == [
        "list.csv: 1 excuse cannot be read, so nobody is excused by it: write yes or no; the first: Ann: maybe"
    ]


def test_an_identifier_that_ends_with_a_number_is_an_id(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("identifier,name\nabc123,Ann\nabd124,Bo\n")
    assert [one.ids for one in Roster.read(tmp_path / "list.csv").students] == [("abc123",), ("abd124",)]


# ---------------------------------------------------------------- Moodle's numbers are of one assignment

END = "assignsubmission_file_/vectors.py"
WEEKS = (
    {f"Ann Lee_501_{END}": CODE, f"Bo Chen_502_{END}": CODE, f"Cy Diaz_503_{END}": CODE},
    {f"Ann Lee_503_{END}": CODE, f"Bo Chen_501_{END}": CODE, f"Cy Diaz_777_{END}": CODE},
)


def moodle(folder: Path, name: str, files: dict[str, bytes]) -> Path:
    (folder / name).write_bytes(zipped(files))
    return folder / name


def people(found: Sequence[Source]) -> dict[str, str]:
    return {one.name: one.arrival.student for one in found}


def test_three_students_of_two_weeks_are_three(tmp_path: Path) -> None:
    """Without a class list they are their names; the number is kept for the upload of the marks."""
    known: dict[str, str] = {}
    for week, files in enumerate(WEEKS):
        download = moodle(tmp_path, f"week{week}.zip", files)
        found = find_submissions([download], TOPICS, known_people=known)
        assert people(found) == {"Ann Lee": "", "Bo Chen": "", "Cy Diaz": ""}
        known |= {one.name: one.name for one in found}
    assert {one.name: one.arrival.platform_id for one in found} == {
        "Ann Lee": "503",
        "Bo Chen": "501",
        "Cy Diaz": "777",
    }


def test_a_number_is_no_id_either_if_nothing_of_an_upload_can_be_read(tmp_path: Path) -> None:
    download = moodle(
        tmp_path, "m.zip", {f"Ann Lee_501_{END}": CODE, f"Bo Chen_502_{END.replace('vectors', '../../vectors')}": CODE}
    )
    found = find_submissions([download], TOPICS)
    assert people(found) == {"Ann Lee": "", "Bo Chen": ""}
    assert [(one.arrival.lms, one.arrival.platform_id) for one in found] == [("moodle", "501"), ("moodle", "502")]


def worksheet(*numbers: int) -> str:
    head = "Identifier,Full name,Email address,Grade,Maximum grade\n"
    students = zip(numbers, ("Ann Lee,a@x", "Bo Chen,b@x", "Cy Diaz,c@x"), strict=False)
    return head + "".join(f"Participant {number},{one},,100\n" for number, one in students)


def test_with_the_number_of_the_worksheet_a_word_before_the_name_is_no_doubt(tmp_path: Path) -> None:
    """As for the only student who is in no group."""
    (tmp_path / "list.csv").write_text(worksheet(501, 502))
    files = {f"Default group-Ann Lee_501_{END}": CODE, f"Default-Bo Chen_999_{END}": CODE}
    found = find_submissions([moodle(tmp_path, "m.zip", files)], TOPICS, roster=Roster.read(tmp_path / "list.csv"))
    assert people(found) == {"Ann Lee": "a@x", "Default-Bo Chen": ""}


def test_with_the_worksheets_of_two_weeks_they_have_the_same_ids(tmp_path: Path) -> None:
    lists = worksheet(501, 502, 503), worksheet(503, 501, 777)
    for week, files in enumerate(WEEKS):
        (tmp_path / "list.csv").write_text(lists[week])
        roster = Roster.read(tmp_path / "list.csv")
        found = find_submissions([moodle(tmp_path, "m.zip", files)], TOPICS, roster=roster)
        assert people(found) == {"Ann Lee": "a@x", "Bo Chen": "b@x", "Cy Diaz": "c@x"}


def test_a_worksheet_without_any_other_id_knows_the_students_by_name(tmp_path: Path) -> None:
    text = "Identifier,Full name,Grade\nParticipant 501,Ann Lee,\nParticipant 502,Max Max,\nParticipant 503,Max Max,\n"
    (tmp_path / "list.csv").write_text(text)
    roster = Roster.read(tmp_path / "list.csv", "week1")
    assert [one.ids for one in roster.students] == [
        ("ann lee",),
        ("participant 502 of week1",),
        ("participant 503 of week1",),
    ]
    files = {f"Ann Lee_501_{END}": CODE, f"Max Max_503_{END}": CODE, f"Ann Lee Roe_504_{END}": CODE}
    found = find_submissions([moodle(tmp_path, "m.zip", files)], TOPICS, roster=roster)
    assert people(found) == {"Ann Lee": "ann lee", "Max Max": "participant 503 of week1", "Ann Lee Roe": ""}


@pytest.mark.parametrize(
    "word", ["Participant", "Teilnehmerin", "Participante", "Участник", "参加者", "Rho-Participant"]
)
def test_who_is_blind_has_an_id_of_that_assignment_only(tmp_path: Path, word: str) -> None:
    known: dict[str, str] = {}
    seen = []
    for week in ("week1", "week2"):
        download = moodle(tmp_path, "moodle.zip", {f"{word}_501_{END}": CODE, f"{word}_502_{END}": CODE})
        found = find_submissions([download], TOPICS, known_people=known, assignment=week)
        known |= {one.arrival.student: one.name for one in found}
        seen += [(one.name, one.arrival.student, one.arrival.platform_id) for one in found]
    assert seen == [
        (f"Participant {number}", f"participant {number} of {week}", number)
        for week in ("week1", "week2")
        for number in ("501", "502")
    ]
    again = find_submissions([download], TOPICS, known_people=known, assignment="week2")
    assert people(again) == {f"Participant {number}": f"participant {number} of week2" for number in ("501", "502")}


def test_without_assignments_the_name_of_the_download_tells_them_apart(tmp_path: Path) -> None:
    first = moodle(tmp_path, "CS1-Week 1-77.zip", {f"Participant_501_{END}": CODE})
    again = moodle(tmp_path, "CS1-Week 1-77 (1).zip", {f"Participant_501_{END}": CODE})
    other = moodle(tmp_path, "CS1-Week 2-78.zip", {f"Participant_501_{END}": CODE})
    ids = [find_submissions([one], TOPICS)[0].arrival.student for one in (first, again, other)]
    assert ids[0] == ids[1] == "participant 501 of cs1-week 1-77" != ids[2]


def test_a_blind_download_is_named_by_the_worksheet_of_its_assignment(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text(worksheet(501))
    roster = Roster.read(tmp_path / "list.csv")
    download = moodle(tmp_path, "m.zip", {f"Participant_501_{END}": CODE, f"Participant_502_{END}": CODE})
    assert people(find_submissions([download], TOPICS, roster=roster)) == {
        "Ann Lee": "a@x",
        "Participant 502": "participant 502 of m",
    }
    kept = Roster(roster.students, tmp_path / "gradebook.sqlite")  # which may be that of another week
    assert "Ann Lee" not in people(find_submissions([download], TOPICS, roster=kept))


def test_a_number_of_a_participant_is_no_id_of_the_list(tmp_path: Path) -> None:
    """The list's own numbers are small, too."""
    (tmp_path / "list.csv").write_text("id,name\n501,Bo Chen\n502,Ann Lee\n")
    download = moodle(tmp_path, "m.zip", {f"Ann Lee_501_{END}": CODE, f"Participant_502_{END}": CODE})
    found = find_submissions([download], TOPICS, roster=Roster.read(tmp_path / "list.csv"))
    assert people(found) == {"Ann Lee": "502", "Participant 502": "participant 502 of m"}


def test_two_of_one_name_in_one_download_are_two(tmp_path: Path) -> None:
    download = moodle(tmp_path, "m.zip", {f"Max Max_501_{END}": CODE, f"Max Max_502_{END}": CODE})
    found = find_submissions([download], TOPICS, known_people={"Max Max": "Max Max"})
    assert people(found) == {"Max Max (501)": "participant 501 of m", "Max Max (502)": "participant 502 of m"}


def test_the_hyphen_of_a_double_name_is_no_group(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("id,name,group\n1,Ann Lee,Rho\n2,Bo Chen,Rho\n")
    files = {f"Mary-Ann Lee_501_{END}": CODE, f"Rho-Bo Chen_502_{END}": CODE}
    notes: list[str] = []
    roster = Roster.read(tmp_path / "list.csv")
    found = find_submissions([moodle(tmp_path, "m.zip", files)], TOPICS, roster=roster, note=notes.append)
    assert people(found) == {"Mary-Ann Lee": "", "Bo Chen": "2"}
    assert notes[0] == "Mary-Ann Lee: not in the roster, but may be the work of Ann Lee (1): name it by the id"
    assert "Rho-Bo Chen: taken for Bo Chen (2)" in notes[1]


def test_whoever_was_graded_before_there_was_a_list_stays_the_same_person(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("id,name\nu1,Ann Lee\nu2,Bo Chen\n")
    (tmp_path / "c.zip").write_bytes(zipped({"leeann_70_1_vectors.py": CODE, "chenbo_71_2_vectors.py": CODE}))
    roster = Roster.read(tmp_path / "list.csv")
    found = find_submissions([tmp_path / "c.zip"], TOPICS, roster=roster, known_people={"70": "leeann", "71": "Ed Roe"})
    assert people(found) == {"Ann Lee": "70", "Bo Chen": "u2"}, "71 is somebody else in the gradebook"


def test_ex_in_the_column_of_an_assignment_excuses_from_it_alone(tmp_path: Path) -> None:
    """Canvas writes the number of the assignment behind its title; ``Week 10`` is another one than ``Week 1``."""
    file = tmp_path / "Grades.csv"
    file.write_text(
        "Student,ID,SIS Login ID,Section,Week 1 (77),Week 10 (78)\n    Points Possible,,,,20,20\n"
        '"Lee, Ann",101,alee,A,EX,\n"Kim, Bo",102,bkim,A,15,EX\n'
    )
    for assignment, title, excused in (("w1", "Week 1", ["101"]), ("w10", "Week 10", ["102"]), ("w2", "Week 2", [])):
        students = Roster.read(file, assignment, title).students
        assert [one.ids[0] for one in students if one.excused] == excused
    assert not any(one.excused for one in Roster.read(file).students)


@pytest.mark.parametrize("is_packed", [True, False])
@pytest.mark.parametrize("has_list", [True, False])
def test_one_file_beside_the_folders_of_a_class_makes_no_submission_of_it(
    tmp_path: Path, is_packed: bool, has_list: bool
) -> None:
    """As when the file that was handed out lies there, too."""
    files = {f"{name}/vectors.py": CODE for name in ("Ann Lee", "Bo Chen")} | {"vectors.py": b"# nothing yet\n"}
    if is_packed:
        (tmp_path / "class.zip").write_bytes(zipped(files))
    for name, content in files.items() if not is_packed else ():
        (tmp_path / "class" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "class" / name).write_bytes(content)
    (tmp_path / "list.csv").write_text(PEOPLE)
    roster = Roster.read(tmp_path / "list.csv") if has_list else None
    found = find_submissions([tmp_path / ("class.zip" if is_packed else "class")], TOPICS, roster=roster)
    assert [one.name for one in found] == ["Ann Lee", "Bo Chen", "vectors"]
    assert [[*one.read().files.values()] for one in found][:2] == [[CODE], [CODE]]


def test_one_submission_with_folders_stays_one(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zipped({name: CODE for name in ("vectors.py", "old/vectors.py", "b/vectors.py")}))
    assert [one.name for one in find_submissions([tmp_path / "a.zip"], TOPICS)] == ["a"]


@pytest.mark.parametrize("folder", ["", "class/", "inbox/week 1/"])
def test_an_archive_of_a_class_of_one_is_that_student_s(tmp_path: Path, folder: str) -> None:
    (tmp_path / "list.csv").write_text(PEOPLE)
    roster = Roster.read(tmp_path / "list.csv")
    for name, owner in (("class.zip", "Ann Lee"), ("Bo Chen.zip", "Bo Chen")):
        (tmp_path / name).write_bytes(zipped({f"{folder}annlee/vectors.py": CODE}))
        (one,) = find_submissions([tmp_path / name], TOPICS, roster=roster)
        assert (one.name, one.read().files) == (owner, {"vectors.py": CODE})
