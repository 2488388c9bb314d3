"""What the terminal of `grader check` shows, to the letter: how much of it, in which order, at every width."""

from __future__ import annotations

import functools
import io
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from classrooms import OWN, check, exercise, result
from msgspec.structs import replace
from rich.console import Console

from grader.course import Course, Exercise
from grader.course.home import LastCheck
from grader.judge import explain
from grader.reports.beside import print_beside
from grader.reports.check_report import MOST_ROWS, CheckReport
from grader.reports.feedback import check_title, help_for, hint_for, hint_order
from grader.reports.states import beside_lines, next_lines
from grader.reports.terminal import Spinner, make_console, spinning
from grader.reports.where import Locations
from grader.results import Cause, ExerciseResult, Frame

COURSE = Course.load(OWN)
SHIPPED = Course.load(None)
UNWRITTEN = Cause(kind="unwritten", reason="`x` is not written yet")
WRONG = Cause(
    kind="assertion",
    sentence="The vector (3, 4) has length 5.",
    call="normalize(tensor([3., 4.]))",
    returned="tensor([3., 4.])",
    expected="tensor([0.6000, 0.8000])",
    reason="2 of 2 values differ",
)
RAISED = Cause(
    kind="exception",
    sentence="Any vector.",
    call="cosine(tensor([1.]), tensor([1., 2.]))",
    exception_type="ValueError",
    exception_message="no",
    frames=(Frame("vectors.py", 9, "cosine", 'raise ValueError("no")'),),
)


def failing(name: str, *causes: Cause | None) -> ExerciseResult:
    made = [check(f"number_{n}") if c is None else explain.result(f"number_{n}", c) for n, c in enumerate(causes)]
    return exercise(name, *made)


def shown(*exercises: ExerciseResult, width: int = 80, course: Course = COURSE, files: str = "", **shown: Any) -> str:
    stream = io.StringIO()
    console = Console(file=stream, width=width, highlight=False, markup=False, emoji=False)
    places = Locations(Path("nowhere"), {"vectors.py": files.encode()})
    report = CheckReport(course, console, places.of, **shown)
    report.end(result("me", *exercises), next_lines=next_lines(exercises, course, places))
    text = stream.getvalue()
    assert all(line == line.rstrip() and len(line) <= width for line in text.splitlines()), text
    return text


def test_golden_one_wrong_one_that_raises() -> None:
    text = shown(failing("vectors.normalize", WRONG, WRONG, None), failing("vectors.cosine", RAISED, RAISED))
    assert text == (
        """
vectors  Vectors: length, direction, angle
  ✗ normalize    0/1  2 of 2 values differ
  ✗ cosine       0/1  your code raised ValueError: no, for valid input: cosine(…

✗ vectors.normalize  vectors.py
  │ 2 of 2 values differ
  │ The vector (3, 4) has length 5.
  │ normalize(tensor([3., 4.]))
  │ returned  tensor([3., 4.])
  │ expected  tensor([0.6000, 0.8000])
  and 1 more fails alike
  hint: Each row has its own length: which dim do you sum over, and which dim
  must be kept so that the division broadcasts?
  more: grader hint vectors.normalize --level 2

░░░░░░░░░░░░░░░░░░░░  0 of 2 exercises
0/2 points, 0.0%
next: vectors.normalize  vectors.py
"""
    )


def test_one_exercise_says_once_why_it_fails() -> None:
    text = shown(failing("vectors.normalize", WRONG), is_alone=True)
    assert text.count("2 of 2 values differ") == 1 and "  ✗ normalize    0/1\n" in text


def test_golden_narrow() -> None:
    text = shown(failing("vectors.normalize", WRONG, None), exercise("vectors.cosine", check(), points=2), width=40)
    assert text == (
        """
vectors  Vectors: length, direction, an…
  ✗ normalize    0/1  2 of 2 values dif…
  ✓ cosine       2/2

✗ vectors.normalize  vectors.py
  │ 2 of 2 values differ
  │ The vector (3, 4) has length 5.
  │ normalize(tensor([3., 4.]))
  │ returned  tensor([3., 4.])
  │ expected  tensor([0.6000, 0.8000])
  hint: Each row has its own length:
  which dim do you sum over, and which
  dim must be kept so that the division
  broadcasts?
  more: grader hint vectors.normalize
  --level 2

██████░░░░  1 of 2 exercises
2/3 points, 66.7%
next: vectors.normalize  vectors.py
"""
    )


