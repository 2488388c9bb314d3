"""`grader mark` in a real terminal: keys, what is kept at once, where it goes on. Waits for text, never for time."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from command_here import run_here
from marked_class import ADA, BOB, graded, row
from shared import MARKED_COURSE, OWN_COURSE, REPO

pexpect = pytest.importorskip("pexpect")
pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="there is no pseudo terminal"),
    pytest.mark.filterwarnings("ignore:.*forkpty:DeprecationWarning"),  # pexpect, from Python 3.12 on
]
SECONDS = 100
"""How long a text may take to appear: a limit for what never does."""
Start = Callable[..., "Session"]


class Session:
    """A running `grader mark` on a pseudo terminal."""

    def __init__(self, out: Path, *arguments: str, columns: int = 120, **environment: str) -> None:
        options = ["--out", str(out), "--course", str(MARKED_COURSE), *arguments]
        self.child = pexpect.spawn(
            sys.executable,
            ["-m", "grader", "mark", *options],
            env={**os.environ, "PYTHONPATH": str(REPO), "TERM": "xterm-256color", **environment},
            encoding="utf-8",
            codec_errors="replace",
            dimensions=(40, columns),
            timeout=SECONDS,
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        )

    def see(self, *texts: str) -> str:
        """Waits for texts, in this order; what was printed up to the last of them."""
        seen = ""
        for text in texts:
            self.child.expect(r"(?:\x1b\[[0-9;]*m|\s)*".join(map(re.escape, text.split())))
            seen += self.child.before + self.child.after
        return re.sub(r"\x1b\[[0-?]*[ -/]*[@-~]", "", seen)

    def press(self, key: str) -> None:
        self.child.send(key)

    def ends_with(self, code: int) -> str:
        seen = self.child.read()
        self.child.close()
        assert self.child.exitstatus == code and "Traceback" not in seen, seen
        return str(seen)


@pytest.fixture
def start() -> Iterator[Start]:
    sessions: list[Session] = []

    def begin(*arguments: object, **named: object) -> Session:
        sessions.append(Session(*arguments, **named))  # type: ignore[arg-type]
        return sessions[-1]

    yield begin
    for one in sessions:
        one.child.close(force=True)


def test_items_are_given_by_keys_and_kept_at_once(tmp_path: Path, start: Start) -> None:
    out = graded(tmp_path, {"ada": ADA, "bob": BOB})
    session = start(out, "report")
    seen = session.see("findings.report · ada · 1 of 2", "Wider is smoother.", "0/4 points, not marked yet", "q quit")
    assert "1 [ ] says what the width" in seen
    session.press("1")
    session.see("2/4 points, begun: Enter marks it")
    assert row(out, "ada").begun == ("findings.report",) and row(out, "ada").max == 2
    session.press("3")
    session.see("3/4 points, begun", "q quit")
    session.press("\r")
    session.see("findings.report · bob · 2 of 2", "q quit")
    assert row(out, "ada").score == 5
    session.press("\r")  # no item: 0 points, because a person said so
    text = session.ends_with(0)
    assert "2 marks given" in text and "not marked yet: findings.plot: 2 of 2 submissions" in text
    assert (row(out, "bob").score, row(out, "bob").max) == (2, 6)


def test_ctrl_c_loses_nothing_and_the_same_command_goes_on(tmp_path: Path, start: Start) -> None:
    out = graded(tmp_path, {"ada": ADA, "bob": BOB})
    session = start(out, "report")
    session.see("report · ada", "q quit")
    session.press("a")
    session.see("4/4 points, begun", "q quit")
    session.press("\r")
    session.see("report · bob", "q quit")
    session.press("2")
    session.see("1/4 points, begun", "q quit")
    session.child.sendintr()
    assert "1 mark given" in session.ends_with(0)
    assert row(out, "ada").score == 6 and row(out, "bob").begun == ("findings.report",)
    again = start(out, "report")
    again.see("report · bob · 1 of 1", "2 [x]", "1/4 points, begun", "q quit")
    again.press("q")
    assert "go on with the same command" in again.ends_with(0)


def test_a_comment_by_prompt_and_by_editor(tmp_path: Path, start: Start) -> None:
    out = graded(tmp_path, {"ada": ADA})
    editor = tmp_path / "nano"
    editor.write_text('#!/bin/sh\nprintf "second\\nline" >> "$1"\n')
    editor.chmod(0o755)
    session = start(out, "report", EDITOR=str(editor), VISUAL="")
    session.see("report · ada", "q quit")
    session.press("c")
    session.see("comment (none: no comment):")
    session.press("first \r")
    session.see("first", "q quit")
    assert [one.text for one in row(out, "ada").comments] == ["first"]
    session.press("e")
    session.see("line", "q quit")
    assert [one.text for one in row(out, "ada").comments] == ["firstsecond\nline"]
    session.press("q")
    session.ends_with(0)
    assert row(out, "ada").max == 2, "a comment is no mark"


def test_keys_to_move_to_take_back_and_to_open(tmp_path: Path, start: Start) -> None:
    out = graded(tmp_path, {"ada": ADA, "bob": BOB})
    assert run_here(*_mark(out, "ada")).returncode == 0
    session = start(out, "report", "--all", columns=60)
    session.see("report · ada · 1 of 2", "3/4 points, marked by", "q quit")
    session.press("p")
    session.see("there is no other one")
    session.press("n")
    session.see("report · bob · 2 of 2", "q quit")
    session.press("\x1b[D")
    session.see("report · ada · 1 of 2", "q quit")
    session.press("9")
    session.see("there is no item 9")
    session.press("z")
    session.see("there is no such key")
    session.press("o")
    session.see("until you quit:", "report.md")
    session.press("u")
    session.see("0/4 points, not marked yet", "q quit")
    session.press("q")
    session.ends_with(0)
    assert row(out, "ada").marks == ()


def test_hostile_and_long_work_is_shown_as_text_within_the_screen(tmp_path: Path, start: Start) -> None:
    report = b"\x1b]0;title\x07\x1b[2J[red]first[/red]\n" + b"".join(b"line %d\n" % n for n in range(2, 500))
    out = graded(tmp_path, {"=cmd|' /C calc'!A0": {**ADA, "report.md": report + b"x" * 10_000}})
    session = start(out, "report")
    seen = session.child
    seen.expect_exact("q quit")
    assert "\x1b]0;" not in seen.before and "[red]first[/red]" in re.sub(r"\x1b\[[0-9;]*m", "", seen.before)
    assert "line 400" not in seen.before and "lines 1 to 31 of" in seen.before
    session.press(" ")
    session.see("lines 32 to", "q quit")
    session.press("q")
    session.ends_with(0)


def test_a_paragraph_on_one_line_is_shown_whole_and_long_code_leaves_the_heading_on_the_screen(
    tmp_path: Path, start: Start
) -> None:
    words = " ".join(f"word{n}" for n in range(150))
    code = b"".join(b"value_%d = '%s'\n" % (n, b"x" * 150) for n in range(40))
    out = graded(tmp_path, {"ada": {**ADA, "report.md": words.encode(), "curves.py": code}})
    session = start(out, "report")
    assert "word149" in session.see("q quit")
    session.press("q")
    session.ends_with(0)
    session = start(out, "style")
    seen = session.see("lines 1 to", "q quit")
    assert seen.count("\n") < 40 and "value_0" in seen and "value_30" not in seen
    session.press(" ")
    session.see("lines 8 to", "q quit")
    session.press("q")
    session.ends_with(0)


def _mark(out: Path, student: str, *more: str) -> list[str | Path]:
    return ["mark", "report", "--student", student, "--items", "1,3", "--out", out, "--course", MARKED_COURSE, *more]


def test_without_a_terminal_it_says_what_to_do(tmp_path: Path) -> None:
    out = graded(tmp_path, {"ada": ADA})
    ended = run_here("mark", "--out", out, "--course", MARKED_COURSE)
    assert ended.returncode == 4 and "needs a terminal" in ended.stderr and "--items 1,3" in ended.stderr
    done = run_here(*_mark(out, "ada", "--comment", "fine"))
    assert done.returncode == 0 and "ada: findings.report: 3/4 (items: 1, 3)" in done.stdout
    alone = run_here("mark", "--comment", "x", "--out", out, "--course", MARKED_COURSE)
    assert alone.returncode == 4 and "--comment goes with --items" in alone.stderr
    other = run_here("mark", "--items", "1", "--student", "ada", "--out", out, "--course", OWN_COURSE)
    assert other.returncode == 4 and "is of the course `smooth-curves`" in other.stderr
    said = run_here("comment", "ada", "moving_average", "see conv1d", "--out", out)
    assert said.returncode == 0 and "ada: curves.moving_average: see conv1d (by " in said.stdout


@pytest.mark.slow
def test_marks_go_from_grading_to_a_regrade_of_changed_work(tmp_path: Path) -> None:
    for name, files in (("ada", ADA), ("bob", BOB)):
        (tmp_path / "class" / name).mkdir(parents=True)
        for file, content in files.items():
            (tmp_path / "class" / name / file).write_bytes(content)
    out = tmp_path / "out"
    command = ["grade", tmp_path / "class", "--course", MARKED_COURSE, "--out", out, "--jobs", "1"]
    first = run_here(*command)
    assert first.returncode == 0, "nobody fails for what nobody has marked"
    assert "not marked yet: findings.report: 2 of 2 submissions (see: grader mark)" in first.stdout
    assert run_here(*_mark(out, "ada")).returncode == 0
    (tmp_path / "class" / "ada" / "report.md").write_text("another one")
    again = run_here(*command)
    assert again.returncode == 0 and "not marked yet: findings.report: 1 of 2" in again.stdout
    assert "ada: mark of findings.report: the work under it has changed" in again.stderr
    assert row(out, "ada").score == 5 and row(out, "ada").marks[0].stale and row(out, "bob").reused
    assert run_here(*_mark(out, "ada")).returncode == 0
    assert not row(out, "ada").marks[0].stale
