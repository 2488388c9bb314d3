"""Names that students give to their files, in the form of another platform's download, move nobody's work."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from grader.intake.find import find_submissions
from grader.intake.roster import Roster
from grader.intake.sources import Source
from grader.intake.topics import Topics

TOPICS = Topics.of({"vectors": ["normalize", "cosine"]})
METADATA = "submission_7:\n  :submitters:\n  - :name: Bob\n    :sid: '102'\n    :email: bob@example.org\n"
# Files in the form of each platform; all are said to be Bob's, whose id is 102.
ODD = [
    "x_102_assignsubmission_file_vectors.py",
    "x_102_assignsubmission_file_/vectors.py",
    "bob_102_9_vectors.py",
    "bob_LATE_102_9_vectors.py",
    "anon_102_9_vectors.py",
    "Week 1_bob_attempt_2026-10-01-10-20-30_vectors.py",
    "Week 1_bob_attempt_2026-10-01-10-20-30.txt",
    "102-2557369 - Bob - Oct 1, 2026 926 PM/vectors.py",
    "submission_7/vectors.py",
    "submission_metadata.yml",
    "index.html",
    "grades.csv",
]


def canvas(who: int, number: int, file: str) -> str:
    return f"{('eve', 'bob', 'cy')[who]}_{101 + who}_{900 + 10 * who + number}_{file.replace('/', '-')}"


def moodle(who: int, number: int, file: str) -> str:
    return f"{('Eve', 'Bob', 'Cy')[who]}_{101 + who}_assignsubmission_file_/{file}"


def moodle_flat(who: int, number: int, file: str) -> str:
    return f"{('Eve', 'Bob', 'Cy')[who]}_{101 + who}_assignsubmission_file_{file.replace('/', '-')}"


def blackboard(who: int, number: int, file: str) -> str:
    return f"Week 1_{('eve', 'bob', 'cy')[who]}_attempt_2026-10-02-10-20-30_{file.replace('/', '-')}"


def blackboard_with_numbers(who: int, number: int, file: str) -> str:
    return f"Week_1_10{who + 1}_attempt_2026-10-02-10-20-30_{file.replace('/', '-')}"


def brightspace(who: int, number: int, file: str) -> str:
    return f"10{who + 1}-2557369 - {('Eve', 'Bob', 'Cy')[who]} - Oct 2, 2026 926 PM/{file}"


def gradescope(who: int, number: int, file: str) -> str:
    return f"assignment_9_export/submission_{who}/{file}"


def plain(who: int, number: int, file: str) -> str:
    return f"{('eve', 'bob', 'cy')[who]}/{file}"


def of_platform(students: int) -> dict[str, str]:
    about = "".join(
        f"submission_{who}:\n  :submitters:\n  - :name: {name}\n    :sid: '{101 + who}'\n"
        for who, name in enumerate(("Eve", "Bob", "Cy")[:students])
    )
    return {"assignment_9_export/submission_metadata.yml": about}


def texts_of_blackboard(students: int) -> dict[str, str]:
    return {
        f"Week_1_10{who + 1}_attempt_2026-10-02-10-20-30.txt": f"Name: {name} (10{who + 1})\n"
        for who, name in enumerate(("Eve", "Bob", "Cy")[:students])
    }


PLATFORMS: list[tuple[Callable[[int, int, str], str], Callable[[int], Mapping[str, str]]]] = [
    (canvas, lambda students: {}),
    (moodle, lambda students: {}),
    (moodle_flat, lambda students: {}),
    (blackboard, lambda students: {}),
    (blackboard_with_numbers, texts_of_blackboard),
    (brightspace, lambda students: {"index.html": ""}),
    (gradescope, of_platform),
    (plain, lambda students: {}),
]


def found_in(folder: Path, files: Mapping[str, str], *, as_folder: bool) -> tuple[list[Source], list[str]]:
    folder.mkdir(exist_ok=True)
    archive = folder / "download.zip"
    with zipfile.ZipFile(archive, "w") as written:
        for name, content in files.items():
            written.writestr(name, content)
    if as_folder:
        with zipfile.ZipFile(archive) as opened:
            opened.extractall(folder / "download")
    notes: list[str] = []
    return find_submissions([folder / "download" if as_folder else archive], TOPICS, note=notes.append), notes


def those_of(found: list[Source]) -> dict[tuple[str, str], dict[str, bytes]]:
    return {(one.name, one.arrival.student): dict(one.read().files) for one in found}


@pytest.mark.parametrize("as_folder", [False, True])
@pytest.mark.parametrize("students", [1, 2, 3])
@pytest.mark.parametrize(("name", "of_its_own"), PLATFORMS, ids=[name.__name__ for name, _ in PLATFORMS])
def test_a_file_in_the_form_of_another_platform_stays_with_its_student(
    tmp_path: Path,
    name: Callable[[int, int, str], str],
    of_its_own: Callable[[int], Mapping[str, str]],
    students: int,
    as_folder: bool,
) -> None:
    """Whoever else is in the class keeps name, id and files, and the odd file is read with those of its student."""
    if name is plain and students == 1 and not as_folder:
        pytest.skip("an archive with one folder is one submission")
    work = {name(who, 0, "vectors.py"): f"def normalize(x):\n    return {who}\n" for who in range(students)}
    before, noted = found_in(tmp_path / "before", {**of_its_own(students), **work}, as_folder=as_folder)
    assert len(those_of(before)) == students
    for number, odd in enumerate(ODD):
        content = METADATA if odd == "submission_metadata.yml" else "def cosine(x, y):\n    return 0\n"
        files = {**of_its_own(students), **work, name(0, 1, odd): content}
        after, notes = found_in(tmp_path / str(number), files, as_folder=as_folder)
        assert [(one.name, one.arrival.student) for one in after] == [
            (one.name, one.arrival.student) for one in before
        ], odd
        eve = next(one for one in after if "eve" in one.name.lower() or one.arrival.student == "101")
        kept = {who: files for who, files in those_of(after).items() if who[0] != eve.name}
        assert kept == {who: files for who, files in those_of(before).items() if who[0] != eve.name}, odd
        submission = eve.read()
        assert b"normalize" in submission.files["vectors.py"], odd
        if odd.endswith("vectors.py") and name(0, 1, odd) != name(0, 0, odd):
            said = " ".join(submission.note_lines)
            assert b"cosine" in submission.files["vectors.py"] or odd.replace("/", "-") in said or odd in said, odd
        assert notes == noted, odd


@pytest.mark.parametrize("as_folder", [False, True])
@pytest.mark.parametrize("odd", [odd for odd in ODD if "vectors" in odd])
def test_a_second_form_does_not_name_a_student_of_a_class_of_one(tmp_path: Path, odd: str, as_folder: bool) -> None:
    """All files of the download have both forms; those with which the names begin are the platform's."""
    for number, (name, of_its_own) in enumerate(PLATFORMS):
        if name is plain and not as_folder:
            continue
        files = {**of_its_own(1), name(0, 0, odd): "def cosine(x, y):\n    return 0\n"}
        ((who, student),) = those_of(found_in(tmp_path / str(number), files, as_folder=as_folder)[0])
        assert who.lower() in ("eve", "101") and student in ("101", "eve", "")


