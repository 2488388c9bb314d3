"""`grader finish`: a page of what passes, with the course's pictures; and what `check` and `show` say of it."""

from __future__ import annotations

import datetime
import json
import re
import shutil
from pathlib import Path

import pytest
from command_here import run_here
from shared import OWN_COURSE

from grader.course import Course, CourseError, pictured_at_end
from grader.course.home import HIDDEN, Home
from grader.course.record import RECORD, Record, Tries
from grader.pictures import Lines, Picture
from grader.reports.html_finish import finish_page, write_finish_page
from grader.results import CheckResult, ExerciseResult, SubmissionResult, VerdictKind

SOLUTION = (OWN_COURSE / "solutions" / "vectors.py").read_text()
LINE = "a page of it to keep and to share: grader finish"
DAY = datetime.date(2026, 11, 3)


@pytest.fixture(scope="module")
def handed_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that `init` made, with the course and right answers in it."""
    folder = tmp_path_factory.mktemp("finish") / "kata of Ann"
    assert run_here("init", folder, "--course", OWN_COURSE).returncode == 0
    (folder / "vectors.py").write_text(SOLUTION)
    return folder


@pytest.mark.slow
def test_a_course_with_nothing_but_a_picture_has_a_page_of_it(handed_out: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(handed_out, tmp_path / "kata of Ann"))
    done = run_here("finish", cwd=folder)
    assert (done.returncode, done.stdout) == (0, "finish.html written: 2 of 2 exercises\n")
    text = (folder / "finish.html").read_text()
    assert "<h1>Finished</h1>" in text and "<figcaption>Forty vectors, before and after</figcaption><svg" in text
    assert not re.search(r"<(script|a|img|link)\b|https?://(?!www\.w3\.org)", text), "nothing from elsewhere"
    assert str(tmp_path) not in text and "Ann" not in text and "hardest" not in text and "go on" not in text


@pytest.mark.slow
def test_what_is_missing_is_said_with_the_exercise_that_it_needs(handed_out: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(handed_out, tmp_path / "kata"))
    broken = SOLUTION.replace("def normalize(", "def normalise(")
    (folder / "vectors.py").write_text(broken)
    nothing = run_here("finish", "--out", tmp_path / "out.html", cwd=folder)
    assert nothing.returncode == 4 and not (tmp_path / "out.html").exists()
    assert nothing.stderr == "error: nothing has passed yet, so there is nothing to show\n  see why: grader check\n"
    nowhere = folder / "vectors.py" / "out.html"
    (folder / "vectors.py").write_text(SOLUTION)
    assert run_here("finish", "--out", nowhere, cwd=folder).returncode == 4


@pytest.mark.slow
def test_check_and_show_end_with_the_line_once_everything_passes(handed_out: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(handed_out, tmp_path / "kata"))
    assert LINE not in run_here("show", cwd=folder).stdout, "cosine was not checked yet"
    assert LINE not in run_here("check", "normalize", cwd=folder).stdout
    assert run_here("check", cwd=folder).stdout.endswith(f"{LINE}\n")
    assert run_here("show", "vectors", cwd=folder).stdout.endswith(f"\n\n{LINE}\n")
    (folder / "vectors.py").write_text(SOLUTION + "\n\ndef cosine(a, b):\n    return a\n")
    assert LINE not in run_here("check", cwd=folder).stdout
    assert LINE not in run_here("show", "vectors", cwd=folder).stdout


@pytest.mark.slow
def test_check_counts_tries_unless_it_is_told_not_to(handed_out: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(handed_out, tmp_path / "kata"))
    (folder / HIDDEN / RECORD).unlink(missing_ok=True)
    for answer, options in (("x", ()), ("x * 2", ("--no-record",)), ("x * 3", ())):
        (folder / "vectors.py").write_text(f"def normalize(x):\n    return {answer}\n")
        assert run_here("check", *options, cwd=folder).returncode == 1
    assert {name: one.count for name, one in Record(Home(folder)).tries.items()} == {"vectors.normalize": 2}
    (folder / HIDDEN / RECORD).write_text("{")
    damaged = run_here("check", "--json", cwd=folder)
    assert json.loads(damaged.stdout) and "could not be read, so it begins anew" in damaged.stderr
    assert Record(Home(folder)).tries["vectors.normalize"].count == 1


# ---------------------------------------------------------------- the page, of made-up results


def part(name: str, verdict: VerdictKind, *pictures: Picture) -> ExerciseResult:
    score, most = (1.0 if verdict == "passed" else 0.0), (0.0 if verdict == "skipped" else 1.0)
    check = CheckResult(name="it", verdict=verdict)
    return ExerciseResult(name=name, score=score, max=most, checks=(check,), pictures=pictures)


def of_all(course: Course, *others: ExerciseResult) -> SubmissionResult:
    """All exercises of a course pass, but for these."""
    known = {one.name: one for one in others}
    exercises = tuple(known.get(one.full_name) or part(one.full_name, "passed") for one in course.exercises)
    return SubmissionResult(submission="Ann Lee", score=0.0, max=0.0, exercises=exercises)


SHIPPED = Course.load(None, complete=False)
MAP = Picture("The map", Lines(series={"a": [1, 2]}))


def test_the_shipped_course_shows_its_map_then_ranks_and_the_resumed_run() -> None:
    wanted = pictured_at_end(SHIPPED)
    assert wanted == ("spirals.decision_grid", "spirals.run_on_ranks", "spirals.run")


def test_a_picture_that_is_missing_has_a_reason_in_its_place(tmp_path: Path) -> None:
    broken = Picture("Broken", problem="your code raised OSError: /home/ann/data")
    result = of_all(
        SHIPPED,
        part("spirals.decision_grid", "passed", MAP),
        part("ddp.sharded_loader", "failed"),
        part("spirals.run_on_ranks", "blocked"),
        part("spirals.run", "passed", broken),
        part("devices.num_gpus", "skipped"),
    )
    page = finish_page(SHIPPED, result, pictured_at_end(SHIPPED), {})
    assert [one.missing for one in page.shown] == [
        "",
        "needs `ddp.sharded_loader`, which has not passed yet",
        "a picture could not be drawn: `grader show spirals.run` says why",
    ]
    assert page.skipped == ("devices.num_gpus",) and page.count == len(SHIPPED.exercises) - 1
    assert page.lacks[0] == "spirals.run_on_ranks: needs ddp.sharded_loader, which has not passed yet"
    assert page.missing == ["ddp.sharded_loader", "spirals.run_on_ranks"] and not page.is_complete
    write_finish_page(page, tmp_path / "out.html")
    text = (tmp_path / "out.html").read_text()
    assert "<h1>On the way</h1>" in text and "not yet: sharded_loader" in text
    assert not re.search(r"/home/|Ann", text), "neither a name nor a path, not even that of an exception"


def test_what_was_hardest_is_that_with_the_most_tries() -> None:
    tries = {
        "training.fit": Tries(DAY, DAY.replace(day=6), count=14, days=3),
        "tensor_ops.gram": Tries(DAY, DAY, count=1, passed=DAY),
        "spirals.run": Tries(DAY.replace(day=20), DAY.replace(day=24), count=22, days=4),
        "autograd.sgd_step": Tries(DAY, DAY, count=2),
        "of.another_version": Tries(DAY, DAY, count=99),
    }
    page = finish_page(SHIPPED, of_all(SHIPPED), (), tries)
    assert [(one.exercise.full_name, one.effort) for one in page.hardest] == [
        ("spirals.run", "22 tries on 4 days"),
        ("training.fit", "14 tries on 3 days"),
        ("autograd.sgd_step", "2 tries"),
    ]
    assert (page.tries, page.period) == ("39 tries", "3 Nov 2026 to 24 Nov 2026")
    assert page.is_complete and page.passed == page.count


def test_finish_pictures_names_exercises_with_pictures(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(OWN_COURSE, tmp_path / "course"))
    manifest = folder / "course.toml"
    text = manifest.read_text()
    assert pictured_at_end(Course.load(folder)) == ("vectors.normalize",), "without the key: the last one that has any"
    manifest.write_text(text.replace("[course]\n", '[course]\nfinish_pictures = ["vectors.cosine"]\n'))
    with pytest.raises(CourseError, match=r":5: finish_pictures: no exercise `vectors.cosine` has a picture"):
        Course.load(folder)
