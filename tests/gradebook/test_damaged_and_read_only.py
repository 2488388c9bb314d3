"""A gradebook that nobody may write to is read; of a damaged one, what people have given is kept."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from pathlib import Path

import pytest

from grader.errors import UserError
from grader.gradebook import Extension, Gradebook, Override
from grader.gradebook.recovery import recover
from grader.reports.by_hand import give_points
from grader.reports.status import status_lines
from grader.results import ExerciseResult, SubmissionResult

PAGE = 4096


def override(points: float | None, exercise: str = "t.e") -> Override:
    return Override(student="ann", exercise=exercise, points=points, max=1.0, why="kind", who="me", made="2026-01-01")


def make(path: Path, students: int = 200) -> None:
    with Gradebook.open(path) as book:
        run = book.start_run("course", "hash", book.keep_seed(4711), "key", {})
        for number in range(students):
            exercise = ExerciseResult(name="t.e", score=1.0, max=2.0)
            result = SubmissionResult(submission=f"s{number}", score=1.0, max=2.0, exercises=(exercise,))
            book.record(run, result, "d" * 300, 0.1)
        book.override("course", override(1.0), "d")
        book.override("course", override(0.5), "d")
        book.override("course", override(None, "t.f"), "d", "7")
        given = Extension(student="ann", due="2026-11-07T23:59:59+00:00", why="ill", who="me", made="2026-01-01")
        book.extend("course", given)
        book.keep_late({"due": "2026-10-31"})


@pytest.mark.parametrize("damage", ["first page", "many pages", "cut short"])
def test_what_people_gave_is_recovered_from_a_damaged_gradebook(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "gradebook.sqlite"
    make(path)
    data = bytearray(path.read_bytes())
    if damage == "first page":
        data[:PAGE] = b"\xa5" * PAGE
    elif damage == "many pages":
        for at in range(len(data) // 2 // PAGE * PAGE, len(data) - 4 * PAGE, 2 * PAGE):
            data[at : at + PAGE] = b"\xa5" * PAGE
    else:
        del data[-3 * PAGE :]
    path.write_bytes(data)
    with Gradebook.open(path, keep_damaged_aside=True) as book:
        assert book.set_aside is not None and book.set_aside.read_bytes() == data
        if damage == "cut short":
            return  # What was on those pages is gone; that it opens at all is enough.
        assert book.recovered == 4
        assert (book.seed, book.late_given()) == (4711, {"due": "2026-10-31"})
        assert [(one.student, one.why) for one in book.extensions("course")] == [("ann", "ill")]
        book.record(
            book.start_run("course", "hash", 0, "key", {}),
            SubmissionResult(submission="ann", score=0.0, max=1.0),
            "d",
            0.1,
        )
        row = next(row for row in book.results() if row.result.submission == "ann")
        assert [(one.exercise, one.points) for one in row.overrides] == [("t.e", 0.5)]


def pages_with(path: Path, text: bytes) -> list[int]:
    """The numbers of the pages in which this text is, from 0."""
    data = path.read_bytes()
    return [at for at in range(len(data) // PAGE) if text in data[at * PAGE : (at + 1) * PAGE]]


@pytest.mark.parametrize("damaged", ["in the middle", "two with a good one between", "the last"])
def test_rows_on_both_sides_of_a_damaged_page_are_recovered(tmp_path: Path, damaged: str) -> None:
    path = tmp_path / "gradebook.sqlite"
    with Gradebook.open(path) as book:
        for number in range(80):
            student, why = f"s{number:03}", f"kindness {number} " + "x" * 400
            given = Override(student=student, exercise="t.e", points=0.5, max=1.0, why=why, who="me", made="2026-01-01")
            book.override("course", given, "d")
            book.extend("course", Extension(student=student, due="2026-11-07", why="ill", who="me", made="2026-01-01"))
    whole = pages_with(path, b"kindness")
    assert len(whole) > 6
    middle = len(whole) // 2
    hit = {"in the middle": [middle], "two with a good one between": [middle - 1, middle + 1], "the last": [-1]}[
        damaged
    ]
    data = bytearray(path.read_bytes())
    lost: set[int] = set()
    for page in (whole[one] for one in hit):
        lost |= {int(one) for one in re.findall(rb"kindness (\d+) ", data[page * PAGE : (page + 1) * PAGE])}
        data[page * PAGE : (page + 1) * PAGE] = b"\xa5" * PAGE
    path.write_bytes(data)
    with Gradebook.open(path, keep_damaged_aside=True) as book:
        assert lost and book.recovered == 160 - len(lost)
        kept = [one.student for one in book.extensions("course")]
    assert kept == [f"s{number:03}" for number in range(80)]
    with contextlib.closing(sqlite3.connect(path)) as db:
        students = [row[0] for row in db.execute("SELECT student FROM overrides ORDER BY id")]
    assert students == [f"s{number:03}" for number in range(80) if number not in lost]


def test_every_table_is_recovered_or_made_again_by_grading(tmp_path: Path) -> None:
    """A new table must be one of the two: what people have given cannot be made again."""
    made_again = {"courses", "submissions", "runs", "results", "reused", "works", "arrivals"}
    make(tmp_path / "gradebook.sqlite", 1)
    with contextlib.closing(sqlite3.connect(tmp_path / "gradebook.sqlite")) as db:
        tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert tables - made_again == set(recover(tmp_path / "gradebook.sqlite", lambda empty: None))


@pytest.mark.parametrize("content", [b"not a database" * 1000, b"", b"SQLite format 3\0" + b"\xa5" * 9000])
def test_from_what_is_no_gradebook_nothing_is_recovered(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "gradebook.sqlite").write_bytes(content)
    with Gradebook.open(tmp_path / "gradebook.sqlite", keep_damaged_aside=True) as book:
        assert book.recovered == 0 and book.seed is None


def closed(path: Path) -> None:
    """Nobody may write to the file and its folder."""
    path.chmod(0o444)
    path.parent.chmod(0o555)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    (tmp_path / "archive").mkdir()
    return tmp_path / "archive" / "gradebook.sqlite"


def test_a_read_only_gradebook_is_read_and_nothing_is_made_beside_it(archive: Path) -> None:
    make(archive, 3)
    closed(archive)
    before = archive.read_bytes()
    try:
        lines = list(status_lines(archive.parent, notes=True))
        assert any(line.startswith("run 1 ") for line in lines)
        with pytest.raises(UserError, match="readonly"):
            list(give_points(archive.parent, "s1", "t.e", "1", "why", "me"))
        assert os.listdir(archive.parent) == ["gradebook.sqlite"] and archive.read_bytes() == before
    finally:
        archive.parent.chmod(0o755)
