"""Checks of gpus: where the result is, what was moved, and what made the CPU wait."""

import pytest
import torch

from grader.testkit import Submission, assert_close, assert_equal, devices, exercise

BATCHES = [torch.tensor([6.0]), torch.tensor([1.0, 2.0]), torch.tensor([0.0, 0.0, 3.0])]
MEAN = torch.tensor(2.0)


@exercise("gpus.mean_on")
@pytest.mark.parametrize("device", ["cuda:1", "cuda:0", "cpu"])
def test_on_the_device(submission: Submission, device: str) -> None:
    """The mean of the six numbers is on the device that was passed."""
    submission.there(devices.start, gpus=2)
    assert_close(submission.mean_on(BATCHES, torch.device(device)), devices.on(MEAN, device))


@exercise("gpus.mean_on")
def test_batches_from_everywhere(submission: Submission) -> None:
    """Batches may be on several devices."""
    submission.there(devices.start, gpus=2)
    places = ["cuda:1", "cpu", "cuda:0"]
    batches = [devices.on(batch, place) for batch, place in zip(BATCHES, places, strict=True)]
    assert_close(submission.mean_on(batches, torch.device("cuda", 1)), devices.on(MEAN, "cuda:1"))


@exercise("gpus.mean_on")
def test_moved_once_and_never_read(submission: Submission) -> None:
    """Each batch moves to the device once, and nothing makes the CPU wait."""
    submission.there(devices.start, gpus=2)
    submission.mean_on(BATCHES, torch.device("cuda", 1))
    moves = [("cpu", "cuda:1", tuple(batch.shape)) for batch in BATCHES]
    assert_equal(submission.there(devices.transfers), moves, what="(from, to, shape) of each transfer")
    assert_equal(submission.there(devices.syncs), [], what="what made the CPU wait")
