"""Gradebook: a recorded result is there after the process was killed; a file that is not a gradebook is refused."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import weakref
from pathlib import Path

import msgspec
import pytest

from grader.errors import UserError
from grader.gradebook import Gradebook, records, selection_key
from grader.grading.class_report import report_class, write_jsonl
from grader.grading.settings import ClassSettings, GradingSettings
from grader.intake.submission import Submission
from grader.results import CheckResult, ExerciseResult, SubmissionResult, VerdictKind, from_json, to_json

KEY = selection_key([], {"limits": {"check_seconds": 10.0}})


def result(name: str, verdict: VerdictKind = "passed", score: float = 1.0) -> SubmissionResult:
    checks = (CheckResult(name="one", verdict=verdict, message="" if verdict == "passed" else "é\x1b[31m\n"),)
    exercise = ExerciseResult(name="t.e", score=score, max=1.0, checks=checks)
    return SubmissionResult(submission=name, score=score, max=1.0, exercises=(exercise,), sandbox=("seccomp",))


def start(book: Gradebook, course_hash: str = "hash", seed: int = 0, key: str = KEY) -> int:
    return book.start_run("course", course_hash, seed, key, {"torch": "2"})


def test_recorded_result_is_found_again_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "new" / "gradebook.sqlite"
    with Gradebook.open(path) as book:
        book.record(start(book), result("alice", "failed", 0.0), "d1", 0.5)
    with Gradebook.open(path) as book:
        assert book.lookup("alice", "d1", "hash", 0, KEY) == result("alice", "failed", 0.0)
        (row,) = book.results()
        assert (row.digest, row.seconds, row.reused) == ("d1", 0.5, False)


@pytest.mark.parametrize(
    "other",
    [
        ("bob", "d1", "hash", 0, KEY),
        ("alice", "d2", "hash", 0, KEY),
        ("alice", "d1", "other", 0, KEY),
        ("alice", "d1", "hash", 1, KEY),
        ("alice", "d1", "hash", 0, selection_key(["t.e"], {"limits": {"check_seconds": 10.0}})),
        ("alice", "d1", "hash", 0, selection_key([], {"limits": {"check_seconds": 20.0}})),
    ],
)
def test_other_name_work_course_seed_or_selection_is_another_result(
    tmp_path: Path, other: tuple[str, str, str, int, str]
) -> None:
    with Gradebook.open(tmp_path / "g") as book:
        book.record(start(book), result("alice"), "d1", 0.5)
        assert book.lookup(*other) is None


def test_a_result_is_on_disk_at_once_and_an_arrival_with_the_next_result(tmp_path: Path) -> None:
    with Gradebook.open(tmp_path / "g") as book:
        run = start(book)
        statements: list[str] = []
        book._db.set_trace_callback(statements.append)
        book.record_arrival(run, Submission("alice", {"t.py": b"x"}), "d1")
        assert [one for one in statements if "PRAGMA" in one] == ["PRAGMA synchronous = NORMAL"]
        book.record(run, result("alice"), "d1", 0.5)
        book.lookup("alice", "d1", "hash", 0, KEY, reuse_in=run)
        book.finish_run(run)
    order = [one.split()[-1] for one in statements if one.startswith(("PRAGMA", "COMMIT"))]
    assert order == ["NORMAL", "COMMIT", "FULL", "COMMIT", "NORMAL", "COMMIT", "FULL", "COMMIT"]


def test_grader_fault_is_kept_but_not_reused(tmp_path: Path) -> None:
    with Gradebook.open(tmp_path / "g") as book:
        book.record(start(book), result("alice", "error", 0.0), "d1", 0.5)
        assert book.lookup("alice", "d1", "hash", 0, KEY) is None
        assert len(list(book.results())) == 1


def test_run_lists_its_own_and_reused_results_by_name(tmp_path: Path) -> None:
    with Gradebook.open(tmp_path / "g") as book:
        first = start(book)
        book.record(first, result("zoe"), "d1", 0.5)
        second = start(book)
        book.record(second, result("bob"), "d2", 0.5)
        assert book.lookup("zoe", "d1", "hash", 0, KEY, reuse_in=second)
        assert [(row.result.submission, row.reused) for row in book.results()] == [("bob", False), ("zoe", True)]
        assert [row.result.submission for row in book.results(first)] == ["zoe"]


def test_grading_again_adds_and_the_newest_counts(tmp_path: Path) -> None:
    with Gradebook.open(tmp_path / "g") as book:
        book.record(start(book), result("alice"), "d1", 0.5)
        book.record(start(book), result("alice", "failed", 0.0), "d1", 0.5)
        assert book.lookup("alice", "d1", "hash", 0, KEY) == result("alice", "failed", 0.0)
        assert [row.result.score for row in book.results(1)] == [1.0]


def test_the_end_of_a_run_holds_one_row_of_a_class_at_a_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 5,000 submissions with 23 kB each it took 178 MB for lists of them, and takes 19 MB."""
    alive: weakref.WeakSet[Row] = weakref.WeakSet()
    most: list[int] = []
    with Gradebook.open(tmp_path / "gradebook.sqlite") as book:
        run = start(book)
        for number in range(40):
            book.record(run, result(f"s{number:02}"), f"d{number}", 0.1)
        book.finish_run(run)

        class Row(records.Row, frozen=True, weakref=True):
            def __post_init__(self) -> None:
                alive.add(self)
                most.append(len(alive))

        monkeypatch.setattr(records, "Row", Row)
        settings = ClassSettings(paths=(), out=tmp_path, jobs=1)
        assert report_class(book, run, settings, GradingSettings()) == 0
    assert len(most) == 80 and max(most) <= 3
    assert "40 submissions, mean 100.0%" in capsys.readouterr().out
    assert (tmp_path / "results.jsonl").read_text().count("\n") == 40


