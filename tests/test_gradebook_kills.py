"""Kill -9 at any moment and run again: nothing lost, nothing graded twice, the same result in the end.

The processes are real, and all of `grader grade` runs in them but for the workers: a stand-in grades at once, so that
the kills meet the reading, recording and reporting, and there is time for thirty of them.
"""

from __future__ import annotations

import contextlib
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from make_class_zips import SIZE, canvas_zip

REPO = Path(__file__).resolve().parent.parent
KILLS = 30
IN_FLIGHT = 4  # submissions that two workers have at most
PROGRAM = """
import os, sys
from pathlib import Path
from grader import class_grading
from grader.grading import Settings
from grader.intake.submission import digest
from grader.isolation.protocol import DEFAULT_LIMITS
from grader.pool import Crew, Graded
from grader.results import CheckResult, ExerciseResult, SubmissionResult

archive, out, log = map(Path, sys.argv[1:4])

class Quick(Crew):
    def grade(self, source):
        submission = source.read()
        content = digest(submission)
        with open(log, "ab", buffering=0) as stream:
            stream.write(f"{submission.name}\\n".encode())
        score = float(int(content, 16) % 3)
        checks = (CheckResult(name="c", verdict="passed"),)
        exercise = ExerciseResult(name="vectors.cosine", score=score, max=2.0, checks=checks)
        result = SubmissionResult(submission=source.name, score=score, max=2.0, exercises=(exercise,))
        return Graded(result, content, 0.0)

class_grading.Crew = Quick
told = class_grading.ClassSettings(paths=(archive,), out=out, jobs=2)
settings = Settings(course=Path("examples/own_course"), limits=DEFAULT_LIMITS)
sys.exit(class_grading.grade_class(told, settings))
"""


@contextlib.contextmanager
def grading(archive: Path, out: Path) -> Iterator[subprocess.Popen[bytes]]:
    arguments = [sys.executable, "-c", PROGRAM, str(archive), str(out), str(out.with_suffix(".log"))]
    with subprocess.Popen(arguments, cwd=REPO, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def recorded(out: Path) -> dict[tuple[str, str], str]:
    """Every result there is; no submission has two."""
    path = out / "gradebook.sqlite"
    if not path.exists():
        return {}
    with contextlib.closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        if not db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'results'").fetchone()[0]:
            return {}
        rows = db.execute(
            "SELECT name, digest, result FROM results JOIN submissions ON submissions.id = results.submission"
        ).fetchall()
    found = {(name, digest): result for name, digest, result in rows}
    assert len(found) == len(rows), "graded twice"
    return found


def graded(out: Path) -> int:
    """How often a submission was graded for that gradebook, recorded or not."""
    log = out.with_suffix(".log")
    return len(log.read_text().splitlines()) if log.exists() else 0


@pytest.mark.slow
def test_killed_at_thirty_random_moments_and_run_again(tmp_path: Path) -> None:
    archive = canvas_zip(tmp_path / "canvas.zip")
    began = time.monotonic()
    with grading(archive, tmp_path / "calm") as process:
        assert process.wait(120) == 0, process.communicate()
    whole = time.monotonic() - began
    calm = recorded(tmp_path / "calm")
    assert len(calm) == SIZE

    moments = random.Random(0)
    out = tmp_path / "killed"
    before: dict[tuple[str, str], str] = {}
    killed = kills_here = 0
    for _ in range(5 * KILLS):
        began = time.monotonic()
        with grading(archive, out) as process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(moments.uniform(0.3, 1.0) * whole)
            process.kill()
            died = process.wait(30) == -signal.SIGKILL
        killed += died
        if not died:
            whole = time.monotonic() - began  # It was faster than the first one: the machine is shared.
        now = recorded(out)
        assert before.items() <= now.items(), "a result was lost"
        kills_here += died
        assert graded(out) <= len(now) + IN_FLIGHT * kills_here, "graded again what was recorded"
        before = now
        if len(now) == SIZE:  # All is graded: begin anew, so that every kill meets work.
            out = out.with_name(f"{out.name}_")
            before, kills_here = {}, 0
        if killed == KILLS:
            break
    assert killed == KILLS

    with grading(archive, out) as process:
        assert process.wait(120) == 0, process.communicate()
    assert recorded(out) == calm
    assert (out / "results.jsonl").read_bytes() == (tmp_path / "calm" / "results.jsonl").read_bytes()


@pytest.mark.slow
def test_two_graders_on_one_gradebook_both_finish(tmp_path: Path) -> None:
    archive = canvas_zip(tmp_path / "canvas.zip")
    out = tmp_path / "out"
    with grading(archive, out) as one, grading(archive, out) as two:
        assert (one.wait(120), two.wait(120)) == (0, 0)
    with contextlib.closing(sqlite3.connect(out / "gradebook.sqlite")) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        runs = db.execute("SELECT count(*) FROM runs WHERE finished <> ''").fetchone()
        of_each = db.execute(
            "SELECT run, count(*) FROM (SELECT run, submission FROM results UNION SELECT reused.run, submission"
            " FROM reused JOIN results ON results.id = reused.result) GROUP BY run"
        ).fetchall()
    assert runs == (2,) and of_each == [(1, SIZE), (2, SIZE)]
