"""A judge that dies, loops, blocks or eats memory costs the check at hand, never the submission or the class."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from shared import OWN_COURSE, check_of

from grader.course import Course
from grader.grading.exit_codes import FAULT, exit_code
from grader.grading.graders import Graded
from grader.grading.local_workers import LocalWorkers
from grader.grading.protocol import WorkerOptions
from grader.grading.worker_process import Worker
from grader.intake.submission import LoadedSource, Submission
from grader.results import CheckResult

pytestmark = pytest.mark.slow

SOLUTION = (OWN_COURSE / "solutions" / "vectors.py").read_text()
ODD = SOLUTION + "\n\ndef cosine(a, b):\n    return 7.0\n"
SECONDS = 2.0
HEAD = """
import os, re, signal, time
KEPT = []
"""


def check(name: str, *lines: str, exercise: str = "cosine") -> str:
    """A check whose body has these lines; its first line is the docstring."""
    body = "\n".join(f"    {line}" for line in lines)
    head = f'@exercise("vectors.{exercise}")\ndef test_{name}(submission: Submission) -> None:'
    return f'\n\n{head}\n    """{name}."""\n{body}\n'


ASKS = "answer = submission.cosine(torch.ones(1, 2), torch.ones(1, 2))"
SWALLOWS = (ASKS, "while True:", "    try: time.sleep(0.1)", "    except BaseException: pass")
DIES = "os.kill(os.getpid(), signal.SIGKILL)"
CRASHES = "import ctypes; ctypes.string_at(0)"
IN_C = 're.match("(a+)+$", "a" * 60 + "b")'


class Class:
    """Grades submissions to a course with these checks in addition."""

    def __init__(self, folder: Path, *checks: str) -> None:
        file = folder / "checks" / "test_vectors.py"
        file.write_text(file.read_text() + HEAD + "".join(checks))
        self.text = file.read_text()
        self.options = WorkerOptions(course=str(folder), judge_seconds=SECONDS)
        self.workers = LocalWorkers(Course.load(folder), self.options)

    def grade(self, text: str = SOLUTION) -> Graded:
        return self.workers.grade(LoadedSource(Submission("somebody", {"vectors.py": text.encode()})))

    @property
    def worker(self) -> Worker:
        """The worker that grades now."""
        (worker,) = self.workers._workers
        return worker

    def line(self, piece: str) -> int:
        """The line of the check file that holds a piece of text."""
        return self.text[: self.text.index(piece)].count("\n") + 1


@pytest.fixture
def opened(own_course: Path) -> Iterator[list[Class]]:
    made: list[Class] = []
    yield made
    for one in made:
        one.workers.stop()
        one.workers.close()


def verdicts(graded: Graded) -> dict[str, str]:
    """The verdicts other than `passed`, by check."""
    return {
        one.name: one.verdict
        for exercise in graded.result.exercises
        for one in exercise.checks
        if one.verdict != "passed"
    }


def place(result: CheckResult) -> tuple[str, int]:
    assert result.cause is not None and result.cause.kind == "grader_fault"
    assert result.cause.check_line is not None
    return result.cause.check_line.file, result.cause.check_line.line


def test_a_check_at_which_the_judge_dies_is_an_error_and_the_rest_is_graded(
    own_course: Path, opened: list[Class]
) -> None:
    opened.append(one := Class(own_course, check("crashes", ASKS, CRASHES)))
    graded = one.grade()
    assert verdicts(graded) == {"crashes": "error"}
    assert graded.result.score == graded.result.max == 3.0
    found = check_of(graded.result, "crashes")
    assert place(found) == ("test_vectors.py", one.line(CRASHES))  # Python can still report this signal
    assert "Traceback" not in found.message and "File" not in found.message
    assert exit_code([graded.result], None) == FAULT and "worker process died" in graded.fault


def test_a_submission_at_which_two_judges_die_gets_nothing_for_that_and_the_rest(
    own_course: Path, opened: list[Class]
) -> None:
    killers = [check(name, ASKS, f"if answer == 7.0: {DIES}", exercise="normalize") for name in ("one", "two")]
    opened.append(one := Class(own_course, *killers))
    graded = one.grade(ODD)
    assert graded.result.max == 3.0
    exercise = next(one for one in graded.result.exercises if one.name == "vectors.normalize")
    assert exercise.score == 0 and {check.cause.kind for check in exercise.checks if check.cause} == {"judge_ended"}
    assert {check.verdict for check in exercise.checks} == {"crashed"}
    assert "error" not in graded.result.verdicts
    assert verdicts(one.grade()) == {} and one.grade().result.score == 3.0


def test_checks_at_which_the_judge_ends_for_everybody_cost_nobody_points(own_course: Path, opened: list[Class]) -> None:
    """It dies of itself at one, and does not end at the other, which cannot be interrupted: its worker is ended."""
    opened.append(one := Class(own_course, check("exits", ASKS, "os._exit(5)"), check("swallows", *SWALLOWS)))
    for _ in range(2):
        graded = one.grade()
        assert verdicts(graded) == {"exits": "error", "swallows": "error"}
        assert graded.result.score == graded.result.max == 3.0
        assert_at_loop(one, check_of(graded.result, "swallows"), SWALLOWS)


def test_what_cannot_be_interrupted_ends_with_the_worker(own_course: Path, opened: list[Class]) -> None:
    opened.append(one := Class(own_course, check("endless", ASKS, IN_C)))
    graded = one.grade()
    assert verdicts(graded) == {"endless": "error"} and graded.result.score == graded.result.max == 3.0
    assert_at_loop(one, check_of(graded.result, "endless"), (ASKS, IN_C))


def assert_at_loop(one: Class, result: CheckResult, lines: tuple[str, ...]) -> None:
    """The check was at its second line, where its loop begins, or in the loop."""
    file, line = place(result)
    first = one.line(lines[1])
    assert file == "test_vectors.py" and first <= line < first + len(lines)


def test_a_check_that_does_not_end_in_the_judge_is_an_error_at_its_line(own_course: Path, opened: list[Class]) -> None:
    bodies = {
        "catches": (ASKS, "while True:", "    try: sum(range(100))", "    except Exception: pass"),
        "sleeps": (ASKS, "time.sleep(10_000)"),
    }
    opened.append(one := Class(own_course, *(check(name, *lines) for name, lines in bodies.items())))
    graded = one.grade()
    process = one.worker.process.pid
    assert verdicts(graded) == dict.fromkeys(bodies, "error") and graded.result.score == graded.result.max == 3.0
    for name, lines in bodies.items():
        assert_at_loop(one, check_of(graded.result, name), lines)
    assert one.grade().result == graded.result and one.worker.process.pid == process


def test_a_busy_or_hungry_check_ends_and_the_worker_lives(own_course: Path, opened: list[Class]) -> None:
    """Where it is what a submission answers that keeps a check busy, that is said."""
    loop = check("busy", ASKS, "while answer == 7.0:", "    pass")
    eats = check("hungry", ASKS, "while True:", "    KEPT.append(bytearray(64 << 20))")
    frees = check("lives", "del KEPT[:]", ASKS, "assert True")
    opened.append(one := Class(own_course, loop, eats, frees))
    graded = one.grade()
    process = one.worker.process.pid
    assert verdicts(graded) == {"hungry": "error"} and graded.result.score == 3.0
    assert "MemoryError" in check_of(graded.result, "hungry").message
    found = check_of(one.grade(ODD).result, "busy")
    assert found.verdict == "error" and found.cause is not None and "reference solution" in found.cause.note
    assert one.worker.process.pid == process


HOARDS = """

@exercise("vectors.cosine")
@settings(max_examples=1)
@given(data=st.data())  # its calls are not known beforehand, so that it runs for every submission
def test_hoards(submission: Submission, data: st.DataObject) -> None:
    \"\"\"Keeps 160 MB of every run.\"\"\"
    KEPT.append(bytes(range(256)) * (160 << 12))
    submission.cosine(torch.ones(1, 2), torch.ones(1, 2))
"""


def test_a_worker_that_has_grown_is_replaced_before_the_next_submission(own_course: Path, opened: list[Class]) -> None:
    opened.append(one := Class(own_course, "from hypothesis import settings\n", HOARDS))
    seen = []
    for _ in range(4):
        assert one.grade().result.score == 3.0
        seen += [worker.process.pid for worker in one.workers._workers if worker.process.pid not in seen]
    assert len(seen) == 2 and not Path(f"/proc/{seen[0]}").exists()
