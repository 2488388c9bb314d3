"""Several people mark a class: each has a share of their own, a group's work is one task, and no names are needed."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from marked_class import ADA, BOB, COURSE, graded
from rich.console import Console

from grader.errors import UserError
from grader.gradebook import Gradebook
from grader.intake.roster import Student
from grader.marking.rubric import Marking, Share
from grader.marking.screen import MarkingScreen


def names(out: Path, share: str) -> set[str]:
    with Gradebook.open_existing(out) as book:
        tasks = Marking(book, COURSE, "me").tasks("report")
        return {task.student for task in tasks if Share.read(share).has(task.row)}


def test_the_shares_of_a_class_are_the_same_every_time_and_leave_nobody_out(tmp_path: Path) -> None:
    ids = {f"student {n}": str(n) for n in range(40)}
    graded(tmp_path, dict.fromkeys(ids, ADA), ids)
    before = [names(tmp_path, f"{part}/3") for part in (1, 2, 3)]
    assert set.union(*before) == set(ids) and sum(map(len, before)) == 40 and all(len(part) > 5 for part in before)
    graded(tmp_path, {"late": ADA}, {"late": "99"})
    after = [names(tmp_path, f"{part}/3") - {"late"} for part in (1, 2, 3)]
    assert after == before, "who comes later moves nobody"


@pytest.mark.parametrize("text", ["", "2", "0/3", "4/3", "a/b", "1/0", "-1/3"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="no share of a class"):
        Share.read(text)


def test_the_work_of_a_group_is_marked_once(tmp_path: Path) -> None:
    graded(tmp_path, {"Ada": ADA, "Bob": BOB}, {"Ada": "1", "Bob": "2"})
    with Gradebook.open_existing(tmp_path) as book:
        students = [Student("Ada", ("1",), group="Rho"), Student("Cy", ("3",), group="Rho"), Student("Bob", ("2",))]
        book.finish_run(book.start_run(COURSE.name, "h", 1, "key", {}, students=students))
        marking = Marking(book, COURSE, "me")
        tasks = marking.tasks("report")
        assert [task.student for task in tasks] == ["Ada", "Bob"]
        marking.save(tasks[0], {0}, done=True)
        assert [task.student for task in marking.tasks("report")] == ["Bob"]
        given = {row.result.submission: len(row.marks) for row in book.results()}
        assert given == {"Ada": 1, "Bob": 0, "Cy": 1}


def test_without_names_the_screen_shows_none_and_has_an_order_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = graded(tmp_path, {"Ada Lovelace": ADA, "Bob Ross": BOB})
    console = Console(record=True, width=100, height=40, file=open("/dev/null", "w"))  # noqa: SIM115
    keys = iter(["o", "n", "o", "q"])
    monkeypatch.setattr("typer.getchar", lambda: next(keys))
    monkeypatch.setattr("typer.launch", lambda file: None)
    with Gradebook.open_existing(out) as book, console.file:
        marking = Marking(book, COURSE, "me")
        tasks = marking.tasks("report")
        MarkingScreen(marking, tasks, console, lambda text: None, anonymous=True).run()
    shown = console.export_text()
    assert "1 of 2" in shown and "2 of 2" in shown
    assert not {"ada", "lovelace", "bob", "ross"} & set(shown.lower().replace("-", " ").split())


def test_two_people_mark_at_once_and_the_gradebook_says_who_marked_what(tmp_path: Path) -> None:
    ids = {f"student {n}": str(n) for n in range(12)}
    out = graded(tmp_path, dict.fromkeys(ids, ADA), ids)

    def mark(who: str, share: str) -> None:
        with Gradebook.open_existing(out) as book:
            marking = Marking(book, COURSE, who)
            for task in marking.tasks("report"):
                if Share.read(share).has(task.row):
                    marking.save(task, {0}, done=True)

    people = [threading.Thread(target=mark, args=of) for of in (("ann", "1/2"), ("ben", "2/2"))]
    for one in people:
        one.start()
    for one in people:
        one.join()
    with Gradebook.open_existing(out) as book:
        who = {row.result.submission: [mark.who for mark in row.marks] for row in book.results()}
    assert set(who) == set(ids)
    assert {name for name, by in who.items() if by == ["ann"]} == names_of_share(out, "1/2")
    assert {name for name, by in who.items() if by == ["ben"]} == names_of_share(out, "2/2")


def names_of_share(out: Path, share: str) -> set[str]:
    with Gradebook.open_existing(out) as book:
        return {row.result.submission for row in book.results() if Share.read(share).has(row)}
