"""The record of tries: what counts as one, that it stays small and in the folder, and what damage does to it."""

from __future__ import annotations

import datetime
import os
from pathlib import Path

import pytest

from grader.course import Course
from grader.course.handout import init
from grader.course.home import HIDDEN, SHIPPED, Home
from grader.course.record import MOST_TRIES, OFF, RECORD, Outcome, Record, Tries
from grader.grading.settings import topics_of
from grader.intake.find import open_submission
from grader.reports.progress import keep_progress
from grader.results import Cause, CheckResult, ExerciseResult

NOVEMBER = [datetime.date(2026, 11, day) for day in range(1, 10)]
NAME = "tensor_ops.gram"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    (tmp_path / HIDDEN).mkdir()
    return Home(tmp_path)


def tried(home: Home, digest: str, day: int, *, passed: bool = False) -> None:
    Record(home).add({NAME: Outcome(digest, passed)}, NOVEMBER[day])


def test_a_try_is_a_check_that_went_otherwise_than_the_one_before_until_it_passes(home: Home) -> None:
    for digest, day in (("a", 0), ("a", 0), ("b", 0), ("b", 3), ("a", 4)):
        tried(home, digest, day)
    tried(home, "right", 4, passed=True)
    tried(home, "broken again", 7)
    found = Record(home).tries[NAME]
    assert (found.count, found.days) == (4, 2), "the same once more is no try, and after it has passed nothing is"
    assert (found.first, found.last, found.passed) == (NOVEMBER[0], NOVEMBER[4], NOVEMBER[4])


def test_what_passes_at_once_is_one_try(home: Home) -> None:
    tried(home, "right", 2, passed=True)
    assert Record(home).tries == {NAME: Tries(NOVEMBER[2], NOVEMBER[2], passed=NOVEMBER[2], outcome="right")}


@pytest.mark.parametrize("damage", [b"", b"{", b'{"tries": 3}', b'{"tries": {"a": {"count": -1}}}', b" " * 2_000_000])
def test_a_damaged_file_is_begun_anew_with_a_note(home: Home, damage: bytes) -> None:
    tried(home, "a", 0)
    (home.folder / HIDDEN / RECORD).write_bytes(damage)
    record = Record(home)
    assert record.tries == {} and record.note.startswith("the record of your tries (.torchkata/record.json)")
    assert str(home.folder) not in record.note
    record.add({NAME: Outcome("b", False)}, NOVEMBER[1])
    assert Record(home).tries[NAME].count == 1 and Record(home).note == ""


def test_it_stays_small(home: Home) -> None:
    full = Tries(NOVEMBER[0], NOVEMBER[0], count=MOST_TRIES, outcome="a").after("b", False, NOVEMBER[1])
    assert full.count == MOST_TRIES
    for day in range(3):
        Record(home).add({f"topic{day}.exercise_{n}": Outcome("a", False) for n in range(900)}, NOVEMBER[day])
    assert len(Record(home).tries) == 2_000
    assert {name.partition(".")[0] for name in Record(home).tries} == {"topic0", "topic1", "topic2"}
    assert (home.folder / HIDDEN / RECORD).stat().st_size < 1_000_000


def test_a_file_in_the_folder_switches_it_off(home: Home) -> None:
    (home.folder / HIDDEN / OFF).touch()
    tried(home, "a", 0)
    assert not (home.folder / HIDDEN / RECORD).exists() and not Record(home).is_on


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="there are no links")
def test_it_writes_through_no_link_and_never_fails(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / HIDDEN).symlink_to(tmp_path / "elsewhere")
    tried(Home(tmp_path / "here"), "a", 0)
    assert list((tmp_path / "elsewhere").iterdir()) == []
    tried(Home(tmp_path / "nowhere"), "a", 0)


def result(reason: str, line: str = "", kind: str = "assertion") -> ExerciseResult:
    cause = Cause(kind=kind, reason=reason, call="gram(x)", note=line)  # type: ignore[arg-type]
    check = CheckResult(name="rows", verdict="failed", message=line, cause=cause)
    return ExerciseResult(name=NAME, score=0, max=1, checks=(check,))


def test_only_what_was_written_is_a_try_and_only_another_outcome_is_another_one(home: Home) -> None:
    keep_progress(home, [result("", kind="unwritten")])
    assert Record(home).tries == {}
    keep_progress(home, [result("shape (2, 2)", "line 3")])
    keep_progress(home, [result("shape (2, 2)", "line 7")])
    assert Record(home).tries[NAME].count == 1, "the lines of a file move"
    keep_progress(home, [result("shape (3, 2)")])
    keep_progress(home, [result("shape (4, 2)")], counts_tries=False)
    assert Record(home).tries[NAME].count == 2


def test_it_is_no_part_of_a_submission(tmp_path: Path) -> None:
    course = Course.load(None)
    init(course, tmp_path / "kata", SHIPPED)
    before = open_submission(tmp_path / "kata", topics_of(course)).read()
    tried(Home(tmp_path / "kata"), "a", 0)
    assert (tmp_path / "kata" / HIDDEN / RECORD).is_file()
    assert open_submission(tmp_path / "kata", topics_of(course)).read() == before
