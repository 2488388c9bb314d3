"""Canvas and Moodle downloads: whose file it is, the last of several, what is late, and names from a class list."""

from __future__ import annotations

import datetime
import zipfile
from pathlib import Path

import pytest
from class_of_sixty import NOT_SAID, READS_TWO_WAYS, UNREAD
from make_class_zips import (
    SIZE,
    SOLUTION,
    STUB,
    canvas_csv,
    canvas_zip,
    moodle_csv,
    moodle_zip,
    roster,
    the_class,
    zipped,
)
from msgspec.structs import replace
from shared import OWN_COURSE

from grader.course import Course
from grader.course.due import LatePolicy
from grader.errors import UserError
from grader.gradebook.records import lateness
from grader.grading.settings import topics_of
from grader.intake.find import find_submissions
from grader.intake.lms import Piece, latest_files, pieces_of
from grader.intake.roster import Roster
from grader.intake.sources import Source
from grader.intake.topics import Topics

TOPICS = {"vectors": ["normalize", "cosine"]}
WITHOUT_CODE = {*UNREAD, "empty", "syntax error"}
THE_SOLUTION = {"solved", "renamed", "zip", "tar", "nested", "resubmitted", "version folders", "version files", "twice"}


def unpacked(archive: Path) -> Path:
    folder = archive.with_suffix("")
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(folder)
    return folder


def by_id(found: list[Source]) -> dict[int, Source]:
    return {int(source.read().arrival.platform_id): source for source in found}


def downloads(folder: Path) -> list[Path]:
    shapes = [
        canvas_zip(folder / "canvas.zip"),
        moodle_zip(folder / "moodle.zip"),
        moodle_zip(folder / "moodle_bare.zip", ending=""),
        moodle_zip(folder / "moodle_flat.zip", flat=True),
        moodle_zip(folder / "moodle_blind.zip", blind=True),
        moodle_zip(folder / "moodle_blind_flat.zip", blind=True, flat=True),
    ]
    return [*shapes, *map(unpacked, shapes)]


@pytest.mark.slow
def test_every_shape_of_download_gives_the_same_sixty(tmp_path: Path) -> None:
    for download in downloads(tmp_path):
        notes: list[str] = []
        found = find_submissions([download], TOPICS, note=notes.append)
        assert len({source.name for source in found}) == SIZE and notes == [], download
        students = by_id(found)
        for student in the_class():
            submission = students[student.id].read()
            assert (b"def cosine" in submission.files.get("vectors.py", b"")) == (student.kind not in WITHOUT_CODE)
            assert submission.files or submission.note_lines, student.kind
            if student.kind in THE_SOLUTION:
                assert submission.files["vectors.py"] == SOLUTION, (download, student.kind)


def test_names_are_those_of_the_lms_unless_a_class_list_has_others(tmp_path: Path) -> None:
    archive = canvas_zip(tmp_path / "canvas.zip")
    assert "jürgenmüller" in {source.name for source in find_submissions([archive], TOPICS)}
    wanted = {student.id: student.name for student in the_class()}
    of_moodle = moodle_zip(tmp_path / "moodle.zip")
    for make, download in ((roster, archive), (canvas_csv, archive), (moodle_csv, of_moodle)):
        named = by_id(find_submissions([download], TOPICS, roster=Roster.read(make(tmp_path / "list.csv"))))
        for number, name in wanted.items():
            assert named[number].name in (name, f"{name} ({number})")


def test_moodle_names_are_full_names_and_blind_ones_participants(tmp_path: Path) -> None:
    names = {source.name for source in find_submissions([moodle_zip(tmp_path / "m.zip")], TOPICS)}
    assert {"Robert Bobby Tables", "=SUM(A1A9)", "Max Schmidt (1011)", "Max Schmidt (1012)", "Émile Zola"} <= names
    blind = find_submissions([moodle_zip(tmp_path / "b.zip", blind=True)], TOPICS)
    assert blind[0].name == "Participant 1000"


