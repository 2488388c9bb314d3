"""`grader watch` as a student uses it: in a real terminal, with a real worker. Waits for text, never for time."""

from __future__ import annotations

import functools
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command_here import run_here
from make_class_zips import notebook
from shared import OWN_COURSE, REPO, TERM_COURSE, save

from grader.course.home import Home
from grader.course.record import Record

psutil = pytest.importorskip("psutil")
pexpect = pytest.importorskip("pexpect")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="there is no pseudo terminal"),
    pytest.mark.filterwarnings("ignore:.*forkpty:DeprecationWarning"),  # pexpect, from Python 3.12 on
]

SECONDS = 100
"""How long a text may take to appear: a limit for what never does."""
SOLUTION = (OWN_COURSE / "solutions" / "vectors.py").read_text()
STUB = (OWN_COURSE / "exercises" / "vectors.py").read_text()
WRONG = "import torch\n\n\ndef normalize(x):\n    return x\n"
NORMALIZE = WRONG.replace("return x", "return x / x.norm(dim=-1, keepdim=True).clamp_min(1e-12)")
COMMAND = [sys.executable, "-m", "grader", "watch"]
ENVIRONMENT = {"PYTHONPATH": str(REPO), "TERM": "xterm-256color"}
Start = Callable[..., "Session"]


class Session:
    """A running `grader watch` on a pseudo terminal."""

    def __init__(self, folder: Path, *arguments: str, command: list[str] | None = None, **environment: str) -> None:
        program, *rest = [*(command or COMMAND), *arguments]
        self.folder = folder
        self.child = pexpect.spawn(
            program,
            rest,
            cwd=str(folder),
            env={**os.environ, **ENVIRONMENT, **environment},
            encoding="utf-8",
            codec_errors="replace",
            dimensions=(50, 100),
            timeout=SECONDS,
            # Ctrl-C: what a shell runs in its background ignores the signal, and so does all that it starts.
            preexec_fn=functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        )

    def save(self, text: str, name: str = "vectors.py") -> None:
        """Writes a file as most editors do: a new one takes the place of the old."""
        save(self.folder / name, text)

    def see(self, *texts: str) -> str:
        """Waits for texts, in this order; what was printed up to the last of them."""
        seen = ""
        for text in texts:
            self.child.expect_exact(text)
            seen += self.child.before + text
        return re.sub(r"\x1b\[[0-?]*[ -/]*[@-~]", "", seen)

    def press(self, key: str) -> None:
        self.child.send(key)

    def quit(self) -> None:
        self.press("q")
        self.ends_with(0)

    def ends_with(self, code: int) -> None:
        rest = []
        while True:
            try:
                rest.append(self.child.read_nonblocking(4096, SECONDS))
            except pexpect.EOF:
                break
        assert "Traceback" not in "".join(rest)
        self.child.wait()  # it has closed its terminal, and ends: to close it at once may kill it before
        self.child.close()
        assert self.child.exitstatus == code, "".join(rest)

    def worker(self) -> psutil.Process:
        """The process that grades."""
        (child,) = psutil.Process(self.child.pid).children()
        return child


