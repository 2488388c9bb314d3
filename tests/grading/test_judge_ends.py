"""A judge that dies, loops, blocks or eats memory costs the check at hand, never the submission or the class.

One course has all such checks. Some misbehave for everybody; the others where a submission tells them to, by what it
answers to a call that no other check makes: so the submission is right, and loses no points of its own.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from shared import OWN_COURSE, check_of

from grader.course import Course
from grader.grading import local_workers
from grader.grading.exit_codes import FAULT, exit_code
from grader.grading.graders import Graded
from grader.grading.local_workers import LocalWorkers
from grader.grading.protocol import Began, ExerciseDone, WorkerOptions
from grader.grading.worker_process import Worker
from grader.intake.submission import Submission
from grader.results import CheckResult
from grader.sandbox.limits import Limits

pytestmark = pytest.mark.slow

SOLUTION = (OWN_COURSE / "solutions" / "vectors.py").read_text()
SECONDS = 1.0
HEAD = """
import itertools, os, signal, time
from pathlib import Path
from hypothesis import settings
EATEN, HOARD = [], []
"""
ASKS = "    told = list(submission.cosine(torch.ones(0, 2), torch.ones(0, 2)))\n"
DIES = "os.kill(os.getpid(), signal.SIGKILL)"
FOR_EVERYBODY = {
    "asks": ("while True:", "    submission.normalize(torch.ones(1, 2))"),
    "hungry": ("while True:", "    EATEN.append(bytes(64 << 20))"),
    "lives": ("del EATEN[:]",),
    "sleeps": ('if Path(__file__).with_name("asleep").exists():', "    time.sleep(10_000)"),
}
WHEN_TOLD = {
    "crashes": ("import ctypes; ctypes.string_at(0)",),
    "endless": ("sum(itertools.repeat(0))",),
    "busy_with_a_fixture": ("while True:", "    try: sum(range(100))", "    except Exception: pass"),
    "busy": ("while True:", "    try: sum(range(100))", "    except Exception: pass"),
    "kills": (DIES,),
    "kills_again": (DIES,),
    "kills_later": (DIES,),
}
OF_NORMALIZE = ("kills", "kills_again")
HOARDS = f"""

@exercise("vectors.cosine")
@settings(max_examples=1)
@given(data=st.data())  # its calls are not known beforehand, so that it runs for every submission
def test_hoards(submission: Submission, data: st.DataObject) -> None:
    \"\"\"Keeps 160 MB of every run.\"\"\"
{ASKS}
    if "hoards" in told:
        HOARD.append(bytes(range(256)) * (160 << 12))
"""


def check(name: str) -> str:
    """The check of that name."""
    if name in FOR_EVERYBODY:
        body = "".join(f"    {line}\n" for line in FOR_EVERYBODY[name])
    else:
        body = f'    if "{name}" in told:\n' + "".join(f"        {line}\n" for line in WHEN_TOLD[name])
    exercise = "normalize" if name in OF_NORMALIZE else "cosine"
    fixture = ", tmp_path: Path" if name.endswith("with_a_fixture") else ""
    head = f'@exercise("vectors.{exercise}")\ndef test_{name}(submission: Submission{fixture}) -> None:'
    return f'\n\n{head}\n    """{name}."""\n{ASKS}{body}'


def telling(*names: str) -> str:
    """A right submission that tells these checks to misbehave."""
    answers = f"return {list(names)} if len(a) == 0 else own_cosine(a, b)"
    return f"{SOLUTION}\n\nown_cosine = cosine\n\n\ndef cosine(a, b):\n    {answers}\n"


class Class:
    """Grades submissions to the course, one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        file = folder / "checks" / "test_vectors.py"
        file.write_text(file.read_text() + HEAD + "".join(map(check, [*FOR_EVERYBODY, *WHEN_TOLD])) + HOARDS)
        self.text = file.read_text()
        options = WorkerOptions(course=str(folder), judge_seconds=SECONDS, limits=Limits(check_seconds=1.5))
        self.workers = LocalWorkers(Course.load(folder), options)
        self.first = self.grade()
        """Of the solution: meanwhile the checks are found that do not end for anybody."""

    def grade(self, text: str = SOLUTION) -> Graded:
        return self.workers.grade(Submission("somebody", {"vectors.py": text.encode()}))

    @property
    def worker(self) -> Worker:
        """The worker that grades now."""
        (worker,) = self.workers._workers
        return worker

    def line(self, name: str, piece: str) -> int:
        """The line of the check file where that check has a piece of text."""
        return self.text[: self.text.index(piece, self.text.index(f"def test_{name}("))].count("\n") + 1


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Class]:
    folder = tmp_path_factory.mktemp("judge_ends") / "course"
    one = Class(Path(shutil.copytree(OWN_COURSE, folder, ignore=shutil.ignore_patterns("__pycache__"))))
    yield one
    one.workers.stop()
    one.workers.close()