def test_golden_untouched_course_is_a_line_for_each_topic() -> None:
    untouched = [failing(one.full_name, UNWRITTEN, UNWRITTEN) for one in SHIPPED.exercises]
    lines = shown(*untouched, course=SHIPPED).splitlines()
    assert lines[0].startswith("· first_run ") and lines[0].endswith(" exercises: not written yet")
    assert len(lines) == len(SHIPPED.topics) + 4
    assert lines[-1] == "next: first_run.pick_rate  first_run.py"


def test_unwritten_exercises_of_a_begun_topic_share_a_line() -> None:
    names = [one.full_name for one in SHIPPED.topic("tensor_ops").exercises]
    text = shown(exercise(names[0], check()), *(failing(name, UNWRITTEN) for name in names[1:]), course=SHIPPED)
    others = len(names) - 1
    assert re.search(rf"  · {others} exercises +0/{others}  not written yet: describe, as_float32", text)
    assert text.count("not written yet") == 1


def test_a_file_that_cannot_be_imported_is_told_once() -> None:
    at = Frame("vectors.py", 3, "", "def f(:")
    broken = Cause(
        kind="exception",
        stage="import",
        file="vectors.py",
        exception_type="SyntaxError",
        exception_message="invalid syntax (vectors.py, line 3)",
        frames=(at,),
    )
    text = shown(failing("vectors.normalize", broken, broken), failing("vectors.cosine", broken))
    assert text == (
        """✗ vectors        0/2  vectors.py cannot be imported: SyntaxError in line 3: inv…

✗ vectors.py
  │ vectors.py cannot be imported: SyntaxError in line 3: invalid syntax
  │   vectors.py:3: def f(:

░░░░░░░░░░░░░░░░░░░░  0 of 2 exercises
0/2 points, 0.0%
next: repair vectors.py:3
"""
    )


def test_only_the_first_failure_is_in_full_unless_all_are_wanted() -> None:
    both = failing("vectors.normalize", WRONG, None), failing("vectors.cosine", RAISED, None)
    assert "\n✗ vectors.cosine" not in shown(*both)
    assert "\n✗ vectors.normalize" in shown(*both, every_failure=True)
    assert "\n✗ vectors.cosine" in shown(*both, every_failure=True)


def test_verbose_names_every_check_and_shows_every_way_to_fail() -> None:
    text = shown(failing("vectors.normalize", WRONG, None, RAISED, RAISED), every_check=True)
    assert "      ✗ number 0: failed\n      ✓ number 1\n" in text
    assert "2 of 2 values differ" in text and "raise ValueError" in text
    assert text.count("your code raised ValueError: no") == 1 and "and 1 more fails alike" in text


def test_another_way_to_fail_is_counted_and_the_same_exception_is_shown_once() -> None:
    text = shown(failing("vectors.cosine", RAISED, RAISED, WRONG, RAISED))
    assert text.count("ValueError") == 3  # beside the exercise, as advice, and in the student's own line
    assert "  and 2 more fail alike\n  and 1 check fails in another way (--verbose shows all)\n" in text


@pytest.mark.parametrize("width", [40, 80, 100])
def test_an_exercise_takes_at_most_25_rows(width: int) -> None:
    frames = tuple(Frame("vectors.py", n, "cosine", f"line {n} " * 30) for n in range(12))
    long = Cause(
        kind="exception",
        sentence="s " * 300,
        call="cosine(" + "1, " * 500,
        exception_type="ValueError",
        exception_message="word " * 300,
        frames=frames,
        prints="printed\n" * 100,
        printed=800,
    )
    text = shown(failing("vectors.cosine", long, WRONG), width=width)
    block = text[text.index("\n✗ vectors.cosine") + 1 :].partition("\n\n")[0].splitlines()
    assert len(block) <= MOST_ROWS
    assert any("--verbose" in line for line in block)
    assert "line 0" in "".join(block) or width == 40


def test_scores_are_never_wrapped() -> None:
    names = [one.full_name for one in SHIPPED.exercises]
    for width in (30, 40, 60):
        text = shown(*(failing(name, WRONG, None) for name in names), course=SHIPPED, width=width)
        rows = [line for line in text.splitlines() if line.startswith("  ✗ ")]
        assert len(rows) == len(names) and all("0/1" in row for row in rows)


