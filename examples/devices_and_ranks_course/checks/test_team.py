"""Checks of team: what each rank returns."""

import torch

from grader.testkit import Submission, assert_close, exercise, needs, ranks

pytestmark = needs("ranks")


@exercise("team.mean_of_all")
def test_the_same_on_every_rank(submission: Submission) -> None:
    """Three ranks with one, two and three numbers: all return the mean of the six."""
    numbers = ranks.each(torch.tensor([6.0]), torch.tensor([1.0, 2.0]), torch.tensor([0.0, 0.0, 3.0]))
    world = ranks.run(submission.mean_of_all, numbers, world_size=3)
    assert_close(world.results, [2.0, 2.0, 2.0])