FAULTY = {"asks": "error", "hungry": "error", "lives": "passed", "sleeps": "passed"}


def verdicts(graded: Graded) -> dict[str, str]:
    """The verdicts of what misbehaves for everybody, and those of other checks that are not `passed`."""
    return {
        one.name: one.verdict
        for exercise in graded.result.exercises
        for one in exercise.checks
        if one.name in FOR_EVERYBODY or one.verdict != "passed"
    }


def place(result: CheckResult) -> tuple[str, int]:
    assert result.cause is not None and result.cause.kind == "grader_fault"
    assert result.cause.check_line is not None
    return result.cause.check_line.file, result.cause.check_line.line


def assert_at_loop(one: Class, graded: Graded, name: str) -> None:
    """The check was at its second line, where its loop begins, or in the loop."""
    file, line = place(check_of(graded.result, name))
    lines = (FOR_EVERYBODY | WHEN_TOLD)[name]
    first = one.line(name, lines[0])
    assert file == "test_vectors.py" and first <= line < first + len(lines)


def test_checks_that_are_endless_or_hungry_for_everybody_cost_nobody_points(one: Class) -> None:
    """One that eats memory gets no more, and the worker lives."""
    process = one.worker.process.pid
    again = one.grade()
    for graded in (one.first, again):
        assert verdicts(graded) == FAULTY
        assert graded.result.score == graded.result.max == 3.0
        assert "MemoryError" in check_of(graded.result, "hungry").message
    assert one.worker.process.pid == process


def test_a_check_at_which_the_judge_dies_is_an_error_and_the_rest_is_graded(one: Class) -> None:
    graded = one.grade(telling("crashes"))
    assert verdicts(graded) == FAULTY | {"crashes": "error"}
    assert graded.result.score == graded.result.max == 3.0
    found = check_of(graded.result, "crashes")
    # Python can still report this signal.
    assert place(found) == ("test_vectors.py", one.line("crashes", "import ctypes"))
    assert "Traceback" not in found.message and "File" not in found.message
    assert exit_code([graded.result], None) == FAULT and "worker process died" in graded.fault


@pytest.mark.parametrize(
    ("names", "kept"), [(("kills", "kills_again"), 0.0), (("kills", "kills_later"), 1.0), (("kills", "crashes"), 1.0)]
)
def test_if_two_judges_die_all_that_is_left_is_an_error(one: Class, names: tuple[str, str], kept: float) -> None:
    """An exercise that the second one has graded keeps its points."""
    graded = one.grade(telling(*names))
    normalize, cosine = graded.result.exercises
    assert (graded.result.score, graded.result.max, normalize.score) == (kept, kept, kept)
    assert {check.verdict for check in cosine.checks} == {"error"}
    assert exit_code([graded.result], None) == FAULT and "worker process died" in graded.fault
    after = one.grade()
    assert verdicts(after) == FAULTY and after.result.score == 3.0


