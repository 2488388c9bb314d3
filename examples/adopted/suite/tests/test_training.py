"""The package `training`: a class to derive from, functions that it calls, a schedule."""

import pytest
from training import Callback, Trainer, warmup
from training.loop import PATIENCE


class Recorder(Callback):
    def __init__(self, last=None):
        self.seen = []
        self.last = last

    def on_step(self, step, loss):
        self.seen.append((step, loss))
        return step == self.last


def test_trainer_calls_the_step():
    """The step is called with its number, and its losses come back."""
    steps = []

    def train_step(step):
        steps.append(step)
        return 1 / (step + 1)

    assert Trainer(train_step).run(4) == [1.0, 0.5, 1 / 3, 0.25]
    assert steps == [0, 1, 2, 3]


def test_trainer_tells_callbacks():
    """A class derived from Callback hears of each step, and ends the training."""
    recorder = Recorder(last=1)
    Trainer(lambda step: 10.0 - step).run(5, recorder)
    assert recorder.seen == [(0, 10.0), (1, 9.0)]


def test_trainer_loses_patience():
    """Ends once the loss has not become smaller for PATIENCE steps."""
    losses = [3.0, 2.0, 2.5, 2.5, 1.0]
    assert len(Trainer(lambda step: losses[step]).run(5)) == 2 + PATIENCE
    assert len(Trainer(lambda step: losses[step], patience=9).run(5)) == 5


@pytest.mark.parametrize(("step", "rate"), [(0, 0.0), (2, 0.5), (4, 1.0), (8, 0.55), (12, 0.1), (99, 0.1)])
def test_warmup(step, rate):
    assert warmup(step, most=1.0, least=0.1, rising=4, total=12) == pytest.approx(rate)
