"""Downloads of Blackboard, Brightspace, Gradescope and GitHub Classroom: whose work it is, and when it came.

The samples are made: several projects agree on the names of Blackboard and Gradescope, one tells of Brightspace's.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from make_class_zips import zipped

from grader.course.due import LatePolicy, read_due
from grader.errors import UserError
from grader.gradebook.records import is_claim
from grader.intake import kinds
from grader.intake.find import find_submissions
from grader.intake.lms import gradescope_pieces
from grader.intake.roster import Roster
from grader.intake.sources import Source
from grader.intake.topics import Topics

TOPICS = Topics.of({"vectors": ["normalize", "cosine"]})


def answer(who: str) -> str:
    return f"def normalize(x):\n    return {who!r}\n"


def about(name: str, user: str) -> str:
    return f"Name: {name} ({user})\nAssignment: Week 1\nDate Submitted: Thursday, October 1, 2026 10:20:30 AM CEST\n"


BLACKBOARD = {
    "Week 1_a_smith_attempt_2026-10-01-10-20-30.txt": about("Ann Smith", "a_smith"),
    "Week 1_a_smith_attempt_2026-10-01-10-20-30_vectors.py": answer("ann, first"),
    "Week 1_a_smith_attempt_2026-10-02-08-00-00.txt": about("Ann Smith", "a_smith"),
    "Week 1_a_smith_attempt_2026-10-02-08-00-00_my_vectors_v2.py": answer("ann"),
    "Week 1_u10003_attempt_2026-10-01-11-00-00.txt": about("Bob (the) Jones", "u10003"),
    "Week 1_u10003_attempt_2026-10-01-11-00-00_vectors.py": answer("bob"),
}
BRIGHTSPACE = {
    "index.html": "<html></html>",
    "397063-2557369 - Ann Smith - Oct 1, 2026 926 PM/vectors.py": answer("ann, first"),
    "397063-2557369 - Ann Smith - Oct 2, 2026 1101 AM/vectors.py": answer("ann"),
    "397064-2557369 - Bob Jones - Oct 2, 2026 1207 AM/vectors.py": answer("bob"),
}
METADATA = """---
submission_101:
  :submitters:
  - :name: Ann O'Smith
    :sid: '0042'
    :email: ann@example.org
  - :name: "Eve"
    :sid:
    :email: eve@example.org
  :created_at: 2026-10-01 20:15:00.123456000 Z
  :score: 1.0
  :history:
  - :id: 7
    :created_at: 2026-09-01 20:15:00.000000000 Z
    :submitters:
    - :name: Nobody
  :results: |
LONG
submission_102:
  :submitters:
  - :name: Bob Jones
    :sid: '0043'
    :email: bob@example.org
  :created_at: 2026-10-02 20:15:00 Z
  :results:
    :output: |
      submission_103:
        :submitters:
"""
GRADESCOPE = {
    "assignment_9_export/submission_metadata.yml": METADATA.replace("LONG", f"    {'x' * 1000}\n" * 9000),
    "assignment_9_export/submission_101/vectors.py": answer("ann"),
    "assignment_9_export/submission_102/vectors.py": answer("bob"),
}


@pytest.fixture(params=["zip", "folder"])
def found(request: pytest.FixtureRequest, tmp_path: Path, files: dict[str, str]) -> list[Source]:
    archive = tmp_path / "download.zip"
    with zipfile.ZipFile(archive, "w") as written:
        for name, content in files.items():
            written.writestr(name, content)
    if request.param == "folder":
        with zipfile.ZipFile(archive) as opened:
            opened.extractall(tmp_path / "download")
    return find_submissions([archive if request.param == "zip" else tmp_path / "download"], TOPICS)


def read(found: list[Source]) -> list[tuple[str, str, str, bytes]]:
    """Name, id and time of each submission, and the topic's file."""
    submissions = [one.read() for one in found]
    return [(one.name, one.arrival.student, one.arrival.submitted[:16], one.files["vectors.py"]) for one in submissions]


@pytest.mark.parametrize("files", [BLACKBOARD])
def test_of_blackboard_the_last_attempt_counts_with_the_name_in_its_text(found: list[Source]) -> None:
    assert read(found) == [
        ("Ann Smith", "a_smith", "2026-10-02T08:00", answer("ann").encode()),
        ("Bob (the) Jones", "u10003", "2026-10-01T11:00", answer("bob").encode()),
    ]
    assert any("handed in 2 times; the last counts" in line for line in found[0].read().note_lines)


@pytest.mark.parametrize("files", [BRIGHTSPACE])
def test_of_brightspace_the_last_file_counts(found: list[Source]) -> None:
    assert read(found) == [
        ("Ann Smith", "397063", "2026-10-02T11:01", answer("ann").encode()),
        ("Bob Jones", "397064", "2026-10-02T00:07", answer("bob").encode()),
    ]