def test_two_spellings_of_one_students_name_are_one_submission(tmp_path: Path) -> None:
    """A stub in one folder does not replace the answer in the other, and no mark depends on which comes last."""
    files = {"Jose\u0301 Ruiz_12_assignsubmission_file_/vectors.py": SOLUTION}
    files["Jos\u00e9  Ruiz_12_assignsubmission_file_/vectors.py"] = STUB
    (tmp_path / "moodle.zip").write_bytes(zipped(files))
    (source,) = find_submissions([tmp_path / "moodle.zip"], topics_of(Course.load(OWN_COURSE)))
    assert source.arrival.platform_id == "12" and source.read().files == {"vectors.py": SOLUTION}


def test_a_number_that_several_names_have_is_no_id(tmp_path: Path) -> None:
    """Files that are named by hand may look like a download; else one student's work would be the mark of another."""
    for name in ("ann", "bob"):
        (tmp_path / f"{name}_1_2_vectors.py").write_bytes(SOLUTION)
    found = find_submissions([tmp_path], TOPICS)
    assert [(one.name, one.arrival.student) for one in found] == [("ann", ""), ("bob", "")]


def test_canvas_writes_names_without_spaces(tmp_path: Path) -> None:
    """Its ids are no ids of the university."""
    (tmp_path / "list.csv").write_text("id,name\nu1,Zo\u00eb van der M\u00fcller\nu2,Ann Lee\nu3,Lee Ann\n")
    files = {"vandermullerzoe_70_1_vectors.py": SOLUTION, "leeann_71_2_vectors.py": SOLUTION}
    (tmp_path / "c.zip").write_bytes(zipped(files))
    notes: list[str] = []
    found = find_submissions([tmp_path / "c.zip"], TOPICS, roster=Roster.read(tmp_path / "list.csv"), note=notes.append)
    assert {(one.name, one.arrival.student, one.arrival.platform_id) for one in found} == {
        ("Zo\u00eb van der M\u00fcller", "u1", "70"),
        ("leeann", "71", "71"),
    }
    assert notes == [
        "leeann: could be the work of any of 2 in the roster (Ann Lee (u2); Lee Ann (u3)): name it by the id",
        "vandermullerzoe: taken for Zo\u00eb van der M\u00fcller (u1), by a name that is not exactly the same",
    ]


def test_canvas_marks_lateness_and_a_roster_has_the_time(tmp_path: Path) -> None:
    archive = canvas_zip(tmp_path / "canvas.zip")
    marked = by_id(find_submissions([archive], TOPICS))
    timed = by_id(find_submissions([archive], TOPICS, roster=Roster.read(roster(tmp_path / "r.csv"))))
    for student in the_class():
        arrival = marked[student.id].read().arrival
        assert (arrival.late, arrival.submitted) == (student.late, ""), "file times are the download's"
        known = student.came not in (NOT_SAID, READS_TWO_WAYS)
        assert timed[student.id].read().arrival.submitted[:16] == (student.came if known else "")


def test_moodle_files_bring_their_time(tmp_path: Path) -> None:
    arrival = by_id(find_submissions([moodle_zip(tmp_path / "m.zip")], TOPICS))[1059].read().arrival
    assert arrival.submitted.startswith("2026-11-20T08:30:00") and arrival.by == "file time"


def test_with_a_roster_without_times_the_time_of_the_download_makes_nobody_late(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("id,name\n" + "".join(f"{number},S{number}\n" for number in range(1000, 1060)))
    roster = Roster.read(tmp_path / "list.csv")
    policy = LatePolicy(datetime.datetime(2026, 10, 1, tzinfo=datetime.timezone.utc), 0.1)
    found = find_submissions([moodle_zip(tmp_path / "m.zip")], TOPICS, roster=roster)
    arrivals = [source.read().arrival for source in found]
    assert len(arrivals) == SIZE and all(arrival.by in ("file time", "") for arrival in arrivals)
    assert [lateness(arrival, policy) for arrival in arrivals] == [None] * (SIZE)
    assert any(lateness(arrival, replace(policy, by_file_time=True)) for arrival in arrivals), "unless asked for"


def test_last_resubmission_counts_and_the_others_are_named() -> None:
    files = [("vectors.py", 7), ("vectors-1.py", 8), ("vectors-2.py", 9), ("hw-1.py", 1), ("hw-2.py", 2)]
    pieces = [Piece(file, file, "ann", "1", order) for file, order in files]
    last, notes = latest_files(pieces, Topics.of(TOPICS), lambda piece: True)
    assert {piece.file: piece.path for piece in last} == {
        "vectors.py": "vectors-2.py",
        "hw-1.py": "hw-1.py",
        "hw-2.py": "hw-2.py",
    }
    assert notes == [("vectors.py", "handed in 3 times; the last counts (vectors-2.py), not vectors.py, vectors-1.py")]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("smithann_12_34_a_1_2.py", ("smithann", "12", "a_1_2.py", False)),
        ("smithann_LATE_12_34_a.py", ("smithann", "12", "a.py", True)),
        ("anon_Xy9zQ_34_a.py", ("anon_Xy9zQ", "Xy9zQ", "a.py", False)),
        ("anon_LATE_Xy9zQ_34_a.py", ("anon_Xy9zQ", "Xy9zQ", "a.py", True)),
        ("smithann_12_text.html", ("smithann", "12", "text.html", False)),
    ],
)
def test_canvas_names(name: str, wanted: tuple[str, str, str, bool]) -> None:
    (piece,) = pieces_of([name])[0]
    assert (piece.name, piece.student, piece.file, piece.late) == wanted


