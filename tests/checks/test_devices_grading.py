"""Checks on simulated devices, graded: over the sandbox and in-process alike. The course is ``courses/gpus``.

What each wrong answer to it gets is in ``answers/wrong`` and asserted by ``test_wrong_answers.py``.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from answer_files import COURSES, answers
from command_here import run_here
from sessions import plain_pytest
from shared import REPO, WarmUp

from grader.border import wire
from grader.border.bounds import WireError
from grader.intake.submission import Submission
from grader.results import from_json
from grader.testkit import assert_close, devices

COURSE = COURSES / "gpus"
WRONG = {answer.file.stem: answer for answer in answers("wrong", COURSE)}
ON_WRONG_DEVICES = ("add_across__on_the_other_device", "mean__reads_each_value", "place__moves_a_copy_of_the_weight")


def on_wrong_devices() -> Submission:
    """A submission with three of the wrong answers at once."""
    first, *others = (WRONG[name] for name in ON_WRONG_DEVICES)
    return first.submission(*others)


RIGHT = Submission("right", {"gpu.py": (COURSE / "solutions" / "gpu.py").read_bytes()})


@pytest.fixture(scope="module")
def in_process(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, int]]:
    """Outcomes of both submissions under a plain pytest."""
    sessions = []
    for submission in (RIGHT, on_wrong_devices()):
        folder = handed_in(tmp_path_factory.mktemp("submission"), submission)
        arguments = ["-q", "-c", "/dev/null", str(COURSE / "checks"), "--course", str(COURSE)]
        sessions.append((submission.name, REPO, [*arguments, "--submission", str(folder)]))
    outcomes = {}
    for name, (_, output) in plain_pytest(sessions).items():
        words = output.strip().splitlines()[-1].replace(",", "").split()
        outcomes[name] = {
            word: int(words[i]) for i, word in enumerate(words[1:]) if word in ("passed", "failed", "skipped")
        }
    return outcomes


def test_right_answers_pass_over_both_transports(warm: WarmUp, in_process: dict[str, dict[str, int]]) -> None:
    assert warm(COURSE).of(RIGHT).verdicts == {"passed"}
    assert in_process[RIGHT.name] == {"passed": 4}


def test_wrong_devices_fail_over_both_transports(warm: WarmUp, in_process: dict[str, dict[str, int]]) -> None:
    result = warm(COURSE).of(on_wrong_devices())
    assert {one.name: one.checks[0].verdict for one in result.exercises} == {
        "gpu.add_across": "failed", "gpu.count": "passed", "gpu.place": "failed", "gpu.mean": "failed",
    }  # fmt: skip
    assert in_process[on_wrong_devices().name] == {"passed": 1, "failed": 3}


def handed_in(folder: Path, submission: Submission) -> Path:
    """A folder with a submission."""
    for path, content in submission.files.items():
        (folder / path).write_bytes(content)
    return folder


def test_what_is_not_simulated_fails_and_students_and_instructors_read_so(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    handed_in(work, WRONG["count__builds_a_graph"].submission())
    run = run_here("grade", "--course", COURSE, work, "--out", tmp_path / "o")
    assert run.returncode == 1
    note = "gpu.count fails, as torch.cuda.CUDAGraph is not simulated: it may be right on a real GPU"
    assert any("note: work: look at line " in line and note in line for line in run.stderr.splitlines())
    result = from_json((tmp_path / "o" / "results.jsonl").read_bytes())
    (failed,) = (check for exercise in result.exercises for check in exercise.checks if check.verdict == "failed")
    message = "GPUs are simulated here, and torch.cuda.CUDAGraph is not simulated: this check fails"
    assert message in failed.message and (result.score, result.max) == (3, 4)


def test_a_label_crosses_the_border_as_a_device_name() -> None:
    x = devices.on(torch.ones(2, 3).T, "cuda:1")
    back = wire.decode(wire.unpack(wire.pack(wire.encode(x, repr))), lambda tree: None)
    assert isinstance(back, torch.Tensor) and devices.device_of(back) == "cuda:1" and back.stride() == x.stride()
    assert_close(back, x)
    with pytest.raises(AssertionError, match="device cuda:1 where cpu was expected"):
        assert_close(back, torch.ones(3, 2))


@pytest.mark.parametrize("name", ["cuda", "cuda:999", "xpu:0", "cuda:0; rm", "meta", ""])
def test_a_device_name_that_is_none_is_refused(name: str) -> None:
    tree = wire.encode(torch.ones(1), repr)
    with pytest.raises(WireError):
        wire.decode([*tree[:-1], name], lambda tree: None)