@pytest.mark.parametrize("files", [{name.replace("1207 AM", "0007"): text for name, text in BRIGHTSPACE.items()}])
def test_of_brightspace_a_clock_of_24_hours_is_read(found: list[Source]) -> None:
    assert [(name, time) for name, _, time, _ in read(found)] == [
        ("Ann Smith", "2026-10-02T11:01"),
        ("Bob Jones", "2026-10-02T00:07"),
    ]


@pytest.mark.parametrize("files", [{name.replace("397064", "397063"): text for name, text in BRIGHTSPACE.items()}])
def test_two_names_of_one_id_are_two_students(found: list[Source]) -> None:
    assert [(name, student) for name, student, _, _ in read(found)] == [("Ann Smith", ""), ("Bob Jones", "")]


@pytest.mark.parametrize("files", [GRADESCOPE])
def test_of_gradescope_all_who_handed_in_together_have_the_work(found: list[Source]) -> None:
    first = found[0].read().arrival.submitted
    assert [(name, student) for name, student, _, _ in read(found)] == [
        ("Ann O'Smith", "0042"),
        ("Bob Jones", "0043"),
        ("Eve", "eve@example.org"),
    ]
    assert [content for *_, content in read(found)] == [answer(who).encode() for who in ("ann", "bob", "ann")]
    assert first == "2026-10-01T20:15:00+00:00"


def test_clones_of_github_classroom_are_of_the_students_of_its_roster(tmp_path: Path) -> None:
    for name in ("week-1-ann-smith", "week-1-Bob"):
        (tmp_path / "class" / name).mkdir(parents=True)
        (tmp_path / "class" / name / "vectors.py").write_text(answer(name))
    roster = tmp_path / "classroom_roster.csv"
    roster.write_text("identifier,github_username,github_id,name\n0042,ann-smith,1,Ann\nDoe (A),bob,2,\n")
    found = find_submissions([tmp_path / "class"], TOPICS, roster=Roster.read(roster))
    assert [(one.name, one.arrival.student) for one in found] == [("Ann", "0042"), ("Doe (A)", "doe (a)")]


def test_a_file_of_that_name_in_a_students_folder_gives_nobody_the_work_of_others(tmp_path: Path) -> None:
    archive = tmp_path / "class.zip"
    with zipfile.ZipFile(archive, "w") as written:
        written.writestr("eve/submission_metadata.yml", METADATA)
        written.writestr("eve/vectors.py", answer("eve"))
        written.writestr("submission_101/vectors.py", answer("submission_101"))
    found = find_submissions([archive], TOPICS)
    assert [(one.name, one.read().files["vectors.py"]) for one in found] == [
        (who, answer(who).encode()) for who in ("eve", "submission_101")
    ]


def test_a_list_of_gradescope_may_end_without_a_line_end() -> None:
    about = b"submission_1:\n  :submitters:\n  - :name: Ann\n    :email: ann@example.org\n    :sid: '9'"
    (piece,) = gradescope_pieces(["submission_1/vectors.py"], about)
    assert (piece.name, piece.student) == ("Ann", "9")


@pytest.mark.parametrize(
    ("person", "wanted"),
    [
        ("{':name': Ann, ':sid': '9', ':email': a@x}", ("Ann", "9")),
        ('":name": "Ann \\u2713"\n    :sid: 0123', ("Ann \u2713", "0123")),
        ("!ruby/hash:Person\n    :name: >-\n      Ann\n      Lee\n    :sid: !ruby/object:Id '9'", ("Ann Lee", "9")),
    ],
)
def test_a_list_of_gradescope_may_be_written_in_any_form_of_yaml(person: str, wanted: tuple[str, str]) -> None:
    about = f"submission_1:\n  :submitters:\n  - {person}\n  :created_at: 2026-10-01 20:15:00 Z\n".encode()
    (piece,) = gradescope_pieces(["submission_1/vectors.py"], about)
    assert (piece.name, piece.student, piece.submitted[:16]) == (*wanted, "2026-10-01T20:15")


LAUGHS = "a0: &a0 [x, x]\n" + "".join(f"a{n + 1}: &a{n + 1} [*a{n}, *a{n}]\n" for n in range(99))


HOSTILE = ("[" * 1_000_000, "? " * 30_000, "- " * 30_000, "a: *nothing", "\t- x", "a: &a [*a]", LAUGHS)


@pytest.mark.parametrize("nested", HOSTILE)
def test_a_hostile_list_of_gradescope_names_what_it_can_or_is_one_line(nested: str) -> None:
    about = f"submission_1:\n  :submitters:\n  - :name: Ann\n    :sid: '9'\nsubmission_2:\n  {nested}\n"
    try:
        assert {piece.student for piece in gradescope_pieces(["submission_1/vectors.py"], about.encode())} == {"9"}
    except UserError as problem:
        assert problem.message.startswith("submission_metadata.yml cannot be read: ") and "\n" not in problem.message


