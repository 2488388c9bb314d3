"""`grader learn` shows lessons: of the topic at hand, of a topic, of an exercise; on a terminal in pages."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from command_here import run_here
from shared import OWN_COURSE, REPO

pexpect = pytest.importorskip("pexpect")
TAUGHT = REPO / "tests" / "courses" / "taught"
COLOURS = re.compile(r"\x1b\[(?:\d+;)*3[0-7]m")


def learn(*arguments: str | Path, cwd: Path = REPO) -> str:
    done = run_here("learn", *arguments, cwd=cwd)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


def test_a_topic_is_shown_as_a_whole_and_an_exercise_by_its_idea(tmp_path: Path) -> None:
    whole = learn("lines", "--course", TAUGHT)
    assert whole.startswith("Straight lines\n") and whole.index("Rise over run") < whole.index("Back to zero")
    assert ">>> rise / run\n    0.5\n" in whole and "● there" in whole and "in: lines.intercept" in whole
    for name in ("lines.intercept", "intercept"):
        part = learn(name, "--course", TAUGHT)
        assert part.startswith("Back to zero\n") and "Rise over run" not in part and "4 ◀ 4.5" in part
    folder = tmp_path / "kata"
    assert run_here("init", folder, "--course", TAUGHT).returncode == 0
    assert learn(cwd=folder) == whole  # the topic of the exercise at hand


def test_a_hint_names_the_section(tmp_path: Path) -> None:
    shown = run_here("hint", "intercept", "--course", TAUGHT).stdout.splitlines()
    assert shown == ["Where is x zero?", 'lesson: "Back to zero", grader learn lines.intercept']
    assert "lesson" not in run_here("hint", "cosine", "--course", OWN_COURSE).stdout


def test_a_broken_lesson_takes_no_hint_away(tmp_path: Path) -> None:
    course = Path(shutil.copytree(TAUGHT, tmp_path / "taught"))
    (course / "lessons" / "lines.md").write_text("nothing")
    done = run_here("hint", "slope", "--course", course)
    assert done.returncode == 0 and done.stdout.startswith("Rise over run.\nmore: ")
    refused = run_here("learn", "slope", "--course", course)
    assert refused.returncode == 4 and "lines.md:1: a lesson begins with `# Title`" in refused.stderr


def test_without_a_lesson_it_says_which_topics_have_one(tmp_path: Path) -> None:
    refused = run_here("learn", "vectors", "--course", OWN_COURSE)
    assert (refused.returncode, refused.stderr) == (4, "error: this course has no lessons\n")
    course = Path(shutil.copytree(TAUGHT, tmp_path / "taught"))
    (course / "lessons" / "lines.md").unlink()
    refused = run_here("learn", "lines", "--course", course)
    assert refused.stderr == "error: `lines` has no lesson\n  these have one: bugs\n"


@pytest.mark.parametrize("width", [60, 80])
def test_rows_fit_the_window_and_drawings_are_not_folded(
    width: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, edit: Callable[[Path, str, str], None]
) -> None:
    course = Path(shutil.copytree(TAUGHT, tmp_path / "taught"))
    drawing, code = "─" * 60, "total = " + " + ".join(map(str, range(15)))
    edit(course / "lessons" / "lines.md", "│ at all", drawing)
    edit(course / "lessons" / "lines.md", ">>> 1.0 / 0.0", f">>> {code}\n>>> 1.0 / 0.0")
    monkeypatch.setenv("COLUMNS", str(width))
    rows = learn("lines", "--course", course).splitlines()
    assert max(map(len, rows)) <= width and drawing in map(str.strip, rows)
    assert " ".join("".join(rows).split()).replace("    ", "").count(">>> total = 0 + 1") == 1
    item = rows.index(next(row for row in rows if row.startswith("- forget")))
    assert rows[item + 1].startswith("  ")  # below its text, not below its dash


@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal")
def test_pages_are_for_a_terminal_and_colours_can_be_switched_off() -> None:
    assert "\x1b" not in learn("lines.slope", "--course", TAUGHT)
    paged = on_a_terminal()
    assert paged.startswith("@") and COLOURS.search(paged)
    assert not COLOURS.search(on_a_terminal(NO_COLOR="1"))
    assert not on_a_terminal(TERM="dumb").startswith("@")


def on_a_terminal(**variables: str) -> str:
    """What is printed on a terminal whose pager puts an @ before each line."""
    environment = {**os.environ, "PAGER": "sed s/^/@/", "TERM": "xterm-256color", "PYTHONPATH": str(REPO)}
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        environment.pop(name, None)
    command = ["-m", "grader", "learn", "lines.slope", "--course", str(TAUGHT)]
    shown, code = pexpect.run(
        shlex.join([sys.executable, *command]), timeout=240, withexitstatus=True, env={**environment, **variables}
    )
    assert code == 0, shown
    return str(shown.decode())
