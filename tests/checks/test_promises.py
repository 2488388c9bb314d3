"""Every promise of a docstring or of the contract has a check, and a wrong answer that this check fails.

``promises/TOPIC.toml`` is the table, one entry per promise::

    [[promise]]
    exercise = "gram"
    promise = "entry (i, j) is the dot product of rows i and j"   # the sentence in short
    check = "rows_dotted_with_rows"                               # the check's name without `test_`
    misconception = "columns_with_columns"                        # of solutions/misconceptions/TOPIC.py; or
    answer = "gram__claims_not_simulated"                         # a file of tests/answers/wrong/TOPIC, without `.py`

Run as a script, with the names of topics or for all: asks the check of each promise about its wrong answer, and prints
by topic, as JSON, the promises whose check does not fail it.
"""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec
import pytest
from answer_files import Answer, answers
from shared import REPO

from grader.course import Course, checks_of, misconceptions_of
from grader.sandbox import kernel

if TYPE_CHECKING:
    from grader.judge.judge import Judge
    from grader.judge.topic_desk import TopicDesk

CHECK_SECONDS = 40.0
"""Enough on a busy machine."""
CAUGHT: Final = ("failed", "crashed", "timeout")
"""Verdicts by which a check has failed an answer."""


class Promise(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of a table; it names a misconception or the file of an answer, not both."""

    exercise: str
    promise: str
    check: str
    misconception: str = ""
    answer: str = ""

    def __post_init__(self) -> None:
        if bool(self.misconception) == bool(self.answer):
            raise ValueError("a promise needs a misconception or an answer, and not both")

    def __str__(self) -> str:
        return f"{self.exercise}: {self.promise}"

    @property
    def wrong(self) -> str:
        """The name of the wrong answer."""
        return self.misconception or self.answer


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of promises."""

    promise: list[Promise]


TABLES: Final = {
    file.stem: msgspec.toml.decode(file.read_bytes(), type=Table).promise
    for file in sorted((Path(__file__).parent / "promises").glob("*.toml"))
}


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


@pytest.fixture(scope="module")
def broken() -> dict[str, list[str]]:
    """The promises of each topic that are not kept, from one process with one judge for all."""
    done = subprocess.run(
        [sys.executable, __file__],
        cwd=REPO,
        env={"PYTHONPATH": f"{REPO}:{REPO / 'tests'}", "PATH": "/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return msgspec.json.decode(done.stdout, type=dict[str, list[str]])


@pytest.mark.slow
@pytest.mark.skipif(not kernel.SUPPORTED, reason="the sandbox needs Linux on x86_64 or aarch64")
@pytest.mark.parametrize("topic", TABLES)
def test_the_check_of_each_promise_fails_its_wrong_answer(broken: dict[str, list[str]], topic: str) -> None:
    assert not broken[topic], "\n".join(broken[topic])


def not_kept(judge: Judge, topic: str) -> list[str]:
    """The promises of a topic whose check does not fail their wrong answer.

    The cases of each check are asked in a fresh process, and nothing else is: no other check, no smaller example.
    """
    promises = sorted(TABLES[topic], key=lambda one: (one.exercise, one.wrong))
    by_name = {answer.file.stem: answer for answer in answers("wrong", topic=topic)}
    found = []
    with judge.misconceptions_desk(topic) as desk:
        names = {(one.exercise, one.name): one for one in misconceptions_of(judge.course, topic)}
        for promise in promises:
            if promise.misconception:
                wrong = names[f"{topic}.{promise.exercise}", promise.misconception]
                desk.replace_functions(((wrong.part, wrong.function),))
                found += verdicts_that_keep_nothing(judge, desk, topic, promise)
    for answer, its_promises in groupby((one for one in promises if one.answer), key=lambda one: one.answer):
        with desk_of(judge, by_name[answer]) as desk:
            for promise in its_promises:
                found += verdicts_that_keep_nothing(judge, desk, topic, promise)
    return found


def desk_of(judge: Judge, answer: Answer) -> AbstractContextManager[TopicDesk]:
    return judge.desk(answer.topic, dict(answer.submission().files), wants_trace_only=True)


def verdicts_that_keep_nothing(judge: Judge, desk: TopicDesk, topic: str, promise: Promise) -> list[str]:
    """One line if no case of the promise's check fails what lies on the desk; else nothing."""
    if desk.why_not_imported():
        return [f"{promise}: {promise.wrong} cannot be imported"]
    verdicts = []
    desk.begin_again()
    for check in judge.checks.of(f"{topic}.{promise.exercise}"):
        if check.name.partition("[")[0].removeprefix("test_") == promise.check:
            verdicts.append(judge.checks.run(check, desk)[1].verdict)
            if verdicts[-1] in CAUGHT:
                break
    desk.finish(is_right=False)
    if verdicts and verdicts[-1] in CAUGHT:
        return []
    return [f"{promise}: check `{promise.check}` does not fail {promise.wrong}: {verdicts}"]


Found = TypeVar("Found")


def with_judge_of(topics: list[str], use: Callable[[Judge], Found]) -> Found:
    """What `use` makes of one judge for these topics of the shipped course, which names no misconceptions."""
    gc.disable()  # while modules are imported, which stay
    import grader.testkit.probes
    import grader.testkit.recipes  # noqa: F401 - before the fork
    from grader.grading.worker import hidden_paths
    from grader.judge.judge import with_judge
    from grader.sandbox.limits import Limits
    from grader.student.forked import HostClient
    from grader.student.host import start_host
    from grader.testkit import devices

    course = Course.load(None)
    control, process = start_host()
    host = HostClient(control, process, Limits(check_seconds=CHECK_SECONDS))

    def find(judge: Judge) -> Found:
        gc.freeze()
        gc.enable()
        return use(judge)

    try:
        host.prepare(hidden_paths(course), course.preload(topics), "simulated", course.kit)
        devices.choose("simulated")
        exercises = [one.full_name for topic in topics for one in course.topic(topic).exercises]
        return with_judge(course, host, find, exercises=exercises, names_misconceptions=False)
    finally:
        host.close()


def main(topics: list[str]) -> None:
    """Prints the promises of these topics that are not kept."""
    found = with_judge_of(topics, lambda judge: {topic: not_kept(judge, topic) for topic in topics})
    print(msgspec.json.encode(found).decode())


if __name__ == "__main__":
    main(sys.argv[1:] or list(TABLES))