def test_an_answer_that_keeps_a_check_busy_in_c_fails_it_and_ends_the_worker(one: Class) -> None:
    process = one.worker.process.pid
    graded = one.grade(telling("endless"))
    assert verdicts(graded) == FAULTY | {"endless": "failed"}
    assert "the reference solution's answer does not" in check_of(graded.result, "endless").message
    assert one.worker.process.pid != process


@pytest.mark.parametrize("name", ["busy", "busy_with_a_fixture"])
def test_an_answer_that_keeps_a_check_busy_fails_it(one: Class, name: str) -> None:
    process = one.worker.process.pid
    graded = one.grade(telling(name))
    assert verdicts(graded) == FAULTY | {name: "failed"}
    assert "the reference solution's answer does not" in check_of(graded.result, name).message
    assert verdicts(one.grade()) == FAULTY  # for others it is run as before
    assert one.worker.process.pid == process


def test_a_check_that_loops_round_its_calls_is_an_error_and_no_other_worker_runs_it(one: Class) -> None:
    """Its time is up in a call, so it looks like a timeout: but on the solution it does not end either."""
    cause = check_of(one.first.result, "asks").cause
    assert cause is not None and "the check's own loop does not end" in cause.reason
    one.workers.end_idle()
    *news, graded = one.workers.events(Submission("somebody", {"vectors.py": SOLUTION.encode()}))
    assert isinstance(graded, Graded) and verdicts(graded) == FAULTY
    begun = {event.place.check for event in news if isinstance(event, Began)}
    assert "lives" in begun and "asks" not in begun


def test_a_worker_that_has_grown_is_replaced_before_the_next_submission(one: Class) -> None:
    seen = []
    for _ in range(4):
        assert one.grade(telling("hoards")).result.score == 3.0
        seen += [worker.process.pid for worker in one.workers._workers if worker.process.pid not in seen]
    assert len(seen) == 2 and not Path(f"/proc/{seen[0]}").exists()


def test_who_leaves_in_the_middle_ends_their_own_grading_and_no_other(one: Class) -> None:
    """That is not taken for a worker that died: nothing is graded a second time."""
    news = one.workers.events(Submission("somebody", {"vectors.py": SOLUTION.encode()}))
    with contextlib.closing(news), pytest.raises(BrokenPipeError, match="the terminal is gone"):
        for event in news:
            if isinstance(event, ExerciseDone):
                raise BrokenPipeError("the terminal is gone")
    assert not one.workers._workers
    graded = one.grade()
    assert verdicts(graded) == FAULTY and graded.result.score == 3.0 and graded.fault == ""


def test_a_check_that_sleeps_for_everybody_is_an_error_at_its_line(one: Class) -> None:
    """The last test of the course: what sleeps on the solution too is not run again by that worker."""
    (one.folder / "checks" / "asleep").touch()
    process = one.worker.process.pid
    graded = one.grade()
    assert verdicts(graded) == FAULTY | {"sleeps": "error"} and graded.result.score == graded.result.max == 3.0
    assert_at_loop(one, graded, "sleeps")
    assert one.grade().result == graded.result and one.worker.process.pid == process


MISFORTUNES = """

import gc, os, signal
import grader.judge.judge as the_judge
from grader.errors import UserError

def unlucky_scan(modules, *more, scan=the_judge.scan):
    if b"the scan raises" in modules["vectors.py"]:
        raise RuntimeError("a fault of the scan")
    return scan(modules, *more)

def unlucky_topic(self, topic, grade_topic=the_judge._Grading.grade_topic):
    text = self.modules["vectors.py"]
    if b"the worker dies" in text:
        os._exit(9)
    if b"the host dies" in text:
        os.kill(self._judge.host.process, signal.SIGKILL)
    if b"the grader raises" in text:
        raise ZeroDivisionError("a fault of the grader")
    if b"the course is wrong" in text:
        raise UserError("a fault of the course")
    grade_topic(self, topic)

the_judge.scan = unlucky_scan
the_judge._Grading.grade_topic = unlucky_topic
"""
STUCK = """

@exercise("vectors.cosine")
def test_stuck(submission: Submission) -> None:
    \"\"\"Cannot be interrupted.\"\"\"
    import itertools
    sum(itertools.repeat(0))


@exercise("vectors.cosine")
def test_after(submission: Submission) -> None:
    \"\"\"Comes after it.\"\"\"
"""


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[Worker]:
    """The workers that pools begin, on a machine whose memory is never short."""
    found: list[Worker] = []
    monkeypatch.setattr(local_workers, "memory_kills", lambda: 0)
    monkeypatch.setattr(local_workers, "Worker", lambda hash_seed: found.append(Worker(hash_seed)) or found[-1])
    return found