def test_a_topic_that_is_done_is_celebrated_and_a_course_that_is_done_more_so() -> None:
    topic, then = SHIPPED.topics[:2]
    done = [exercise(one.full_name, check(), points=one.points) for one in topic.exercises]
    text = shown(*done, course=SHIPPED)
    points = int(sum(one.points for one in topic.exercises))
    assert f"  ★ {topic.name} is done: {points}/{points} points" in text and "finished" not in text
    assert text.endswith(f"next: {then.exercises[0].full_name}  {then.name}.py\n")
    both = shown(exercise("vectors.normalize", check()), exercise("vectors.cosine", check()))
    assert f"You have finished {COURSE.title}.\nWell done!\n★ ★" in both and "next:" not in both


def test_a_topic_is_done_by_the_latest_result_of_each_exercise_in_whichever_run_it_was() -> None:
    report = functools.partial(shown, exercise("vectors.cosine", check(), points=2))
    assert "★" not in report()
    assert "★" not in report(before={"vectors.normalize": LastCheck("failing", 0.0, 1.0)})
    assert "  ★ vectors is done: 3/3 points" in report(before={"vectors.normalize": LastCheck("passed", 1.0, 1.0)})
    again = {name: LastCheck("passed", 1.0, 1.0) for name in ("vectors.normalize", "vectors.cosine")}
    assert "★" not in shown(failing("vectors.cosine", WRONG), before=again)


def test_who_has_passed_the_one_exercise_that_was_asked_for_hears_how_to_compare_answers() -> None:
    passed, failed = exercise("tensor_ops.gram", check()), failing("tensor_ops.gram", WRONG)
    lines = ["yours beside the course's: grader solution tensor_ops.gram --beside"]
    assert beside_lines([passed], SHIPPED, ["tensor_ops.gram"]) == lines
    assert beside_lines([failed], SHIPPED, ["tensor_ops.gram"]) == []
    assert beside_lines([passed], SHIPPED, ["tensor_ops.gram", "tensor_ops.softmax"]) == []
    assert beside_lines([exercise("vectors.cosine", check())], COURSE, ["vectors.cosine"]) == []  # it shows none


def test_two_answers_are_beside_each_other_where_both_have_room() -> None:
    mine, theirs = 'def f(x):\n    """Doc."""\n    y = x\n    return y', "def f(x):\n    return x"
    wide, narrow, alone = io.StringIO(), io.StringIO(), io.StringIO()
    print_beside(mine, theirs, (3, 1), Console(file=wide, width=100))
    assert wide.getvalue().splitlines() == [
        "yours: 3 calls of torch in the example │ the course's: 1 call of torch in the example",
        "def f(x):                              │ def f(x):",
        "    y = x                              │     return x",
        "    return y                           │",
    ]
    print_beside(mine, theirs, (3, None), Console(file=narrow, width=40))
    assert narrow.getvalue().splitlines() == [
        *("yours: 3 calls of torch in the example", "def f(x):", "    y = x", "    return y", ""),
        *("the course's", "def f(x):", "    return x"),
    ]
    print_beside(mine, "", (3, 1), Console(file=alone, width=80))  # the course shows no solutions
    assert alone.getvalue().count("\n") == 2 and "def" not in alone.getvalue()


def test_next_goes_to_what_was_tried_and_fails_before_what_is_unwritten() -> None:
    code = "import torch\n\n\n@torch.no_grad()\ndef cosine(a, b):\n    pass\n"
    text = shown(failing("vectors.normalize", UNWRITTEN), failing("vectors.cosine", WRONG, None), files=code)
    assert text.endswith("next: vectors.cosine  vectors.py:5\n")


def test_a_line_is_printed_when_the_next_exercise_is_known_and_never_twice() -> None:
    stream = io.StringIO()
    report = CheckReport(COURSE, Console(file=stream, width=80))
    one = exercise("vectors.normalize", check())
    report.add(one)
    assert "✓ normalize    1/1\n" in stream.getvalue()
    report.add(one)
    assert stream.getvalue().count("normalize") == 1


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("rows_of_one", "rows of one"),
        ("rows[values0]", "rows (case 1)"),
        ("rows[None]", "rows (None)"),
        ("rows[no file before]", "rows (no file before)"),
    ],
)
def test_no_id_of_pytest_is_shown(name: str, words: str) -> None:
    assert check_title(name) == words


def test_columns_count_when_piped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert make_console().width == 40
    monkeypatch.setenv("COLUMNS", "400")
    assert make_console().width == 100
    monkeypatch.setenv("COLUMNS", "1")
    assert make_console().width == 30


PIPED = """
import sys, time
from grader.cli.app import main
main(["check", "--course", sys.argv[1], "--submission", sys.argv[2], "--check-seconds", "2"])
"""


