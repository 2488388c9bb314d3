"""A trainer and its callbacks."""

from collections.abc import Callable
from dataclasses import dataclass

PATIENCE = 2


class Callback:
    """What a trainer calls; derive from it."""

    def on_step(self, step: int, loss: float) -> bool:
        """Called after each step; True ends the training."""
        return False


@dataclass
class Trainer:
    """Calls a function that trains one step, and tells its callbacks how it went."""

    train_step: Callable[[int], float]
    patience: int = PATIENCE

    def run(self, steps: int, *callbacks: Callback) -> list[float]:
        """The losses of at most `steps` steps; ends early if a callback says so, or the loss has not become smaller
        for `patience` steps."""
        losses: list[float] = []
        for step in range(steps):
            losses.append(self.train_step(step))
            ended = [one.on_step(step, losses[-1]) for one in callbacks]
            if any(ended) or self._is_stuck(losses):
                break
        return losses

    def _is_stuck(self, losses: list[float]) -> bool:
        best = losses.index(min(losses))
        return len(losses) - 1 - best >= self.patience
