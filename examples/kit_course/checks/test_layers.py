"""Checks of layers: which parameters train afterwards."""

from grader.testkit import Submission, assert_equal, exercise
from kit import probes, recipes

BODY = ["body.0.weight", "body.0.bias", "body.2.weight", "body.2.bias"]


@exercise("layers.freeze_body")
def test_only_the_head_trains(submission: Submission) -> None:
    """The parameters of the body are frozen, those of the head are not."""
    net = submission.there(recipes.net, 3)
    submission.freeze_body(net)
    assert_equal(submission.there(probes.frozen, net), BODY, what="frozen parameters")


@exercise("layers.freeze_body")
def test_a_frozen_head_trains_again(submission: Submission) -> None:
    """A head that was frozen before trains afterwards."""
    net = submission.there(recipes.net, 3)
    net.requires_grad_(False)
    submission.freeze_body(net)
    assert_equal(submission.there(probes.frozen, net), BODY, what="frozen parameters")