@pytest.mark.slow
def test_lines_come_while_later_exercises_are_still_checked(tmp_path: Path) -> None:
    code = (OWN / "solutions" / "vectors.py").read_text()
    head, separator, rest = code.partition("def cosine(")
    signature, _, _ = rest.partition(":\n")
    (tmp_path / "vectors.py").write_text(f"{head}{separator}{signature}:\n    while True:\n        pass\n")
    command = [sys.executable, "-c", PIPED, str(OWN), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = [process.stdout.readline() for _ in range(3)]
        is_running = process.poll() is None
        rest = process.stdout.read()
    assert "✓ normalize" in first[2] and is_running
    assert "✗ cosine" in rest and "no answer in 2 s" in rest


def test_a_hint_is_shown_only_beside_the_checks_that_it_is_for() -> None:
    one = Exercise(name="f", points=1, hints=("general", "of the empty one"), hints_for={"empty": 2}, topic="t")
    wrong = {name: explain.result(name, WRONG) for name in ("empty", "empty[3]", "other")}
    assert [hint_for(one, wrong[name]) for name in wrong] == ["of the empty one", "of the empty one", "general"]
    assert hint_for(replace(one, hints=("of the empty one",), hints_for={"empty": 1}), wrong["other"]) is None
    assert hint_for(one, explain.result("other", RAISED)) is None


def test_the_command_for_a_hint_is_that_of_the_next_one() -> None:
    known = COURSE.exercise("vectors.normalize")
    hint, command = help_for(failing("vectors.normalize", WRONG), COURSE)
    assert hint == known.hints[0] and command == "grader hint vectors.normalize --level 2"
    assert help_for(failing("vectors.normalize", RAISED), COURSE) == (None, "grader hint vectors.normalize")
    assert help_for(failing("vectors.unknown", WRONG), COURSE) == (None, None)


def test_hints_come_in_the_order_of_the_check_that_fails() -> None:
    known = SHIPPED.exercise("tensor_ops.softmax")

    def result(name: str, cause: Cause) -> ExerciseResult:
        return ExerciseResult(name="tensor_ops.softmax", score=0.0, max=1.0, checks=(explain.result(name, cause),))

    together = result("high_and_low_rows_together", WRONG)
    assert help_for(together, SHIPPED) == (known.hints[1], "grader hint tensor_ops.softmax")
    assert hint_order(known, together) == [2, 1, 3]
    raises = result("high_and_low_rows_together", RAISED)
    assert help_for(raises, SHIPPED) == (None, "grader hint tensor_ops.softmax --level 2")
    large = result("large_scores", WRONG)
    assert help_for(large, SHIPPED) == (known.hints[0], "grader hint tensor_ops.softmax --level 2")
    assert hint_order(known, large) == hint_order(known, None) == [1, 2, 3]


@pytest.mark.parametrize(
    ("name", "check_name", "words"),
    [
        ("training.train_epoch", "mean_over_the_examples_seen", "The mean of batch means is wrong"),
        ("training.train_epoch", "trains_in_training_mode", "Somebody may have left the model in eval mode"),
        ("parameters.freeze", "any_prefix", "'layers.10.weight' begins with 'layers.1' too"),
        ("spirals.run", "a_save_that_fails", "Save the dict first"),
        ("ddp.save_on_rank0", "complete_when_it_returns", "dist.barrier() returns on every rank"),
    ],
)
def test_the_shipped_course_says_which_hint_is_for_which_check(name: str, check_name: str, words: str) -> None:
    wrong = ExerciseResult(name=name, score=0.0, max=1.0, checks=(explain.result(check_name, WRONG),))
    assert (help_for(wrong, SHIPPED)[0] or "").startswith(words)


def test_nothing_is_drawn_again_and_again_where_that_is_not_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    stream = io.StringIO()
    with spinning(Console(file=stream, width=80), "starting") as spinner:
        spinner.doing = "tensor_ops.gram"
    assert stream.getvalue() == ""


def test_the_spinner_says_what_is_checked_and_for_how_long() -> None:
    spinner = Spinner("tensor_ops.gram")
    assert re.fullmatch(r". tensor_ops\.gram  \d+ s", spinner.__rich__().plain)


def test_what_has_passed_before_is_not_next() -> None:
    done, places = [exercise("vectors.normalize", check())], Locations(Path("nowhere"), {})
    assert next_lines(done, COURSE, places)[0].startswith("next: vectors.cosine")
    assert next_lines(done, COURSE, places, passed=["vectors.cosine"]) == []
