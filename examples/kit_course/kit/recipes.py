"""Recipes: what the checks hand to a submission, built in the student process and, for comparison, in the check."""

from torch import nn

from grader.testkit import recipes


class Net(nn.Module):
    """A body of two layers and a head, ``(n, width)`` to ``(n, 2)``."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(width, 4), nn.ReLU(), nn.Linear(4, 4))
        self.head = nn.Linear(4, 2)


def net(width: int, seed: int = 0) -> Net:
    """A `Net` whose weights come from the seed."""
    with recipes.seeded(seed):
        return Net(width)
