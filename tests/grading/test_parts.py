"""Two workers for one submission: the same verdicts as with one, in the same order, and none left behind."""

from __future__ import annotations

import contextlib

import msgspec
import psutil
import pytest
from shared import PATIENCE

from grader.course import Course
from grader.grading import warm
from grader.grading.graders import Graded
from grader.grading.protocol import WorkerOptions
from grader.grading.settings import GradingSettings
from grader.grading.warm import StudentWorkers, WarmGrader, halves, join
from grader.grading.worker_process import Worker
from grader.intake.submission import Submission
from grader.judge.listener import Place
from grader.results import ExerciseResult, Flag, SubmissionResult, Unread

COURSE = Course.load(None)


class Seen:
    """A watcher that keeps what it is told."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def began(self, place: Place) -> None:
        pass

    def known(self, exercise: ExerciseResult) -> None:
        self.names.append(exercise.name)


def workers_of(pools: StudentWorkers) -> set[psutil.Process]:
    """The processes of some pools, waited for."""
    return {psutil.Process(one.process.pid) for pool in pools._pools.values() for one in pool._workers}


def topics_of(exercises: tuple[str, ...]) -> set[str]:
    return {name.partition(".")[0] for name in exercises}


def test_topics_that_need_one_another_are_in_one_part() -> None:
    found = halves(COURSE, ())
    assert sorted(name for part in found for name in part) == sorted(one.full_name for one in COURSE.exercises)
    assert len(found) == 2 and not topics_of(found[0]) & topics_of(found[1])
    assert COURSE.exercises[0].full_name in found[0], "its line is shown first"
    for part in found:
        assert COURSE.with_needs(part) == part


@pytest.mark.parametrize("names", [["tensor_ops"], ["tensor_ops", "autograd", "training.fit"], ["ddp"]])
def test_one_worker_where_a_second_would_only_get_ready(names: list[str]) -> None:
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
    monkeypatch.setattr(warm, "idle_cores", lambda: 1.5)
    monkeypatch.setattr(warm, "_START", 0)  # for two topics already, however few exercises they have
    names = COURSE.select(["predict_labels", "predict_proba", "clear_grads", "inference"])
    options = WorkerOptions(exercises=COURSE.with_needs(names))
    assert len(halves(COURSE, names)) == 2
    seen, first = Seen(), Worker()
    with StudentWorkers(COURSE, options, first) as both:
        workers = workers_of(both)
        assert len(workers) == 2
        first.process.kill()
        two = both.grade(submission(), seen)
        assert two.fault.count("worker process died") == 1
        workers |= workers_of(both)
        assert len(workers) == 3
    psutil.wait_procs(workers, timeout=60)
    assert not any(worker.is_running() for worker in workers)
    monkeypatch.setattr(warm, "idle_cores", lambda: 0.9)
    with StudentWorkers(COURSE, options, Worker()) as alone:
        assert len(workers_of(alone)) == 1
        one = alone.grade(submission())
    assert {check.verdict for exercise in two.result.exercises for check in exercise.checks} == {"passed", "failed"}
    assert {flag.file for flag in two.result.flags} == {"training.py", "efficiency.py"}
    assert set(two.result.flags) == set(one.result.flags)
    assert msgspec.structs.replace(two.result, flags=one.result.flags) == one.result
    assert seen.names == [exercise.name for exercise in one.result.exercises]
    assert two.digest == one.digest and one.fault == ""


def test_a_warm_grader_of_many_topics_has_two_workers_and_asks_only_who_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm, "idle_cores", lambda: 1.5)
    monkeypatch.setattr(warm, "_START", 0)
    names = COURSE.with_needs(COURSE.select(["predict_labels", "predict_proba", "clear_grads", "inference"]))
    with contextlib.closing(WarmGrader(COURSE, GradingSettings())) as grader:
        seen = Seen()
        both = grader.submit(submission(), names, seen).result(PATIENCE).result
        assert grader._workers is not None
        workers = workers_of(grader._workers)
        assert len(workers) == 2
        assert tuple(seen.names) == tuple(one.name for one in both.exercises) == names
        for name in ("efficiency.inference", "training.predict_proba"):
            seen = Seen()
            alone = grader.submit(submission(), [name], seen).result(PATIENCE).result
            wanted = COURSE.with_needs([name])
            assert tuple(seen.names) == tuple(one.name for one in alone.exercises) == wanted
            assert alone.exercises == tuple(one for one in both.exercises if one.name in wanted)
        assert workers_of(grader._workers) == workers
    psutil.wait_procs(workers, timeout=60)
    assert not any(worker.is_running() for worker in workers)


def test_no_field_of_a_result_is_forgotten_when_parts_are_joined() -> None:
    """Of a new field, `join` must say how those of two parts become one; the test below shows that for these."""
    joined = {"score", "max", "exercises", "sandbox", "flags", "unread", "notes"}
    assert set(SubmissionResult.__struct_fields__) == {"schema", "submission", *joined}
    assert set(Graded.__struct_fields__) == {"result", "digest", "seconds", "notes", "fault", "was_read"}


def test_of_no_field_is_anything_lost_when_parts_are_joined() -> None:
    names = ("a.one", "a.two", "b.one")

    def part(number: int, *exercises: str) -> Graded:
        own = f"of part {number}"
        result = SubmissionResult(
            submission="ann",
            score=0.1 * len(exercises),
            max=1.0 * len(exercises),
            exercises=tuple(ExerciseResult(name=name, score=0.1, max=1.0) for name in exercises),
            sandbox=("layer",) if number == 2 else (),
            flags=(Flag(kind="source", text="both"), Flag(kind="source", text=own)),
            unread=(Unread(own, "why"),),
            notes=("both", own),
        )
        return Graded(result, "digest", float(number), ("both", own), own)

    joined = join([part(1, "a.one", "b.one"), part(2, "a.two")], names)
    result = joined.result
    assert [one.name for one in result.exercises] == list(names)
    assert (result.score, result.max) == (0.3, 3.0)
    assert (result.submission, result.sandbox) == ("ann", ("layer",))
    assert [flag.text for flag in result.flags] == ["both", "of part 1", "of part 2"]
    assert [one.topic for one in result.unread] == ["of part 1", "of part 2"]
    assert result.notes == joined.notes == ("both", "of part 1", "of part 2")
    assert (joined.digest, joined.seconds, joined.fault) == ("digest", 2.0, "of part 1\nof part 2")
