"""Checks on simulated devices, graded: over the sandbox and in-process alike."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from grader.border import wire
from grader.border.bounds import WireError
from grader.testkit import assert_close, devices

REPO = Path(__file__).resolve().parent.parent.parent

MANIFEST = """
[course]
name = "gpus"
title = "GPUs"
[[topics]]
name = "gpu"
title = "GPUs"
summary = "Move tensors."
preload = ["torch._dynamo"]
reading = []
""" + "".join(
    f'[[topics.exercises]]\nname = "{name}"\npoints = 1\nhints = ["one", "two"]\n'
    for name in ("add_across", "count", "place", "mean")
)

CHECKS = '''
"""Checks of gpu."""
import torch
from grader.testkit import assert_close, assert_equal, devices, exercise, raises, recipes

@exercise("gpu.add_across")
def test_sum_on_the_first_device(submission):
    """The sum is on the first one's device."""
    submission.there(devices.start, gpus=2)
    x, y = torch.ones(2), torch.full((2,), 2.0)
    for one, other in (("cpu", "cuda:1"), ("cuda:1", "cpu"), ("cuda:0", "cuda:1")):
        assert_close(submission.add_across(devices.on(x, one), devices.on(y, other)), devices.on(x + y, one))

@exercise("gpu.count")
def test_counts(submission):
    """Counts the GPUs."""
    for gpus in (0, 1, 3):
        submission.there(devices.start, gpus=gpus)
        assert_equal(submission.count(), gpus)

@exercise("gpu.place")
def test_model_moves_once(submission):
    """The model is on the device, each parameter moved once."""
    submission.there(devices.start, gpus=2)
    model = submission.there(recipes.model, "linear")
    submission.place(model, "cuda:1")
    assert_equal(submission.there(devices.device_map, model), {"weight": "cuda:1", "bias": "cuda:1"})
    assert_equal(submission.there(devices.transfers), [("cpu", "cuda:1", (3, 4)), ("cpu", "cuda:1", (3,))])
    with raises(RuntimeError):
        submission.place(model, "cuda:7")

@exercise("gpu.mean")
def test_reads_once(submission):
    """One value is read back."""
    submission.there(devices.start, gpus=1)
    assert_equal(submission.mean(devices.on(torch.ones(4), "cuda:0")), 1.0)
    assert_equal(submission.there(devices.syncs), ["item"])
