"""Descent: the line that fits best.

The loss of a line is the mean of the squared differences between y and its heights, as in `lines`.
"""

from torch import Tensor


def step(x: Tensor, y: Tensor, slope: float, intercept: float, rate: float) -> tuple[float, float]:
    """Slope and intercept after one step against the gradient of the loss, `rate` times as long.

    Args:
        x: shape (n,).
        y: shape (n,).

    Example:
        >>> step(torch.tensor([0.0, 1.0]), torch.tensor([1.0, 3.0]), 0.0, 0.0, 0.5)
        (1.5, 2.0)
    """
    raise NotImplementedError("write `step` here")


def fit(x: Tensor, y: Tensor, steps: int, rate: float) -> tuple[float, float]:
    """Slope and intercept after this many steps, from the line with slope 0 and intercept 0.

    Args:
        x: shape (n,).
        y: shape (n,).

    Example:
        >>> fit(torch.tensor([0.0, 1.0]), torch.tensor([1.0, 3.0]), 0, 0.5)
        (0.0, 0.0)
    """
    raise NotImplementedError("write `fit` here")
