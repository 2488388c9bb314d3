"""Who has no mark does not block the others, and no output shows a mark or code of a group whose work differs."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from classrooms import check, exercise, result
from lms_files import fill_canvas, fill_moodle

from grader.course import Course
from grader.course.marks import MarkPolicy
from grader.errors import UserError
from grader.exports import gradescope
from grader.exports.code_hosts import code_quality, commands, junit, summary
from grader.exports.write import ExportSettings, csv_table, export, json_document
from grader.gradebook import Gradebook, Override, Row
from grader.gradebook.records import Late
from grader.intake.roster import Student
from grader.intake.submission import Submission, digest
from grader.reports.entries import Entry, entries_of
from grader.reports.html import page_name, write_report
from grader.reports.status import marks
from grader.results import Cause

NAMES = ("t.a", "t.b", "u.c")


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A course of two topics, each exercise worth 2 points."""
    folder = tmp_path / "course"
    manifest = '[course]\nname = "course"\ntitle = "Course"\n'
    for topic, names in (("t", "ab"), ("u", "c")):
        text = "".join(f'def {one}():\n    """One."""\n    return 1\n\n\n' for one in names)
        asks = "".join(f'@exercise("{topic}.{one}")\ndef test_{one}(submission):\n    """One."""\n' for one in names)
        checks = f"from grader.testkit import exercise\n{asks}"
        for file, content in (
            (f"exercises/{topic}", text),
            (f"solutions/{topic}", text),
            (f"checks/test_{topic}", checks),
        ):
            path = folder / f"{file}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        manifest += f'[[topics]]\nname = "{topic}"\ntitle = "{topic}"\nsummary = "s"\nreading = ["r"]\n'
        manifest += "".join(f'[[topics.exercises]]\nname = "{one}"\npoints = 2\n' for one in names)
    (folder / "course.toml").write_text(manifest)
    return folder


def week(book: Gradebook, given: dict[str, dict[str, float]], students: tuple[Student, ...] = ()) -> None:
    """One run: of each student the points of some exercises."""
    run = book.start_run("course", "hash", 0, "{}", {}, exercises=NAMES, students=students or None)
    for name, scores in given.items():
        work = Submission(name, {"t.py": f"# the code of {name}\n".encode()})
        exercises = [
            exercise(one, check(verdict="passed" if score else "failed"), points=2) for one, score in scores.items()
        ]
        book.record_arrival(run, work, digest(work))
        book.record(run, result(name, *exercises), digest(work), 0.1)
    book.finish_run(run)


@pytest.fixture
def term(tmp_path: Path) -> Path:
    """Lee, Ann has all weeks; Kim, Bo skipped the first, and Ott, Cy was dropped after it."""
    with Gradebook.open(tmp_path / "gradebook.sqlite") as book:
        week(book, {"Lee, Ann": {"t.a": 2, "t.b": 0}, "Ott, Cy": {"t.a": 2, "t.b": 2}})
        week(book, {"Lee, Ann": {"u.c": 2}, "Kim, Bo": {"u.c": 2}})
    return tmp_path


CANVAS = 'Student,ID,Week (77)\n"Lee, Ann",1,\n"Kim, Bo",2,\n"Ott, Cy",3,1\n"Nix, Di",4,\n'


def canvas(folder: Path, course: Path, *only: str, zero: bool = False) -> str:
    into = folder / "download.csv"
    into.write_text(CANVAS)
    settings = ExportSettings(grades=folder, course=course, into=into, to=folder / "out.csv", only=only)
    export("canvas", msgspec.structs.replace(settings, missing_as_zero=zero))
    return (folder / "out.csv").read_text()


