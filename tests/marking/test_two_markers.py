"""Two people give something for one exercise of one student: the second one is told who did what when, and decides."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from marked_class import ADA, BOB, COURSE, graded, row
from rich.console import Console

from grader.errors import UserError
from grader.gradebook import GivenMeanwhile, Gradebook
from grader.intake.roster import Student
from grader.marking.given import give_comment, give_points
from grader.marking.keeping import nobody_agrees
from grader.marking.rubric import Marking
from grader.marking.screen import MarkingScreen


class Asked:
    """Agrees or not, and does something first: as long as a person thinks, the gradebook is anybody's."""

    def __init__(self, *answers: bool, meanwhile: Callable[[], object] = lambda: None) -> None:
        self.answers = list(answers)
        self.times = 0
        self._meanwhile = meanwhile

    def __call__(self) -> bool:
        self.times += 1
        self._meanwhile()
        return self.answers.pop(0)


def items(
    out: Path, who: str, items: str, agreed: Callable[[], bool] = nobody_agrees, student: str = "ada"
) -> list[str]:
    with Gradebook.open_existing(out) as book:
        return list(Marking(book, COURSE, who).mark_one("report", student, items, None, agreed))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return graded(tmp_path, {"ada": ADA, "bob": BOB})


def mark_of(out: Path, name: str = "ada") -> tuple[str, float | None]:
    (mark,) = row(out, name).marks
    return mark.who, mark.points


def test_items_by_another_person_stay_unless_the_second_agrees(out: Path) -> None:
    items(out, "ann", "1,3")
    for asked in (Asked(False), Asked(True)):
        with Gradebook.open_existing(out) as book:
            told = Marking(book, COURSE, "ben").mark_one("report", "ada", "2", None, asked)
            before = next(told)
            assert before.startswith("before: ada: findings.report: 3/4 (items: 1, 3) by ann, 20")
            if asked.answers[0]:
                assert next(told).startswith("ada: findings.report: 1/4 (items: 2) by ben")
                continue
            with pytest.raises(UserError, match="nothing is changed, because that is from ann") as caught:
                next(told)
            assert caught.value.fix == "to replace it: --yes" and mark_of(out) == ("ann", 3.0)
    assert mark_of(out) == ("ben", 1.0)


def test_nobody_is_asked_about_their_own_mark_or_one_that_was_taken_back(out: Path) -> None:
    items(out, "ann", "1,3")
    assert items(out, "ann", "1")[0].startswith("before: ada: findings.report: 3/4 (items: 1, 3) by ann"), "but told"
    items(out, "ann", "back")
    assert items(out, "ben", "2")[0].startswith("ada: findings.report: 1/4")
    assert mark_of(out) == ("ben", 1.0)


def test_an_override_asks_about_a_mark_and_a_mark_about_an_override(out: Path) -> None:
    items(out, "ann", "1,3")
    with pytest.raises(UserError, match="that is from ann"):
        list(give_points(out, "ada", "report", "4", "appeal", "ben"))
    asked = Asked(True)
    lines = list(give_points(out, "ada", "report", "4", "appeal", "ben", asked))
    assert lines[0].startswith("before: ada: findings.report: 3/4 (items: 1, 3) by ann") and asked.times == 1
    with pytest.raises(UserError, match="that is from ben"):
        items(out, "ann", "1")
    with pytest.raises(UserError, match="that is from ann, ben"):
        list(give_points(out, "ada", "report", "auto", "no", "cy"))
    assert row(out, "ada").given["findings.report"] == (4.0, 4.0)


def test_a_comment_by_another_person_stays_unless_the_second_agrees(out: Path) -> None:
    list(give_comment(out, "ada", "report", "fine", "ann"))
    with pytest.raises(UserError, match="that is from ann"):
        list(give_comment(out, "ada", "report", "bad", "ben"))
    list(give_comment(out, "ada", "report", "another place", "ben", "1"))
    with Gradebook.open_existing(out) as book, pytest.raises(UserError, match="that is from ann"):
        list(Marking(book, COURSE, "ben").mark_one("report", "ada", "1", "bad"))
    assert [one.text for one in row(out, "ada").comments] == ["fine", "another place"]
    assert row(out, "ada").marks == (), "the mark that came with the comment is not kept either"
    list(give_comment(out, "ada", "report", "bad", "ben", agreed=Asked(True)))
    assert [one.text for one in row(out, "ada").comments] == ["bad", "another place"]


def test_what_comes_while_the_second_thinks_is_told_as_well(out: Path) -> None:
    items(out, "ann", "1")
    asked = Asked(True, False, meanwhile=lambda: items(out, "cy", "all", Asked(True)) if asked.times == 1 else None)
    with Gradebook.open_existing(out) as book:
        told = Marking(book, COURSE, "ben").mark_one("report", "ada", "2", None, asked)
        assert "by ann" in next(told) and "4/4 (items: 1, 2, 3) by cy" in next(told)
        with pytest.raises(UserError, match="that is from cy"):
            next(told)
    assert mark_of(out) == ("cy", 4.0)


