"""Checks of team."""

from grader.testkit import assert_equal, exercise, probes, ranks


@exercise("team.total")
def test_total(submission):
    """The sum over the ranks, on every rank, and the group as it was."""
    world = ranks.run(submission.total, ranks.RANK, look=ranks.call(probes.has_group), seconds=2.0)
    assert_equal(world.results, [1, 1])
    assert_equal(world.looks, [True, True])


@exercise("team.alone")
def test_alone(submission):
    """It is one."""
    assert_equal(submission.alone(), 1)