def test_killed_process_loses_nothing_that_was_recorded(tmp_path: Path) -> None:
    path = tmp_path / "g"
    code = f"""
import os, signal
from pathlib import Path
from grader.gradebook import Gradebook
from grader.results import SubmissionResult
book = Gradebook.open(Path({str(path)!r}))
run = book.start_run("course", "hash", 0, "key", {{}})
book.record(run, SubmissionResult(submission="alice", score=1.0, max=1.0), "d", 0.1)
os.kill(os.getpid(), signal.SIGKILL)
"""
    repo = Path(__file__).resolve().parent.parent.parent
    assert subprocess.run([sys.executable, "-c", code], cwd=repo, check=False).returncode == -9
    with Gradebook.open(path) as book:
        assert [row.result.submission for row in book.results()] == ["alice"]


def test_two_graders_write_one_gradebook(tmp_path: Path) -> None:
    with Gradebook.open(tmp_path / "g") as one, Gradebook.open(tmp_path / "g") as two:
        runs = start(one), start(two)
        one.record(runs[0], result("alice"), "d", 0.1)
        two.record(runs[1], result("alice"), "d", 0.1)
        assert len(list(one.results(runs[0]))) == len(list(one.results(runs[1]))) == 1


def test_damaged_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "g"
    path.write_bytes(b"not a database, but somebody's only copy" * 100)
    before = path.read_bytes()
    with pytest.raises(UserError, match="damaged") as caught:
        Gradebook.open(path)
    assert caught.value.fix and path.read_bytes() == before


@pytest.mark.parametrize("statement", ["PRAGMA user_version = 99", "CREATE TABLE somebody_elses (x)"])
def test_other_version_or_other_database_is_refused(tmp_path: Path, statement: str) -> None:
    connection = sqlite3.connect(tmp_path / "g")
    connection.execute(statement)
    connection.commit()
    connection.close()
    with pytest.raises(UserError, match="gradebook") as caught:
        Gradebook.open(tmp_path / "g")
    assert "--out" in (caught.value.fix or "")


def test_folder_that_cannot_be_made_is_an_error_for_the_user(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError):
        Gradebook.open(tmp_path / "file" / "g")


def test_jsonl_reads_back_and_replaces_in_one_step(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text("old")
    wanted = [result("alice"), result('b"o\nb', "crashed")]
    write_jsonl(iter(wanted), path)
    assert [from_json(line) for line in path.read_bytes().splitlines()] == wanted
    assert [file.name for file in tmp_path.iterdir()] == ["results.jsonl"]


@pytest.mark.parametrize("schema", ["0", "2", "5", '"1"'])
def test_a_result_of_another_schema_is_refused(schema: str) -> None:
    line = to_json(result("alice")).replace(b'"schema":1', f'"schema":{schema}'.encode())
    with pytest.raises(msgspec.ValidationError, match="schema"):
        from_json(line)


def test_jsonl_that_fails_half_way_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text("old")

    def broken() -> object:
        yield result("alice")
        raise RuntimeError("disk on fire")

    with pytest.raises(RuntimeError):
        write_jsonl(broken(), path)  # type: ignore[arg-type]
    assert path.read_text() == "old" and len(list(tmp_path.iterdir())) == 1
