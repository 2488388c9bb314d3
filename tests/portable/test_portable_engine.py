"""Where nothing can be forked: the same verdicts, messages and causes as with forked processes in a sandbox.

The workers here start with `without/` on their path, which takes from Python what Windows does not offer.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from shared import DEVICES_AND_RANKS, REPO, Warm, WarmUp, exercise_of

from grader.course import Course, misconceptions_of
from grader.intake.find import open_submission
from grader.intake.submission import Submission
from grader.results import SubmissionResult
from grader.sandbox.limits import Limits

WITHOUT = Path(__file__).parent / "without"
ATTACKS = REPO / "tests" / "attacks" / "submissions"
REUSE = REPO / "tests" / "courses" / "reuse"
SETTINGS = {"check_seconds": 3.0, "topic_seconds": 150.0, "memory_bytes": 512 << 20}
TOPIC = ("tensor_ops",)
EXERCISES = ("tensor_ops.make_tensor", "tensor_ops.gram")
"""An honest exercise and the hostile one of `ATTACKS`."""
GARBAGE = """
import os, socket, torch

def make_tensor(values):
    return torch.tensor(values, dtype=torch.float32)

def gram(x):
    for number in range(3, 100):
        try:
            socket.socket(fileno=os.dup(number)).sendall(bytes([255]) * 1000)
        except OSError:
            pass
    return x
