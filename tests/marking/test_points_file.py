"""`grader import`: points and comments from a spreadsheet, all or nothing, with what changes before anything does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from marked_class import ADA, BOB, COURSE, graded, row

from grader.errors import UserError
from grader.gradebook import Gradebook
from grader.intake.roster import Student
from grader.marking.given import give_comment, give_points
from grader.marking.history import history_lines
from grader.marking.keeping import nobody_agrees
from grader.marking.points_file import import_points

HEAD = "student,exercise,points,comment,why\n"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return graded(tmp_path, {"ada": ADA, "bob": BOB, "Zoë Åström": ADA}, {"ada": "11", "bob": "12", "Zoë Åström": "13"})


def bring(out: Path, content: str | bytes, *, agrees: bool = True) -> list[str]:
    file = out / "points.csv"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return list(import_points(out, file, "me", (lambda: True) if agrees else nobody_agrees))


def given(out: Path) -> dict[str, dict[str, tuple[float, float]]]:
    with Gradebook.open_existing(out) as book:
        return {one.result.submission: one.given for one in book.results()}


NOTHING: dict[str, dict[str, tuple[float, float]]] = {"ada": {}, "bob": {}, "Zoë Åström": {}}


def test_points_and_comments_are_shown_before_and_after_and_kept_with_who_and_why(out: Path) -> None:
    table = (
        HEAD
        + 'ada,moving_average,1.5,"see conv1d,\nit is one call",a typo\n'
        + "12,findings.report,4,,oral exam\n"
        + "Zoë Åström,report,,well written,\n"
    )
    assert bring(out, table) == [
        "ada (11): curves.moving_average: 2/2 automatic → 1.5/2 (a typo)",
        "ada (11): curves.moving_average: comment: none → “see conv1d, / it is one call”",
        "bob (12): findings.report: not marked → 4/4 (oral exam)",
        "Zoë Åström (13): findings.report: comment: none → “well written”",
        "kept: 2 overrides, 2 comments",
    ]
    assert given(out) == {
        "ada": {"curves.moving_average": (1.5, 2.0)},
        "bob": {"findings.report": (4.0, 4.0)},
        "Zoë Åström": {},
    }
    (override,) = row(out, "ada").overrides
    assert (override.who, override.why, override.automatic) == ("me", "a typo", 2.0)
    assert [one.text for one in row(out, "ada").comments] == ["see conv1d,\nit is one call"]
    assert (row(out, "ada").score, row(out, "bob").score, row(out, "Zoë Åström").score) == (1.5, 6.0, 2.0)
    history = "\n".join(history_lines(out, "bob", None))
    assert "override: findings.report: 4/4 (automatic: 0) by me: oral exam" in history


def test_nothing_is_kept_unless_somebody_agrees(out: Path) -> None:
    with pytest.raises(UserError, match="nothing is changed") as caught:
        bring(out, HEAD + "ada,moving_average,1,,x\n", agrees=False)
    assert caught.value.fix == "to keep this: --yes" and given(out) == NOTHING


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_it_is_read_as_rosters_are(out: Path, encoding: str, delimiter: str) -> None:
    rows = [
        (" Student ", "EXERCISE", "Points", "Comment", "Why"),
        ("Zoë Åström", "moving_average", '"1,5"', "très bien", "déjà vu"),
        ("", "", "", "", ""),
    ]
    text = "\r\n".join(delimiter.join(row) for row in rows)
    bring(out, text.encode(encoding))
    assert given(out)["Zoë Åström"] == {"curves.moving_average": (1.5, 2.0)}
    assert row(out, "Zoë Åström").overrides[0].why == "déjà vu"
    assert row(out, "Zoë Åström").comments[0].text == "très bien"


def test_a_line_for_excel_empty_lines_and_other_columns_do_no_harm(out: Path) -> None:
    table = "sep=;\n\n;;\nPoints;Name;student;exercise\n1;Ada Lee;11;moving_average\n\n;Bob;12;moving_average\n"
    lines = bring(out, table)
    assert lines[0] == "not read: 1 column: name" and "1 line without a change" in lines
    assert given(out)["ada"] == {"curves.moving_average": (1.0, 2.0)} and given(out)["bob"] == {}
    assert row(out, "ada").overrides[0].why == "from points.csv, line 5"


BAD = [
    ("zoe,moving_average,1,,x", "no submission of `zoe`"),
    ("ada,essay,1,,x", "no exercise `essay`"),
    (",moving_average,1,,x", "no student is named"),
    ("ada,,1,,x", "no exercise is named"),
    ("ada,moving_average,2.5,,x", "cannot have '2.5' points"),
    ("ada,moving_average,-1,,x", "cannot have '-1' points"),
    ("ada,moving_average,nan,,x", "cannot have 'nan' points"),
    ("ada,moving_average,inf,,x", "cannot have 'inf' points"),
    ("ada,moving_average,1e0,,x", "cannot have '1e0' points"),
    ("ada,moving_average,80 %,,x", "cannot have '80 %' points"),
    ("ada,moving_average,two,,x", "cannot have 'two' points"),
    ("ada,moving_average,١,,x", "cannot have '١' points"),
    ("ada,moving_average,1,well, done", "more cells than columns"),
    ("bob,report,1,,x\n12,findings.report,2,,x", "line 3 has other points of bob (12) for findings.report"),
]


@pytest.mark.parametrize(("line", "message"), BAD, ids=[message for _, message in BAD])
def test_a_wrong_line_is_named_and_then_nothing_at_all_is_changed(out: Path, line: str, message: str) -> None:
    line = line + ",more" if "more cells" in message else line
    with pytest.raises(UserError, match=re.escape(message)) as caught:
        bring(out, HEAD + "bob,moving_average,1,,x\n" + line + "\nada,report,1,,x\n")
    number = 4 if "\n" in line else 3
    assert f"{out / 'points.csv'}, line {number}: " in str(caught.value) and "\n" not in str(caught.value)
    assert given(out) == NOTHING


def test_all_wrong_lines_are_named_at_once(out: Path) -> None:
    file = out / "points.csv"
    file.write_text(HEAD + "zoe,report,1,,x\nada,report,9,,x\nbob,essay,1,,x\n")
    told: list[str] = []
    with pytest.raises(UserError, match=r"line 2: no submission of `zoe`.*; 2 other lines as well"):
        told += import_points(out, file, "me", lambda: True)
    problems = list(_until_error(out, file))
    assert [re.search(r"line \d", one)[0] for one in problems] == ["line 3", "line 4"]  # type: ignore[index]


def _until_error(out: Path, file: Path) -> list[str]:
    found: list[str] = []
    lines = import_points(out, file, "me", lambda: True)
    while True:
        try:
            found.append(next(lines))
        except UserError:
            return found


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"name,exercise,points\nada,x,1\n", "line 1: no column `student`"),
        (b"student,points\nada,1\n", "line 1: no column `exercise` or `assignment`"),
        (b"student,exercise\nada,x\n", "line 1: no column `points` or `comment`"),
        (b"student,exercise,points,Points\nada,x,1,2\n", "line 1: two columns are called `points`"),
        (b'student,exercise,points\nada,"x,1\n', "line 2: not a line of a CSV file"),
        (b"PK\x03\x04rest", "is a workbook, not a CSV file"),
        (b"\x81\x8d\xff\x00\x9d", "cannot be read: it is not text"),
        (b"student,assignment,points\nada,week1,8\n", "line 2: assignment `week1`: this course declares none"),
    ],
)
def test_what_is_no_table_of_points_is_refused(out: Path, content: bytes, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        bring(out, content)
    assert given(out) == NOTHING


def test_a_file_that_is_not_there_is_refused(out: Path) -> None:
    with pytest.raises(UserError, match=r"nothing\.csv cannot be read: No such file"):
        list(import_points(out, out / "nothing.csv", "me", lambda: True))


def test_the_same_file_again_changes_nothing_and_a_mended_line_alone_is_kept(out: Path) -> None:
    table = HEAD + "ada,moving_average,1,fine,x\nbob,moving_average,2,,x\n"
    bring(out, table)
    assert bring(out, table, agrees=False) == ["2 lines without a change", "nothing to change"]
    lines = bring(out, table.replace("ada,moving_average,1,", "ada,moving_average,1.5,"))
    assert re.fullmatch(r"ada \(11\): curves\.moving_average: 1/2 by me, 20.{14} → 1\.5/2 \(x\)", lines[0])
    assert lines[1:] == ["1 line without a change", "kept: 1 override, 0 comments"]


def test_points_and_comments_are_taken_back_as_by_the_commands(out: Path) -> None:
    list(give_points(out, "ada", "moving_average", "0", "copied", "ann"))
    list(give_comment(out, "ada", "moving_average", "hm", "ann"))
    lines = bring(out, HEAD + "ada,moving_average,auto,none,was a mistake\n")
    assert "0/2 by ann" in lines[0] and lines[0].endswith("→ automatic (was a mistake)")
    assert lines[1] == "ada (11): curves.moving_average: comment: “hm” by ann → none"
    assert given(out) == NOTHING and row(out, "ada").comments == ()


def test_a_mark_that_somebody_gives_while_one_thinks_is_not_replaced(out: Path) -> None:
    file = out / "points.csv"
    file.write_text(HEAD + "bob,moving_average,1,,x\nada,moving_average,1,,x\n")

    def meanwhile() -> bool:
        list(give_points(out, "ada", "moving_average", "0", "copied", "ann"))
        return True

    with pytest.raises(UserError, match="ann changed this meanwhile, so nothing is changed"):
        list(import_points(out, file, "me", meanwhile))
    assert given(out) == {**NOTHING, "ada": {"curves.moving_average": (0.0, 2.0)}}


def test_the_comment_of_a_group_is_one_and_two_different_ones_are_refused(out: Path) -> None:
    students = [Student(name, (key,), group="Rho") for name, key in (("ada", "11"), ("cy", "14"))]
    with Gradebook.open_existing(out) as book:
        book.finish_run(book.start_run(COURSE.name, "h", 1, "key", {}, students=students))
    with pytest.raises(UserError, match=r"line 2 has another comment of Rho for findings\.report"):
        bring(out, HEAD + "ada,report,,good,\ncy,report,,bad,\n")
    bring(out, HEAD + "ada,report,,good,\ncy,report,3,good,x\n")
    assert [[one.text for one in row(out, name).comments] for name in ("ada", "cy")] == [["good"], ["good"]]
    assert (row(out, "cy").given, row(out, "ada").given) == ({"findings.report": (3.0, 4.0)}, {})
