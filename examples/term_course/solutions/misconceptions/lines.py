"""Classic wrong answers of lines."""

from torch import Tensor

from grader.testkit import misconception


@misconception("heights", tell="You took the intercept for the slope, and the slope for the intercept.")
def swapped(x: Tensor, slope: float, intercept: float) -> Tensor:
    return intercept * x + slope


@misconception("loss", tell="You took the sum of the squares. Their mean does not grow with the number of points.")
def sum_of_squares(x: Tensor, y: Tensor, slope: float, intercept: float) -> Tensor:
    return (y - slope * x - intercept).square().sum()


@misconception("loss", tell="Differences above and below the line cancel out. Square each before you take the mean.")
def not_squared(x: Tensor, y: Tensor, slope: float, intercept: float) -> Tensor:
    return (y - slope * x - intercept).mean()