def test_ordinary_folder_is_not_a_download() -> None:
    assert pieces_of(["ann/tensor_ops.py", "bob_hw.py", "cleo_1.py", "readme.txt"])[0] == []
    assert pieces_of(["hw_3_solution_12_34_tensor_ops.py"])[0] == []  # the first number would be the student


def test_unsafe_paths_and_files_of_no_student_in_a_download_are_noted(tmp_path: Path) -> None:
    archive = tmp_path / "canvas.zip"
    archive.write_bytes(
        zipped(
            {"ann_1_2_vectors.py": SOLUTION, "../bob_2_3_vectors.py": SOLUTION, "index.html": b"", "cy_3_4_v.py": b""}
        )
    )
    notes: list[str] = []
    ann, bob, cy = find_submissions([archive], TOPICS, note=notes.append)
    assert [source.name for source in (ann, bob, cy)] == ["ann", "bob", "cy"]
    assert bob.read().note_lines == ("vectors.py: a path with .. in an archive: left out",)
    assert notes == ["canvas.zip: index.html: not a submission, by its name: left out"]


def test_students_without_work_and_work_of_students_not_in_the_roster_are_noted(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("ID;Name\ns1;Müller, Ann\ns2;Bob\n", encoding="utf-8-sig")
    for name in ("s1", "s9"):
        (tmp_path / "class" / name).mkdir(parents=True)
        (tmp_path / "class" / name / "vectors.py").touch()
    notes: list[str] = []
    found = find_submissions([tmp_path / "class"], TOPICS, roster=Roster.read(tmp_path / "list.csv"), note=notes.append)
    assert [source.name for source in found] == ["Müller, Ann", "s9"]
    assert notes == ["s9: not in the roster", "Bob: in the roster, but has handed in nothing"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n", "no column for ids"),
        ("id,b\n1,2\n", "no column for names"),
        ("id,name\n1,Ann\n1,Bob\n", "`1` is the id of Ann and of Bob"),
        ("", "no column"),
        ('id,name\n1,"Ann\n', "CSV"),
    ],
)
def test_roster_that_cannot_be_used_is_refused_with_the_reason(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "list.csv").write_text(text)
    with pytest.raises(UserError, match=words):
        Roster.read(tmp_path / "list.csv")


@pytest.mark.parametrize("last", [b"", b"# later\n", STUB])
def test_an_empty_file_or_a_stub_does_not_replace_the_answer_before(tmp_path: Path, last: bytes) -> None:
    answer = STUB.replace(b'raise NotImplementedError("write `cosine` here")', b"return a @ b")
    names = ["ann_1_7_vectors.py", "ann_1_8_vectors-1.py", "ann_1_9_vectors-2.py"]
    (tmp_path / "canvas.zip").write_bytes(zipped(dict(zip(names, (b"x = 1\n", answer, last), strict=True))))
    (source,) = find_submissions([tmp_path / "canvas.zip"], topics_of(Course.load(OWN_COURSE)))
    submission = source.read()
    assert submission.files == {"vectors.py": answer}
    assert "the last with an answer counts (ann_1_8_vectors-1.py)" in submission.note_lines[0]
