"""Kill -9 at any moment and run again: nothing lost, nothing graded twice, the same result in the end.

What is killed is `grader grade` itself, with its workers and sandbox; and, more often, one whose workers are a
stand-in that grades at once: most of its time is the gradebook's. With it two graders meet often on one gradebook, too.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from make_class_zips import SIZE, canvas_zip
from shared import OWN_COURSE, REPO

from grader.gradebook import Gradebook

SMALL = 6
SECONDS = 1000
"""How long a run may take: a limit for what never ends."""
PROGRAM = """
import os, sys
from pathlib import Path
from grader.course import Course
from grader.grading.graders import Graded
from grader.grading.local_workers import LocalWorkers
from grader.grading.many_submissions import grade_class
from grader.grading.settings import ClassSettings, GradingSettings
from grader.intake.submission import digest
from grader.results import CheckResult, ExerciseResult, SubmissionResult

archive, out = map(Path, sys.argv[1:3])

def events(workers, submission):
    content = digest(submission)
    score = float(int(content, 16) % 3)
    checks = (CheckResult(name="c", verdict="passed"),)
    exercise = ExerciseResult(name="vectors.normalize", score=score, max=2.0, checks=checks)
    result = SubmissionResult(submission=submission.name, score=score, max=2.0, exercises=(exercise,))
    yield Graded(result, content, 0.0)

LocalWorkers.events = events
roster = archive.parent / "roster.csv"
class_settings = ClassSettings(paths=(archive,), out=out, jobs=2, roster=roster if roster.is_file() else None)
sys.exit(grade_class(Course.load(Path("examples/own_course")), class_settings, GradingSettings()))
"""


def real(work: Path, out: Path) -> list[str]:
    arguments = ["grade", str(work), "--course", str(OWN_COURSE), "--out", str(out), "--jobs", "1", "--seed", "0"]
    return [sys.executable, "-m", "grader", *arguments]


def quick(archive: Path, out: Path) -> list[str]:
    return [sys.executable, "-c", PROGRAM, str(archive), str(out)]


@contextlib.contextmanager
def running(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    environment = {**os.environ, "PYTHONPATH": str(REPO)}
    with subprocess.Popen(
        command, cwd=REPO, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
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


def wait_for_another_result(process: subprocess.Popen[bytes], out: Path, before: dict[tuple[str, str], str]) -> None:
    """Returns once there is a result more than `before`, or the process has ended.

    Most of a run's time is its start: moments drawn over the whole run alone seldom meet the grading.
    """
    while process.poll() is None and recorded(out).keys() <= before.keys():
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.01)


@pytest.fixture
def small_class(tmp_path: Path) -> Path:
    right, stub = ((OWN_COURSE / part / "vectors.py").read_text() for part in ("solutions", "exercises"))
    folder = tmp_path / "class"
    folder.mkdir()
    for number in range(SMALL):
        (folder / f"s{number:02}.py").write_text((right if number % 3 else stub) + f"\n# {number}\n")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(("command", "kills", "exit_code"), [(real, 1, 1), (quick, 16, 0)])
def test_killed_at_random_moments_and_run_again(
    small_class: Path, tmp_path: Path, command: Callable[[Path, Path], list[str]], kills: int, exit_code: int
) -> None:
    began = time.monotonic()
    with running(command(small_class, tmp_path / "calm")) as process:
        assert process.wait(SECONDS) == exit_code, process.communicate()
    whole = time.monotonic() - began
    calm = recorded(tmp_path / "calm")
    assert len(calm) == SMALL

    moments = random.Random(0)
    out = tmp_path / "killed"
    before: dict[tuple[str, str], str] = {}
    killed = on_the_way = 0
    for attempt in range(100 * kills):  # a limit for what never ends
        began = time.monotonic()
        with running(command(small_class, out)) as process:
            if attempt % 2 == 0:
                wait_for_another_result(process, out, before)
                moment = moments.uniform(0.0, 0.05)
            else:
                moment = moments.uniform(0.0, 1.0) * whole
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(moment)
            process.kill()
            died = process.wait(SECONDS) == -signal.SIGKILL
        killed += died
        if not died:
            whole = min(whole, time.monotonic() - began)  # Faster than the first one: the machine is shared.
        now = recorded(out)
        assert before.items() <= now.items(), "a result was lost"
        on_the_way += died and before != now
        before = now
        if len(now) == SMALL:  # All is graded: begin anew, so that every kill meets work.
            assert now == calm
            out, before = out.with_name(f"{out.name}_"), {}
        if killed >= kills and on_the_way:
            break
    assert killed >= kills and on_the_way > 0

    with running(command(small_class, out)) as process:
        assert process.wait(SECONDS) == exit_code, process.communicate()
    assert recorded(out) == calm
    assert (out / "results.jsonl").read_bytes() == (tmp_path / "calm" / "results.jsonl").read_bytes()


@pytest.mark.slow
def test_two_graders_on_one_gradebook_both_finish(tmp_path: Path) -> None:
    archive = canvas_zip(tmp_path / "canvas.zip")
    out = tmp_path / "out"
    with running(quick(archive, out)) as one, running(quick(archive, out)) as two:
        assert (one.wait(SECONDS), two.wait(SECONDS)) == (0, 0)
    with contextlib.closing(sqlite3.connect(out / "gradebook.sqlite")) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        runs = db.execute("SELECT count(*) FROM runs WHERE finished <> ''").fetchone()
        of_each = db.execute(
            "SELECT run, count(*) FROM (SELECT run, submission FROM results UNION SELECT reused.run, submission"
            " FROM reused JOIN results ON results.id = reused.result) GROUP BY run"
        ).fetchall()
    assert runs == (2,) and of_each == [(1, SIZE), (2, SIZE)]


@pytest.mark.slow
def test_groups_and_resubmissions_have_the_same_marks_whatever_was_killed(small_class: Path, tmp_path: Path) -> None:
    groups = "id,name,group\ns00,Ann,Rho\ns01,Bob,Rho\ns02,Cy,Tau\ns90,Di,Tau\ns03,Ed,\ns91,Flo,Psi\n"
    (tmp_path / "roster.csv").write_text(groups)
    (small_class / "s01.py").write_bytes((small_class / "s00.py").read_bytes())
    calm, out = tmp_path / "calm", tmp_path / "killed"

    def graded(kill: bool) -> None:
        before = recorded(out)
        if kill:
            with running(quick(small_class, out)) as process:
                wait_for_another_result(process, out, before)
        for place in (calm, out):
            with running(quick(small_class, place)) as process:
                assert process.wait(SECONDS) == 0, process.communicate()

    graded(kill=True)
    assert marks(out) == marks(calm) and {"Ann", "Bob", "Cy", "Di"} <= marks(out).keys()
    assert marks(out)["Di"] == marks(out)["Cy"] and marks(out)["Di"][1] == "Tau" and "Flo" not in marks(out)
    for name in ("s01.py", "s02.py"):  # the group's work differs now, and that of the other group came once more
        (small_class / name).write_text("# once more\n" + (small_class / name).read_text())
    graded(kill=True)
    assert marks(out) == marks(calm)
    assert "differing" in marks(out)["Ann"][2] == marks(out)["Bob"][2]


def marks(out: Path) -> dict[str, tuple[float, str, str]]:
    """By student, the points, the group, and whether its work differs."""
    with Gradebook.open_existing(out) as book:
        return {row.result.submission: (row.final, row.group, row.differing) for row in book.results()}
