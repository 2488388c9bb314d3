"""Steps: how hard an exercise is, how long it takes, what it is for, and after which of another topic it comes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from command_here import run_here
from shared import OWN_COURSE, REPO

from grader.course import Course, content_hash
from grader.course.home import Home, LastCheck
from grader.errors import CourseError
from grader.reports.feedback import steps_of
from grader.reports.states import at_hand_first
from grader.reports.where import list_lines, next_of
from grader.results import Cause, CheckResult, ExerciseResult

TAUGHT = REPO / "tests" / "courses" / "taught"
COURSE = Course.load(TAUGHT)
Edit = Callable[[Path, str, str], None]


@pytest.fixture
def taught(tmp_path: Path) -> Path:
    """A copy of the course with steps."""
    return Path(shutil.copytree(TAUGHT, tmp_path / "taught", ignore=shutil.ignore_patterns("__pycache__")))


def test_an_exercise_is_proposed_after_the_one_that_it_names() -> None:
    assert [one.full_name for one in COURSE.path] == ["lines.slope", "bugs.steeper", "lines.intercept", "bugs.level"]
    assert [one.full_name for one in COURSE.exercises][1] == "lines.intercept"  # its topic stays as it is
    progress: dict[str, LastCheck] = {}
    found = []
    while (one := next_of(COURSE, progress)) is not None:
        found.append(one)
        progress[one.full_name] = LastCheck("passed", one.points, one.points)
    assert tuple(found) == COURSE.path


def test_several_come_after_one_in_their_order_and_chains_hold(taught: Path, edit: Edit) -> None:
    edit(taught / "course.toml", 'why = "a line that goes nowhere"', 'why = "nowhere"\nafter = "lines.slope"')
    names = [one.full_name for one in Course.load(taught).path]
    assert names == ["lines.slope", "bugs.steeper", "bugs.level", "lines.intercept"]
    edit(taught / "course.toml", 'why = "nowhere"\nafter = "lines.slope"', 'why = "nowhere"\nafter = "steeper"')
    assert [one.full_name for one in Course.load(taught).path] == names
    edit(taught / "course.toml", 'after = "lines.slope"', 'after = "lines.intercept"')
    assert [one.full_name for one in Course.load(taught).path] == [names[0], names[3], *names[1:3]]


def test_check_goes_on_as_next_does() -> None:
    wrong = CheckResult(name="c", verdict="failed", cause=Cause(kind="assertion", reason="wrong"))
    results = [
        ExerciseResult(name=one.full_name, score=0.0, max=one.points, checks=(wrong,)) for one in COURSE.exercises
    ]
    assert [one.name for one in at_hand_first(results, COURSE)] == [one.full_name for one in COURSE.path]


@pytest.mark.parametrize("width", [60, 80])
def test_the_list_has_steps_where_exercises_are_met(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    shown = run_here("list", "--course", TAUGHT).stdout
    assert [line.partition("   needs")[0] for line in shown.splitlines()] == [
        "Straight lines, with lessons: 5 points",
        "",
        "lines  Straight lines",
        "  lines.slope                      1  easy    5 min",
        "  bugs.steeper                     1  hard   15 min",
        "  lines.intercept                  2  medium 10 min",
        "",
        "bugs  What went wrong",
        "  bugs.level                       1  easy    5 min",
    ]
    of_topic = run_here("list", "bugs", "--course", TAUGHT).stdout.splitlines()
    assert [line.strip() for line in of_topic if "steep" in line or "two slopes" in line] == [
        "bugs.steeper                     1  hard   15 min",
        "two slopes are compared by their size",
    ]
    assert max(map(len, of_topic)) <= width


def test_a_topic_whose_exercises_are_all_elsewhere_says_so(taught: Path, edit: Edit) -> None:
    edit(taught / "course.toml", 'why = "a line that goes nowhere"', 'why = "nowhere"\nafter = "lines.intercept"')
    lines = list(list_lines(Course.load(taught), {}))
    assert lines[-2:] == ["bugs  What went wrong", "    its exercises are listed where they are met"]
    assert [line.split()[0] for line in lines if line.startswith("  ") and "." in line.split()[0]] == [
        "lines.slope",
        "bugs.steeper",
        "lines.intercept",
        "bugs.level",
    ]


def test_next_and_the_page_say_what_an_exercise_is_for(tmp_path: Path) -> None:
    folder = tmp_path / "kata"
    assert run_here("init", folder, "--course", TAUGHT).returncode == 0
    Home(folder).note({"lines.slope": LastCheck("passed", 1.0, 1.0)})
    assert run_here("next", cwd=folder).stdout.splitlines() == [
        "bugs.steeper  bugs.py:4",
        "  hard, about 15 minutes",
        "  two slopes are compared by their size",
    ]
    assert "  hard, about 15 minutes\n" in run_here(cwd=folder).stdout
    assert steps_of(COURSE, "bugs.steeper") == "hard, about 15 minutes: two slopes are compared by their size"
    assert steps_of(COURSE, "bugs.gone") == "" == steps_of(Course.load(OWN_COURSE), "vectors.cosine")


def test_the_feedback_page_has_them(tmp_path: Path) -> None:
    (tmp_path / "class" / "ada").mkdir(parents=True)
    shutil.copy(TAUGHT / "exercises" / "lines.py", tmp_path / "class" / "ada")
    text = (tmp_path / "class" / "ada" / "lines.py").read_text()
    (tmp_path / "class" / "ada" / "lines.py").write_text(
        text.replace('raise NotImplementedError("write `slope` here")', "return 0")
    )
    out = tmp_path / "out"
    assert run_here("grade", tmp_path / "class", "--course", TAUGHT, "--out", out, "--jobs", "1").returncode == 1
    assert run_here("report", "--out", out, "--course", TAUGHT).returncode == 0
    (page,) = (file for file in out.rglob("*.html") if "ada" in file.name)
    assert "easy, about 5 minutes: how fast something grows" in page.read_text(encoding="utf-8")


FAULTS = {
    "no exercise": (
        'after = "lines.slope"',
        'after = "lines.slop"',
        "after: `lines.slop` is not an exercise.*lines.slope",
    ),
    "itself": ('after = "lines.slope"', 'after = "steeper"', "`bugs.steeper` comes after itself"),
    "no minutes": ("minutes = 15", "minutes = 0", "minutes must be a number from 1 on, not 0"),
    "another level": ('level = "hard"', 'level = "deadly"', '`level` must be "easy", "hard" or "medium"'),
    "two lines": ("two slopes are", "two slopes\\nare", "why must be one line of plain text"),
    "a long why": ("two slopes are", "x" * 76, "why has at most 76 characters, not "),
    "no address": ("https://colab", "ftp://colab", "colab: `ftp://colab.example/of/taught/` must be an https address"),
    "a shell": ('install = "torchkata', 'install = "torchkata; rm', "install: .* must be names of packages"),
}


@pytest.mark.parametrize("what", FAULTS)
def test_each_fault_has_its_line(what: str, taught: Path, edit: Edit) -> None:
    before, after, message = FAULTS[what]
    edit(taught / "course.toml", before, after)
    with pytest.raises(CourseError, match=message) as problem:
        Course.load(taught)
    line = (taught / "course.toml").read_text(encoding="utf-8").splitlines()[(problem.value.line or 0) - 1]
    assert after.partition(" = ")[0] in line or line.startswith(("why", "colab"))


def test_steps_change_no_result(taught: Path, edit: Edit) -> None:
    before = content_hash(Course.load(taught))
    edit(taught / "course.toml", 'minutes = 15\nlevel = "hard"', 'minutes = 20\nlevel = "medium"')
    edit(taught / "course.toml", 'after = "lines.slope"\n', "")
    edit(taught / "course.toml", "lessons = true\n", "")
    assert content_hash(Course.load(taught)) == before