def test_the_same_name_on_another_terminal_is_another_marker(out: Path) -> None:
    """Two people may share the user of a machine."""
    with Gradebook.open_existing(out) as one, Gradebook.open_existing(out) as other:
        first, second = Marking(one, COURSE, "ta"), Marking(other, COURSE, "ta")
        (task, _), (same_task, _) = first.tasks("report"), second.tasks("report")
        first.save(task, {0}, done=True)
        with pytest.raises(GivenMeanwhile) as caught:
            second.save(same_task, {1}, done=True)
        assert mark_of(out) == ("ta", 2.0)
        second.agree(same_task, caught.value.given)
        second.save(same_task, {1}, done=True)
        with pytest.raises(GivenMeanwhile):
            first.save(task, {2}, done=True)
    assert mark_of(out) == ("ta", 1.0)


def test_agreeing_to_one_mark_is_not_agreeing_to_the_next(out: Path) -> None:
    with Gradebook.open_existing(out) as book:
        marking = Marking(book, COURSE, "ben")
        (task, _) = marking.tasks("report")
        items(out, "ann", "1")
        with pytest.raises(GivenMeanwhile) as caught:
            marking.save(task, {1}, done=True)
        items(out, "ann", "2")
        marking.agree(task, caught.value.given)
        with pytest.raises(GivenMeanwhile):
            marking.save(task, {1}, done=True)
    assert mark_of(out) == ("ann", 1.0)


def test_of_many_who_mark_at_the_same_moment_one_does_and_all_others_are_told(out: Path) -> None:
    names = [f"ta {n}" for n in range(6)]
    all_are_ready = threading.Barrier(len(names))
    outcome: dict[str, str] = {}

    def mark(who: str) -> None:
        with Gradebook.open_existing(out) as book:
            marking = Marking(book, COURSE, who)
            task = marking.tasks("report")[0]
            all_are_ready.wait()
            try:
                marking.save(task, {0}, done=True)
                outcome[who] = who
            except GivenMeanwhile as meanwhile:
                outcome[who] = meanwhile.given[0].who

    people = [threading.Thread(target=mark, args=(who,)) for who in names]
    for one in people:
        one.start()
    for one in people:
        one.join()
    first = mark_of(out)[0]
    assert outcome == dict.fromkeys(names, first)


def test_a_mark_of_another_member_of_the_group_is_a_mark_of_the_same_work(tmp_path: Path) -> None:
    out = graded(tmp_path, {"Ada": ADA, "Bob": BOB}, {"Ada": "1", "Bob": "2"})
    with Gradebook.open_existing(out) as book:
        students = [Student("Ada", ("1",), group="Rho"), Student("Cy", ("3",), group="Rho"), Student("Bob", ("2",))]
        book.finish_run(book.start_run(COURSE.name, "h", 1, "key", {}, students=students))
    items(out, "ann", "1", student="Ada")
    with pytest.raises(UserError, match="that is from ann"):
        items(out, "ben", "2", student="Cy")
    items(out, "ben", "2", student="Bob")


def on_the_screen(
    out: Path, who: str, keys: str, meanwhile: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> str:
    """The text of all screens; before the first key somebody else does something."""
    console = Console(record=True, width=120, height=40, file=open("/dev/null", "w"))  # noqa: SIM115
    pressed = iter(keys)
    monkeypatch.setattr("typer.getchar", lambda: next(pressed))
    with Gradebook.open_existing(out) as book, console.file:
        marking = Marking(book, COURSE, who)
        tasks = marking.tasks("report", everything=True)
        meanwhile()
        MarkingScreen(marking, tasks, console, lambda text: None, anonymous=False).run()
    return " ".join(console.export_text().split())


def test_on_the_screen_a_key_replaces_and_any_other_leaves(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = on_the_screen(out, "ben", "2\rnq", lambda: items(out, "ann", "1,3"), monkeypatch)
    assert "ada: findings.report: 3/4 (items: 1, 3) by ann, 20" in shown and "r replaces it with yours" in shown
    assert mark_of(out) == ("ann", 3.0)
    on_the_screen(out, "ben", "2r\rq", lambda: None, monkeypatch)
    assert mark_of(out) == ("ben", 4.0), "ann's items and the second one"


def test_on_the_screen_an_r_without_a_question_does_nothing(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items(out, "ann", "1,3")
    shown = on_the_screen(out, "ben", "r2nrq", lambda: None, monkeypatch)
    assert "there is no such key" in shown and mark_of(out) == ("ann", 3.0)
    assert row(out, "bob").marks == ()
