"""Records of misconceptions that are kept on disk: the same names as without, less work, and no harm from bad files."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import msgspec
import pytest
from shared import OWN_COURSE, PATIENCE, WarmUp

from grader.border.messages import Digest, Exchange
from grader.grading.protocol import WorkerOptions
from grader.grading.worker_process import Worker
from grader.intake.submission import Submission
from grader.judge.check import Trace
from grader.judge.kept_records import KeptRecords, Records
from grader.results import SubmissionResult

EXCHANGES = (Exchange(b"request", b"reply"), Exchange(b"another", Digest(b"\0" * 32)))
FAILED, TOO_SLOW = Trace("failed", (EXCHANGES, ())), Trace("timeout", (EXCHANGES,))
ENDED = Trace("failed", (EXCHANGES,), "exit code 1")


def test_what_is_kept_is_found_again(tmp_path: Path) -> None:
    records = Records({"one": {"a": FAILED, "b": Trace("passed")}}, {"two": {"c": Trace("skipped")}})
    KeptRecords(tmp_path).write("t.e", records)
    assert KeptRecords(tmp_path).read("t.e") == records
    assert KeptRecords(tmp_path).read("t.f") == Records()


@pytest.mark.parametrize("trace", [TOO_SLOW, ENDED, Trace("crashed"), Trace("error")])
def test_what_a_busy_machine_may_have_made_is_not_kept(tmp_path: Path, trace: Trace) -> None:
    records = Records({"one": {"a": FAILED, "b": trace}, "two": {"a": FAILED}}, {"one": {"b": trace}})
    KeptRecords(tmp_path).write("t.e", records)
    assert KeptRecords(tmp_path).read("t.e") == Records({"two": {"a": FAILED}})


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no records",
        zlib.compress(b"no records"),
        zlib.compress(msgspec.msgpack.encode({"in_order": {"one": {"a": 1}}})),
        zlib.compress(msgspec.msgpack.encode(Records({"one": {"a": FAILED}})))[:-5],
        zlib.compress(bytes(1 << 26)),
    ],
)
def test_a_file_that_is_no_record_counts_as_not_there(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t.e.records").write_bytes(content)
    assert KeptRecords(tmp_path).read("t.e") == Records()
    KeptRecords(tmp_path).write("t.e", Records({"one": {"a": FAILED}}))
    assert KeptRecords(tmp_path).read("t.e") == Records({"one": {"a": FAILED}})


def test_nothing_is_kept_where_that_is_not_wanted_or_cannot_be(tmp_path: Path) -> None:
    for kept in (KeptRecords(None), KeptRecords(tmp_path / "gone"), KeptRecords(Path(os.devnull))):
        kept.write("t.e", Records({"one": {"a": FAILED}}))
        assert kept.read("t.e") == Records()
    too_large = Trace("failed", ((Exchange(os.urandom(1 << 20), b""),),))
    KeptRecords(tmp_path).write("t.e", Records({"one": dict.fromkeys("abcdef", too_large)}))
    assert not list(tmp_path.iterdir())


SOLUTION = (OWN_COURSE / "solutions" / "vectors.py").read_text()
WRONG = SOLUTION.replace("(normalize(a) * normalize(b))", "(a * b)")


def graded(course: Path, records: Path, *solutions: str) -> list[SubmissionResult]:
    """The results of a fresh worker that gets these one after the other."""
    worker = Worker()
    try:
        worker.configure(WorkerOptions(course=str(course), records=str(records)))
        works = [Submission("somebody", {"vectors.py": text.encode()}) for text in solutions]
        results = [worker.grade(work, PATIENCE) for work in works]
    finally:
        worker.end()
    assert all(isinstance(result, SubmissionResult) for result in results), results
    return results  # type: ignore[return-value]


@pytest.fixture
def without(warm: WarmUp) -> SubmissionResult:
    """What the wrong answer gets where nothing is kept."""
    return warm(OWN_COURSE).grade(vectors=WRONG)


@pytest.mark.slow
def test_names_are_the_same_and_a_later_worker_need_not_run_the_misconceptions(
    own_course: Path, tmp_path: Path, without: SubmissionResult
) -> None:
    records = tmp_path / "records"
    records.mkdir()
    assert [one.misconception for one in without.exercises] == [None, "plain_dot_product"]
    assert graded(own_course, records, WRONG) == [without]
    (file,) = records.iterdir()
    assert file.name == "vectors.cosine.records"
    content = file.read_bytes()

    # From now on they cannot be imported.
    misconceptions = own_course / "solutions" / "misconceptions" / "vectors.py"
    misconceptions.write_text(misconceptions.read_text().replace("import torch\n", "import torch\n1 / 0\n", 1))
    assert graded(own_course, records, WRONG) == [without]
    assert file.read_bytes() == content


@pytest.mark.slow
def test_a_damaged_file_changes_nothing_and_is_replaced_and_no_submission_can_look_at_it(
    tmp_path: Path, without: SubmissionResult
) -> None:
    (tmp_path / "vectors.cosine.records").write_bytes(b"no records")
    looks = f"    print(__import__('os').listdir({str(tmp_path)!r}))\n    return (a * b).sum(dim=1)\n"
    spying = SOLUTION.replace("    return (normalize(a)", looks + "    return (normalize(a)")
    wrong, result = graded(OWN_COURSE, tmp_path, WRONG, spying)
    assert wrong == without
    assert KeptRecords(tmp_path).read("vectors.cosine") != Records()
    messages = "".join(check.message for exercise in result.exercises for check in exercise.checks)
    assert result.score == 1 and ("FileNotFoundError: " in messages or "PermissionError: " in messages)
    assert "records'" not in messages.replace(str(tmp_path), "")
