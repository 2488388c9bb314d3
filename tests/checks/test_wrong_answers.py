"""Every wrong answer in ``answers/wrong`` gets no points, the verdict that its first lines name, and nothing else.

They raise, never end, lie, write where they must not, or are just wrong. A new file there is a new case here.
Graded with it is a neighbour in the topic, for which it must change nothing.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from answer_files import Answer, answers, every, with_neighbour
from shared import Warm, WarmUp, exercises_of

from grader.intake.submission import Submission
from grader.results import ExerciseResult
from grader.sandbox import kernel

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not kernel.SUPPORTED, reason="the sandbox needs Linux on x86_64 or aarch64"),
]
CHECK_SECONDS = 4.0
"""Of processor time: more than anything takes that ends, and not long for what does not."""
TOPIC_SECONDS = 240.0
"""Each exercise has its share: enough for several checks of what never ends."""


def worker_for(warm: WarmUp, answer: Answer) -> Warm:
    return warm(answer.course, check_seconds=CHECK_SECONDS, topic_seconds=TOPIC_SECONDS)


def verdicts_of(exercise: ExerciseResult) -> set[str]:
    return {check.verdict for check in exercise.checks} - {"passed"}


def messages_of(exercise: ExerciseResult) -> str:
    return "\n".join(check.message for check in exercise.checks if check.verdict != "passed")


@pytest.mark.parametrize("answer", every("wrong"), ids=str)
def test_wrong_answer_gets_the_verdict_that_it_names(warm: WarmUp, answer: Answer) -> None:
    result = worker_for(warm, answer).of(answer.submission(), *with_neighbour(answer))
    assert bool(result.flags) is not answer.is_honest, result.flags
    graded = {one.name: one for one in exercises_of(result, answer.topic)}
    exercise = graded.pop(answer.exercise)
    (expected,) = answer.header("verdict")
    assert verdicts_of(exercise) in [set(one.split(", ")) for one in expected.split(" | ")], messages_of(exercise)
    for words in answer.header("message"):
        assert any(one in messages_of(exercise) for one in words.split(" | ")), messages_of(exercise)
    assert exercise.score == 0
    assert [exercise.misconception] == (answer.header("misconception") or [None])
    allowed = {"passed", "skipped", *answer.header("others")}
    others = {name: messages_of(one) for name, one in graded.items() if not verdicts_of(one) <= allowed}
    assert not others, others


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
    assert worker_for(warm, answer).of(answer.submission()).score == 2
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            assert b"torchkata-left-behind" not in command.read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
