"""Where nothing can be forked: the same verdicts, messages and causes as with forked processes in a sandbox.

The workers here start with `without/` on their path, which takes from Python what Windows does not offer.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from shared import DEVICES_AND_RANKS, OWN_COURSE, REPO, Warm, WarmUp, exercise_of

from grader.course import Course, misconceptions_of
from grader.intake.submission import Submission
from grader.results import SubmissionResult
from grader.sandbox.limits import Limits

WITHOUT = Path(__file__).parent / "without"
REUSE = REPO / "tests" / "courses" / "reuse"
LIMITS = {"check_seconds": 2.0, "topic_seconds": 150.0, "memory_bytes": 512 << 20}


STATE = ("state.first", "state.second", "state.third")


EQUAL_SHARES = '''@exercise("team.mean_of_all")
def test_equal_shares(submission: Submission) -> None:
    """Two ranks with two numbers each: both return the mean of the four."""
    numbers = ranks.each(torch.tensor([6.0, 1.0]), torch.tensor([2.0, 3.0]))
    world = ranks.run(submission.mean_of_all, numbers, world_size=2)
    assert_close(world.results, [3.0, 3.0])


'''
"""A check that a mean of means passes; the next one may use its ranks again."""


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join((str(WITHOUT), str(REPO)))}


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One course with a topic of values, one of ranks, and one whose checks ask what a process remembers.

    So one worker of each engine serves all tests here: each starts several Pythons that import torch, and one more for
    every call that goes wrong. For the same reason there are two ranks instead of three, one check of each exercise of
    `state`, one misconception of `team`, and none of `cosine`.
    """
    root = tmp_path_factory.mktemp("course")
    for part in (OWN_COURSE, REUSE, DEVICES_AND_RANKS):
        shutil.copytree(part, root, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", "*gpus*"))
    tables = ['[course]\nname = "all"\ntitle = "All"\n']
    for part, topic in ((OWN_COURSE, "vectors"), (REUSE, "state"), (DEVICES_AND_RANKS, "team")):
        (text,) = (one for one in (part / "course.toml").read_text().split("[[topics]]") if f'name = "{topic}"' in one)
        tables.append("[[topics]]" + text.replace('needs = ["normalize"]', ""))
    (root / "course.toml").write_text("\n".join(tables))
    checks = root / "checks" / "test_team.py"
    text = checks.read_text()
    for old, new in ((", torch.tensor([0.0, 0.0, 3.0])", ""), ("size=3", "size=2"), ("[2.0, 2.0, 2.0]", "[3.0, 3.0]")):
        assert old in text
        text = text.replace(old, new)
    top, *of_team = text.partition('@exercise("team')
    checks.write_text("".join([top, EQUAL_SHARES, *of_team]))
    again, second = '@exercise("state.first")\ndef test_first_again', '@exercise("state.second")'
    cut(root / "checks" / "test_state.py", again, second)
    misconceptions = root / "solutions" / "misconceptions"
    cut(misconceptions / "vectors.py", '@misconception(\n    "cosine"')
    cut(misconceptions / "team.py", '@misconception("mean_of_all", tell="Only rank 0')
    return root


def cut(file: Path, begin: str, end: str = "") -> None:
    """Removes what is in a file from one piece of text on, up to another or to the file's end."""
    before, begins, rest = file.read_text().partition(begin)
    _, ends, after = rest.partition(end) if end else ("", "", "")
    assert begins and ends == end
    file.write_text(before + ends + after)


@pytest.fixture(scope="module")
def portable(course: Path) -> Iterator[Warm]:
    """A worker on a system that cannot fork."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
        patch.setenv("TORCHKATA_ENGINE", "portable")  # for this process, which could fork
        patch.setenv("A_SECRET", "of whoever grades")
        worker = Warm(course, Limits(**LIMITS))
    yield worker
    worker.worker.end()


def without_engine(result: SubmissionResult) -> SubmissionResult:
    """What must not depend on the engine."""
    return msgspec.structs.replace(result, sandbox=())


def verdicts(result: SubmissionResult) -> dict[str, list[str]]:
    return {
        exercise.name.partition(".")[2]: [check.verdict for check in exercise.checks] for exercise in result.exercises
    }


# ---------------------------------------------------------------- the same as with the other engine


def both(topic: str, text: str, course: Path, portable: Warm, warm: WarmUp) -> SubmissionResult:
    """The result of a submission to one topic, which is the same with both engines."""
    submission = Submission("somebody", {f"{topic}.py": text.encode()})
    exercises = Course.load(course).select([topic])
    here = portable.of(submission, *exercises)
    there = warm(course, **LIMITS).of(submission, *exercises)
    assert here.sandbox == () and there.sandbox != ()
    assert without_engine(here) == without_engine(there)
    return here


WRONG = """
normalize = {misconception}

def cosine(a, b):
    y = torch.nn.functional.cosine_similarity(a, b)
    a.zero_()
    return y
"""
"""A misconception, and an answer that changes an argument."""


@pytest.mark.parametrize("kind", ["solution", "stub", "wrong"])
def test_the_result_is_the_same(kind: str, course: Path, portable: Warm, warm: WarmUp) -> None:
    loaded = Course.load(course)
    text = loaded.solution_file("vectors").read_text()
    if kind == "stub":
        text = (course / "exercises" / "vectors.py").read_text()
    if kind == "wrong":
        answer = next(one for one in misconceptions_of(loaded, "vectors") if one.exercise == "vectors.normalize")
        text += loaded.misconceptions_file("vectors").read_text() + WRONG.format(misconception=answer.function)
    result = both("vectors", text, course, portable, warm)
    assert [exercise.score > 0 for exercise in result.exercises] == [kind == "solution"] * 2
    assert (exercise_of(result, "normalize").misconception is not None) is (kind == "wrong")


def test_ranks_too(course: Path, portable: Warm, warm: WarmUp) -> None:
    """An answer that one check with ranks passes and another fails."""
    loaded = Course.load(course)
    solved = loaded.solution_file("team").read_text()
    wrong = loaded.misconceptions_file("team").read_text()
    answer = next(one for one in misconceptions_of(loaded, "team") if one.name == "mean_of_means")
    result = both("team", f"{solved}\n{wrong}\nmean_of_all = {answer.function}\n", course, portable, warm)
    assert verdicts(result) == {"mean_of_all": ["passed", "failed"]}
    assert result.exercises[0].misconception == answer.name


# ---------------------------------------------------------------- one process, and fresh ones


def state(first: str = "return True", second: str = "return True", third: str = "return True") -> str:
    """A submission to the topic `state` whose functions note that they were called."""
    text = "import ctypes, os, socket, sys, threading, time, torch\ncalls = []\n"
    for name, body in (("first", first), ("second", second), ("third", third)):
        lines = "\n    ".join([f"calls.append({name!r})", *body.split("\n")])
        text += f"\n\ndef {name}():\n    {lines}\n"
    return text


def of_state(worker: Warm, text: str) -> SubmissionResult:
    return worker.of(Submission("somebody", {"state.py": text.encode()}), *STATE)


def test_a_process_is_used_again_while_its_answers_are_right(portable: Warm) -> None:
    """It has no variable and no input of whoever grades, and files that a call left are removed."""
    clean = "open('left', 'w').close()\nreturn 'A_SECRET' not in os.environ and sys.stdin.read() == ''"
    same = "return calls == ['first', 'second'] and os.listdir() == ['state.py']"
    found = verdicts(of_state(portable, state(clean, same)))
    assert found == {"first": ["passed"], "second": ["passed"], "third": ["passed"]}


GARBAGE = """for number in range(3, 100):
    try:
        socket.socket(fileno=os.dup(number)).sendall(bytes([255]) * 1000)
    except OSError:
        pass
return 7"""
"""Sends what is no answer."""


def test_what_goes_wrong_has_a_fresh_process_after_it(course: Path, portable: Warm, warm: WarmUp) -> None:
    """A thread that is left, an exception, a crash, a signal, and an answer that is none."""
    thread = "threading.Timer(99, print).start()\nreturn True"
    fresh = "os._exit(3 if calls == ['third'] else 4)"
    result = both("state", state(thread, "return second()", fresh), course, portable, warm)
    assert verdicts(result) == {"first": ["passed"], "second": ["failed"], "third": ["crashed"]}
    assert "RecursionError" in exercise_of(result, "second").checks[0].message
    assert "exit code 3" in exercise_of(result, "third").checks[0].message

    crash = "ctypes.string_at(0)"
    garbage = f"if calls != ['third']:\n    return True\n{GARBAGE}"
    result = both("state", state(second=crash, third=garbage), course, portable, warm)
    assert verdicts(result) == {"first": ["passed"], "second": ["crashed"], "third": ["crashed"]}
    assert "signal 11" in exercise_of(result, "second").checks[0].message


def test_what_eats_the_machine_is_ended(portable: Warm) -> None:
    prints = "print('x' * 1_000_000)\nreturn True"
    loop = "while True:\n    time.sleep(print('all tests passed ' * 1000) or 0.01)"
    memory = "kept = []\nwhile True:\n    kept.append(torch.ones(16 << 20))"
    text = state(loop, memory, prints)
    result = of_state(portable, text)
    assert verdicts(result) == {"first": ["timeout"], "second": ["crashed"], "third": ["passed"]}
    lines = text.split("\n")
    line = 1 + next(number for number, text in enumerate(lines) if text.strip().startswith("while"))
    message = exercise_of(result, "first").checks[0].message
    assert any(f"line {number} of state.py, in first" in message for number in (line, line + 1))
    assert "memory" in exercise_of(result, "second").checks[0].message


# ---------------------------------------------------------------- commands


def run(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """One run of the command, on a machine with one core: it keeps one new Python ready, not two as the worker here."""
    return subprocess.run(
        [sys.executable, "-m", "grader", *map(str, arguments)],
        cwd=cwd,
        env={**environment(), "NUMBER_OF_PROCESSORS": "1"},
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
    checked = run("check", "tensor_ops.gram", cwd=tmp_path / "kata")
    assert checked.returncode == 0, checked
    assert (
        "1/1 points" in checked.stdout
        and "no sandbox on this system: your code runs with your rights" in checked.stdout
    )
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
    alone = run("grade", "class/ann", *command[2:], cwd=tmp_path)
    assert alone.returncode == 0 and "unchanged" in alone.stdout, alone


def test_names_are_really_gone(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os, signal, socket\n"
        "print([name for name in ('fork', 'getuid', 'killpg') if hasattr(os, name)])\n"
        "print(hasattr(signal, 'SIGUSR1'), hasattr(signal, 'SIGKILL'), hasattr(socket, 'AF_UNIX'))\n"
        "for name in ('fcntl', 'resource', 'pwd'):\n"
        "    try:\n        exec(f'import {name}')\n        print(name)\n    except ImportError:\n        pass\n"
        "try:\n    open('/proc/self/stat')\n    print('proc')\nexcept FileNotFoundError:\n    pass\n"
        "from grader.testkit import ranks\n"
        "print(ranks.LAUNCH_SECONDS > 60)  # each worker of torchrun imports torch\n"
    )
    found = subprocess.run([sys.executable, script], env=environment(), capture_output=True, text=True, check=True)
    assert found.stdout.split("\n") == ["[]", "False False False", "True", ""]
    assert hasattr(signal, "SIGKILL")