def test_an_endless_list_of_gradescope_is_refused(tmp_path: Path) -> None:
    files = {**GRADESCOPE, "assignment_9_export/submission_metadata.yml": "#" * (kinds.ARCHIVE_BYTES + 1)}
    with zipfile.ZipFile(tmp_path / "export.zip", "w", zipfile.ZIP_DEFLATED) as written:
        for name, content in files.items():
            written.writestr(name, content)
    with pytest.raises(UserError, match=r"submission_metadata\.yml is larger than 64 MiB"):
        find_submissions([tmp_path / "export.zip"], TOPICS)


@pytest.mark.parametrize("is_packed", [True, False])
def test_nbgrader_s_file_says_when_work_came_unless_a_platform_or_a_list_does(tmp_path: Path, is_packed: bool) -> None:
    work = {"vectors.py": answer("x").encode(), "timestamp.txt": b"2026-10-01 10:00:00.123456 UTC\n"}
    files = {f"submitted/{name}/week1/{file}": content for name in ("ann", "bo") for file, content in work.items()}
    files["submitted/bo/week1/timestamp.txt"] = b"yesterday"
    (tmp_path / "class.zip").write_bytes(zipped(files))
    with zipfile.ZipFile(tmp_path / "class.zip") as packed:
        packed.extractall(tmp_path)
    place = tmp_path / ("class.zip" if is_packed else "submitted")
    ann, bo = (one.read().arrival for one in find_submissions([place], TOPICS))
    assert (ann.submitted, ann.by) == ("2026-10-01T10:00:00+00:00", "nbgrader time")
    assert bo.by == "file time"
    assert is_claim(ann, LatePolicy(read_due("2026-10-02"))), "students can write that file"
    (tmp_path / "list.csv").write_text("id,name,submitted\n1,ann,2026-10-05T10:00\n2,bo,\n")
    ann = find_submissions([place], TOPICS, roster=Roster.read(tmp_path / "list.csv"))[0].read().arrival
    assert ann.by == "roster"
    (tmp_path / "canvas.zip").write_bytes(zipped({"ann_1_2_work.zip": zipped(work), "bo_2_3_vectors.py": b""}))
    assert find_submissions([tmp_path / "canvas.zip"], TOPICS)[0].read().arrival.submitted == ""


def test_of_brightspace_the_latest_upload_with_an_answer_counts_whatever_it_is_packed_in(tmp_path: Path) -> None:
    first, second = (f"397063-1 - Ann Smith - Oct {day}, 2026 926 AM" for day in (1, 2))
    packed = {
        f"{first}/vectors.py": answer("old"),
        f"{second}/hw.zip": zipped({"hw/vectors.py": answer("new").encode()}),
        "397064-1 - Bob Jones - Oct 1, 2026 926 AM/vectors.py": answer("bob"),
        "397064-1 - Bob Jones - Oct 2, 2026 926 AM/readme.zip": zipped({"README.md": b"see above"}),
    }
    (tmp_path / "d2l.zip").write_bytes(zipped(packed))
    ann, bob = (one.read() for one in find_submissions([tmp_path / "d2l.zip"], TOPICS))
    assert (ann.files["vectors.py"], bob.files["vectors.py"]) == (answer("new").encode(), answer("bob").encode())


@pytest.mark.parametrize("last", ["vectors.py", "hw.zip", "utf-16"])
def test_of_teams_the_last_version_counts(tmp_path: Path, last: str) -> None:
    new = answer("new").encode()
    content = {"vectors.py": new, "hw.zip": zipped({"vectors.py": new}), "utf-16": answer("new").encode("utf-16")}[last]
    place = "Submitted files/{}/Week 1/Versión {}/{}"
    files = {place.format("Ann Smith", number, "vectors.py"): answer("old") for number in range(2, 10)}
    files |= {place.format("Ann Smith", 10, "vectors.py" if last == "utf-16" else last): content}
    (tmp_path / "teams.zip").write_bytes(zipped({**files, place.format("Bob Jones", 1, "vectors.py"): answer("bob")}))
    ann, bob = (one.read() for one in find_submissions([tmp_path / "teams.zip"], TOPICS))
    assert (ann.name, bob.files["vectors.py"]) == ("Ann Smith", answer("bob").encode())
    assert ann.unread if last == "utf-16" else ann.files["vectors.py"] == new


def test_a_download_that_was_unpacked_with_its_folder_is_read_as_the_download(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("id,name\n1,Ann Smith\n2,Bob Jones\n")
    roster = Roster.read(tmp_path / "list.csv")
    forms = ("{0}_{1}_assignsubmission_file/vectors.py", "{0}/work/vectors.py", "{0}_{1}.zip")
    for number, form in enumerate(forms):
        for student, name in enumerate(("Ann Smith", "Bob Jones"), 1):
            file = tmp_path / f"inbox{number}" / "CS1" / "Week 1" / form.format(name, student)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(zipped({"vectors.py": b"x = 1\n"}))
        found = find_submissions([tmp_path / f"inbox{number}"], TOPICS, roster=roster)
        assert [one.name for one in found] == ["Ann Smith", "Bob Jones"], form
