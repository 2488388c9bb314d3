"""Questions that a topic asks once: answers come from running the lines, and are remembered as asked."""

from __future__ import annotations

import functools
import io
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command_here import run_here
from rich.console import Console
from shared import REPO

from grader.course import Course, CourseError, Question, content_hash
from grader.course.home import HIDDEN, Home
from grader.course.lessons import lesson_of
from grader.course.questions import Ask, is_right
from grader.course.record import OFF, Record
from grader.grading.questions import Answer, LineRun, ask_all

TAUGHT = REPO / "tests" / "courses" / "taught"
SHIPPED = Course.load(None, complete=False)
WITH_QUESTIONS = '''code = """
x = torch.zeros(2, 3)
x.T"""
ask = "shape"
idea = "Rise over run"

[[topics.questions]]
code = "torch.tensor([1]) / 3"
ask = "dtype"

[[topics.questions]]
code = "7 // 2"
ask = "number"
idea = "Back to zero"
'''
Edit = Callable[[Path, str, str], None]


@pytest.fixture
def asking(tmp_path: Path, edit: Edit) -> Path:
    """A course whose first topic has three questions."""
    course = Path(shutil.copytree(TAUGHT, tmp_path / "asking", ignore=shutil.ignore_patterns("__pycache__")))
    bugs = '[[topics]]\nname = "bugs"'
    edit(course / "course.toml", bugs, f"[[topics.questions]]\n{WITH_QUESTIONS}\n{bugs}")
    return course


@pytest.mark.parametrize(
    ("what", "answer", "right", "wrong"),
    [
        ("shape", "(2, 3)", ["(2, 3)", "2,3", "[2, 3]", "torch.Size([2, 3])", "2 3", "2x3"], ["3, 2", "6", "", "two"]),
        ("shape", "()", ["()", "torch.Size([])", "[]"], ["1", "(1,)", ""]),
        ("shape", "(5,)", ["5", "(5,)", "[5]"], ["(5, 1)", "(1, 5)"]),
        ("dtype", "torch.float32", ["float32", "torch.float32", "Float", "torch.float"], ["float64", "int", ""]),
        ("number", "0.75", ["3/4", "0.75", ".75", "0,75", "75e-2"], ["0.7", "", "three", "1/0"]),
        ("number", "0.333333", ["1/3", "0.333", "0.33"], ["0.3"]),
        ("number", "nan", ["nan", "NaN"], ["0"]),
        ("number", "0", ["0", "0.0", "-0"], ["0.1"]),
        ("text", "True", ["True", "true", "'True'"], ["False", ""]),
        ("text", "['weight']", ["['weight']", "weight", '["weight"]'], ["bias"]),
    ],
)  # fmt: skip
def test_an_answer_may_be_written_in_any_usual_way(what: Ask, answer: str, right: list[str], wrong: list[str]) -> None:
    assert [one for one in right if not is_right(what, one, answer)] == []
    assert [one for one in wrong if is_right(what, one, answer)] == []


def test_lines_are_run_and_each_knows_torch_alone() -> None:
    lines = ["x = 3\nx", "x", "print('no')\nnn.Linear(2, 5).weight", "F.relu(torch.tensor(-1.0))"]
    asks: list[Ask] = ["number", "number", "shape", "number"]
    questions = [Question(code=code, ask=what) for code, what in zip(lines, asks, strict=True)]
    assert LineRun(questions).answers() == [
        Answer("3"),
        Answer("", "NameError: name 'x' is not defined"),
        Answer("(5, 2)"),
        Answer("0"),
    ]


def asked(course: Course, run: LineRun, *typed: str) -> str:
    """What is printed for what is typed; the input ends after it."""
    lines: Iterator[str] = iter(typed)
    out = io.StringIO()

    def read(prompt: str) -> str:
        out.write(f"{prompt}\n")
        try:
            return next(lines)
        except StopIteration:
            raise EOFError from None

    ask_all(course, "lines", Console(file=out, width=60), run, read)
    return out.getvalue()


def test_right_wrong_and_skipped_show_what_the_line_gives_and_the_idea(asking: Path) -> None:
    course = Course.load(asking)
    run = LineRun(course.topic("lines").questions)
    run.answers = functools.cache(run.answers)  # type: ignore[method-assign] # torch is imported once, not three times
    right = asked(course, run, "3, 2", "float", "3")
    assert right.count("✓ right") == 3 and "why" not in right
    wrong = asked(course, run, "2, 3", "", "3.5")
    assert '✗ no: it gives (3, 2)\nwhy: "Rise over run" in grader learn lines\n' in wrong
    assert "\nit gives torch.float32\n\n" in wrong, "skipped: no verdict; and it has no idea"
    assert '✗ no: it gives 3\nwhy: "Back to zero"' in wrong
    ended = asked(course, run, "3, 2")
    assert ended.count("it gives") == 0 and "Which dtype does it have?" in ended and "number is it" not in ended


