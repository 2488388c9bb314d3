"""A student's own work: one pool for all of it, in parts if that is sooner, and nothing of hidden checks."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Sequence

import msgspec
import psutil
import pytest
from shared import OWN_COURSE

from grader.course import Course
from grader.grading import own_work
from grader.grading.graders import Graded
from grader.grading.local_workers import LocalWorkers
from grader.grading.own_work import join, own_news, own_workers, parts_of
from grader.grading.protocol import Began, ExerciseDone, WorkerOptions
from grader.intake.submission import Submission
from grader.results import ExerciseResult, Flag, SubmissionResult, Unread

COURSE = Course.load(None)
SOLUTION = (OWN_COURSE / "solutions" / "vectors.py").read_bytes()
RIGHT = Submission("right", {"vectors.py": SOLUTION})


def graded_with_exercises(
    workers: LocalWorkers, submission: Submission, exercises: Sequence[str] = ()
) -> tuple[Graded, list[ExerciseResult]]:
    """The result of a submission, and the exercises as they came before it."""
    *news, graded = own_news(workers, submission, exercises)
    assert isinstance(graded, Graded)
    return graded, [event.exercise for event in news if isinstance(event, ExerciseDone)]


def workers_of(pool: LocalWorkers) -> set[psutil.Process]:
    """The processes of a pool, waited for."""
    return {psutil.Process(one.process.pid) for one in pool._workers}


def assert_ended(workers: set[psutil.Process]) -> None:
    _, left = psutil.wait_procs(workers, timeout=60)
    assert left == []


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalWorkers]:
    """Of a course with a check of which nothing is shown. They stay warm from test to test."""
    course = tmp_path_factory.mktemp("warm") / "course"
    shutil.copytree(OWN_COURSE, course, ignore=shutil.ignore_patterns("__pycache__"))
    checks = course / "checks" / "test_vectors.py"
    text = checks.read_text()
    assert "hidden=True" in text
    checks.write_text(text.replace("hidden=True", 'hidden="all"'))
    with own_workers(Course.load(course), WorkerOptions(course=str(course))) as workers:
        yield workers


def test_only_what_is_asked_for_is_graded_with_what_it_needs(own: LocalWorkers) -> None:
    one = graded_with_exercises(own, RIGHT, ["vectors.normalize"])[0].result
    assert [(each.name, each.score) for each in one.exercises] == [("vectors.normalize", 1)] and one.max == 1
    both = graded_with_exercises(own, RIGHT, ["vectors.cosine"])[0].result
    assert [each.name for each in both.exercises] == ["vectors.normalize", "vectors.cosine"] and both.score == 3
    assert graded_with_exercises(own, RIGHT)[0].result == both


def test_a_student_sees_nothing_of_a_hidden_check(own: LocalWorkers) -> None:
    wrong = Submission("wrong", {"vectors.py": SOLUTION + b"\n\ndef cosine(a, b):\n    return a\n"})
    graded, seen = graded_with_exercises(own, wrong)
    assert tuple(seen) == graded.result.exercises
    shown = [check.name for exercise in graded.result.exercises for check in exercise.checks]
    assert any(name.startswith("hidden_check") for name in shown)


def test_who_leaves_before_the_end_has_ended_the_workers() -> None:
    endless = SOLUTION + b"\n\ndef cosine(a, b):\n    while True:\n        pass\n"
    with own_workers(Course.load(OWN_COURSE), WorkerOptions(course=str(OWN_COURSE))) as pool:
        with contextlib.closing(own_news(pool, Submission("endless", {"vectors.py": endless}))) as news:
            next(one for one in news if isinstance(one, Began) and one.place.exercise == "vectors.cosine")
            workers = workers_of(pool)
        assert len(workers) == 1 and pool.stopped
        assert_ended(workers)


def test_a_worker_is_used_for_what_it_knows_and_the_least_recently_used_one_ends_for_another() -> None:
    """Two places: `a` and `b` start, `a` is used again, so `c` takes the place of `b`, and `a` is still warm."""
    a, b, c = "tensor_ops.gram", "datasets.ToyDataset", "autograd.gradients"
    work = Submission("empty", {f"{name.partition('.')[0]}.py": b"" for name in (a, b, c)})
    started: list[object] = []
    new = []
    with LocalWorkers(COURSE, WorkerOptions(), jobs=2) as pool:
        for name in (a, b, a, c, a, b):
            graded, _ = graded_with_exercises(pool, work, [name])
            assert [one.name for one in graded.result.exercises] == [name] and graded.fault == ""
            new.append([one for one in pool._workers if one not in started])
            started += new[-1]
            assert len(pool._workers) <= 2
    assert [len(workers) for workers in new] == [1, 1, 0, 1, 0, 1]


def test_topics_are_handed_out_one_by_one() -> None:
    """First the one whose lines are shown first, then the family of which each waits for others, then the longest."""
    parts = parts_of(COURSE, COURSE.with_needs(()))
    family = "parameters datasets training checkpoints ddp spirals"
    turns = f"first_run {family} tensor_ops devices debugging autograd efficiency layers graph".split()
    assert parts == [tuple(one.full_name for one in COURSE.topic(turn).exercises) for turn in turns]


@pytest.mark.parametrize("names", [["tensor_ops"], ["tensor_ops", "autograd", "training.fit"], ["ddp"]])
def test_one_worker_where_a_second_would_only_get_ready(names: list[str]) -> None:
    wanted = COURSE.with_needs(COURSE.select(names))
    assert parts_of(COURSE, wanted) == [wanted]


def submission() -> Submission:
    """Two topics, each with a right exercise, a wrong one and a line for the instructor's look, and one that is right.

    It needs both exercises of the first topic, the right one and the wrong one.
    """
    training = COURSE.solution_file("training").read_text(encoding="utf-8")
    efficiency = COURSE.solution_file("efficiency").read_text(encoding="utf-8")
    files = {
        "training.py": f"{training}\n\nimport ctypes\n\n\ndef predict_labels(model, x):\n    return model(x)\n",
        "efficiency.py": f"{efficiency}\n\nimport ctypes\n\n\ndef inference(model, x):\n    return model(x)\n",
        "spirals.py": COURSE.solution_file("spirals").read_text(encoding="utf-8"),
    }
    return Submission("alice", {name: text.encode() for name, text in files.items()})


def test_two_workers_give_the_result_of_the_one_on_a_busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if one of them dies, and another takes its work. What one of them knows, it alone is asked for."""
    monkeypatch.setattr(own_work, "idle_cores", lambda: 1.5)
    monkeypatch.setattr(own_work, "_START", 0)  # for two topics already, however few exercises they have
    asked = ["predict_labels", "init_weights", "clear_grads", "inference", "SpiralNet", "decision_grid"]
    names = COURSE.with_needs(COURSE.select(asked))
    assert [name.partition(".")[2] for name in names] == asked
    options = WorkerOptions(exercises=names)
    assert len(parts_of(COURSE, names)) == 3
    with own_workers(COURSE, options) as both:
        two, seen = graded_with_exercises(both, submission())
        assert tuple(seen) == two.result.exercises and two.fault == ""
        workers = workers_of(both)
        assert len(workers) == 2
        for name in ("efficiency.inference", "training.init_weights"):
            alone, seen = graded_with_exercises(both, submission(), [name])
            assert tuple(one.name for one in seen) == COURSE.with_needs([name])
            assert alone.result.exercises == tuple(one for one in two.result.exercises if one in seen) == tuple(seen)
        assert workers_of(both) == workers
        killed = next(iter(both._workers)).process
        killed.kill()
        again, seen = graded_with_exercises(both, submission())
        assert again.fault.count("worker process died") == 1
        assert again.result == two.result and tuple(seen) == two.result.exercises
        assert killed.pid not in {one.pid for one in workers_of(both)}
    assert_ended(workers)
    monkeypatch.setattr(own_work, "idle_cores", lambda: 0.9)
    with own_workers(COURSE, options) as alone_here:
        one, seen = graded_with_exercises(alone_here, submission())
        assert len(workers_of(alone_here)) == 1
    scores = {exercise.name.partition(".")[2]: exercise.score for exercise in two.result.exercises}
    assert {name for name in asked if scores[name]} == {"init_weights", "clear_grads", "SpiralNet"}
    blocked = {exercise.name for exercise in two.result.exercises if exercise.checks[0].verdict == "blocked"}
    assert blocked == {"spirals.decision_grid"}, "it needs one that is wrong, in a topic that the other worker may have"
    assert {flag.file for flag in two.result.flags} == {"training.py", "efficiency.py"}
    assert set(two.result.flags) == set(one.result.flags)
    assert msgspec.structs.replace(two.result, flags=one.result.flags) == one.result
    assert tuple(seen) == one.result.exercises
    assert two.digest == one.digest and one.fault == ""


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