def test_one_who_skipped_a_week_blocks_nobody_and_is_named(
    term: Path, course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert canvas(term, course) == CANVAS.replace('Ann",1,', 'Ann",1,4')
    said = capsys.readouterr().err
    assert "2 cells left as they are, as the work is not graded yet: Kim, Bo (t.a, t.b); Ott, Cy (u.c)" in said
    assert canvas(term, course, "t") == CANVAS.replace('Ann",1,', 'Ann",1,2').replace('Cy",3,1', 'Cy",3,4')
    assert "1 cell left as it is, as the work is not graded yet: Kim, Bo (t.a, t.b)" in capsys.readouterr().err
    assert canvas(term, course, "u") == CANVAS.replace('Ann",1,', 'Ann",1,2').replace('Bo",2,', 'Bo",2,2')


def test_what_is_not_graded_yet_is_no_zero(term: Path, course: Path) -> None:
    assert '"Kim, Bo",2,\n' in canvas(term, course, "t", zero=True)


def test_the_csv_has_everybody_and_marks_of_those_who_have_one(
    term: Path, course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export("csv", ExportSettings(grades=term, course=course))
    rows = {one["submission"]: one for one in csv.DictReader(io.StringIO((term / "marks.csv").read_text("utf-8-sig")))}
    found = {name: (one["points"], one["max"], one["final"], one["percent"]) for name, one in rows.items()}
    nothing = ("", "", "", "")
    assert found == {"Kim, Bo": nothing, "Lee, Ann": ("4", "6", "4", "66.7"), "Ott, Cy": nothing}
    assert rows["Kim, Bo"]["u.c"] == "2" and rows["Kim, Bo"]["verdicts"] == "not graded yet"
    said = capsys.readouterr().err.splitlines()
    names = "Kim, Bo (t.a, t.b); Ott, Cy (u.c)"
    assert said == [f"2 submissions without a mark, as the work is not graded yet: {names}"]


def test_gradescope_has_a_file_for_each_who_has_a_mark(
    term: Path, course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export("gradescope", ExportSettings(grades=term, course=course, only=("u",)))
    assert {file.name for file in (term / "gradescope").iterdir()} == {"Kim, Bo.json", "Lee, Ann.json"}
    assert "1 submission without a mark, as the work is not graded yet: Ott, Cy (u.c)" in capsys.readouterr().err


def test_a_part_that_nobody_was_graded_on_is_refused(term: Path, course: Path) -> None:
    for name, text in (
        ("course.toml", '[[topics.exercises]]\nname = "d"\npoints = 1\n'),
        ("checks/test_u.py", '\n@exercise("u.d")\ndef test_d(submission):\n    """One."""\n'),
    ):
        file = course / name
        file.write_text(file.read_text() + text)
    with pytest.raises(UserError, match=r"not graded yet for 3 submissions: .* \(Kim, Bo; Lee, Ann; Ott, Cy\)"):
        canvas(term, course)
    with pytest.raises(UserError, match=r"not graded yet for 1 submission: t\.a, t\.b, u\.d \(Kim, Bo\)"):
        export("csv", ExportSettings(grades=term, course=course, submission="Kim, Bo"))


# ---------------------------------------------------------------- a group whose work differs

GROUP = (Student("Ada", ("1",), group="Rho"), Student("Ben", ("2",), group="Rho"), Student("Cleo", ("3",)))
DIFFERS = "group Rho handed in differing work: Ada; Ben"
SECRET = "the code of Ben"


@pytest.fixture
def group(tmp_path: Path) -> Path:
    with Gradebook.open(tmp_path / "gradebook.sqlite") as book:
        everybody = {"t.a": 2.0, "t.b": 0.0, "u.c": 2.0}
        week(book, {"Ada": everybody, "Ben": everybody, "Cleo": everybody}, GROUP)
    return tmp_path


def members(folder: Path) -> list[Entry]:
    with Gradebook.open_existing(folder) as book:
        found = [entry for entry in entries_of(book) if entry.row.group]
        kept = {entry.row.digest: book.files(entry.row.digest) for entry in found}
    return [replace(entry, files_of=lambda digest: kept[digest]) for entry in found]


def test_json_has_no_mark_of_a_group_whose_work_differs(group: Path, course: Path) -> None:
    export("json", ExportSettings(grades=group, course=course))
    ada, ben, cleo = json.loads((group / "marks.json").read_text())["submissions"]
    for one in (ada, ben):
        assert (one["score"], one["max"], one["final"]) == (None, None, None) and one["differing"] == DIFFERS
        assert one["result"]["score"] == 0 and not any(part["checks"] for part in one["result"]["exercises"])
    assert (cleo["score"], cleo["max"], cleo["final"]) == (4.0, 6.0, 4.0)


def test_gradescope_has_no_file_of_a_group_whose_work_differs(
    group: Path, course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export("gradescope", ExportSettings(grades=group, course=course, to=group / "made"))
    assert json.loads((group / "made").read_text())["score"] == 4.0, "Cleo's alone"
    assert f"no mark: Ada: {DIFFERS}" in capsys.readouterr().err
    with pytest.raises(UserError, match=f"no mark: Ada: {DIFFERS}"):
        export("gradescope", ExportSettings(grades=group, course=course, submission="Ada"))


def test_no_page_and_no_table_shows_a_mark_or_the_code_of_another_member(group: Path, course: Path) -> None:
    loaded = Course.load(course)
    with Gradebook.open_existing(group) as book:
        everybody = entries_of(book, policy=MarkPolicy(letters=(("A", 50.0),)))
        write_report(everybody, loaded, group / "report")
    for name in ("Ada", "Ben"):
        page = (group / "report" / "students" / page_name(name)).read_text()
        assert "No mark yet" in page and DIFFERS in page
        assert (
            "the code of" not in page and "2/2" not in page and "4/6" not in page and "<strong>A</strong>" not in page
        )
    assert "the code of Cleo" in (group / "report" / "students" / page_name("Cleo")).read_text()
    table = {
        one["submission"]: one
        for one in csv.DictReader(io.StringIO(b"".join(csv_table(everybody, loaded)).decode("utf-8-sig")))
    }
    blank = ("points", "max", "percent", "automatic", "final", *NAMES, "grade")
    assert [table["Ada"][name] for name in blank] == [""] * len(blank) and table["Ada"]["unread"] == DIFFERS
    assert table["Cleo"]["final"] == "4" and table["Cleo"]["grade"] == "A"


def test_what_programs_read_has_no_result_of_a_group_whose_work_differs(group: Path, course: Path) -> None:
    both = members(group)
    texts = [b"".join(junit(both)).decode(), code_quality(both, group).decode(), summary(both, Course.load(course))]
    texts += [*commands(both, group), *(gradescope.results(one).decode() for one in both)]
    for text in texts:
        assert SECRET not in text and "passed" not in text and "4/6" not in text and "2/2" not in text
    assert [json.loads(gradescope.results(one))["score"] for one in both] == [0, 0]


@pytest.mark.parametrize("zero", [False, True])
def test_no_cell_of_an_lms_gets_the_mark_of_a_group_whose_work_differs(tmp_path: Path, group: Path, zero: bool) -> None:
    into = tmp_path / "canvas.csv"
    into.write_text("Student,ID,Week (7)\nAda,1,\nBen,2,1\n")
    content, notes = fill_canvas(into, members(group), unread_as_zero=zero)
    assert content.decode() == "Student,ID,Week (7)\nAda,1,\nBen,2,1\n"
    assert any("2 cells left as they are, as the work of their group differs: Ada; Ben" in note for note in notes)
    into.write_text("Identifier,Full name,Grade,Maximum grade,Feedback comments\nParticipant 1,Ada,,6,\n")
    content, _ = fill_moodle(into, members(group)[:1])
    said = f"Automatic feedback: no mark yet: {DIFFERS}."
    assert content.decode().splitlines()[1] == f"Participant 1,Ada,,6,{said}"


def test_lateness_and_notes_of_anothers_work_are_not_shown_and_points_by_hand_are(tmp_path: Path) -> None:
    cause = Cause(kind="assertion", reason="a reason that tells")
    made = result("Ada", exercise("vectors.normalize", check(verdict="failed", cause=cause), points=2))
    made = msgspec.structs.replace(made, exercises=(*made.exercises, exercise("vectors.cosine", check(), points=2)))
    given = Override(student="Ada", exercise="vectors.cosine", points=1, max=2, why="seen", who="P", made="")
    row = Row(made, "d", 0.1, notes=("mine.zip",), late=Late(2, 0.5, "roster"), overrides=(given,), differing=DIFFERS)
    assert marks(row) == "no mark yet"
    entry = Entry(row)
    assert entry.row.late is None and entry.row.notes == () and (entry.row.score, entry.row.max) == (1, 2)
    assert "a reason that tells" not in b"".join(json_document([entry], Course.load(None))).decode()
    whole = Override(student="Ada", exercise="vectors.normalize", points=2, max=2, why="seen", who="P", made="")
    decided = Entry(msgspec.structs.replace(row, overrides=(given, whole)))
    assert not decided.is_of_nobody and (decided.final, decided.row.max) == (3, 4), "a person has decided all of it"
