"""Every wrong answer in ``answers/wrong`` gets no points, the verdict that its first lines name, and nothing else.

They raise, never end, lie, write where they must not, or are just wrong. A new file there is a new case here.
Answers to different exercises of a topic are graded together, with a neighbour for which they must change nothing.
For which promises of the course an answer stands, and the check that must fail it for each, the tables of promises say.
Whether the misconceptions are named that answers ask for, and no others, takes as long as everything else: it is a
nightly test, but for answers to one topic. That only the very same mistake is named, `judge/test_judge.py` shows.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from answer_files import LIMITS, Answer, answers, every, name_of, together, with_neighbour
from promise_tables import CAUGHT, TABLES, Promise
from shared import Warm, WarmUp, as_nightly, exercises_of

from grader.course import Course, misconceptions_of
from grader.intake.submission import Submission
from grader.results import CheckResult, ExerciseResult
from grader.sandbox import kernel

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not kernel.SUPPORTED, reason="the sandbox needs Linux on x86_64 or aarch64"),
]


DEAR = (
    "checkpoints/save_weights__never_ends",
    "datasets/make_loaders__endless_loader",
    "datasets/WindowDataset__item_never_comes",
    "ddp/main__a_constant_under_torchrun",
)
"""Three that never end, and one to `main`. Of both kinds more than two are in the suite."""
OF_ONE_KIND = 1
"""Answers to one exercise that only stand for promises, and are in the suite; more of them are graded nightly."""
NAMED = ("tensor_ops",)
"""Topics whose answers get the names of their misconceptions in the suite; the sample class has some of the others."""


def by_day_and_night() -> tuple[list[Answer], list[Answer]]:
    """The answers that are graded in the suite, and the others."""
    promised = {(topic, one.answer) for topic, promises in TABLES.items() for one in promises}
    seen: Counter[str] = Counter()
    day, night = [], []
    for one in every("wrong"):
        is_plain = one.course is None and (one.topic, one.file.stem) in promised and not one.names_misconception
        seen[one.exercise] += is_plain
        (night if str(one) in DEAR or (is_plain and seen[one.exercise] > OF_ONE_KIND) else day).append(one)
    return day, night


MODULES, MODULES_AT_NIGHT = map(together, by_day_and_night())
MODULES_WITH_NAMES = together(one for one in every("wrong") if one.topic in NAMED and one.names_misconception)


def worker_for(warm: WarmUp, answer: Answer) -> Warm:
    return warm(answer.course, misconceptions=False, **LIMITS)


def at_night(modules: list[tuple[Answer, ...]]) -> list[Any]:
    return [as_nightly((module,)) for module in modules]


def verdicts_of(exercise: ExerciseResult) -> set[str]:
    return {check.verdict for check in exercise.checks} - {"passed"}


def messages_of(exercise: ExerciseResult) -> str:
    return "\n".join(check.message for check in exercise.checks if check.verdict != "passed")


def promises_of(answer: Answer) -> list[Promise]:
    """The promises of the shipped course that have this answer as their wrong one."""
    if answer.course is not None or answer.topic not in TABLES:
        return []
    return [one for one in TABLES[answer.topic] if one.answer == answer.file.stem]


def that_ran(exercise: ExerciseResult) -> Iterator[CheckResult]:
    """The checks that were run: after a timeout no further one is, and the others get its cause."""
    for check in exercise.checks:
        yield check
        if check.verdict == "timeout":
            return


@pytest.mark.parametrize("module", [*MODULES, *at_night(MODULES_AT_NIGHT)], ids=name_of)
def test_wrong_answers_get_the_verdicts_that_they_name(warm: WarmUp, module: tuple[Answer, ...]) -> None:
    first, *others = module
    result = worker_for(warm, first).of(first.submission(*others), *with_neighbour(*module))
    assert bool(result.flags) is not first.is_honest, result.flags
    graded = {one.name: one for one in exercises_of(result, first.topic)}
    for answer in module:
        exercise = graded.pop(answer.exercise)
        (expected,) = answer.header("verdict")
        words = f"{answer}: {messages_of(exercise)}"
        assert verdicts_of(exercise) in [set(one.split(", ")) for one in expected.split(" | ")], words
        for message in answer.header("message"):
            assert any(one in messages_of(exercise) for one in message.split(" | ")), words
        assert exercise.score == 0, answer
        fail = {check.name.partition("[")[0] for check in that_ran(exercise) if check.verdict in CAUGHT}
        assert {one.check for one in promises_of(answer)} <= fail, words
    allowed = {"passed", "skipped", *first.header("others")}
    rest = {name: messages_of(one) for name, one in graded.items() if not verdicts_of(one) <= allowed}
    assert not rest, rest


@pytest.mark.parametrize("module", [*MODULES_WITH_NAMES, *at_night([*MODULES, *MODULES_AT_NIGHT])], ids=name_of)
def test_the_misconceptions_that_answers_ask_for_are_named_and_no_others(
    warm: WarmUp, module: tuple[Answer, ...]
) -> None:
    first, *others = module
    exercises = [answer.exercise for answer in module if answer.exercise]
    result = warm(first.course, **LIMITS).of(first.submission(*others), *exercises)
    asked = {answer.exercise: answer.header("misconception") for answer in module if answer.names_misconception}
    assert {one.name: [one.misconception] for one in result.exercises if one.misconception} == asked


def test_what_a_misconception_says_is_true_of_every_answer_that_gets_its_name() -> None:
    """Two answers can have one record: each of the files says which words of the text are about it."""
    wrong = []
    for answer in (one for one in every("wrong") if one.course is None and one.names_misconception):
        known = misconceptions_of(Course.load(None), answer.topic)
        (named,) = answer.header("misconception")
        (tell,) = (one.tell for one in known if (one.exercise, one.name) == (answer.exercise, named))
        words = answer.header("tell")
        if not words or not all(one in tell for one in words):
            wrong.append(f"{answer}: {words or 'it says no words'}, of {tell}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("place", ["a folder of the host", "/usr/lib", "the home folder", "/dev/shm/.."])
def test_writing_outside_the_folder_is_refused(warm: WarmUp, tmp_path: Path, place: str) -> None:
    (answer,) = (one for one in answers("wrong", topic="checkpoints") if one.file.stem.endswith("outside_its_folder"))
    folder = {"a folder of the host": tmp_path, "the home folder": Path.home()}.get(place, Path(place))
    text = answer.text.replace('FOLDER = "/"', f"FOLDER = {str(folder)!r}")
    assert text != answer.text
    submission = Submission("somebody", {"checkpoints.py": answer.module(text)})
    (exercise,) = worker_for(warm, answer).of(submission, answer.exercise).exercises
    assert exercise.score == 0 and verdicts_of(exercise) == {"failed"}
    assert "in save_weights: torch.save" in messages_of(exercise)
    assert "torchkata-stray-weights.pt" in messages_of(exercise)
    assert not (folder / "torchkata-stray-weights.pt").exists()
    assert not Path("/torchkata-stray-weights.pt").exists()


def test_nothing_is_left_running(warm: WarmUp) -> None:
    """The answer that is right and leaves processes behind is among those to the course `team`."""
    (answer,) = (one for one in every("right") if one.file.stem == "total__forks_processes")
    mark = f"torchkata-left-behind-{os.getpid()}"  # another process of the suite may grade the same answer now
    text = answer.text.replace("torchkata-left-behind", mark)
    assert text != answer.text
    submission = Submission("somebody", {f"{answer.topic}.py": answer.module(text)})
    assert worker_for(warm, answer).of(submission).score == 2
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            assert mark.encode() not in command.read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
