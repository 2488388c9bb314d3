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
    """A running command, `grader mark` unless it says another, on a pseudo terminal."""

    def __init__(
        self, out: Path, *arguments: str, command: str = "mark", columns: int = 120, **environment: str
    ) -> None:
        course = ["--course", str(MARKED_COURSE)] if command == "mark" else []
        self.child = pexpect.spawn(
            sys.executable,
            ["-m", "grader", command, "--out", str(out), *course, *arguments],
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
        self.child.wait()  # it has closed its terminal, and ends: to close it at once may kill it before
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
        if one.child.isalive():
            one.child.kill(signal.SIGKILL)
            one.child.wait()
        one.child.close()


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


def test_comments_at_lines_are_shown_at_them(tmp_path: Path, start: Start) -> None:
    out = graded(tmp_path, {"ada": ADA})
    session = start(out, "report")
    session.see("1 # Mine", "3 Wider is smoother.", "q quit")
    for line, text in (("3", "of what?"), ("9", "nowhere"), ("x", "")):
        session.press("l")
        session.see("line (in a notebook CELL:LINE):")
        session.press(f"{line}\r")
        if text:
            session.see("comment (none: no comment):")
            session.press(f"{text}\r")
            session.see("q quit")
    session.see("'x' is not a line")
    session.press("c")
    session.see("comment (none: no comment):")
    session.press("well done\r")
    session.see("Wider is smoother.", "▸ of what?", "q quit")
    session.press("q")
    session.ends_with(0)
    said = [(one.place, one.text, one.code) for one in row(out, "ada").comments]
    assert said == [("", "well done", ""), ("line 3", "of what?", "Wider is smoother.")]


def test_of_two_who_mark_at_once_the_second_is_told_and_decides(tmp_path: Path, start: Start) -> None:
    out = graded(tmp_path, {"ada": ADA, "bob": BOB})
    ann, ben = start(out, "report", "--who", "ann"), start(out, "report", "--who", "ben")
    for session in (ann, ben):
        session.see("report · ada", "q quit")
    ann.press("1")
    ann.see("2/4 points, begun", "q quit")
    ann.press("\r")
    ann.see("report · bob", "q quit")
    ben.press("2")
    ben.see("q quit", "ada: findings.report: 2/4 (items: 1) by ann", "r replaces it with yours")
    assert [(mark.who, mark.points) for mark in row(out, "ada").marks] == [("ann", 2.0)]
    assert row(out, "ada").begun == ()
    ben.press("r")
    ben.see("3/4 points, begun", "q quit")
    ben.press("\r")
    ben.see("report · bob", "q quit")
    assert [(mark.who, mark.points) for mark in row(out, "ada").marks] == [("ben", 3.0)]
    ann.press("p")
    ann.see("report · ada", "3/4 points, marked by ben", "q quit")
    ann.press("u")
    ann.see("3/4 (items: 1, 2) by ben", "r replaces it with yours")
    for session in (ann, ben):
        session.press("q")
        session.ends_with(0)
    assert [(mark.who, mark.points) for mark in row(out, "ada").marks] == [("ben", 3.0)]


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


def test_what_another_person_gave_is_replaced_only_with_yes(tmp_path: Path) -> None:
    out = graded(tmp_path, {"ada": ADA})
    assert run_here(*_mark(out, "ada", "--who", "ann")).returncode == 0
    override = ["override", "ada", "report", "1", "--why", "copied", "--who", "ben", "--out", out]
    for command in (override, _mark(out, "ada", "--who", "ben", "--items", "2")):
        refused = run_here(*command)
        assert refused.returncode == 4 and "because that is from ann" in refused.stderr and "--yes" in refused.stderr
        assert refused.stdout.startswith("before: ada: findings.report: 3/4 (items: 1, 3) by ann, 20")
    assert row(out, "ada").given == {"findings.report": (3.0, 4.0)}
    done = run_here(*override, "--yes")
    assert done.returncode == 0 and "ada: findings.report: 1/4" in done.stdout
    alone = run_here("mark", "--yes", "--out", out, "--course", MARKED_COURSE)
    assert alone.returncode == 4 and "--yes goes with --items" in alone.stderr


def test_on_a_terminal_who_gives_is_asked(tmp_path: Path, start: Start) -> None:
    out = graded(tmp_path, {"ada": ADA})
    assert run_here(*_mark(out, "ada", "--who", "ann")).returncode == 0
    for answer, code, points in (("n", 4, 3.0), ("y", 0, 1.0)):
        session = start(out, "ada", "report", "1", "--why", "copied", "--who", "ben", command="override")
        session.see("before: ada: findings.report: 3/4 (items: 1, 3) by ann", "replace it?")
        session.press(f"{answer}\r")
        session.ends_with(code)
        assert row(out, "ada").given == {"findings.report": (points, 4.0)}
    file = tmp_path / "points.csv"
    file.write_text("student,exercise,points\nada,report,2\n")
    for answer, code, points in (("n", 4, 1.0), ("y", 0, 2.0)):
        session = start(out, str(file), "--who", "cy", command="import")
        session.see("ada: findings.report: 1/4 by ben", "→ 2/4", "keep this?")
        session.press(f"{answer}\r")
        session.ends_with(code)
        assert row(out, "ada").given == {"findings.report": (points, 4.0)}


def test_a_spreadsheet_a_line_and_the_history_of_it_all(tmp_path: Path) -> None:
    out = graded(tmp_path, {"ada": ADA})
    file = tmp_path / "points.csv"
    file.write_text("Student;Exercise;Points;Why\nada;moving_average;1,5;a typo\n")
    refused = run_here("import", file, "--out", out)
    assert refused.returncode == 4 and "nothing is changed" in refused.stderr and "--yes" in refused.stderr
    assert refused.stdout == "ada: curves.moving_average: 2/2 automatic → 1.5/2 (a typo)\n"
    done = run_here("import", file, "--who", "ann", "--yes", "--out", out)
    assert done.returncode == 0 and done.stdout.endswith("kept: 1 override, 0 comments\n")
    said = run_here("comment", "ada", "moving_average", "--line", "2", "one call", "--who", "ann", "--out", out)
    assert said.returncode == 0 and "curves.moving_average: line 2: one call (by ann" in said.stdout
    history = run_here("history", "ada", "moving_average", "--out", out)
    told = [line.partition("  ")[2] for line in history.stdout.splitlines()[:-1]]
    assert told == [
        "run 1: curves.moving_average: 2/2",
        "override: curves.moving_average: 1.5/2 (automatic: 2) by ann: a typo",
        "comment: curves.moving_average: by ann: line 2: one call",
    ]
    assert history.stdout.splitlines()[-1] == "now: ada: 1.5/2"


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