@pytest.fixture(scope="module")
def unlucky(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalWorkers]:
    """Of a course whose check file breaks the judge that collects it."""
    folder = tmp_path_factory.mktemp("unlucky") / "course"
    shutil.copytree(OWN_COURSE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    file = folder / "checks" / "test_vectors.py"
    file.write_text(file.read_text() + MISFORTUNES)
    with LocalWorkers(Course.load(folder), WorkerOptions(course=str(folder))) as workers:
        yield workers


@pytest.mark.parametrize(
    ("misfortune", "most", "points", "words"),
    [
        ("the scan raises", 2, 3.0, "a fault of the scan"),
        ("the worker dies", 2, 0.0, "exit code 9"),
        ("the host dies", 2, 0.0, "the warm host has ended"),
        ("the grader raises", 2, 0.0, "a fault of the grader"),
        ("the course is wrong", 1, 0.0, "a fault of the course"),
    ],
)
def test_outside_of_checks_too_a_submission_gets_a_result_of_two_workers_at_most(
    unlucky: LocalWorkers, begun: list[Worker], misfortune: str, most: int, points: float, words: str
) -> None:
    unlucky.end_idle()
    text = f"{SOLUTION}\n# {misfortune}\n"
    graded = unlucky.grade(Submission("somebody", {"vectors.py": text.encode()}))
    assert len(begun) == most and words in graded.fault
    assert [one.name for one in graded.result.exercises] == ["vectors.normalize", "vectors.cosine"]
    assert (graded.result.score, graded.result.max) == (points, points)
    assert [flag.kind for flag in graded.result.flags] == ["worker"] * (most - 1)
    assert points or graded.result.verdicts == {"error"}
    assert unlucky.grade(Submission("bob", {"vectors.py": SOLUTION.encode()})).result.score == 3.0


def test_a_course_whose_collection_ends_the_judge_costs_each_submission_two_workers(
    own_course: Path, begun: list[Worker]
) -> None:
    (own_course / "checks" / "test_vectors.py").write_text("import os\nos._exit(5)\n")
    with LocalWorkers(Course.load(own_course, complete=False), WorkerOptions(course=str(own_course))) as workers:
        graded = workers.grade(Submission("somebody", {"vectors.py": SOLUTION.encode()}))
    assert len(begun) == 2 and graded.fault.count("exit code 5") == 1  # the same words are not said twice
    assert graded.result.max == 0 and len(graded.result.exercises) == 2


def test_a_check_that_cannot_be_interrupted_on_the_solution_either_is_an_error_for_all_that_follow(
    own_course: Path, begun: list[Worker]
) -> None:
    file = own_course / "checks" / "test_vectors.py"
    file.write_text(file.read_text() + STUCK)
    options = WorkerOptions(course=str(own_course), judge_seconds=SECONDS)
    with LocalWorkers(Course.load(own_course), options) as workers:
        first, second = (workers.grade(Submission(name, {"vectors.py": SOLUTION.encode()})) for name in ("ann", "bob"))
    assert len(begun) == 3 and second.fault == ""
    for graded in (first, second):
        assert [one.name for one in graded.result.exercises[1].checks if one.verdict == "error"] == ["stuck"]
        assert place(check_of(graded.result, "stuck"))[0] == "test_vectors.py" and graded.result.score == 3.0
