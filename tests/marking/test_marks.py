"""Marks by a rubric and comments: what counts, what survives a regrade, and when the work under them has changed."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from marked_class import ADA, BOB, COURSE, graded, row

from grader.errors import UserError
from grader.gradebook import Gradebook
from grader.gradebook.schema import DamagedGradebook
from grader.marking.given import give_comment, give_points, text_of_comment
from grader.marking.rubric import Marking
from grader.reports.status import Unmarked


def mark(
    out: Path,
    student: str | None = "ada",
    items: str = "1,3",
    exercise: str | None = "report",
    comment: str | None = None,
    who: str | None = None,
) -> list[str]:
    with Gradebook.open_existing(out) as book:
        return list(Marking(book, COURSE, who).mark_one(exercise, student, items, comment))


def test_a_mark_has_the_points_of_its_items_and_counts_in_the_total(tmp_path: Path) -> None:
    out = graded(tmp_path, {"ada": ADA, "bob": BOB})
    assert (row(out, "ada").score, row(out, "ada").max) == (2, 2)
    assert [one.name for one in row(out, "ada").unmarked] == ["curves.style", "findings.plot", "findings.report"]
    lines = mark(out, who="me")
    assert lines[0].startswith("ada: findings.report: 3/4 (items: 1, 3) by me, ") and lines[1] == "ada: 5/6"
    ada = row(out, "ada")
    assert (ada.score, ada.max, ada.final) == (5, 6, 5) and ada.given == {"findings.report": (3.0, 4.0)}
    assert [one.name for one in ada.unmarked] == ["curves.style", "findings.plot"]
    assert [(item.points, item.given) for item in ada.marks[0].items] == [(2, True), (1, False), (1, True)]
    assert (row(out, "bob").score, row(out, "bob").max) == (2, 2), "nobody else's"


def test_no_items_are_a_mark_too_and_it_can_be_taken_back(tmp_path: Path) -> None:
    out = graded(tmp_path, {"ada": ADA})
    assert mark(out, items="none")[1] == "ada: 2/6"
    assert mark(out, items="all")[-1] == "ada: 6/6"
    before, taken_back, _ = mark(out, items="back")
    assert before.startswith("before: ada: findings.report: 4/4") and "not marked any more" in taken_back
    assert row(out, "ada").max == 2 and len(row(out, "ada").unmarked) == 3


def test_what_is_only_begun_counts_nothing_and_an_earlier_mark_stays(tmp_path: Path) -> None:
    out = graded(tmp_path, {"ada": ADA})
    with Gradebook.open_existing(out) as book:
        marking = Marking(book, COURSE, "me")
        (task,) = marking.tasks("report")
        marking.save(task, {0}, done=False)
        (begun,) = book.results()
        assert begun.begun == ("findings.report",) and begun.max == 2
        assert list(Unmarked([begun]).lines())[-1].startswith(
            "not marked yet: findings.report: 1 of 1 submission, 1 begun"
        )
        marking.save(task, {0, 1}, done=True)
        marking.save(task, {2}, done=False)
        assert marking.given(task) == {2}
        (again,) = book.results()
        assert (again.score, again.begun, again.marks[0].points) == (5, ("findings.report",), 3)


def test_marks_survive_a_regrade_and_say_when_that_file_has_changed(tmp_path: Path) -> None:
    out = graded(tmp_path, {"ada": ADA})
    mark(out, comment="a fine report")
    mark(out, exercise="style", items="1")
    graded(out, {"ada": ADA})
    assert row(out, "ada").score == 6 and not any(one.stale for one in row(out, "ada").marks)
    graded(out, {"ada": {**ADA, "curves.py": b"x = 1\n"}})
    changed = row(out, "ada")
    assert changed.score == 6, "a mark stays until a person changes it"
    assert {one.exercise: one.stale for one in changed.marks} == {"curves.style": True, "findings.report": False}
    graded(out, {"ada": {"curves.py": b"x = 1\n"}})
    assert {one.exercise: one.stale for one in row(out, "ada").marks} == {"curves.style": True, "findings.report": True}
    assert [one.stale for one in row(out, "ada").comments] == [True]
    assert not any(one.stale for one in row(out, "ada", run=2).marks), "of the run with the same work"


def test_what_is_left_to_mark_is_what_is_not_marked_or_has_changed(tmp_path: Path) -> None:
    out = graded(tmp_path, {"ada": ADA, "bob": BOB})
    mark(out)
    mark(out, student="bob")
    graded(out, {"bob": {**BOB, "report.md": b"new"}})
    with Gradebook.open_existing(out) as book:
        marking = Marking(book, COURSE)
        assert [task.student for task in marking.tasks("report")] == ["bob"]
        assert [task.why_again for task in marking.tasks("report")] == ["the work under it has changed"]
        assert [task.student for task in marking.tasks("report", everything=True)] == ["ada", "bob"]
        order = [(task.exercise.name, task.student) for task in marking.tasks()]
        assert order == [("style", "ada"), ("style", "bob"), ("plot", "ada"), ("plot", "bob"), ("report", "bob")]


def test_a_mark_of_another_rubric_is_left_to_mark_again(tmp_path: Path) -> None:
    out = graded(tmp_path, {"ada": ADA})
    mark(out)
    with sqlite3.connect(out / "gradebook.sqlite") as db:
        db.execute("UPDATE given SET record = replace(record, 'says why', 'said why')")
    db.close()
    with Gradebook.open_existing(out) as book:
        (task,) = Marking(book, COURSE).tasks("report")
        assert task.why_again == "the rubric has changed" and Marking(book, COURSE).given(task) == {0, 2}


def test_marks_belong_to_the_person_whatever_the_name_in_a_run(tmp_path: Path) -> None:
    out = graded(tmp_path, {"ada": ADA}, ids={"ada": "11"})
    mark(out, student="11", comment="good")
    graded(out, {"Ada Lee": ADA}, ids={"Ada Lee": "11"})
    ada = row(out, "Ada Lee")
    assert ada.score == 5 and [one.text for one in ada.comments] == ["good"]
    graded(out, {"ada": ADA}, ids={"ada": "12"})
    assert row(out, "ada").score == 2, "another person of the same name"


def test_an_override_wins_over_a_mark_until_it_is_withdrawn(tmp_path: Path) -> None:
    out = graded(tmp_path, {"ada": ADA})
    mark(out, who="me")
    list(give_points(out, "ada", "report", "4", "late appeal", "me"))
    assert row(out, "ada").given["findings.report"] == (4.0, 4.0)
    list(give_points(out, "ada", "report", "auto", "no", "me"))
    assert row(out, "ada").given["findings.report"] == (3.0, 4.0)


def test_an_override_says_when_the_work_under_it_has_changed_and_not_when_other_work_has(tmp_path: Path) -> None:
    out = graded(tmp_path, {"ada": ADA})
    list(give_points(out, "ada", "report", "4", "an appeal", "me"))
    list(give_points(out, "ada", "moving_average", "1", "copied", "me"))

    def stale(**files: bytes) -> list[str]:
        graded(out, {"ada": {**ADA, **{name.replace("_dot_", "."): data for name, data in files.items()}}})
        return [one.exercise for one in row(out, "ada").overrides if one.stale]

    assert stale(plot_dot_png=b"\0new") == []
    assert stale(report_dot_md=b"new") == ["findings.report"]
    assert stale(curves_dot_py=b"x = 1\n") == ["curves.moving_average"]
    assert stale(helper_dot_py=b"x = 1\n") == ["curves.moving_average"], "it may be imported"


def test_a_comment_changes_no_points_and_the_last_one_counts(tmp_path: Path) -> None:
    out = graded(tmp_path, {"ada": ADA})
    for text in ("first", "see\nconv1d"):
        *before, line = give_comment(out, "ada", "moving_average", text, "me")
    assert len(before) == 1 and before[0].startswith("before: ada: curves.moving_average: first (by me, ")
    assert line.startswith("ada: curves.moving_average: see / conv1d (by me, ")
    assert [(one.exercise, one.text) for one in row(out, "ada").comments] == [("curves.moving_average", "see\nconv1d")]
    assert (row(out, "ada").score, row(out, "ada").max) == (2, 2)
    list(give_comment(out, "ada", "moving_average", "none", "me"))
    assert row(out, "ada").comments == ()


def test_comments_are_kept_without_escapes_and_within_bounds() -> None:
    assert text_of_comment(" =1+1\x1b[31m\x07\r\n\tok ") == "=1+1�\n    ok"
    for text in ("", " \n", "x" * 4001):
        with pytest.raises(UserError):
            text_of_comment(text)


@pytest.mark.parametrize(
    ("exercise", "student", "items", "message"),
    [
        ("report", "ada", "4", "has no items '4'"),
        ("report", "ada", "0", "has no items '0'"),
        ("report", "ada", "-1", "has no items '-1'"),
        ("report", "ada", "1;3", "has no items"),
        ("report", "zoe", "1", "no submission of `zoe`"),
        ("report", None, "1", "--items marks one student"),
        ("findings", "ada", "1", "not several: findings.plot, findings.report"),
        (None, "ada", "1", "not several"),
        ("moving_average", "ada", "1", "`moving_average` has checks"),
        ("essay", "ada", "1", "unknown topic or exercise `essay`"),
    ],
)
def test_what_cannot_be_marked_is_refused_in_one_line(
    tmp_path: Path, exercise: str | None, student: str | None, items: str, message: str
) -> None:
    out = graded(tmp_path, {"ada": ADA})
    with pytest.raises(UserError) as caught:
        mark(out, student, items, exercise)
    assert message in str(caught.value) and "\n" not in str(caught.value)
    assert row(out, "ada").marks == ()


def test_a_mark_that_cannot_be_read_any_more_is_damage(tmp_path: Path) -> None:
    out = graded(tmp_path, {"ada": ADA})
    mark(out)
    with sqlite3.connect(out / "gradebook.sqlite") as db:
        db.execute("UPDATE given SET record = '[damaged'")
    db.close()
    with pytest.raises(DamagedGradebook):
        row(out, "ada")


def test_of_another_course_nothing_is_marked(tmp_path: Path) -> None:
    with Gradebook.open(tmp_path / "gradebook.sqlite") as book:
        book.start_run("vectors\x1b[31m", "h", 0, "k", {})
        with pytest.raises(UserError, match="is of the course `vectors`, not of `smooth-curves`"):
            Marking(book, COURSE)


def test_marking_without_a_screen_says_where_the_work_is_or_that_there_is_none(tmp_path: Path) -> None:
    work = {"curves.py": ADA["curves.py"]}
    out = graded(tmp_path, {"ada": ADA, "bob": BOB, "cy": work, "di": {**work, "report.docx": b"PK\x03\x04"}})
    assert not any("report.md" in line for line in mark(out))
    assert "bob: findings.report: report.md is as it was handed out" in mark(out, student="bob")
    assert "cy: findings.report: report.md was not handed in" in mark(out, student="cy", items="none")
    assert "di: findings.report: report.md is not there: look at report.docx" in mark(out, student="di")
    with Gradebook.open_existing(out) as book:
        (task,) = Marking(book, COURSE).tasks("report", "di", everything=True)
        assert Marking(book, COURSE).files(task) == {"report.docx": b"PK\x03\x04"}
    assert not row(out, "di").marks[0].stale
    graded(out, {"di": {**work, "report.md": b"my own"}})
    assert row(out, "di").marks[0].stale, "another file is the work now"
