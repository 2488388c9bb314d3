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
    submission.there(devices.start, gpus=1, recording=True)
    assert_equal(submission.mean(devices.on(torch.ones(4), "cuda:0")), 1.0)
    assert_equal(submission.there(devices.syncs), ["item"])
