"""One process answers exercise after exercise while all answers are right; only a fresh one may fail anybody."""

from __future__ import annotations

import pytest
from shared import REPO, Warm, WarmUp

from grader.results import SubmissionResult

COURSE = REPO / "tests" / "courses" / "reuse"
HEAD = "import os, sys, threading, time\nimport torch\ncalls = []\n"


@pytest.fixture
def state(warm: WarmUp) -> Warm:
    return warm(COURSE)  # with the usual limits: only time that runs out on purpose has small ones


def submission(first: str = "return True", second: str = "return True", third: str = "return True") -> str:
    """A submission whose functions note that they were called, then do as is said."""
    text = HEAD
    for name, body in (("first", first), ("second", second), ("third", third)):
        lines = "\n    ".join([f"calls.append({name!r})", *body.split("\n")])
        text += f"\n\ndef {name}():\n    {lines}\n"
    return text


def verdicts(result: SubmissionResult) -> list[set[str]]:
    return [{check.verdict for check in exercise.checks} for exercise in result.exercises]


PASSED, FAILED, CRASHED = {"passed"}, {"failed"}, {"crashed"}


def test_right_answers_share_a_process(state: Warm) -> None:
    text = submission(third="return calls == ['first', 'first', 'second', 'third']")
    assert verdicts(state.grade(state=text)) == [PASSED, PASSED, PASSED]


def test_after_a_wrong_answer_the_next_exercise_has_a_fresh_process(state: Warm) -> None:
    text = submission(first="return False", second="return calls == ['second']")
    assert verdicts(state.grade(state=text)) == [FAILED, PASSED, PASSED]


def test_after_a_crash_too(state: Warm) -> None:
    text = submission(first="os._exit(3)", second="return calls == ['second']")
    assert verdicts(state.grade(state=text)) == [CRASHED, PASSED, PASSED]


def test_only_the_verdict_of_a_fresh_process_counts(state: Warm) -> None:
    text = submission(second="return calls == ['second']")
    assert verdicts(state.grade(state=text)) == [PASSED, PASSED, PASSED]


def test_a_wrong_answer_is_wrong_in_a_fresh_process_too(state: Warm) -> None:
    text = submission(second="return False", third="return calls == ['third']")
    assert verdicts(state.grade(state=text)) == [PASSED, FAILED, PASSED]


def test_the_checks_of_a_wrong_answer_share_one_process(state: Warm) -> None:
    text = submission(first="return len(calls) == 2")
    result = state.grade(state=text)
    assert [check.verdict for check in result.exercises[0].checks] == ["failed", "passed"]


@pytest.mark.parametrize(
    "leaves",
    [
        "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
        "if not os.fork():\n    time.sleep(60)",
        "if not os.fork():\n    os.setsid()\n    if not os.fork():\n        time.sleep(60)\n    os._exit(0)",
    ],
    ids=["a thread", "a process", "a process of its own"],
)
def test_what_is_left_running_ends_with_its_exercise(state: Warm, leaves: str) -> None:
    text = submission(
        first=f"{leaves}\nreturn True", second="return calls == ['second'] and threading.active_count() == 1"
    )
    assert verdicts(state.grade(state=text)) == [PASSED, PASSED, PASSED]


@pytest.mark.parametrize(
    ("does", "shows"),
    [
        ("torch.set_default_dtype(torch.float64)", "torch.ones(1).dtype is torch.float32"),
        ("torch.set_default_device('meta')", "torch.ones(1).device.type == 'cpu'"),
        ("torch.use_deterministic_algorithms(True)", "not torch.are_deterministic_algorithms_enabled()"),
        ("torch.set_num_threads(2)", "torch.get_num_threads() == 1"),
        ("torch.set_grad_enabled(False)", "torch.is_grad_enabled()"),
        ("sys.setswitchinterval(100)", "sys.getswitchinterval() < 1"),
        ("import gc; gc.disable()", "__import__('gc').isenabled()"),
        ("os.fork = None", "callable(os.fork)"),
        ("import signal; signal.signal = None", "callable(__import__('signal').signal)"),
        ("torch.nn.Linear = None", "torch.nn.Linear is not None"),
        ("sys.setrecursionlimit(100000)", "sys.getrecursionlimit() < 100000"),
        ("os.environ['LEFT'] = '1'", "'LEFT' not in os.environ"),
        ("os.chdir('/')", "os.getcwd() != '/'"),
        ("import random; random.random = lambda: 4", "__import__('random').random() != 4"),
    ],
)
def test_what_an_exercise_changes_fails_no_other(state: Warm, does: str, shows: str) -> None:
    """The second answer is right in a process of its own, and so it passes."""
    text = submission(first=f"{does}\nreturn True", second=f"return {shows}")
    assert verdicts(state.grade(state=text)) == [PASSED, PASSED, PASSED]


def test_it_reaches_no_other_submission(state: Warm) -> None:
    """Where a later exercise passes by what an earlier one did to its own process, that is the student's program."""
    patched = submission(first="torch.answer = True\nreturn True", second="return getattr(torch, 'answer', False)")
    assert verdicts(state.grade(state=patched)) == [PASSED, PASSED, PASSED]
    honest = submission(first="return not hasattr(torch, 'answer')", second="return getattr(torch, 'answer', False)")
    assert verdicts(state.grade(state=honest)) == [PASSED, FAILED, PASSED]


def test_files_are_cleared_after_each_exercise(state: Warm) -> None:
    writes = "open('left', 'w').write('x')\nos.makedirs('folder/in')\nreturn True"
    text = submission(
        first=f"if os.path.exists('left'):\n    return True\n{writes}",
        second="return not os.path.exists('left') and not os.path.exists('folder')",
    )
    assert verdicts(state.grade(state=text)) == [PASSED, PASSED, PASSED]


def test_files_that_the_import_made_stay(state: Warm) -> None:
    text = submission(third="return open('made').read() == 'x'") + "\nopen('made', 'w').write('x')\n"
    assert verdicts(state.grade(state=text)) == [PASSED, PASSED, PASSED]


def test_a_fresh_process_finds_the_submission_as_it_was_handed_in(state: Warm) -> None:
    rewrites = "import pathlib\npathlib.Path('state.py').write_text('raise SystemExit')\nreturn False"
    assert verdicts(state.grade(state=submission(first=rewrites))) == [FAILED, PASSED, PASSED]


def test_shared_memory_is_cleared_after_each_exercise(state: Warm) -> None:
    text = submission(
        first="open('/dev/shm/left', 'w').write('x')\nreturn True", second="return os.listdir('/dev/shm') == []"
    )
    assert verdicts(state.grade(state=text)) == [PASSED, PASSED, PASSED]


def test_endless_exercises_leave_time_for_the_others(warm: WarmUp) -> None:
    """The topic has less time than two endless exercises would use up."""
    endless = "time.sleep(99)"
    result = warm(COURSE, check_seconds=2.0, topic_seconds=9.0).grade(state=submission(first=endless, second=endless))
    assert verdicts(result) == [{"timeout"}, {"timeout"}, PASSED]
