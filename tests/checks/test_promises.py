"""Every promise of a docstring or of the contract has a check, and a wrong answer that this check fails.

The call that such a failure shows can be pasted into Python, as the student's page says.

The tables of promises are described in `promise_tables.py`. That the check of a promise fails a wrong answer which is a
file, `test_wrong_answers.py` shows, which grades these; here the wrong answers are the course's misconceptions. Of the
topics of one kind, one is in the suite, some of them with one promise of each exercise; the rest is nightly.

Run as a script, with the names of topics or for all: asks the check of each promise about its wrong answer, and prints
by topic, as JSON, the promises whose check does not fail it. Of a topic that is named as ``TOPIC:calls``, it prints the
call that a failure of each misconception shows, too; of ``TOPIC:some``, it asks about some promises only.
"""

from __future__ import annotations

import contextlib
import gc
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec
import pytest
from answer_files import answers
from pasting import code_among, complaints
from promise_tables import CAUGHT, TABLES, Promise
from shared import REPO

from grader.course import Course, checks_of, misconceptions_of
from grader.sandbox import kernel

if TYPE_CHECKING:
    from grader.judge.judge import Judge
    from grader.judge.topic_desk import TopicDesk

CHECK_SECONDS = 40.0
"""Enough on a busy machine."""


class Asked(msgspec.Struct, frozen=True):
    """What the checks of a topic say to its wrong answers.

    Attributes:
        broken: a line for each promise whose check does not fail its wrong answer.
        calls: by misconception, the call of a check that fails it, empty if the failure shows none; of all
            misconceptions if calls were asked for, else of none.
    """

    broken: list[str]
    calls: dict[str, str]


@pytest.mark.parametrize("topic", TABLES)
def test_every_promise_names_a_check_and_a_wrong_answer_that_exist(topic: str) -> None:
    course = Course.load(None)
    checks = {(check.exercise, check.function) for check in checks_of(course, topic)}
    misconceptions = {(one.exercise, one.name) for one in misconceptions_of(course, topic)}
    files = {answer.file.stem: answer.exercise for answer in answers("wrong")}
    unknown = []
    for promise in TABLES[topic]:
        exercise = f"{topic}.{promise.exercise}"
        if (exercise, f"test_{promise.check}") not in checks:
            unknown.append(f"{promise}: no check `{promise.check}`")
        if promise.misconception and (exercise, promise.misconception) not in misconceptions:
            unknown.append(f"{promise}: no misconception `{promise.misconception}`")
        if promise.answer and files.get(promise.answer) != exercise:
            unknown.append(f"{promise}: no wrong answer `{promise.answer}`")
    assert not unknown, "\n".join(unknown)


@pytest.mark.parametrize("topic", TABLES)
def test_every_exercise_has_promises_and_each_is_written_once(topic: str) -> None:
    promises = TABLES[topic]
    assert {promise.exercise for promise in promises} == {one.name for one in Course.load(None).topic(topic).exercises}
    assert len({str(promise) for promise in promises}) == len(promises)


PASTED: Final = ("tensor_ops", "parameters")
"""Topics of whose misconceptions the calls are pasted."""
PASTED_AT_NIGHT: Final = (
    *("autograd", "graph", "datasets", "training", "checkpoints", "layers", "devices", "ddp", "efficiency"),
    *("debugging", "spirals"),
)
BY_DAY: Final = (*PASTED, "training", "devices", "ddp")
"""Topics whose promises are held in the suite, one of each kind: values, steps of training, devices, ranks."""
SOME: Final = 1
"""Promises of one exercise that the suite asks about, where no calls are pasted: `ddp` has 118."""
CODE: Final = {"ddp": 9, "graph": 1}
"""For how many misconceptions the call looks like code if most calls of a topic cannot: on ranks they must not,
programs on graphs are drawn. Else for a quarter of all."""


