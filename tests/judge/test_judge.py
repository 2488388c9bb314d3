"""Verdicts, one of each kind, from the sandbox to the message: a real worker over a small course with odd checks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_here import run_here
from judge_here import grade_here
from odd_course import RIGHT, with_own, write_odd_course
from shared import Warm, WarmUp, check_of, exercise_of

from grader.errors import CourseError
from grader.results import SubmissionResult
from grader.sandbox.limits import Limits


@pytest.fixture(scope="session")
def odd_course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_odd_course(tmp_path_factory.mktemp("odd"))


@pytest.fixture
def odd(warm: WarmUp, odd_course: Path) -> Warm:
    return warm(odd_course, check_seconds=2.0)


def verdicts(result: SubmissionResult, exercise: str) -> list[str]:
    return [check.verdict for check in exercise_of(result, exercise).checks]


def test_right_answers_pass_and_what_cannot_be_assessed_leaves_the_total(odd: Warm) -> None:
    result = odd.grade(odd=RIGHT)
    assert verdicts(result, "double") == ["passed", "passed"]
    assert verdicts(result, "drawn") == verdicts(result, "depends") == verdicts(result, "after") == ["passed"]
    assert verdicts(result, "scaled") == ["passed", "passed"]
    assert verdicts(result, "gpu") == ["skipped"]
    assert exercise_of(result, "gpu").max == 0
    assert check_of(result, "on_a_gpu").message == "there is no GPU here"
    assert verdicts(result, "partly") == ["skipped", "passed"]
    assert (result.score, result.max) == (16.0, 16.0)


def test_the_same_submission_gets_the_same_result(odd: Warm) -> None:
    text = with_own(double="return 3 * x", drawn="return min(x, 3)", depends="return 0", secret="return {x: x}")
    assert odd.grade(odd=text) == odd.grade(odd=text)


def test_a_failure_shows_the_smallest_call_what_came_back_and_what_was_expected(odd: Warm) -> None:
    message = check_of(odd.grade(odd=with_own(double="return 3 * x")), "twice_every_number").message
    lines = message.splitlines()
    assert "values differ" in lines[0] or "differs" in lines[0]
    assert lines[1] == "Every number is twice as large."
    assert lines[2].startswith("double(tensor([[")
    assert lines[2].count(",") == 0
    assert lines[3].startswith("returned  tensor([[")
    assert lines[4].startswith("expected  tensor([[")


def test_a_shrunk_failure_is_one_that_failed_alike(odd: Warm) -> None:
    text = with_own(double="return 2 * x if x.dim() != 2 or x.shape[0] < 3 else 2 * x + 1")
    message = check_of(odd.grade(odd=text), "twice_every_number").message
    assert message.splitlines()[2].count("[") == 4, message
    assert "3 of 3 values differ" in message


def test_a_hidden_check_keeps_back_what_was_expected(odd: Warm) -> None:
    message = check_of(odd.grade(odd=with_own(secret="return 17")), "secret").message
    assert "secret(3)" in message
    assert "17" in message
    assert "41" not in message


def test_an_exception_shows_the_students_own_lines_only(odd: Warm) -> None:
    message = check_of(odd.grade(odd=with_own(after="return helper(x)") + HELPER), "after").message
    assert message.startswith("`+` cannot join an int and a str: ")
    assert "raised    TypeError: unsupported operand" in message
    assert "in after: return helper(x)" in message
    assert 'in helper: return x + "1"' in message
    assert "grader" not in message


HELPER = '\ndef helper(x):\n    return x + "1"\n'


def test_prints_are_shown_with_a_failure(odd: Warm) -> None:
    message = check_of(odd.grade(odd=with_own(after="print('looking at', x)\n    return 0")), "after").message
    assert message.endswith("printed:\n  looking at 1")


def test_an_endless_loop_costs_its_exercise_alone_and_its_line_is_named(odd: Warm) -> None:
    text = with_own(secret="n = 0\n    while n < x:\n        n = n * 2\n    return n")
    result = odd.grade(odd=text)
    assert verdicts(result, "secret") == ["timeout"]
    line = next(i for i, line in enumerate(text.splitlines(), 1) if "while n < x" in line)
    assert f"it was in line {line} of odd.py, in secret: while n < x:" in check_of(result, "secret").message
    assert (result.score, result.max) == (14, 16)


def test_after_a_timeout_the_exercise_is_over(odd: Warm) -> None:
    result = odd.grade(odd=with_own(double="while True: __import__('time').sleep(1)"))
    assert verdicts(result, "double") == ["timeout", "timeout"]
    assert verdicts(result, "secret") == ["passed"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("__import__('os')._exit(0)", "ended the process with exit code 0"),
        ("__import__('os').kill(__import__('os').getpid(), 11)", "ended by signal 11 (SIGSEGV)"),
        ("raise SystemExit(4)", "ended the process with SystemExit(4)"),
        ("return [[0] * 100_000] * 100", "returned something too big to look at"),
    ],
)
def test_a_crash_says_how_it_ended_and_costs_its_exercise_alone(odd: Warm, body: str, words: str) -> None:
    result = odd.grade(odd=with_own(secret=body))
    assert verdicts(result, "secret") == ["crashed"]
    assert words in check_of(result, "secret").message
    assert (result.score, result.max) == (14, 16)


def test_a_check_with_a_bug_costs_no_points(odd: Warm) -> None:
    result = odd.grade(odd=RIGHT)
    assert verdicts(result, "buggy") == ["error", "passed", "error"]
    assert (exercise_of(result, "buggy").score, exercise_of(result, "buggy").max) == (2, 2)
    message = check_of(result, "with_a_bug").message
    assert "test_odd.py:" in message
    assert "KeyError: 'no such key'" in message
    assert "InvalidArgument" in check_of(result, "with_a_strategy_with_a_bug").message
    assert verdicts(result, "fixture") == ["error"]
    assert "a fixture with a bug" in check_of(result, "with_a_broken_fixture").message


def test_a_check_that_draws_while_it_runs_shows_the_smallest_call(odd: Warm) -> None:
    message = check_of(odd.grade(odd=with_own(drawn="return min(x, 5)")), "draws_as_it_goes").message
    assert message.splitlines()[0].startswith("drawn(6): 5 where 6")
    assert message.splitlines()[2:4] == ["returned  5", "expected  6"]


def test_an_unusable_answer_is_a_failure_not_a_fault_of_the_check(odd: Warm) -> None:
    result = odd.grade(odd=with_own(depends="return 'three'"))
    assert verdicts(result, "depends") == ["failed"]


def test_time_spent_on_naming_a_misconception_does_not_count_for_the_submission(
    odd_course: Path, tmp_path: Path
) -> None:
    course = write_odd_course(tmp_path)
    manifest = course / "course.toml"
    text = manifest.read_text()
    last = text.index(EXERCISE_HEAD.format("scaled"))
    first = text.index(EXERCISE_HEAD.format("double"))
    manifest.write_text(text[:first] + text[last:] + "\n" + text[first:last])  # so that others come after it
    warm = Warm(course, Limits(topic_seconds=6.0))
    try:
        # Three wrong answers, 25 calls each of 0.05 s or more: over a second for each check that is recorded.
        slow = (course / "solutions" / "misconceptions" / "odd.py").read_text().replace("0.05", "0.3")
        (course / "solutions" / "misconceptions" / "odd.py").write_text(slow)
        result = warm.grade(odd=with_own(scaled="return x + x"))
    finally:
        warm.worker.end()
    assert exercise_of(result, "scaled").misconception == "always_doubles"
    assert verdicts(result, "double") == ["passed", "passed"]
    assert verdicts(result, "depends") == ["passed"]


def test_wrong_answers_that_cannot_be_imported_are_reported_with_their_file(tmp_path: Path) -> None:
    course = write_odd_course(tmp_path)
    file = course / "solutions" / "misconceptions" / "odd.py"
    file.write_text(f"{file.read_text()}\nimport no_such_module\n")
    (right,) = grade_here(course, {"odd": RIGHT}, names=True)
    assert right.score == right.max  # no name is looked for where nothing failed
    with pytest.raises(CourseError) as error:
        grade_here(course, {"odd": with_own(scaled="return 0")}, names=True)
    assert str(error.value).startswith(str(file)) and "No module named 'no_such_module'" in str(error.value)
    assert "Traceback" not in str(error.value)


EXERCISE_HEAD = '[[topics.exercises]]\nname = "{}"'


def test_a_not_implemented_error_of_torch_is_not_taken_for_a_stub(odd: Warm) -> None:
    message = check_of(odd.grade(odd=with_own(after="return torch.nn.Module()(x)")), "after").message
    assert "is not written yet" not in message
    assert "Module [Module] is missing the required" in message


def test_answers_that_depend_on_earlier_calls_fail_and_say_so(odd: Warm) -> None:
    text = with_own(double="calls.append(1)\n    return 2 * x if len(calls) < 9 else x") + "\ncalls = []\n"
    found = check_of(odd.grade(odd=text), "twice_every_number")
    assert found.verdict == "failed"


def test_a_missing_function_and_an_untouched_stub_get_a_short_message(odd: Warm) -> None:
    text = with_own(after="raise NotImplementedError('write `after` here')").replace("def secret(", "def sekret(")
    result = odd.grade(odd=text)
    assert check_of(result, "secret").message == "`secret` is not defined in odd.py: you wrote `sekret`"
    first, second = check_of(result, "after").message.splitlines()
    assert first.startswith("`after` is defined twice, in line ") and second == "`after` is not written yet"


@pytest.mark.parametrize(
    ("text", "verdict", "words"),
    [
        ("def double(x) return x", "failed", "odd.py cannot be imported: SyntaxError"),
        ("import torhc", "failed", "ModuleNotFoundError: No module named 'torhc'\n  odd.py:1 in <module>"),
        ("raise SystemExit(0)", "crashed", "SystemExit"),
        ("import os; os._exit(0)", "crashed", "importing odd.py ended the process"),
    ],
)
def test_what_goes_wrong_at_import_costs_the_topic(odd: Warm, text: str, verdict: str, words: str) -> None:
    result = odd.grade(odd=text)
    assert result.verdicts == {verdict, "skipped"}  # nobody is assessed on what needs a GPU
    assert words in check_of(result, "secret").message
    assert result.score == 0


def test_check_exits_3_when_a_check_has_a_bug(odd_course: Path, tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text(RIGHT)
    done = run_here("check", "buggy", "--course", odd_course, "--json", "--submission", tmp_path)
    assert done.returncode == 3, done.stderr
    (exercise,) = json.loads(done.stdout)["exercises"]
    assert [check["verdict"] for check in exercise["checks"]] == ["error", "passed", "error"]


def test_only_what_the_failing_call_printed_is_shown(odd: Warm) -> None:
    text = with_own(scaled="print('called with', factor); return factor * x if factor == 2 else 0")
    found = check_of(odd.grade(odd=text), "scaled[3]")
    assert found.cause is not None and found.cause.prints == "called with 3"
    text = with_own(double="print('x is', x.shape); return 2 * x if x.dim() == 0 else 3 * x")
    assert check_of(odd.grade(odd=text), "twice_every_number").message.count("x is") == 1
