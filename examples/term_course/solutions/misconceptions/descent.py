"""Classic wrong answers of descent."""

from torch import Tensor

from grader.testkit import misconception


@misconception("step", tell="You went up the gradient, where the loss grows. Subtract it.")
def uphill(x: Tensor, y: Tensor, slope: float, intercept: float, rate: float) -> tuple[float, float]:
    difference = slope * x + intercept - y
    return slope + rate * (2 * difference * x).mean().item(), intercept + rate * (2 * difference).mean().item()


@misconception(
    "step", tell="You moved the slope before you took the derivative by the intercept. Take both at the same place."
)
def one_after_the_other(x: Tensor, y: Tensor, slope: float, intercept: float, rate: float) -> tuple[float, float]:
    slope -= rate * (2 * (slope * x + intercept - y) * x).mean().item()
    intercept -= rate * (2 * (slope * x + intercept - y)).mean().item()
    return slope, intercept


@misconception("fit", tell="You took one step. Go on from where the last one ended, `steps` times.")
def one_step(x: Tensor, y: Tensor, steps: int, rate: float) -> tuple[float, float]:
    return rate * (2 * y * x).mean().item(), rate * (2 * y).mean().item()