def ask(*topics: str, calls_of: Sequence[str] = (), some_of: Sequence[str] = ()) -> dict[str, Asked]:
    """Runs this file as a script: one process with one judge for all topics."""
    arguments = [f"{one}:calls" if one in calls_of else f"{one}:some" if one in some_of else one for one in topics]
    done = subprocess.run(
        [sys.executable, __file__, *arguments],
        cwd=REPO,
        env={"PYTHONPATH": f"{REPO}:{REPO / 'tests'}", "PATH": "/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return msgspec.json.decode(done.stdout, type=dict[str, Asked])


@pytest.fixture(scope="module")
def asked() -> dict[str, Asked]:
    return ask(*BY_DAY, calls_of=PASTED, some_of=BY_DAY)


@pytest.fixture(scope="module")
def asked_at_night() -> dict[str, Asked]:
    return ask(*(topic for topic in TABLES if topic not in PASTED), calls_of=PASTED_AT_NIGHT)


@pytest.mark.slow
@pytest.mark.skipif(not kernel.SUPPORTED, reason="the sandbox needs Linux on x86_64 or aarch64")
@pytest.mark.parametrize("topic", BY_DAY)
def test_the_check_of_each_promise_fails_its_wrong_answer(asked: dict[str, Asked], topic: str) -> None:
    assert not asked[topic].broken, "\n".join(asked[topic].broken)


@pytest.mark.nightly
@pytest.mark.skipif(not kernel.SUPPORTED, reason="the sandbox needs Linux on x86_64 or aarch64")
@pytest.mark.parametrize("topic", [topic for topic in TABLES if topic not in PASTED])
def test_so_does_that_of_each_promise_of_the_other_topics(asked_at_night: dict[str, Asked], topic: str) -> None:
    assert not asked_at_night[topic].broken, "\n".join(asked_at_night[topic].broken)


@pytest.mark.slow
@pytest.mark.skipif(not kernel.SUPPORTED, reason="the sandbox needs Linux on x86_64 or aarch64")
def test_the_call_of_every_misconceptions_failure_can_be_pasted(asked: dict[str, Asked]) -> None:
    paste({topic: asked[topic].calls for topic in PASTED})


@pytest.mark.nightly
@pytest.mark.skipif(not kernel.SUPPORTED, reason="the sandbox needs Linux on x86_64 or aarch64")
def test_the_calls_of_the_other_topics_can_be_pasted(asked_at_night: dict[str, Asked]) -> None:
    paste({topic: asked_at_night[topic].calls for topic in PASTED_AT_NIGHT})


def paste(shown: Mapping[str, Mapping[str, str]]) -> None:
    course = Course.load(None)
    calls = {topic: code_among(topic, of_topic.values()) for topic, of_topic in shown.items()}
    for topic, of_topic in shown.items():
        assert of_topic.keys() == {one.name for one in misconceptions_of(course, topic)}
        shows_code = [name for name, call in of_topic.items() if call in calls[topic]]
        assert len(shows_code) >= CODE.get(topic, len(of_topic) / 4), of_topic
        assert all(of_topic.values()), [name for name, call in of_topic.items() if not call]
    assert not (wrong := complaints(calls)), wrong


def ask_topic(judge: Judge, topic: str, wants: str) -> Asked:
    """Asks the check of each promise of a topic about its misconception."""
    promises = [one for one in TABLES[topic] if one.misconception]
    if wants == "some":
        of = {name: [one for one in promises if one.exercise == name] for name in {one.exercise for one in promises}}
        promises = [one for some in of.values() for one in some[:SOME]]
    wants_calls = wants == "calls"
    broken: list[str] = []
    calls: dict[str, str] = {}
    misconceptions = {(one.exercise, one.name): one for one in misconceptions_of(judge.course, topic)}
    with judge.misconceptions_desk(topic) as desk:
        desk.explains_failures = wants_calls
        for promise in promises:
            wrong = misconceptions[f"{topic}.{promise.exercise}", promise.misconception]
            desk.replace_functions(((wrong.part, wrong.function),))
            shows_call = wants_calls and wrong.name not in calls
            verdict, call = ask_checks(judge, desk, wrong.exercise, promise.check, shows_call=shows_call)
            if shows_call:
                calls[wrong.name] = call
            broken += not_failed(promise, verdict)
        for wrong in misconceptions.values() if wants_calls else ():
            if wrong.name not in calls:  # no promise names it
                desk.replace_functions(((wrong.part, wrong.function),))
                verdict, calls[wrong.name] = ask_checks(judge, desk, wrong.exercise, shows_call=True)
                assert verdict in CAUGHT, wrong
    return Asked(broken, calls)


def ask_checks(
    judge: Judge, desk: TopicDesk, exercise: str, name: str = "", *, shows_call: bool = False
) -> tuple[str, str]:
    """The verdict and the call of the first check that fails what lies on the desk, or of the last one.

    They run in a fresh process, and nothing else does.

    Args:
        name: of the check whose cases are run; empty means all checks of the exercise.
        shows_call: whether a failure has its call; if not, it ends at the first example that fails.
    """
    desk.use_fresh_process()
    desk.is_final = shows_call
    verdict = call = ""
    for check in judge.checks.of(exercise):
        if check.name.partition("[")[0].removeprefix("test_") == name or not name:
            result, trace = judge.checks.run(check, desk)
            verdict, call = trace.verdict, result.cause.call if result.cause else ""
            if verdict in CAUGHT:
                break
    desk.finish(is_right=False)
    return verdict, call


def not_failed(promise: Promise, verdict: str) -> list[str]:
    """One line if the verdict is not one that fails the promise's wrong answer; else nothing."""
    if verdict in CAUGHT:
        return []
    return [f"{promise}: check `{promise.check}` does not fail {promise.wrong}: {verdict or 'there is no such check'}"]


def main(arguments: list[str]) -> None:
    """Prints what the checks of these topics say to their wrong answers."""
    gc.disable()  # while modules are imported, which stay
    from grader.grading.starting import start_host
    from grader.grading.worker import hidden_paths

    make_host = start_host()
    import torch

    from grader.judge.judge import open_judge
    from grader.sandbox.limits import Limits
    from grader.testkit import devices

    wanted = {topic: wants for topic, _, wants in (one.partition(":") for one in arguments)}
    course = Course.load(None)
    exercises = [one.full_name for topic in wanted for one in course.topic(topic).exercises]
    torch.set_num_threads(1)  # as workers have
    host = make_host(Limits(check_seconds=CHECK_SECONDS))
    with contextlib.closing(host):
        host.prepare(hidden_paths(course), course.preload(wanted), "simulated", course.kit)
        devices.choose("simulated")
        host.finish_preparing()
        with open_judge(course, host, exercises=exercises, names_misconceptions=False) as judge:
            gc.freeze()
            gc.enable()
            found = {topic: ask_topic(judge, topic, wants) for topic, wants in wanted.items()}
    print(msgspec.json.encode(found).decode())


if __name__ == "__main__":
    main(sys.argv[1:] or list(TABLES))
