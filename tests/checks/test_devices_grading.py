"""Checks on simulated devices, graded: over the sandbox and in-process alike. The course is ``courses/gpus``.

What each wrong answer to it gets is in ``answers/wrong`` and asserted by ``test_wrong_answers.py``.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from answer_files import COURSES, Answer, answers
from sessions import plain_pytest
from shared import REPO, WarmUp, run_grader

from grader.border import wire
from grader.border.bounds import WireError
from grader.intake.submission import Submission
from grader.testkit import assert_close, devices

COURSE = COURSES / "gpus"
WRONG = {answer.file.stem: answer for answer in answers("wrong", COURSE)}
ON_WRONG_DEVICES = ("add_across__on_the_other_device", "mean__reads_each_value", "place__moves_a_copy_of_the_weight")


def in_process(folder: Path, submission: Submission) -> dict[str, int]:
    """Outcomes of a submission under a plain pytest."""
    for path, content in submission.files.items():
        (folder / path).write_bytes(content)
    arguments = ["-q", "-c", "/dev/null", str(COURSE / "checks"), "--course", str(COURSE), "--submission", str(folder)]
    _, output = plain_pytest([("only", REPO, arguments)])["only"]
    words = output.strip().splitlines()[-1].replace(",", "").split()
    return {word: int(words[i]) for i, word in enumerate(words[1:]) if word in ("passed", "failed", "skipped")}


def on_wrong_devices() -> Submission:
    """A submission with three of the wrong answers at once."""
    first, *others = (WRONG[name] for name in ON_WRONG_DEVICES)
    return first.submission(*others)


def test_right_answers_pass_over_both_transports(warm: WarmUp, tmp_path: Path) -> None:
    submission = Submission("right", {"gpu.py": (COURSE / "solutions" / "gpu.py").read_bytes()})
    assert warm(COURSE).of(submission).verdicts == {"passed"}
    assert in_process(tmp_path, submission) == {"passed": 4}


def test_wrong_devices_fail_over_both_transports(warm: WarmUp, tmp_path: Path) -> None:
    result = warm(COURSE).of(on_wrong_devices())
    assert {one.name: one.checks[0].verdict for one in result.exercises} == {
        "gpu.add_across": "failed", "gpu.count": "passed", "gpu.place": "failed", "gpu.mean": "failed",
    }  # fmt: skip
    assert in_process(tmp_path, on_wrong_devices()) == {"passed": 1, "failed": 3}


def handed_in(folder: Path, answer: Answer) -> Path:
    """A folder with a submission."""
    for path, content in answer.submission().files.items():
        (folder / path).write_bytes(content)
    return folder


def test_an_instructor_reads_whose_code_uses_what_is_not_simulated(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    handed_in(work, WRONG["count__builds_a_graph"])
    run = run_grader("grade", "--course", COURSE, work, "--out", tmp_path / "o")
    assert run.returncode == 1
    message = "gpu.count fails, as torch.cuda.CUDAGraph is not simulated: it may be right on a real GPU"
    assert any("note: work: look at line " in line and message in line for line in run.stderr.splitlines())


def test_what_is_not_simulated_fails_and_says_so(tmp_path: Path) -> None:
    printed = run_grader(
        "check", "--course", COURSE, "--submission", handed_in(tmp_path, WRONG["count__builds_a_graph"])
    )
    assert printed.returncode == 1
    assert "GPUs are simulated here, and torch.cuda.CUDAGraph is not simulated: this check fails" in printed.stdout
    assert "3/4" in printed.stdout.replace(" ", "")


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
