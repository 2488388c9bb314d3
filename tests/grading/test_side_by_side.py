"""`grader check` with two workers: the same verdicts as with one, in the same order, and none left behind."""

from __future__ import annotations

import contextlib

import msgspec
import psutil
import pytest

from grader.course import Course
from grader.grading import side_by_side
from grader.grading.protocol import WorkerOptions
from grader.grading.side_by_side import SideBySide, halves
from grader.grading.worker_process import Worker
from grader.intake.submission import Submission
from grader.judge.marks import Place
from grader.results import ExerciseResult

COURSE = Course.load(None)


class Seen:
    """A watcher that keeps what it is told."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def began(self, place: Place) -> None:
        pass

    def known(self, exercise: ExerciseResult) -> None:
        self.names.append(exercise.name)


def command_of(process: psutil.Process) -> list[str]:
    """Its command line, waited for where it has just been started; empty if it has ended."""
    words: list[str] = []
    with contextlib.suppress(psutil.Error):
        while not words and process.status() != psutil.STATUS_ZOMBIE:
            words = process.cmdline()
    return words


def running() -> set[psutil.Process]:
    """The workers that this process has started and that run."""
    children = psutil.Process().children()
    return {child for child in children if any("grader.grading.worker" in word for word in command_of(child))}


def topics_of(exercises: tuple[str, ...]) -> set[str]:
    return {name.partition(".")[0] for name in exercises}


def test_topics_that_need_one_another_are_in_one_part() -> None:
    parts = halves(COURSE, ())
    assert sorted(name for part in parts for name in part) == sorted(one.full_name for one in COURSE.exercises)
    assert len(parts) == 2 and not topics_of(parts[0]) & topics_of(parts[1])
    assert COURSE.exercises[0].full_name in parts[0], "its line is shown first"
    for part in parts:
        assert COURSE.with_needs(part) == part


@pytest.mark.parametrize("names", [["tensor_ops"], ["tensor_ops", "autograd", "training.fit"], ["ddp"]])
def test_one_worker_where_a_second_would_only_import_torch_too(names: list[str]) -> None:
    assert len(halves(COURSE, COURSE.select(names))) == 1


def submission() -> Submission:
    """Two topics, each with a right exercise, a wrong one and a line for the instructor's look."""
    training = COURSE.solution_file("training").read_text(encoding="utf-8")
    efficiency = COURSE.solution_file("efficiency").read_text(encoding="utf-8")
    files = {
        "training.py": f"{training}\n\nimport ctypes\n\n\ndef predict_labels(model, x):\n    return model(x)\n",
        "efficiency.py": f"{efficiency}\n\nimport ctypes\n\n\ndef inference(model, x):\n    return model(x)\n",
    }
    return Submission("alice", {name: text.encode() for name, text in files.items()})


def test_two_workers_give_the_result_of_the_one_on_a_busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where one of them dies, and is replaced beside the other."""
    monkeypatch.setattr(side_by_side, "idle_cores", lambda: 1.5)
    monkeypatch.setattr(side_by_side, "_START", 0)  # for two topics already, however few exercises they have
    names = COURSE.select(["predict_labels", "predict_proba", "clear_grads", "inference"])
    options = WorkerOptions(exercises=COURSE.with_needs(names))
    assert len(halves(COURSE, names)) == 2
    seen, before, first = Seen(), running(), Worker()
    with SideBySide(COURSE, options, first) as both:
        workers = running() - before
        assert len(workers) == 2
        first.process.kill()
        two = both.grade(submission(), seen)
        assert two.fault.count("worker process died") == 1
        workers |= running() - before
        assert len(workers) == 3
    psutil.wait_procs(workers, timeout=60)
    assert not any(worker.is_running() for worker in workers)
    monkeypatch.setattr(side_by_side, "idle_cores", lambda: 0.9)
    with SideBySide(COURSE, options, Worker()) as alone:
        assert len(running() - before) == 1
        one = alone.grade(submission())
    assert {check.verdict for exercise in two.result.exercises for check in exercise.checks} == {"passed", "failed"}
    assert {flag.file for flag in two.result.flags} == {"training.py", "efficiency.py"}
    assert set(two.result.flags) == set(one.result.flags)
    assert msgspec.structs.replace(two.result, flags=one.result.flags) == one.result
    assert seen.names == [exercise.name for exercise in one.result.exercises]
    assert two.digest == one.digest and one.fault == ""