def test_verify_refuses_what_fails_or_depends_on_chance(asking: Path, edit: Edit) -> None:
    edit(asking / "course.toml", '"Back to zero"', '"Back to one"')
    edit(asking / "course.toml", '"torch.tensor([1]) / 3"\nask = "dtype"', '"7 // 0"\nask = "number"')
    more = "".join(
        f'\n[[topics.questions]]\ncode = "{code}"\nask = "number"\n'
        for code in ("torch.rand(1).item()", "hash('word')")
    )
    edit(asking / "course.toml", '"Back to one"\n', f'"Back to one"\n{more}')
    done = run_here("verify", "lines", "--course", asking)
    assert done.returncode != 0
    for said in (
        "question 2 of `lines` fails: ZeroDivisionError",
        "question 3 of `lines` names no idea of the lesson: `Back to one`; did",
        "question 4 of `lines` depends on chance: it gives 0.",
        "question 5 of `lines` depends on chance",
    ):
        assert said in done.stdout + done.stderr
    assert "question 1" not in done.stdout + done.stderr


def test_verify_is_content_with_questions_that_have_answers(asking: Path) -> None:
    done = run_here("verify", "lines", "--course", asking)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('code = "7 // 2"', 'code = "x = 7"', "code of a question must be Python, and its last line an expression"),
        ('code = "7 // 2"', 'code = " "', "code of a question must be one to 6 lines of plain text"),
        ('ask = "dtype"', 'ask = "colour"', '`ask` must be "dtype", "number", "shape" or "text", not "colour"'),
        ('idea = "Back to zero"', 'answer = "3"', "unknown key `answer`"),
        (
            'idea = "Back to zero"',
            "\n".join(['[[topics.questions]]\ncode = "1"\nask = "number"'] * 3),
            "a topic has at most 5 questions, not 6",
        ),
    ],
)
def test_a_manifest_with_another_question_is_refused(asking: Path, edit: Edit, old: str, new: str, said: str) -> None:
    edit(asking / "course.toml", old, new)
    with pytest.raises(CourseError, match=re.escape(said)) as refused:
        Course.load(asking)
    assert refused.value.line and refused.value.line > 20


def test_questions_change_no_result(asking: Path) -> None:
    assert content_hash(Course.load(asking)) == content_hash(Course.load(TAUGHT))


def test_each_topic_of_the_shipped_course_asks_three_to_five() -> None:
    assert {topic.name for topic in SHIPPED.topics if not 3 <= len(topic.questions) <= 5} == set()
    for topic in SHIPPED.topics:
        lesson = lesson_of(SHIPPED, topic.name)
        assert lesson and {one.idea for one in topic.questions} <= {idea.title for idea in lesson.ideas}, topic.name


def test_the_lines_of_the_shipped_course_have_answers_whatever_the_seed() -> None:
    questions = [one for topic in SHIPPED.topics for one in topic.questions]
    runs = [LineRun(questions, seed) for seed in (0, 1)]
    first, second = (run.answers() for run in runs)
    assert first == second and [one.problem for one in first if one.problem] == []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no pseudo terminal")
@pytest.mark.filterwarnings("ignore:.*forkpty:DeprecationWarning")
def test_learn_asks_at_its_end_once(asking: Path, tmp_path: Path) -> None:
    pexpect = pytest.importorskip("pexpect")
    folder = tmp_path / "kata"
    assert run_here("init", folder, "--course", asking).returncode == 0
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(REPO), "TERM": "xterm", "PAGER": "cat", "LANG": "C.UTF-8"}

    def learn() -> pexpect.spawn:  # type: ignore[name-defined]
        return pexpect.spawn(
            sys.executable, ["-m", "grader", "learn", "lines"], cwd=str(folder), env=environment, encoding="utf-8",
            timeout=100, dimensions=(80, 80),
        )  # fmt: skip

    first = learn()
    first.expect("3 questions about lines")
    for typed, said in (("3,2", "right"), ("", "it gives torch.float32"), ("4", "no: it gives 3")):
        first.expect(r"\? ")
        first.sendline(typed)
        first.expect(said)
    first.expect(pexpect.EOF)
    assert Record(Home(folder)).was_asked("lines") and not Record(Home(folder)).was_asked("bugs")
    again = learn()
    again.expect(pexpect.EOF)
    assert "Straight lines" in again.before and "questions" not in again.before
    (folder / HIDDEN / OFF).touch()
    assert Record(Home(folder)).was_asked("bugs"), "what could not be remembered is not asked"
    assert "questions" not in run_here("learn", "lines", cwd=folder).stdout, "nor what nobody could answer"
