"""Every promise of a docstring or of the contract has a check, and a wrong answer that this check fails.

``promises/TOPIC.toml`` is the table, one entry per promise::

    [[promise]]
    exercise = "gram"
    promise = "entry (i, j) is the dot product of rows i and j"   # the sentence in short
    check = "rows_dotted_with_rows"                               # the check's name without `test_`
    misconception = "columns_with_columns"                        # of solutions/misconceptions/TOPIC.py; or
    answer = "gram__claims_not_simulated"                         # a file of tests/answers/wrong/TOPIC, without `.py`

Run as a script with the name of a topic: prints the verdicts of the checks that are to fail its wrong answers, as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import msgspec
import pytest
from answer_files import answers
from shared import REPO, WarmUp

from grader.course import Course, checks_of, misconceptions_of
from grader.sandbox import kernel

CHECK_SECONDS = 40.0
"""Enough on a busy machine; the workers of the wrong answers have it, too."""
NOT_CAUGHT: Final = ("passed", "skipped", "blocked", "error", None)
"""Verdicts by which a check has not failed the answer; None where it was not run."""
Verdicts = dict[str, dict[str, str]]
"""By wrong answer (exercise and name), then by check without `test_` and without its parameters."""


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


@pytest.mark.slow
@pytest.mark.skipif(not kernel.SUPPORTED, reason="the sandbox needs Linux on x86_64 or aarch64")
@pytest.mark.parametrize("topic", TABLES)
def test_the_check_of_each_promise_fails_its_wrong_answer(topic: str, warm: WarmUp) -> None:
    verdicts = verdicts_of_misconceptions(topic) | verdicts_of_answers(topic, warm)
    kept = []
    for promise in TABLES[topic]:
        wrong = f"{promise.exercise} {promise.misconception or promise.answer}"
        if verdicts[wrong].get(promise.check) in NOT_CAUGHT:
            kept.append(f"{promise}: check `{promise.check}` does not fail {wrong}: {verdicts[wrong]}")
    assert not kept, "\n".join(kept)


def verdicts_of_misconceptions(topic: str) -> Verdicts:
    """The verdicts of each misconception of a topic in the checks that its promises name, in a process of its own."""
    if not any(promise.misconception for promise in TABLES[topic]):
        return {}
    done = subprocess.run(
        [sys.executable, __file__, topic],
        cwd=REPO,
        env={"PYTHONPATH": f"{REPO}:{REPO / 'tests'}", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: Verdicts = json.loads(done.stdout)
    return found


def verdicts_of_answers(topic: str, warm: WarmUp) -> Verdicts:
    """The verdicts of the wrong answers in files that the topic's table names, graded as submissions."""
    named = {promise.answer for promise in TABLES[topic]} - {""}
    found: Verdicts = {}
    for answer in answers("wrong", topic=topic) if named else ():
        if answer.file.stem in named:
            result = warm(check_seconds=CHECK_SECONDS).of(answer.submission())
            (exercise,) = (one for one in result.exercises if one.name == answer.exercise)
            verdicts = {check.name: check.verdict for check in exercise.checks}
            found[f"{exercise.name.partition('.')[2]} {answer.file.stem}"] = by_check(verdicts)
    return found


def by_check(verdicts: dict[str, str]) -> dict[str, str]:
    """Verdicts by check: of one with parameters, the worst of its cases."""
    found: dict[str, str] = {}
    for name, verdict in verdicts.items():
        check = plain(name)
        if found.get(check) in NOT_CAUGHT:
            found[check] = verdict
    return found


def plain(check: str) -> str:
    """A check's name without its parameters."""
    return check.partition("[")[0].removeprefix("test_")


def main(topic: str) -> None:
    """Prints the verdicts of each misconception of a topic, in the checks that its promises name."""
    from grader.grading.worker import hidden_paths
    from grader.judge.judge import Judge, with_judge
    from grader.sandbox.limits import Limits
    from grader.student.client import HostClient
    from grader.student.host import start_host

    course = Course.load(None)
    host = HostClient(*start_host(), Limits(check_seconds=CHECK_SECONDS))
    host.prepare(hidden_paths(course), course.preload([topic]), kit=course.kit)
    wanted: dict[str, set[str]] = {}
    for promise in TABLES[topic]:
        wanted.setdefault(f"{promise.exercise} {promise.misconception}", set()).add(promise.check)

    def grade(judge: Judge) -> Verdicts:
        found: Verdicts = {}
        with judge.misconceptions_desk(topic) as desk:
            desk.wants_trace_only = True
            for one in misconceptions_of(course, topic):
                name = f"{one.exercise.partition('.')[2]} {one.name}"
                checks = [check for check in judge.checks.of(one.exercise) if plain(check.name) in wanted.get(name, ())]
                desk.replace_functions(((one.part, one.function),))
                desk.begin_again()
                found[name] = by_check({check.name: judge.checks.run(check, desk)[0].verdict for check in checks})
        return found

    try:
        print(json.dumps(with_judge(course, host, grade, names_misconceptions=False)))
    finally:
        host.close()


if __name__ == "__main__":
    main(sys.argv[1])
