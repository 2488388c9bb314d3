"""Exercises that are handed out as programs with a bug: they run, earn nothing, and count as not begun at first."""

from __future__ import annotations

import io
import shutil
from pathlib import Path

import pytest
from judge_here import grade_here
from msgspec.structs import replace
from rich.console import Console
from shared import OWN_COURSE

from grader.course import Course
from grader.course.handout import init
from grader.course.stubs import release
from grader.course.update import reset
from grader.grading.graders import Graded
from grader.grading.promises import Defect
from grader.grading.settings import topics_of
from grader.grading.verify import verify_course
from grader.intake.topics import AS_HANDED_OUT
from grader.notebook.commands import Card
from grader.reports.check_report import CheckReport
from grader.reports.states import is_untouched, next_exercise, next_lines, state_of
from grader.reports.where import Locations
from grader.results import ExerciseResult, SubmissionResult

BUG = "    return x / torch.linalg.vector_norm(x)\n"
"""Divides by one length for all rows, also where it is 0."""
SLEEPS = "    import time\n    while True:\n        time.sleep(1)\n"
"""Never ends, and leaves the processor to other tests meanwhile."""
MISCONCEPTION = f"""

@misconception("normalize", tell="Look at the second row: which length was it divided by?")
def as_handed_out(x: Tensor) -> Tensor:
{BUG}"""
SOLVED = """\
    length = torch.linalg.vector_norm(x, dim=1, keepdim=True)
    return x / torch.where(length == 0, 1.0, length)
"""


def course_with(root: Path, bug: str = BUG, mark: str = "") -> Path:
    """The example course with `normalize` handed out as a program with a bug."""
    shutil.copytree(OWN_COURSE, root, ignore=shutil.ignore_patterns("__pycache__"))
    solution = root / "solutions" / "vectors.py"
    commented = "".join(f"    # {line}\n" for line in bug.replace("\n    ", "\n").strip().split("\n"))
    text = solution.read_text().replace("    # solution: two lines are enough\n", "    # solution:\n")
    solution.write_text(text.replace(SOLVED, f"{SOLVED}    # handed out:{mark}\n{commented}"))
    with (root / "solutions" / "misconceptions" / "vectors.py").open("a") as file:
        file.write(MISCONCEPTION)
    release(Course.load(root))
    return root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return course_with(tmp_path / "course")


def stub_of(root: Path) -> str:
    return (root / "exercises" / "vectors.py").read_text()


def graded(root: Path, text: str) -> SubmissionResult:
    (result,) = grade_here(root, {"vectors": text}, names=True)
    return result


def shown(root: Path, *results: ExerciseResult) -> str:
    course, stream = Course.load(root), io.StringIO()
    console = Console(file=stream, width=100, highlight=False, markup=False, emoji=False)
    report = CheckReport(course, console)
    places = Locations(Path("nowhere"), {})
    whole = SubmissionResult(submission="me", score=0, max=3, exercises=results)
    report.end(whole, next_lines=next_lines(results, course, places))
    return stream.getvalue()


def test_the_program_runs_and_shows_its_symptom(root: Path) -> None:
    normalize, cosine = graded(root, stub_of(root)).exercises
    assert (normalize.score, normalize.as_handed_out) == (0.0, True)
    assert {check.cause.kind for check in normalize.checks if check.cause} == {"assertion"}
    assert len({check.cause for check in normalize.checks}) == 1  # the first check that fails tells for all
    assert cosine.checks[0].verdict == "blocked"


def test_it_counts_as_not_begun_and_its_bug_is_not_named(root: Path) -> None:
    normalize, _ = graded(root, stub_of(root)).exercises
    assert normalize.misconception is None
    assert is_untouched(normalize) and state_of(normalize) == "unwritten"


def test_changed_and_wrong_in_the_same_way_it_is_an_attempt_and_the_bug_is_named(root: Path) -> None:
    normalize, _ = graded(root, stub_of(root).replace(BUG, f"    print(x)\n{BUG}")).exercises
    assert (normalize.misconception, normalize.as_handed_out) == ("as_handed_out", False)
    assert state_of(normalize) == "failing"


def test_an_attempt_that_fails_comes_before_a_program_that_nobody_has_touched(root: Path) -> None:
    program, _ = graded(root, stub_of(root)).exercises
    attempt = replace(program, name="vectors.cosine", as_handed_out=False)
    assert next_exercise([program, attempt]) == attempt
    assert next_exercise([program]) == program


def test_the_terminal_shows_the_symptom_only_of_the_program_that_is_next(root: Path) -> None:
    program, _ = graded(root, stub_of(root)).exercises
    text = shown(root, program)
    assert "returned  " in text and "next: vectors.normalize" in text
    attempt = replace(program, name="vectors.cosine", as_handed_out=False)
    assert shown(root, program, attempt).count("returned  ") == 1
    assert "2 exercises: as handed out" in shown(root, program, replace(program, name="vectors.cosine"))


def test_a_card_in_a_notebook_opens_the_program_that_was_asked_for(root: Path) -> None:
    program, _ = graded(root, stub_of(root)).exercises
    other = replace(program, name="vectors.cosine")
    whole = SubmissionResult(submission="me", score=0, max=3, exercises=(program, other))
    card = Card(Graded(whole, "digest", 1.0), Course.load(root), "vectors.cosine").html()
    assert "as handed out: vectors.normalize" in card and "not written yet" not in card
    assert "returned" in card


def test_intake_takes_an_untouched_program_for_a_file_as_it_was_handed_out(root: Path) -> None:
    stub, topics = stub_of(root).encode(), topics_of(Course.load(root))
    assert topics.why_not_own("vectors", stub) == AS_HANDED_OUT
    assert topics.why_not_own("vectors", stub.replace(BUG.encode(), SOLVED.encode())) == ""


def test_reset_brings_the_bug_back(root: Path, tmp_path: Path) -> None:
    course, folder = Course.load(root), tmp_path / "work"
    init(course, folder)
    file = folder / "vectors.py"
    assert reset(course, folder, "vectors.normalize") is None
    file.write_text(stub_of(root).replace(BUG, SOLVED))
    assert reset(course, folder, "vectors.normalize") == folder / "vectors.py.bak"
    assert file.read_text() == stub_of(root)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bug", "mark", "words"),
    [
        (BUG, "", []),
        ("    y = 1.0 * x\n    return y / y.norm(dim=1, keepdim=True).clamp_min(1e-9)\n", "", ["earns points"]),
        ('    raise ValueError("no")\n', "", ["must give a wrong answer in check"] * 4),
        (SLEEPS, "", ["never ends, and is not marked `hangs`", *["with a line of it"] * 4]),
        (BUG, " hangs", ["ends, and is marked `hangs`"]),
    ],
    ids=["as it should be", "right", "raises", "hangs", "ends"],
)
def test_verify_holds_the_program_to_its_promises(tmp_path: Path, bug: str, mark: str, words: list[str]) -> None:
    course = course_with(tmp_path / "course", bug, mark)
    defects: list[Defect] = []
    verify_course(Course.load(course), defects.append)
    about = [one.message for one in defects if "as it is handed out" in one.message]
    assert len(about) == len(words) == len(defects), defects
    for text in words:
        assert sum(text in message for message in about) == words.count(text), about