@pytest.fixture(scope="module")
def handed_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that `init` made, with the course in it."""
    folder = tmp_path_factory.mktemp("init") / "kata"
    done = run_here("init", folder, "--course", OWN_COURSE)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def folder(handed_out: Path, tmp_path: Path) -> Path:
    """A copy of it for one test."""
    return Path(shutil.copytree(handed_out, tmp_path / "kata"))


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


def test_from_the_first_stub_to_the_end_of_the_course(folder: Path, start: Start) -> None:
    session = start(folder)
    first = session.see(" quit")
    assert "vectors.normalize  vectors.py:" in first and "not written yet" in first and "0 of 2 exercises" in first

    session.save(WRONG)
    wrong = session.see("expected", " quit")
    assert "✗ vectors.normalize  vectors.py:4" in wrong and "│" in wrong

    # The screen is drawn anew when the window changes.
    assert any(len(line) > 44 for line in wrong.splitlines() if "│" in line), "nothing is wide, so nothing can wrap"
    session.child.setwinsize(50, 40)
    narrow = session.see("vectors.normalize", "expected", " quit")
    assert "│" in narrow and all(len(line.rstrip()) <= 40 for line in narrow.splitlines())
    session.child.setwinsize(50, 100)
    session.see("expected", " quit")

    session.press("h")
    session.press("h")
    session.see("hint 2 of 2:")
    session.press("h")
    session.see("there is no further hint")

    session.save("def normalize(x:\n    return x\n")
    session.see("SyntaxError", " quit")
    (folder / "vectors.py").unlink()
    session.see("no topic module", "waiting for it to come back")

    session.save(NORMALIZE)
    passed = session.see("✓ vectors.normalize has passed: 1/1 points", "now: vectors.cosine", " quit")
    assert "1 of 2 exercises, 1/3 points" in passed
    assert "Forty vectors, before and after" in passed, "the picture, above the next exercise"
    session.see("✗ vectors.cosine", " quit")
    session.press("l")
    assert "✓ vectors.normalize" in session.see("vectors.cosine", " quit")

    session.save(SOLUTION)
    done = session.see("✓ vectors.cosine has passed", "done: well done!", " quit")
    assert "★ vectors is done" in done and "2 of 2 exercises, 3/3 points" in done
    assert "What you have built:" in done and "grader finish" in done
    session.press("a")
    session.see("★ vectors is done: 3/3 points", "You have finished", " quit")
    session.press("n")
    session.see("done: well done!", " quit")

    session.save(WRONG)
    session.see("now: vectors.normalize, which you have changed", "✗ vectors.normalize", " quit")

    # Why a notebook's answer is not defined.
    session.save(notebook("def normalize(x:\n    return x\n").decode(), "vectors.ipynb")
    (folder / "vectors.py").unlink()
    session.see("cell 2: cannot be parsed", "`normalize` is not defined", " quit")
    worker = session.worker()
    processes = [worker, *worker.children(recursive=True)]
    session.quit()
    assert psutil.wait_procs(processes, SECONDS)[1] == []
    assert "✓ vectors.cosine" in run_here("list", cwd=folder).stdout


def test_p_asks_the_questions_of_the_topic_once(folder: Path, start: Start) -> None:
    manifest = next((folder / ".torchkata" / "course").rglob("course.toml"))
    manifest.write_text(manifest.read_text() + '\n[[topics.questions]]\ncode = "6 * 7"\nask = "number"\n')
    session = start(folder)
    session.see("p asks 1 question about vectors, once", " quit")
    session.press("p")
    session.see("6 * 7", "Which number is it?")
    session.press("42\n")
    session.see("right: 42", " quit")
    session.press("p")  # keys are read again
    session.see("there is no question that was not asked yet")
    session.press("r")
    assert "p asks" not in session.see("vectors.normalize", " quit")
    session.quit()
    assert Record(Home(folder)).was_asked("vectors")


def test_nothing_that_happens_to_the_folder_or_the_worker_ends_it(folder: Path, start: Start) -> None:
    progress = folder / ".torchkata" / "progress.json"
    progress.mkdir()  # nothing can be noted, as in a folder that cannot be written
    session, other = start(folder, "--course", str(OWN_COURSE)), start(folder, "--course", str(OWN_COURSE), TERM="dumb")
    session.see("not written yet", " quit")
    other.child.expect_exact(" quit")
    assert "not written yet" in other.child.before and "\x1b" not in other.child.before
    worker = session.worker()
    worker.kill()
    session.save(WRONG)
    for one in (session, other):
        one.see("✗ vectors.normalize", " quit")
    assert session.worker() != worker
    worker = session.worker()
    for number in range(30):
        session.save(f"{WRONG}# {number}\n")
        (folder / f"{number}.txt").write_text("not code")
        if number == 15:
            worker.kill()  # perhaps while it grades
    progress.rmdir()  # from now on both note the same
    session.save(NORMALIZE)
    for one in (session, other):
        one.see("✓ vectors.normalize has passed", "now: vectors.cosine", " quit")
    home = Home.find(folder)
    assert home is not None and home.progress()["vectors.normalize"].state == "passed"

    moved = folder.rename(folder.with_name("elsewhere"))
    session.press("r")
    session.see("is not there", "waiting for it to come back")
    folder.mkdir()
    session.save(SOLUTION)
    session.see("✓ vectors.cosine has passed", "done: well done!", " quit")
    assert moved.is_dir()
    session.child.kill(signal.SIGTERM)
    session.ends_with(0)
    other.child.sendintr()
    other.see("error: interrupted")
    other.ends_with(2)


def test_the_editor_opens_at_the_line_and_the_terminal_is_left_as_it_was(
    folder: Path, tmp_path: Path, start: Start
) -> None:
    editor = tmp_path / "vim"
    editor.write_text('#!/bin/sh\necho "$@" > "$OPENED"\nstty -a > "$OPENED.stty"\n')
    editor.chmod(0o755)
    opened = tmp_path / "opened"
    shell = ["/bin/sh", "-c", f"stty -g; {' '.join(COMMAND)} normalize; stty -g"]
    session = start(folder, command=shell, VISUAL=str(editor), OPENED=str(opened))
    before = session.see("\r\n").split()[-1]
    session.see("not written yet", " quit")
    session.press("o")
    session.see("not written yet", " quit")
    line = 1 + STUB.splitlines().index("def normalize(x: Tensor) -> Tensor:")
    assert opened.read_text() == f"+{line} vectors.py\n"
    assert " icanon" in opened.with_suffix(".stty").read_text()  # the editor got an ordinary terminal
    session.press("q")
    session.see(before)


def test_without_a_terminal_it_prints_plain_lines(folder: Path) -> None:
    environment = {**os.environ, **ENVIRONMENT, "COLUMNS": "40", "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [*COMMAND, "vectors"],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        assert process.stdout is not None and process.stderr is not None

        def see(text: str) -> str:
            lines = [line := process.stdout.readline()]  # type: ignore[union-attr]
            while text not in line and line:
                lines.append(line := process.stdout.readline())  # type: ignore[union-attr]
            assert text in line, "".join(lines)
            return "".join(lines)

        seen = see("not written yet")
        save(folder / "vectors.py", WRONG.replace("\n", "\r\n"))
        seen += see("expected")
        save(folder / "vectors.py", SOLUTION)
        seen += see("well done!")
        assert "\x1b" not in seen and "quit" not in seen
        assert "✓ vectors.normalize has passed: 1/1" in seen and max(map(len, seen.splitlines())) <= 40
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 2
        assert process.stderr.read() == "error: interrupted\n"


def test_suite_is_watched_as_checks_are(tmp_path: Path, start: Start) -> None:
    course = REPO / "tests" / "courses" / "suite"
    assert run_here("init", tmp_path / "kata", "--course", course).returncode == 0
    session = start(tmp_path / "kata", "adapters.files")
    session.see("not written yet")
    session.save(
        (course / "solutions" / "adapters.py").read_text().replace("yield from text", "yield from 2 * text"),
        "adapters.py",
    )
    session.see("✗", "adapters.files", "Iterates: ", "list(words('a b'))")
    session.save((course / "solutions" / "adapters.py").read_text(), "adapters.py")
    session.see("adapters.files has passed")


@pytest.mark.parametrize(
    ("arguments", "said"), [((), "no topic module"), (("nosuch",), "unknown"), (("--course", "nowhere"), "nowhere")]
)
def test_what_cannot_be_watched_is_one_clear_line(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    done = run_here("watch", *arguments, cwd=tmp_path)
    assert done.returncode == 4 and said in done.stderr and "Traceback" not in done.stderr
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") <= 2


def test_a_list_longer_than_the_window_has_pages(tmp_path: Path, start: Start) -> None:
    assert run_here("init", tmp_path / "kata").returncode == 0
    session = start(tmp_path / "kata")
    session.see("not written yet", " quit")
    session.press("l")
    first = session.see("page 1 of ", "l shows the next", " quit")
    assert "first_run.pick_rate" in first and "efficiency" not in first
    session.press("l")
    session.see("page 2 of ", " quit")
    session.quit()


def test_it_begins_with_the_assignment_at_hand_and_may_stay_in_one(tmp_path: Path, start: Start) -> None:
    course = Path(shutil.copytree(TERM_COURSE, tmp_path / "term", ignore=shutil.ignore_patterns("__pycache__")))
    manifest = course / "course.toml"
    manifest.write_text(manifest.read_text().replace("2026-10-02", "2020-10-02").replace("2026-10-09", "2999-10-09"))
    folder = tmp_path / "kata"
    for name in ("week1", "week2"):
        assert run_here("init", folder, "--course", course, "--assignment", name).returncode == 0
    lines = (course / "solutions" / "lines.py").read_text()
    session = start(folder)
    first = session.see(" quit")
    assert "0 of 4 exercises, 0/6 points" in first and "week2, due Wed 9 Oct 2999 23:59, in " in first
    assert "lines.heights  lines.py:" in first
    session.save(lines, "lines.py")
    then = session.see("now: samples.mean", "week1, was due Fri 2 Oct 2020 23:59", "not written yet", " quit")
    assert "lines.loss has passed" in then
    session.quit()
    session = start(folder, "week2")
    assert "lines is done: well done!" in session.see("well done!", " quit")
    session.quit()