def test_one_entry_of_a_platforms_form_in_a_plain_class_is_taken_by_its_name_and_noted(tmp_path: Path) -> None:
    files = {"ann.zip": "", "x_102_assignsubmission_file_vectors.py": "def cosine(x, y):\n    return 0\n"}
    for count, more in enumerate(({}, {"cy.py": "x = 1\n"})):
        for as_folder in (False, True):
            folder = tmp_path / f"{count}{as_folder}"
            found, notes = found_in(folder, {**files, **more}, as_folder=as_folder)
            wanted = ["ann", *(["cy"] if more else []), "x_102_assignsubmission_file_vectors"]
            assert [one.name for one in found] == wanted and not any(one.arrival.student for one in found)
            assert len(notes) == 1 and "named as in a download of Moodle" in notes[0]


def test_an_id_in_a_plain_class_is_not_looked_up(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("id,name\n102,Bob\n103,Cy\n")
    (tmp_path / "class").mkdir()
    for name in ("bob_102_1_vectors.py", "Bob.py", "Cy.py"):
        (tmp_path / "class" / name).write_text("def cosine(x, y):\n    return 0\n")
    found = find_submissions([tmp_path / "class"], TOPICS, roster=Roster.read(tmp_path / "list.csv"))
    assert [one.name for one in found] == ["Bob", "Cy", "bob_102_1_vectors"]


def test_ids_of_blackboard_that_begin_alike_are_read_from_its_texts(tmp_path: Path) -> None:
    files = {}
    for user, name in (("a_smith", "Ann Smith"), ("a_jones", "Al Jones")):
        files[f"Week 1_{user}_attempt_2026-10-01-10-20-30.txt"] = f"Name: {name} ({user})\n"
        files[f"Week 1_{user}_attempt_2026-10-01-10-20-30_vectors.py"] = "x = 1\n"
    found, _ = found_in(tmp_path, files, as_folder=False)
    assert [(one.name, one.arrival.student) for one in found] == [("Al Jones", "a_jones"), ("Ann Smith", "a_smith")]


def test_a_list_of_gradescope_in_a_students_folder_hides_no_export(tmp_path: Path) -> None:
    files = {
        **{name.partition("/")[2]: text for name, text in of_platform(2).items()},
        "submission_0/vectors.py": "x = 1\n",
        "submission_0/submission_metadata.yml": METADATA,
        "submission_1/vectors.py": "x = 2\n",
    }
    for as_folder in (False, True):
        found, _ = found_in(tmp_path / str(as_folder), files, as_folder=as_folder)
        assert [(one.name, one.arrival.student) for one in found] == [("Bob", "102"), ("Eve", "101")]
