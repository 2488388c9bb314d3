"""A student's folder over a term: assignments are handed out one after another, and no work is lost."""

from __future__ import annotations

import datetime
import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from command_here import run_here
from shared import OWN_COURSE, TERM_COURSE

from grader.cli.options import complete_name, split_targets
from grader.course import Course
from grader.course.handout import init
from grader.course.home import Home, LastCheck, Origin
from grader.reports import where

NOW = datetime.datetime(2026, 11, 3, 12, 0)
TODAY = NOW.date()
SOLUTIONS = TERM_COURSE / "solutions"
WEEKS = {"week1": "samples", "week2": "lines", "week3": "descent"}


class Clock(datetime.datetime):
    """It is always `NOW`, also where tests run at midnight."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
        return NOW.astimezone(tz) if tz else NOW


@pytest.fixture(autouse=True)
def at_noon(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(datetime=Clock, date=datetime.date, timezone=datetime.timezone)
    monkeypatch.setattr(where, "datetime", clock)


def day(number: int) -> str:
    return (TODAY + datetime.timedelta(days=number)).isoformat()


def words(number: int) -> str:
    """How the end of a day is said, so many days from today."""
    date = TODAY + datetime.timedelta(days=number)
    year = "" if date.year == TODAY.year else f" {date.year}"
    said = f"due {date:%a} {date.day} {date:%b}{year} 23:59"
    return f"was {said}" if number < 0 else f"{said}, in {number} days"


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """The course of the examples: week 1 was due, week 2 is at hand, week 3 follows."""
    folder = Path(shutil.copytree(TERM_COURSE, tmp_path / "term", ignore=shutil.ignore_patterns("__pycache__")))
    manifest = folder / "course.toml"
    text = manifest.read_text()
    for old, number in (("2026-10-02", -4), ("2026-10-09", 3), ('"2026-10-16T18:00"', 10), ("2026-10-19", 12)):
        assert old in text
        text = text.replace(old, day(number))
    manifest.write_text(text)
    return folder


@pytest.fixture
def week1(course: Path, tmp_path: Path) -> Path:
    """A folder that was begun with week 1."""
    done = run_here("init", "kata", "--course", course, "--assignment", "week1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return tmp_path / "kata"


def stub(topic: str) -> bytes:
    return (TERM_COURSE / "exercises" / f"{topic}.py").read_bytes()


def modules(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir() if file.suffix in (".py", ".ipynb"))


def test_an_assignment_alone_is_handed_out_and_remembered(week1: Path) -> None:
    assert modules(week1) == ["samples.py"] and (week1 / "samples.py").read_bytes() == stub("samples")
    home = Home.find(week1)
    assert home is not None and home.origin == Origin(has_course=True, assignments=("week1",))
    assert home.base("samples") == stub("samples") and home.base("lines") is None
    readme = (week1 / "README.md").read_text()
    assert "`samples.py`" in readme and "lines.py" not in readme


def test_later_assignments_go_into_the_same_folder_and_work_stays(week1: Path) -> None:
    (week1 / "samples.py").write_text("mine\n")
    more = run_here("init", "--assignment", "week2", cwd=week1)
    assert (more.returncode, more.stdout) == (0, ".: 2 files written\nnext: grader\n")
    assert modules(week1) == ["lines.py", "samples.py"] and (week1 / "lines.py").read_bytes() == stub("lines")
    assert "`lines.py`" in (week1 / "README.md").read_text()
    (week1 / "lines.py").write_text("mine too\n")
    (week1 / "README.md").write_text("my notes\n")
    for name in ("week1", "week2"):
        again = run_here("init", "--assignment", name, cwd=week1)
        assert (again.returncode, again.stdout) == (0, ".: everything is there already\nnext: grader\n")
    last = run_here("init", week1, "--assignment", "week3", cwd=week1.parent)
    assert last.returncode == 0 and modules(week1) == ["descent.py", "lines.py", "samples.py"]
    texts = [(week1 / name).read_text() for name in ("samples.py", "lines.py", "README.md")]
    assert texts == ["mine\n", "mine too\n", "my notes\n"] and not list(week1.glob("*.bak*"))
    home = Home.find(week1)
    assert home is not None and home.origin.assignments == ("week1", "week2", "week3")
    assert home.base("samples") == stub("samples")


def test_a_file_of_that_name_that_was_not_handed_out_is_never_replaced(week1: Path) -> None:
    (week1 / "lines.py").write_text("notes of mine\n")
    refused = run_here("init", "--assignment", "week2", cwd=week1)
    assert refused.returncode == 4 and "already has other versions of: lines.py" in refused.stderr
    assert (week1 / "lines.py").read_text() == "notes of mine\n"
    forced = run_here("init", "--assignment", "week2", "--force", cwd=week1)
    assert forced.returncode == 0 and (week1 / "lines.py.bak").read_text() == "notes of mine\n"


def test_force_begins_one_assignment_again_and_leaves_the_others_alone(week1: Path) -> None:
    assert run_here("init", "--assignment", "week2", cwd=week1).returncode == 0
    for name in ("samples.py", "lines.py"):
        (week1 / name).write_text("mine\n")
    assert run_here("init", "--assignment", "week2", "--force", cwd=week1).returncode == 0
    assert (week1 / "lines.py").read_bytes() == stub("lines") and (week1 / "lines.py.bak").read_text() == "mine\n"
    assert (week1 / "samples.py").read_text() == "mine\n"
    home = Home.find(week1)
    assert home is not None and home.origin.assignments == ("week1", "week2")


def test_the_rest_of_the_course_can_follow_at_once(week1: Path, course: Path) -> None:
    (week1 / "samples.py").write_text("mine\n")
    done = run_here("init", week1, "--course", course, cwd=week1.parent)
    assert done.returncode == 0, done.stderr
    assert modules(week1) == ["descent.py", "lines.py", "samples.py"]
    assert (week1 / "samples.py").read_text() == "mine\n"
    home = Home.find(week1)
    assert home is not None and home.origin.assignments == ()
    assert run_here("init", "--assignment", "week2", cwd=week1).stdout.startswith(".: everything is there already")
    home = Home.find(week1)
    assert home is not None and home.origin.assignments == ()


def test_another_folder_for_the_next_assignment_is_of_the_same_course(week1: Path) -> None:
    assert run_here("init", "../other", "--assignment", "week2", cwd=week1).returncode == 0
    assert modules(week1.parent / "other") == ["lines.py"]


def test_an_update_is_about_the_assignments_that_are_there(week1: Path, course: Path) -> None:
    for topic in ("samples", "lines"):
        file = course / "exercises" / f"{topic}.py"
        file.write_text(file.read_text() + '\n\ndef more():\n    """New."""\n    raise NotImplementedError\n')
    done = run_here("init", week1, "--update", "--course", course, cwd=week1.parent)
    assert (done.returncode, done.stdout) == (0, "samples.py: new: more\n")
    assert modules(week1) == ["samples.py"]
    home = Home.find(week1)
    assert home is not None and home.origin.assignments == ("week1",)
    both = run_here("init", "--update", "--assignment", "week2", cwd=week1)
    assert both.returncode == 4 and "first: grader init --assignment week2" in both.stderr


def test_a_later_version_of_the_course_leaves_the_first_stub_of_older_work(week1: Path, course: Path) -> None:
    file = course / "exercises" / "samples.py"
    (week1 / "samples.py").write_bytes(stub("samples").replace(b'raise NotImplementedError("write `mean` here")', b"1"))
    file.write_text(file.read_text().replace("The mean of the numbers.", "The mean of all numbers."))
    more = run_here("init", week1, "--assignment", "week2", "--course", course, cwd=week1.parent)
    assert more.returncode == 0 and "changed since" not in more.stdout
    assert Home(week1).base("samples") == stub("samples")  # so that an update knows which words are the student's
    updated = run_here("init", "--update", cwd=week1)
    assert updated.stdout == "samples.py: new docstring: mean\n"


def test_new_exercises_in_a_file_that_is_there_already_are_announced(week1: Path, course: Path) -> None:
    manifest, file = course / "course.toml", course / "exercises" / "samples.py"
    spread = '[[topics.exercises]]\nname = "spread"\npoints = 1\n\n[[topics]]\nname = "lines"'
    text = manifest.read_text().replace('[[topics]]\nname = "lines"', spread)
    text = text.replace('exercises = ["samples"]', 'exercises = ["mean", "centered"]')
    manifest.write_text(text.replace('exercises = ["lines"]', 'exercises = ["lines", "spread"]'))
    file.write_text(file.read_text() + '\n\ndef spread(x):\n    """New."""\n    raise NotImplementedError\n')
    checks = course / "checks" / "test_samples.py"
    added = '\n\n@exercise("samples.spread")\ndef test_spread(submission: Submission) -> None:\n    """Is 0."""\n'
    checks.write_text(checks.read_text() + added + "    assert_close(submission.spread(0), 0)\n")
    (week1 / "samples.py").write_bytes(stub("samples") + b"\n# mine\n")
    done = run_here("init", week1, "--assignment", "week2", "--course", course, cwd=week1.parent)
    assert "changed since you began with it: samples; get what is new: grader init --update" in done.stdout
    assert run_here("init", "--update", cwd=week1).stdout == "samples.py: new: spread\n"
    assert "# mine" in (week1 / "samples.py").read_text() and "def spread" in (week1 / "samples.py").read_text()


def test_a_file_that_was_not_handed_out_yet_is_not_missing(week1: Path) -> None:
    done = run_here("reset", "lines.loss", cwd=week1)
    assert done.returncode == 4 and "get it with: grader init --assignment week2" in done.stderr
    (week1 / "samples.py").unlink()
    lost = run_here("reset", "samples.mean", cwd=week1)
    assert "bring the file back: grader init --update" in lost.stderr


def test_notebooks_of_one_assignment_and_more_of_them_later(course: Path, tmp_path: Path) -> None:
    done = run_here("init", "kata", "--course", course, "--assignment", "week1", "--notebooks", cwd=tmp_path)
    assert done.stdout.endswith("next: open samples.ipynb in kata\n")
    work = tmp_path / "kata" / "samples.ipynb"
    work.write_text(work.read_text().replace("raise NotImplementedError", "return 1 #"))
    before = work.read_text()
    assert run_here("init", "--assignment", "week2", cwd=tmp_path / "kata").returncode == 0
    assert modules(tmp_path / "kata") == ["lines.ipynb", "samples.ipynb"] and work.read_text() == before


def test_what_an_assignment_needs_of_another_one_is_handed_out_with_it(course: Path, tmp_path: Path) -> None:
    manifest = course / "course.toml"
    manifest.write_text(manifest.read_text().replace('needs = ["step"]', 'needs = ["step", "lines.loss"]'))
    init(Course.load(course), tmp_path / "kata", Origin(has_course=True), assignment="week3")
    assert modules(tmp_path / "kata") == ["descent.py", "lines.py"]


def test_an_unknown_assignment_is_refused(course: Path, tmp_path: Path) -> None:
    done = run_here("init", "kata", "--course", course, "--assignment", "week4", cwd=tmp_path)
    assert done.returncode == 4 and "no assignment `week4`" in done.stderr and "week1, week2, week3" in done.stderr
    none = run_here("init", "kata", "--course", OWN_COURSE, "--assignment", "week1", cwd=tmp_path)
    assert none.returncode == 4 and "this course declares none" in none.stderr
    assert not (tmp_path / "kata").exists()


def test_where_you_are_list_next_and_hint_say_when_it_is_due(week1: Path) -> None:
    alone = run_here(cwd=week1).stdout.splitlines()
    assert alone[2:7] == [
        f"week1  Samples  ({words(-4)})",
        f"  samples  {'░' * 20}      0/3",
        "",
        f"week2  Lines  ({words(3)}): not here yet, get it with: grader init --assignment week2",
        f"week3  Fitting a line  ({words(10)}): not here yet, get it with: grader init --assignment week3",
    ]
    assert run_here("next", cwd=week1).stdout == f"samples.mean  samples.py:7  (week1, {words(-4)})\n"
    assert run_here("init", "--assignment", "week2", cwd=week1).returncode == 0
    both = run_here(cwd=week1).stdout.splitlines()
    assert [line for line in both if line.startswith("week")][:2] == [
        f"week2  Lines  ({words(3)})",
        f"week1  Samples  ({words(-4)})",
    ]
    assert run_here("next", cwd=week1).stdout == f"lines.heights  lines.py:9  (week2, {words(3)})\n"
    listed = run_here("list", cwd=week1).stdout.splitlines()
    assert listed[:3] == ["Straight lines: 6 points", "", f"week2  Lines  ({words(3)})"]
    assert not any("descent" in line for line in listed)
    named = run_here("list", "week3", cwd=week1).stdout.splitlines()
    assert named[0] == f"week3  Fitting a line  ({words(10)})" and named[2].startswith("  descent.step ")
    assert run_here("hint", cwd=week1).stdout.startswith(f"lines.heights (week2, {words(3)}):\nA line is")
    of_one = run_here("hint", "samples.mean", cwd=week1).stdout
    assert of_one.startswith(f"samples.mean (week1, {words(-4)}):\nAdd the numbers up")


def test_nothing_is_said_of_assignments_where_there_are_none(tmp_path: Path) -> None:
    assert run_here("init", "kata", "--course", OWN_COURSE, cwd=tmp_path).returncode == 0
    kata = tmp_path / "kata"
    assert run_here("next", cwd=kata).stdout == "vectors.normalize  vectors.py:10\n"
    assert run_here("hint", "cosine", cwd=kata).stdout.startswith("The cosine of two vectors")
    assert json.loads((kata / ".torchkata" / "folder.json").read_text())["assignments"] == []


def test_a_name_is_an_assignment_unless_a_folder_with_work_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names, topics = ("week1",), ("samples",)
    assert split_targets(["week1"], None, topics, names) == (Path(), ("week1",))
    (tmp_path / "week1").mkdir()
    assert split_targets(["week1"], None, topics, names) == (Path(), ("week1",))
    (tmp_path / "week1" / "samples.ipynb").write_text("{}")
    assert split_targets(["week1"], None, topics, names) == (Path("week1"), ())
    assert split_targets(["week1/"], None, topics, names) == (Path("week1"), ())


def test_names_of_assignments_are_completed(week1: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(week1)
    assert complete_name("week") == ["week1", "week2", "week3"]


@pytest.mark.slow
def test_check_takes_what_was_handed_out_or_the_assignment_that_is_named(week1: Path) -> None:
    (week1 / "samples.py").write_bytes((SOLUTIONS / "samples.py").read_bytes())
    alone = run_here("check", cwd=week1)
    assert alone.returncode == 0, alone.stdout + alone.stderr
    assert alone.stdout.splitlines()[-2:] == ["3/3 points, 100.0%", f"week1: 3/3 points, {words(-4)}"]
    assert "You have finished" not in alone.stdout and "lines" not in alone.stdout
    seen = json.loads(run_here("check", "--json", cwd=week1).stdout)
    assert [one["name"] for one in seen["exercises"]] == ["samples.mean", "samples.centered"]

    assert run_here("init", "--assignment", "week2", cwd=week1).returncode == 0
    lines = (SOLUTIONS / "lines.py").read_text().replace(".square()", "")
    (week1 / "lines.py").write_text(lines)
    named = run_here("check", "week1", cwd=week1)
    assert named.returncode == 0 and named.stdout.splitlines()[-2:] == [
        f"week1: 3/3 points, {words(-4)}",
        "next: lines.heights  lines.py:9",
    ]
    both = run_here("check", cwd=week1)
    assert both.returncode == 1 and re.search(r"^✗ lines.loss  lines.py:\d+$", both.stdout, re.MULTILINE)
    assert both.stdout.splitlines()[-4:-1] == [
        "4/6 points, 66.7%",
        f"week2: 1/3 points, {words(3)}",
        f"week1: 3/3 points, {words(-4)}",
    ]
    one = run_here("check", "heights", cwd=week1)
    assert f"week2: {words(3)}" in one.stdout.splitlines()
    shutil.copy(SOLUTIONS / "descent.py", week1)  # not handed out, and there
    assert f"week3: 5/5 points, {words(10)}" in run_here("check", "week3", cwd=week1).stdout.splitlines()


@pytest.mark.parametrize("command", ["check", "watch"])
def test_what_is_not_there_yet_is_not_checked(week1: Path, command: str) -> None:
    for name in ("week3", "descent.fit"):
        done = run_here(command, name, cwd=week1)
        assert done.returncode == 4 and "descent.py is not in this folder yet" in done.stderr
        assert "get it with: grader init --assignment week3" in done.stderr
    unknown = run_here(command, "week9", cwd=week1)
    assert unknown.returncode == 4 and "unknown assignment, topic or exercise `week9`" in unknown.stderr


@pytest.mark.slow
def test_a_folder_of_a_whole_term_is_finished_with_its_last_exercise(course: Path, tmp_path: Path) -> None:
    for number, (name, topic) in enumerate(WEEKS.items()):
        place = ["kata", "--course", course] if number == 0 else ["kata"]
        assert run_here("init", *place, "--assignment", name, cwd=tmp_path).returncode == 0
        (tmp_path / "kata" / f"{topic}.py").write_bytes((SOLUTIONS / f"{topic}.py").read_bytes())
    done = run_here("check", cwd=tmp_path / "kata")
    assert done.returncode == 0 and "You have finished Straight lines." in done.stdout


def test_what_an_assignment_lost_its_name_for_is_checked_as_a_whole(week1: Path) -> None:
    """The course was handed out again, with other names of its assignments."""
    manifest = week1 / ".torchkata" / "course" / "course.toml"
    manifest.write_text(manifest.read_text().replace('"week1"', '"first"'))
    assert "first  Samples" in run_here(cwd=week1).stdout
    Home(week1).note({"samples.mean": LastCheck("passed", 1, 1)})
    assert run_here("next", cwd=week1).stdout.startswith("lines.heights  lines.py")