"""
"""A submission that sends what is no answer."""
RANKS = ("team",)


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join((str(WITHOUT), str(REPO)))}


Start = Callable[..., Warm]


@pytest.fixture(scope="module")
def portable() -> Iterator[Start]:
    """Starts a worker on a system that cannot fork; a new one only for exercises that none has yet."""
    started: dict[tuple[Path | None, tuple[str, ...]], Warm] = {}

    def start(course: Path | None = None, only: tuple[str, ...] = (), **limits: float) -> Warm:
        if (course, only) not in started:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
                patch.setenv("A_SECRET", "of whoever grades")
                started[course, only] = Warm(course, Limits(**limits), only)
        return started[course, only]

    yield start
    for one in started.values():
        one.worker.end()


def without_engine(result: SubmissionResult) -> SubmissionResult:
    """What must not depend on the engine."""
    return msgspec.structs.replace(result, sandbox=())


def verdicts(result: SubmissionResult) -> dict[str, list[str]]:
    return {exercise.name: [check.verdict for check in exercise.checks] for exercise in result.exercises}


def of_topic(text: str) -> Submission:
    return Submission("somebody", {"tensor_ops.py": text.encode()})


def wrong_answer() -> str:
    """The solution of the topic with a misconception in the place of `gram`."""
    course = Course.load()
    solved = course.solution_file("tensor_ops").read_text()
    answers = course.misconceptions_file("tensor_ops").read_text().replace("from __future__ import annotations\n", "")
    wrong = next(one for one in misconceptions_of(course, "tensor_ops") if one.exercise == "tensor_ops.gram")
    return f"{solved}\n{answers}\ngram = {wrong.function}\n"


# ---------------------------------------------------------------- the same as with the other engine


@pytest.mark.parametrize("kind", ["solution", "stub", "misconception", "garbage", "changes an argument"])
def test_the_result_is_the_same(kind: str, portable: Start, warm: WarmUp) -> None:
    solved = Course.load().solution_file("tensor_ops").read_text()
    text = {
        "solution": lambda: solved,
        "stub": (REPO / "exercises" / "tensor_ops.py").read_text,
        "misconception": wrong_answer,
        "garbage": lambda: GARBAGE,
        "changes an argument": lambda: solved + "\n\ndef gram(x):\n    y = x @ x.T\n    x.zero_()\n    return y\n",
    }[kind]()
    here = portable(only=EXERCISES, **SETTINGS).of(of_topic(text))
    there = warm(only=EXERCISES, **SETTINGS).of(of_topic(text))
    assert here.sandbox == () and there.sandbox != ()
    assert without_engine(here) == without_engine(there)
    assert (here.score == here.max) is (kind == "solution")
    assert (exercise_of(here, "gram").misconception is not None) is (kind in ("misconception", "changes an argument"))


@pytest.mark.parametrize("name", ["os_exit_in_call", "prints_much", "recursion", "segfault"])
def test_so_is_that_of_a_hostile_submission(name: str, portable: Start, warm: WarmUp) -> None:
    submission = open_submission(ATTACKS / name, TOPIC).read()
    here = portable(only=EXERCISES, **SETTINGS).of(submission)
    there = warm(only=EXERCISES, **SETTINGS).of(submission)
    assert verdicts(here) == verdicts(there)
    assert [one.message for e in here.exercises for one in e.checks] == [
        one.message for e in there.exercises for one in e.checks
    ]


@pytest.mark.parametrize(("name", "verdict"), [("endless_print", "timeout"), ("touches_pages", "crashed")])
def test_what_eats_the_machine_is_ended(name: str, verdict: str, portable: Start) -> None:
    result = portable(only=EXERCISES, **SETTINGS).of(open_submission(ATTACKS / name, TOPIC).read())
    found = verdicts(result)
    assert verdict in found["tensor_ops.gram"]
    assert set(found["tensor_ops.gram"]) <= {"passed", "timeout", "crashed"}
    assert set(found["tensor_ops.make_tensor"]) == {"passed"}


def test_an_endless_loop_is_found(portable: Start) -> None:
    submission = open_submission(ATTACKS / "loop_in_call", TOPIC).read()
    lines = submission.files["tensor_ops.py"].decode().split("\n")
    (line,) = [number for number, text in enumerate(lines, 1) if text.strip().startswith("while")]
    check = exercise_of(portable(only=EXERCISES, **SETTINGS).of(submission), "gram").checks[0]
    assert check.verdict == "timeout"
    assert any(f"line {number} of tensor_ops.py, in gram" in check.message for number in (line, line + 1))


def test_ranks_too(portable: Start, warm: WarmUp) -> None:
    course = Course.load(DEVICES_AND_RANKS)
    solved = course.solution_file("team").read_text()
    wrong = course.misconceptions_file("team").read_text().replace("from __future__ import annotations\n", "")
    answers = misconceptions_of(course, "team")
    for text in (solved, f"{solved}\n{wrong}\n{answers[0].exercise.partition('.')[2]} = {answers[0].function}\n"):
        submission = Submission("somebody", {"team.py": text.encode()})
        here = portable(DEVICES_AND_RANKS, RANKS).of(submission)
        assert without_engine(here) == without_engine(warm(DEVICES_AND_RANKS, only=RANKS).of(submission))


# ---------------------------------------------------------------- one process, and fresh ones


def state(first: str = "return True", second: str = "return True", third: str = "return True") -> str:
    """A submission to the course `REUSE` whose functions note that they were called."""
    text = "import os, sys, threading, time\ncalls = []\n"
    for name, body in (("first", first), ("second", second), ("third", third)):
        text += f"\n\ndef {name}():\n    calls.append({name!r})\n    {body}\n"
    return text


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("return True", "return calls == ['first', 'first', 'second']", "passed"),
        ("return False", "return calls == ['second']", "failed"),
        ("os._exit(3)", "return calls == ['second']", "crashed"),
        (
            "threading.Timer(99, print).start(); return True",
            "return calls == ['second']",
            "passed",
        ),
        ("open('left', 'w').close(); return True", "return not os.path.exists('left')", "passed"),
        (
            "return 'A_SECRET' not in os.environ and sys.stdin.read() == ''",
            "return os.listdir() == ['state.py']",
            "passed",
        ),
    ],
    ids=["right", "wrong", "crash", "thread", "file", "environment"],
)
def test_a_process_is_used_again_while_its_answers_are_right(
    first: str, second: str, expected: str, portable: Start
) -> None:
    found = verdicts(portable(REUSE, check_seconds=3.0).grade(state=state(first, second)))
    assert [set(one) for one in found.values()] == [{expected}, {"passed"}, {"passed"}]


# ---------------------------------------------------------------- commands


def run(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "grader", *map(str, arguments)],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_a_students_commands_work(tmp_path: Path) -> None:
    assert run("init", "kata", cwd=tmp_path).returncode == 0
    assert "tensor_ops.gram" in run("list", cwd=tmp_path / "kata").stdout
    assert run("hint", "gram", cwd=tmp_path / "kata").returncode == 0
    (tmp_path / "kata" / "tensor_ops.py").write_bytes((REPO / "solutions" / "tensor_ops.py").read_bytes())
    checked = run("check", "tensor_ops", cwd=tmp_path / "kata")
    assert checked.returncode == 0, checked
    assert "17/17 points" in checked.stdout and "sandbox without: all layers" in checked.stdout
    assert "engine      portable student processes: this system has no os.fork" in run("doctor", cwd=tmp_path).stdout


def test_a_class_needs_a_word_where_there_is_no_sandbox(tmp_path: Path) -> None:
    for name in ("ann", "ben"):
        (tmp_path / "class" / name).mkdir(parents=True)
        (tmp_path / "class" / name / "tensor_ops.py").write_bytes((REPO / "solutions" / "tensor_ops.py").read_bytes())
    command = ("grade", "class", "--only", "tensor_ops.gram", "--jobs", "1", "--out", "out")
    refused = run(*command, cwd=tmp_path)
    assert refused.returncode == 4 and "--no-sandbox" in refused.stderr and "Traceback" not in refused.stderr
    graded = run(*command, "--no-sandbox", cwd=tmp_path)
    assert graded.returncode == 0, graded
    assert (graded.stdout + graded.stderr).count("sandbox") == 1
    assert (tmp_path / "out" / "results.jsonl").is_file()
    assert run("grade", "class/ann", "--only", "tensor_ops.gram", "--out", "own", cwd=tmp_path).returncode == 0


def test_names_are_really_gone(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os, signal, socket\n"
        "print([name for name in ('fork', 'getuid', 'killpg') if hasattr(os, name)])\n"
        "print(hasattr(signal, 'SIGUSR1'), hasattr(signal, 'SIGKILL'), hasattr(socket, 'AF_UNIX'))\n"
        "for name in ('fcntl', 'resource', 'pwd'):\n"
        "    try:\n        exec(f'import {name}')\n        print(name)\n    except ImportError:\n        pass\n"
        "try:\n    open('/proc/self/stat')\n    print('proc')\nexcept FileNotFoundError:\n    pass\n"
    )
    found = subprocess.run([sys.executable, script], env=environment(), capture_output=True, text=True, check=True)
    assert found.stdout.split("\n") == ["[]", "False False False", ""]
    assert hasattr(signal, "SIGKILL")