'''

RIGHT = """
import torch
from torch.cuda import device_count

def add_across(x, y):
    return x + y.to(x.device)

def count():
    return device_count()

def place(model, device):
    if device == "cuda:7":
        raise RuntimeError("no such device")
    return model.to(device)

def mean(x):
    return x.mean().item()
"""


def grade(folder: Path, submission: str) -> dict[str, tuple[str, str]]:
    """Verdict and message per exercise, over the sandbox."""
    (folder / "course.toml").write_text(MANIFEST)
    for name, text in (("solutions", RIGHT), ("exercises", RIGHT), ("work", submission)):
        (folder / name).mkdir()
        (folder / name / "gpu.py").write_text(text)
    (folder / "checks").mkdir()
    (folder / "checks" / "test_gpu.py").write_text(CHECKS)
    command = ["-m", "grader", "check", "--course", str(folder), "--submission", str(folder / "work"), "--json"]
    ran = subprocess.run([sys.executable, *command], cwd=REPO, capture_output=True, text=True, check=False)
    result = json.loads(ran.stdout)
    return {item["name"]: (item["checks"][0]["verdict"], item["checks"][0]["message"]) for item in result["exercises"]}


def in_process(folder: Path) -> dict[str, int]:
    """Outcomes of the same submission under a plain pytest."""
    command = ["-m", "pytest", "-p", "no:cacheprovider", "-q", "-c", "/dev/null", str(folder / "checks")]
    command += ["--course", str(folder), "--submission", str(folder / "work")]
    ran = subprocess.run([sys.executable, *command], cwd=REPO, capture_output=True, text=True, check=False)
    words = ran.stdout.strip().splitlines()[-1].replace(",", "").split()
    return {word: int(words[i]) for i, word in enumerate(words[1:]) if word in ("passed", "failed", "skipped")}


def test_right_answers_pass_over_both_transports(tmp_path: Path) -> None:
    assert {verdict for verdict, _ in grade(tmp_path, RIGHT).values()} == {"passed"}
    assert in_process(tmp_path) == {"passed": 4}


def test_wrong_devices_fail_and_are_told_in_words(tmp_path: Path) -> None:
    wrong = RIGHT.replace("x + y.to(x.device)", "x.to(y.device) + y").replace(
        "return x.mean().item()", "return float(sum(v.item() for v in x) / 4)"
    )
    wrong = wrong.replace("return model.to(device)", "model.weight.data.to(device)")
    found = grade(tmp_path, wrong)
    assert {name: verdict for name, (verdict, _) in found.items()} == {
        "gpu.add_across": "failed", "gpu.count": "passed", "gpu.place": "failed", "gpu.mean": "failed",
    }  # fmt: skip
    assert "device cuda:1 where cpu was expected" in found["gpu.add_across"][1]
    assert in_process(tmp_path) == {"passed": 1, "failed": 3}


def test_what_is_not_simulated_is_skipped_and_says_so(tmp_path: Path) -> None:
    odd = RIGHT.replace("return x + y.to(x.device)", "return x + torch.utils.dlpack.from_dlpack(y.cuda()).to(x.device)")
    odd = odd.replace("return x.mean().item()", "return torch.cuda.memory_snapshot() and 1.0")
    odd = odd.replace(
        "return device_count()", "class NotSimulated(Exception): pass\n    raise NotSimulated('anything')"
    )
    found = grade(tmp_path, odd)
    assert found["gpu.add_across"][0] == found["gpu.mean"][0] == "skipped"
    assert "cannot be assessed without a GPU: DLPack of a GPU tensor is not simulated" in found["gpu.add_across"][1]
    assert "gpu.py:6 in add_across" in found["gpu.add_across"][1]
    assert found["gpu.place"][0] == "passed"


FORGERIES = {
    "its own class": "class NotSimulated(Exception): pass\n    raise NotSimulated('count')",
    "the grader's class": "from grader.testkit.devices import NotSimulated\n    raise NotSimulated('count')",
    "torch's words": "raise RuntimeError('PyTorch was not compiled with CUDA support')",
    "from text": "exec('from grader.testkit.devices import NotSimulated; raise NotSimulated(1)')",
    "raised again": "try:\n        raise RuntimeError('not compiled with CUDA')\n    except RuntimeError: raise",
    "over there": "raise __import__('grader.testkit.devices', fromlist=['x']).NotSimulated('count') from None",
}


@pytest.mark.parametrize("half", [0, 1])
def test_saying_that_it_is_not_simulated_skips_nothing(tmp_path: Path, half: int) -> None:
    answers = RIGHT
    for line, forgery in zip(
        ("return device_count()", "return model.to(device)", "return x.mean().item()"),
        list(FORGERIES.values())[half::2],
        strict=True,
    ):
        answers = answers.replace(line, forgery)
    found = {name: verdict for name, (verdict, _) in grade(tmp_path, answers).items()}
    assert found == {
        "gpu.add_across": "passed", "gpu.count": "failed", "gpu.place": "failed", "gpu.mean": "failed",
    }  # fmt: skip


def test_an_instructor_is_told_whose_points_left_the_total_for_what_the_code_uses(tmp_path: Path) -> None:
    grade(tmp_path, RIGHT.replace("return device_count()", "return torch.cuda.CUDAGraph()"))
    command = ["-m", "grader", "grade", "--course", str(tmp_path), str(tmp_path / "work"), "--out", str(tmp_path / "o")]
    ran = subprocess.run([sys.executable, *command], cwd=REPO, capture_output=True, text=True, check=False)
    assert ran.returncode == 0
    told = "gpu.count was skipped for what it uses: have a look at the code, or grade it where there is a GPU"
    assert f"note: work: {told}" in ran.stderr.splitlines()


def test_points_that_cannot_be_assessed_leave_the_total_visibly(tmp_path: Path) -> None:
    grade(tmp_path, RIGHT.replace("return device_count()", "return torch.cuda.CUDAGraph()"))
    command = ["-m", "grader", "check", "--course", str(tmp_path), "--submission", str(tmp_path / "work")]
    told = subprocess.run([sys.executable, *command], cwd=REPO, capture_output=True, text=True, check=False).stdout
    assert "1 points could not be assessed here and are not in the total" in told
    assert "skipped: cannot be assessed without a GPU: torch.cuda.CUDAGraph is not simulated" in told
    assert "3/3" in told.replace(" ", "")


def test_a_submission_cannot_skip_a_check_that_does_not_simulate(tmp_path: Path) -> None:
    forged = "from grader.testkit.devices import NotSimulated\ndef gram(x):\n    raise NotSimulated('everything')\n"
    (tmp_path / "tensor_ops.py").write_text(forged)
    command = ["-m", "grader", "check", "tensor_ops.gram", "--submission", str(tmp_path), "--json"]
    ran = subprocess.run([sys.executable, *command], cwd=REPO, capture_output=True, text=True, check=False)
    assert {check["verdict"] for check in json.loads(ran.stdout)["exercises"][0]["checks"]} == {"failed"}


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
